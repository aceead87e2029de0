"""A journal in one Redis string."""
import redis


def write_down(client: redis.Redis, journal: str, entry: str) -> None:
    text = client.get(journal) or ""
    client.set(journal, text + entry + ";")  # expect: blind-key-set
