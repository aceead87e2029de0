"""RMW205: which creates are refused by a key, so that only the strict form is said."""
from __future__ import annotations

from helpers import FIXTURES, lint_bytes

FILE = FIXTURES / "check-then-create" / "access_keys_bad.py"


def variants(text: str) -> list[str]:
    return [finding.variant for finding in lint_bytes(text.encode(), "keys.py") if finding.name == "check-then-create"]


def test_a_key_over_what_was_looked_for_leaves_the_strict_form() -> None:
    assert variants(FILE.read_text(encoding="utf-8")) == ["constraint"] * 3


def test_without_the_key_two_are_created() -> None:
    """The same file with a plain index, a key that the database numbers by itself, and a row looked for by its code."""
    text = FILE.read_text(encoding="utf-8")
    text = text.replace("UniqueConstraint(", "Index(").replace("chat_id: str = Field(default=None, primary_key=True)", "id: int = Field(default=None, primary_key=True)\n    chat_id: str = \"\"")
    text = text.replace("FROM shops WHERE id = 1", "FROM shops WHERE code = 'default'")
    assert variants(text) == ["", "", ""]


def test_a_unique_column_may_stand_in_sa_column() -> None:
    text = FILE.read_text(encoding="utf-8").replace("UniqueConstraint(", "Index(").replace("String(128), nullable=False, index=True", "String(128), nullable=False, unique=True")
    assert variants(text) == ["constraint"] * 3


def test_a_row_looked_for_by_its_primary_key_is_there_once() -> None:
    """Also where the class declares no key: its ORM gives it one. `pk` is another name of the key, whatever that is called."""
    text = """
from django.db import models


class Tool(models.Model):
    name = models.CharField(max_length=50)


class Bin(models.Model):
    number = models.IntegerField(primary_key=True)
    name = models.CharField(max_length=50)


def tools(number, name):
    try:
        Tool.objects.get(pk=number)
    except Tool.DoesNotExist:
        Tool.objects.create(id=number, name=name)


def bins(number, name):
    if not Bin.objects.filter(pk=number).exists():
        Bin.objects.create(number=number, name=name)
"""
    assert variants(text) == ["constraint", "constraint"]
    assert variants(text.replace("Tool.objects.get(pk=number)", "Tool.objects.get(name=name)")) == ["", "constraint"]


def test_the_primary_key_of_a_table_may_have_several_columns() -> None:
    text = """
from sqlalchemy import Column, Integer, MetaData, String, Table, create_engine, insert, select

metadata = MetaData()
engine = create_engine("postgresql://shop")
marks = Table("marks", metadata, Column("project", String(20), primary_key=True), Column("name", String(20), primary_key=True), Column("value", Integer))


def note(project, value):
    with engine.begin() as conn:
        row = conn.execute(select(marks).where(marks.c.project == project, marks.c.name == "last")).first()
        if row is None:
            conn.execute(insert(marks).values({"project": project, "name": "last", "value": value}))
"""
    assert variants(text) == ["constraint"]
    assert variants(text.replace(', marks.c.name == "last"', "")) == [""]
