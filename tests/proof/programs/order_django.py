"""An order that is paid once (Django)."""
from django.db import models


class Order(models.Model):
    status = models.CharField(max_length=20, default="open")
    payer = models.CharField(max_length=40, default="")

    class Meta:
        app_label = "orders"


class NotOpen(Exception):
    pass


def pay(order_id: int, payer: str) -> None:
    order = Order.objects.get(pk=order_id)
    if order.status != "open":
        raise NotOpen(order_id)
    order.status = "paid"
    order.payer = payer
    order.save()  # expect: orm-check-then-act
