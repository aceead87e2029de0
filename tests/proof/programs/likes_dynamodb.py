"""Likes in DynamoDB (boto3), of things that nobody liked before."""
import boto3

table = boto3.resource("dynamodb").Table("proof")


def like(thing: str, likes: int) -> None:
    item = table.get_item(Key={"thing": thing}).get("Item", {})
    table.update_item(  # expect: blind-document-replace
        Key={"thing": thing},
        UpdateExpression="SET likes = :likes",
        ExpressionAttributeValues={":likes": item.get("likes", 0) + likes},
    )
