"""Features switched on in one JSON object (boto3): a conflict is tried again with what was read before it."""
import json
import random
import time

import boto3
from botocore.exceptions import ClientError

s3 = boto3.client("s3")


class Busy(Exception):
    pass


def switch_on(bucket: str, key: str, feature: str) -> None:
    found = s3.get_object(Bucket=bucket, Key=key)
    features = json.loads(found["Body"].read())
    features[feature] = True
    for attempt in range(4):
        try:
            s3.put_object(Bucket=bucket, Key=key, Body=json.dumps(features), IfMatch=found["ETag"])  # expect: stale-retry
            return
        except ClientError as error:
            if error.response["Error"]["Code"] != "PreconditionFailed":
                raise
        time.sleep(random.uniform(0, 0.01 * 2**attempt))
    raise Busy(key)
