"""How often a song was played (PynamoDB)."""
from pynamodb.attributes import NumberAttribute, UnicodeAttribute
from pynamodb.models import Model


class Song(Model):
    class Meta:
        table_name = "proof"
        region = "us-east-1"

    title = UnicodeAttribute(hash_key=True)
    plays = NumberAttribute(default=0)


def played(title: str, times: int) -> None:
    song = Song.get(title)
    song.plays += times
    song.save()  # expect: orm-increment
