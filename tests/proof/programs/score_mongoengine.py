"""Scores of teams (MongoEngine)."""
from mongoengine import Document, IntField, StringField


class Team(Document):
    name = StringField(primary_key=True)
    score = IntField(default=0)


def add_score(name: str, points: int) -> None:
    team = Team.objects.get(name=name)
    team.score += points
    team.save()  # expect: orm-increment
