"""Views in memcached (pymemcache)."""
from pymemcache.client.base import Client


def view(client: Client, page: str, views: int) -> None:
    seen = int(client.get(page) or 0)
    client.set(page, seen + views)  # expect: blind-key-set
