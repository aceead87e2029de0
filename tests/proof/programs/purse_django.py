"""A purse that is locked when money is taken out, and not when money comes in (Django)."""
from django.db import models, transaction


class Purse(models.Model):
    cents = models.IntegerField(default=0)

    class Meta:
        app_label = "purses"


@transaction.atomic
def take_out(purse_id: int, cents: int) -> None:
    purse = Purse.objects.select_for_update().get(pk=purse_id)
    purse.cents -= cents
    purse.save()


def put_in(purse_id: int, cents: int) -> None:
    purse = Purse.objects.get(pk=purse_id)
    purse.cents += cents
    purse.save()  # expect: orm-increment
