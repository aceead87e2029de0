"""A club's members: one form changes the name, another the address (Django)."""
from django.db import models


class Member(models.Model):
    name = models.CharField(max_length=80)
    city = models.CharField(max_length=80)

    class Meta:
        app_label = "club"


def rename(member_id: int, name: str) -> None:
    member = Member.objects.get(pk=member_id)
    member.name = name
    member.save()  # expect: orm-full-save


def move(member_id: int, city: str) -> None:
    Member.objects.filter(pk=member_id).update(city=city)  # meanwhile
