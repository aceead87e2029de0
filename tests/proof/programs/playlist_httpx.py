"""A playlist behind HTTP (httpx)."""
import httpx


def add_track(client: httpx.Client, url: str, track: str) -> None:
    found = client.get(url)
    found.raise_for_status()
    playlist = found.json()
    playlist["tracks"].append(track)
    stored = client.put(url, json=playlist)  # expect: blind-http-put
    stored.raise_for_status()
