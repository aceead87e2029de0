"""A plan with a version in DynamoDB (boto3)."""
import boto3

table = boto3.resource("dynamodb").Table("proof")


def add_step(plan: str, step: str) -> None:
    item = table.get_item(Key={"plan": plan})["Item"]
    item["steps"] = item["steps"] + [step]
    item["version"] = item["version"] + 1
    table.put_item(Item=item)  # expect: blind-document-replace
