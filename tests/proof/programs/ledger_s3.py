"""A ledger kept as one JSON object in S3 (boto3)."""
import json

import boto3

s3 = boto3.client("s3")


def book(bucket: str, key: str, name: str, amount: int) -> None:
    response = s3.get_object(Bucket=bucket, Key=key)
    ledger = json.loads(response["Body"].read())
    ledger[name] = amount
    s3.put_object(Bucket=bucket, Key=key, Body=json.dumps(ledger))  # expect: blind-object-put
