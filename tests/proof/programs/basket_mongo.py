"""Baskets of a shop (pymongo)."""
from pymongo.collection import Collection


def put_in(baskets: Collection, basket: str, article: str) -> None:
    doc = baskets.find_one({"_id": basket})
    articles = doc["articles"]
    articles.append(article)
    baskets.update_one({"_id": basket}, {"$set": {"articles": articles}})  # expect: blind-document-replace
