"""Articles with a version (Django): the outcome of the conditional update is not looked at."""
from django.db import models
from django.db.models import F


class Article(models.Model):
    text = models.TextField()
    version = models.IntegerField(default=1)

    class Meta:
        app_label = "articles"


def publish(article_id: int, text: str, version: int) -> None:
    Article.objects.filter(pk=article_id, version=version).update(text=text, version=F("version") + 1)  # expect: unchecked-conditional-result
