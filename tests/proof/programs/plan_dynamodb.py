"""A plan with a version in DynamoDB (boto3)."""


def add_step(table, plan: str, step: str) -> None:
    item = table.get_item(Key={"plan": plan})["Item"]
    item["steps"] = item["steps"] + [step]
    item["version"] = item["version"] + 1
    table.put_item(Item=item)  # expect: blind-document-replace
