"""Visits of a page, counted in Redis."""
import redis


def visit(client: redis.Redis, page: str, visitors: int) -> None:
    seen = int(client.get(f"visits:{page}") or 0)
    client.set(f"visits:{page}", seen + visitors)  # expect: blind-key-set
