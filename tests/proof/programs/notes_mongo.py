"""Notes with a version (pymongo): the version moves on, and nobody asks for it."""
from pymongo.collection import Collection


def add_note(notes: Collection, note: str, line: str) -> None:
    doc = notes.find_one({"_id": note})
    text = f"{doc['text']}{line};"
    notes.update_one({"_id": note}, {"$set": {"text": text, "version": doc["version"] + 1}})  # expect: blind-document-replace
