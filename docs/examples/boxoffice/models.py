"""The shop's own tables."""
from django.db import models


class Event(models.Model):
    title = models.CharField(max_length=200)
    starts_at = models.DateTimeField()
    capacity = models.PositiveIntegerField()
    sold = models.PositiveIntegerField(default=0)

    class Meta:
        app_label = "boxoffice"


class Customer(models.Model):
    email = models.EmailField(unique=True)
    points = models.IntegerField(default=0)

    class Meta:
        app_label = "boxoffice"


class Order(models.Model):
    event = models.ForeignKey(Event, on_delete=models.PROTECT)
    customer = models.ForeignKey(Customer, on_delete=models.PROTECT)
    seats = models.PositiveIntegerField()
    remarks = models.JSONField(default=list)

    class Meta:
        app_label = "boxoffice"
