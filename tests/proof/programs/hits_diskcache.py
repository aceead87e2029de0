"""Hits in a cache on disk (diskcache)."""
from diskcache import Cache


def hit(cache: Cache, page: str, hits: int) -> None:
    seen = cache.get(page, 0)
    cache[page] = seen + hits  # expect: blind-key-set
