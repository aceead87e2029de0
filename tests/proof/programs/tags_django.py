"""Tags with unique names (Django)."""
from django.db import models


class Tag(models.Model):
    name = models.CharField(max_length=40, unique=True)

    class Meta:
        app_label = "tags"


def tag_named(name: str) -> int:
    try:
        tag = Tag.objects.get(name=name)
    except Tag.DoesNotExist:
        tag = Tag.objects.create(name=name)  # expect: check-then-create
    return tag.pk
