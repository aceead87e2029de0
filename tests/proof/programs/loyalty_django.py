"""Points on a loyalty card (Django)."""
from django.db import models


class Card(models.Model):
    holder = models.CharField(max_length=80)
    points = models.IntegerField(default=0)

    class Meta:
        app_label = "loyalty"


def add_points(card_id: int, points: int) -> None:
    card = Card.objects.get(pk=card_id)
    card.points += points
    card.save()  # expect: orm-increment
