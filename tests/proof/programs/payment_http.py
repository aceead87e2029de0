"""A payment that is tried again when the connection breaks (requests): each attempt has a key of its own."""
import time
import uuid

import requests


def pay(url: str, cents: int) -> None:
    for attempt in range(3):
        try:
            response = requests.post(
                url,
                json={"cents": cents},
                headers={"Idempotency-Key": str(uuid.uuid4())},  # expect: per-attempt-idempotency-key
                timeout=10,
            )
            response.raise_for_status()
            return
        except requests.ConnectionError:
            time.sleep(0.01 * 2**attempt)
    raise RuntimeError("not paid")
