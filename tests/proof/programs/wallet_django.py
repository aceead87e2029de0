"""A wallet that is charged inside a transaction (Django)."""
from django.db import models, transaction


class Wallet(models.Model):
    cents = models.IntegerField(default=0)

    class Meta:
        app_label = "wallet"

    def charge(self, cents: int) -> None:
        with transaction.atomic():
            self.refresh_from_db()
            self.cents = self.cents + cents
            self.save(update_fields=["cents"])  # expect: orm-increment
