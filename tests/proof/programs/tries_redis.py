"""Tries of a password within a minute (redis)."""
import redis


def tried(client: redis.Redis, user: str, tries: int) -> None:
    seen = int(client.get(user) or 0)
    client.set(user, seen + tries, ex=60)  # expect: blind-key-set
