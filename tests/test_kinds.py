"""What findings say, where their place alone would not tell: which call stands between, what a constraint leaves, what a row is called."""
from __future__ import annotations

import textwrap

from helpers import lint_bytes

HEAD = "import requests\nfrom django.db import models, transaction\n\n"


def said(text: str) -> list[tuple[str, int, str]]:
    """(code, line, message) of the findings in a program; lines are counted behind HEAD."""
    data = (HEAD + textwrap.dedent(text)).encode()
    return [(finding.code, finding.place.line - HEAD.count("\n"), finding.message) for finding in lint_bytes(data, "app/models.py")]


def test_a_call_on_the_other_branch_stands_not_in_between() -> None:
    program = """
        class Member(models.Model):
            due = models.DateTimeField(null=True)
            name = models.CharField(max_length=40)

            def remind(self):
                if not self.due:
                    return False
                requests.post("https://mail.example.org", json={})
                return True

        def remind_one():
            member = Member.objects.filter(due=None).first()
            if member.remind():
                print("sent")
            else:
                member.due = None
                member.save()

        def remind_all():
            member = Member.objects.filter(due=None).first()
            if member.remind():
                member.due = None
                member.save()
    """
    assert said(program) == [
        ("RMW204", 18, "only `due` changed, but every column of `Member` is written as it was loaded"),
        ("RMW204", 24, "only `due` changed, but every column of `Member` is written as it was loaded and a remote call stands in between"),
    ]


def test_a_constraint_counts_where_it_covers_what_was_looked_for() -> None:
    program = """
        from acme.models import Owned

        class Value(Owned):
            page = models.ForeignKey("Page", on_delete=models.CASCADE)
            name = models.TextField()
            token = models.TextField(unique=True)

            class Meta:
                constraints = [models.UniqueConstraint(fields=["page", "name"], name="%(app_label)s_%(class)s_name")]

        class Part(models.Model):
            page = models.ForeignKey("Page", on_delete=models.CASCADE)
            name = models.TextField()

            class Meta:
                unique_together = [("page", "name"), ("page", "token")]

        class Remark(models.Model):
            page = models.ForeignKey("Page", on_delete=models.CASCADE)
            name = models.TextField()
            token = models.TextField(unique=True)

        def name(page, word):
            if not Value.objects.filter(page=page, name=word).exists():
                Value.objects.create(page=page, name=word)
            if not Part.objects.filter(page_id=page.pk, name=word).exists():
                Part.objects.create(page=page, name=word)
            if not Remark.objects.filter(page=page, name=word).exists():
                Remark.objects.create(page=page, name=word)
    """
    assert [(line, message.partition(": ")[2]) for _, line, message in said(program)] == [
        (26, "a unique key refuses the second of two, and its error is not handled"),
        (28, "a unique key refuses the second of two, and its error is not handled"),
        (30, "two at the same time create two"),
    ]


def test_a_saved_row_is_called_by_its_variable_not_by_the_helper_that_gave_it() -> None:
    program = """
        from rest_framework import viewsets

        class Tallies(viewsets.ModelViewSet):
            def add(self, request):
                tally = self.get_object()
                tally.total += 1
                tally.save(update_fields=["total"])
    """
    assert [message.partition("`")[2].partition("`")[0] for _, _, message in said(program)] == ["tally.total"]


def test_a_lock_of_a_long_caller_is_found_behind_what_it_does_before() -> None:
    steps = "\n".join(f"    step{n}()" for n in range(400))
    program = f"""
class Card(models.Model):
    balance = models.IntegerField()

def charge(card, amount):
    card.balance -= amount
    card.save(update_fields=["balance"])

{chr(10).join(f"def step{n}():" + chr(10) + chr(10).join(f"    Card.objects.filter(balance={m}).exists()" for m in range(15)) for n in range(400))}

def settle(pk, amount):
{steps}
    with transaction.atomic():
        card = Card.objects.filter(pk=pk).select_for_update().get()
        charge(card, amount)
"""
    assert said(program) == []


def test_the_story_names_a_caller_that_somebody_calls() -> None:
    program = """
        class Shelf(models.Model):
            books = models.IntegerField()

        def put(shelf, count):
            shelf.books += count
            shelf.save(update_fields=["books"])

        def put_of_old(pk, count):
            put(Shelf.objects.get(pk=pk), count)

        def put_one(pk):
            put(Shelf.objects.get(pk=pk), 1)

        def view(request, pk):
            put_one(pk)
    """
    (finding,) = lint_bytes((HEAD + textwrap.dedent(program)).encode(), "app/models.py")
    assert [related.message for related in finding.related if related.role == "call"] == ["called without a guard in view()"]
