"""Selling, refunding and annotating orders."""
from django.db import transaction
from django.db.models import F

from .models import Customer, Event, Order


def place_order(event_id: int, customer_id: int, seats: int) -> Order:
    event = Event.objects.get(pk=event_id)
    order = Order.objects.create(event=event, customer_id=customer_id, seats=seats)
    event.sold += seats
    event.save()
    return order


def refund(order_id: int, seats: int) -> None:
    order = Order.objects.select_related("event").get(pk=order_id)
    Event.objects.filter(pk=order.event_id).update(sold=F("sold") - seats)


def award_points(customer_id: int, points: int) -> None:
    Customer.objects.filter(pk=customer_id).update(points=F("points") + points)


@transaction.atomic
def add_remark(order_id: int, author: str, text: str) -> None:
    order = Order.objects.get(pk=order_id)
    order.remarks = [*order.remarks, {"author": author, "text": text}]
    order.save(update_fields=["remarks"])


@transaction.atomic
def drop_remarks_of(order_id: int, author: str) -> int:
    order = Order.objects.select_for_update().get(pk=order_id)
    kept = [remark for remark in order.remarks if remark["author"] != author]
    dropped = len(order.remarks) - len(kept)
    order.remarks = kept
    order.save(update_fields=["remarks"])
    return dropped


def rename_event(event_id: int, title: str) -> None:
    event = Event.objects.get(pk=event_id)
    event.title = title.strip()
    event.save(update_fields=["title"])
