"""Votes in DynamoDB (boto3)."""
import boto3

table = boto3.resource("dynamodb").Table("proof")


def vote(poll: str, votes: int) -> None:
    item = table.get_item(Key={"poll": poll})["Item"]
    total = item["votes"] + votes
    table.update_item(  # expect: blind-document-replace
        Key={"poll": poll},
        UpdateExpression="SET votes = :votes",
        ExpressionAttributeValues={":votes": total},
    )
