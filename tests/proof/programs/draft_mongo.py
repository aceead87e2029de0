"""Drafts with a version (pymongo): nobody looks whether a document matched."""
from pymongo.collection import Collection


def store(drafts: Collection, draft: str, text: str, version: int) -> None:
    drafts.update_one({"_id": draft, "version": version}, {"$set": {"text": text}, "$inc": {"version": 1}})  # expect: unchecked-conditional-result
