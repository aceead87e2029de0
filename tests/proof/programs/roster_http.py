"""A roster behind HTTP: a conflict is tried again with the roster and the ETag from before it."""
import random
import time

import requests


class RosterBusy(Exception):
    pass


def enlist(url: str, name: str) -> None:
    response = requests.get(url, timeout=10)
    etag = response.headers["ETag"]
    roster = response.json()
    roster["names"].append(name)
    for attempt in range(4):
        answer = requests.put(url, json=roster, headers={"If-Match": etag}, timeout=10)  # expect: stale-retry
        if answer.status_code != 412:
            answer.raise_for_status()
            return
        time.sleep(random.uniform(0, 0.01 * 2**attempt))
    raise RosterBusy(url)
