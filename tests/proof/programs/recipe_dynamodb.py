"""A recipe whose version is compared and that nobody raises, in DynamoDB (boto3)."""
import boto3
from boto3.dynamodb.conditions import Attr

table = boto3.resource("dynamodb").Table("proof")


def add_step(recipe: str, step: str) -> None:
    item = table.get_item(Key={"recipe": recipe})["Item"]
    steps = [*item["steps"], step]
    table.update_item(  # expect: version-not-bumped
        Key={"recipe": recipe},
        UpdateExpression="SET steps = :steps",
        ConditionExpression=Attr("version").eq(item["version"]),
        ExpressionAttributeValues={":steps": steps},
    )
