"""A guest list in DynamoDB (boto3)."""
import boto3

table = boto3.resource("dynamodb").Table("proof")


def invite(party: str, guest: str) -> None:
    item = table.get_item(Key={"party": party})["Item"]
    guests = item["guests"]
    guests.append(guest)
    table.update_item(  # expect: blind-document-replace
        Key={"party": party},
        UpdateExpression="SET guests = :guests",
        ExpressionAttributeValues={":guests": guests},
    )
