"""The list of guests for the door, one JSON object per event in a bucket."""
import json

import boto3
from botocore.exceptions import ClientError

BUCKET = "boxoffice-doorlists"
s3 = boto3.client("s3")


class ListChanged(Exception):
    """Somebody else wrote the list first."""


def add_guest(event: int, guest: str) -> None:
    key = f"events/{event}/door.json"
    guests = json.loads(s3.get_object(Bucket=BUCKET, Key=key)["Body"].read())
    guests.append(guest)
    s3.put_object(Bucket=BUCKET, Key=key, Body=json.dumps(guests).encode())


def remove_guest(event: int, guest: str) -> None:
    key = f"events/{event}/door.json"
    current = s3.get_object(Bucket=BUCKET, Key=key)
    guests = json.loads(current["Body"].read())
    guests.remove(guest)
    try:
        s3.put_object(Bucket=BUCKET, Key=key, Body=json.dumps(guests).encode(), IfMatch=current["ETag"])
    except ClientError as error:
        if error.response["Error"]["Code"] == "PreconditionFailed":
            raise ListChanged(key) from error
        raise


def open_list(event: int) -> None:
    s3.put_object(Bucket=BUCKET, Key=f"events/{event}/door.json", Body=b"[]", IfNoneMatch="*")


def publish_summary(event: int, sold: int, capacity: int) -> None:
    summary = {"sold": sold, "free": capacity - sold}
    s3.put_object(Bucket=BUCKET, Key=f"events/{event}/summary.json", Body=json.dumps(summary).encode())
