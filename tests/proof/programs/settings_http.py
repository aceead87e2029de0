"""Settings of a device behind HTTP (requests)."""
import requests


def set_option(url: str, name: str, value: str) -> None:
    response = requests.get(url, timeout=10)
    response.raise_for_status()
    settings = response.json()
    settings[name] = value
    answer = requests.put(url, json=settings, timeout=10)  # expect: blind-http-put
    answer.raise_for_status()
