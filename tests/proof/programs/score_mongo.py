"""Scores of players (pymongo)."""
from pymongo.collection import Collection


def add_score(players: Collection, player: str, points: int) -> None:
    doc = players.find_one({"_id": player})
    score = doc["score"] + points
    players.update_one({"_id": player}, {"$set": {"score": score}})  # expect: blind-document-replace
