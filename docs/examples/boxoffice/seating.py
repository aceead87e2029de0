"""Seating plans live at the venues; each venue serves them over HTTP with an ETag."""
import requests

TIMEOUT = 10


class PlanBusy(Exception):
    """The plan kept changing while we tried to write it."""


def _plan_url(venue: str, event: int) -> str:
    return f"https://{venue}.example.org/events/{event}/plan"


def block_row(venue: str, event: int, row: str) -> None:
    url = _plan_url(venue, event)
    plan = requests.get(url, timeout=TIMEOUT).json()
    plan["blocked"].append(row)
    requests.put(url, json=plan, timeout=TIMEOUT).raise_for_status()


def release_row(venue: str, event: int, row: str) -> None:
    url = _plan_url(venue, event)
    current = requests.get(url, timeout=TIMEOUT)
    current.raise_for_status()
    plan = current.json()
    plan["blocked"] = [name for name in plan["blocked"] if name != row]
    answer = requests.put(url, json=plan, headers={"If-Match": current.headers["ETag"]}, timeout=TIMEOUT)
    if answer.status_code == 412:
        raise PlanBusy(url)
    answer.raise_for_status()


def raise_prices(venue: str, event: int, percent: int) -> None:
    url = _plan_url(venue, event)
    current = requests.get(url, timeout=TIMEOUT)
    current.raise_for_status()
    plan = current.json()
    for section in plan["sections"]:
        section["price"] += section["price"] * percent // 100
    etag = current.headers["ETag"]
    for _ in range(3):
        answer = requests.put(url, json=plan, headers={"If-Match": etag}, timeout=TIMEOUT)
        if answer.status_code != 412:
            answer.raise_for_status()
            return
        etag = requests.head(url, timeout=TIMEOUT).headers["ETag"]
    raise PlanBusy(url)


def open_gate(venue: str, event: int, gate: str) -> None:
    url = _plan_url(venue, event)
    for _ in range(3):
        current = requests.get(url, timeout=TIMEOUT)
        current.raise_for_status()
        plan = current.json()
        plan["gates"][gate] = "open"
        answer = requests.put(url, json=plan, headers={"If-Match": current.headers["ETag"]}, timeout=TIMEOUT)
        if answer.status_code == 412:
            continue
        answer.raise_for_status()
        return
    raise PlanBusy(url)
