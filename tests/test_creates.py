"""RMW205: which creates are refused by a key, so that only the strict form is said."""
from __future__ import annotations

from pathlib import Path

from helpers import FIXTURES, lint_bytes
from noclobber import engine, verdict
from noclobber.config import Resolver

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


RELATED = """
from django.db import models


class Shelf(models.Model):
    room = models.CharField(max_length=20)


class Label(models.Model):
    shelf = models.ForeignKey(Shelf, on_delete=models.CASCADE, related_name="labels")
    colour = models.CharField(max_length=20)

    class Meta:
        unique_together = ("shelf", "colour")


class Tape(models.Model):
    room = models.CharField(max_length=20)
    name = models.CharField(max_length=20)
    width = models.IntegerField()

    class Meta:
        unique_together = ("room", "name")


def label(shelf, colour):
    if not shelf.labels.filter(colour=colour).exists():
        shelf.labels.create(colour=colour)


def missing(model, room, names):
    known = {each.name for each in model.objects.filter(room=room)}
    for name in set(names) - known:
        model.objects.create(room=room, name=name, width=len(name))


def tapes(room, names):
    missing(Tape, room, names)
"""


def test_the_class_of_a_relation_is_known_by_the_name_of_its_other_side() -> None:
    assert variants(RELATED)[0] == "constraint"
    assert variants(RELATED.replace('unique_together = ("shelf", "colour")', "pass"))[0] == ""
    assert variants(RELATED.replace('unique_together = ("shelf", "colour")', 'unique_together = ("code",)'))[0] == ""
    assert variants(RELATED.replace('unique_together = ("shelf", "colour")', 'unique_together = ("code",)\n        abstract = True'))[0] == ""


def test_the_class_that_all_callers_hand_in_and_the_columns_of_a_set_are_asked_for_a_key() -> None:
    assert variants(RELATED.replace('("room", "name")', '("room", "width")')).count("") == 1
    assert variants(RELATED + "\n\ndef others(room, names):\n    missing(Shelf, room, names)\n").count("") == 1


def test_a_command_that_an_operator_starts_lowers_the_confidence(tmp_path: Path) -> None:
    """One that sets something up, by its name, is run once; where something else calls the same code there is no doubt."""
    helper = "from shop.models import Kind\n\n\ndef add_kinds(names):\n    for name in names:\n        if not Kind.objects.filter(name=name).exists():\n            Kind.objects.create(name=name)\n"
    command = "from django.core.management.base import BaseCommand\n\nfrom shop.kinds import add_kinds\n\n\nclass Command(BaseCommand):\n    def handle(self, *args, **options):\n        add_kinds(options['names'])\n"
    files = {
        "pyproject.toml": "", "shop/__init__.py": "", "shop/kinds.py": helper,
        "shop/models.py": "from django.db import models\n\n\nclass Kind(models.Model):\n    name = models.CharField(max_length=20)\n",
    }

    def confidence(name: str, more: str = "") -> list[str]:
        root = tmp_path / name
        for path, text in {**files, f"shop/management/commands/{name}.py": command, "shop/views.py": more}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        config = Resolver({"preset": "strict", "preview": True, "min-confidence": "low"}, cwd=str(root)).for_path(str(root))
        run = engine.run([str(root)], config, jobs=1)
        return [finding.confidence for finding in verdict.settle(run.items).findings if finding.name == "check-then-create"]

    assert confidence("sync_kinds") == ["medium"]
    assert confidence("init_kinds") == ["low"]
    assert confidence("init_more_kinds", "from shop.kinds import add_kinds\n\n\ndef view(request):\n    add_kinds(request.POST['names'])\n") == ["high"]


def test_a_mapped_class_that_a_statement_inserts_into_is_asked_for_its_keys() -> None:
    text = """
from sqlalchemy import String, func, insert, select
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class Base(DeclarativeBase):
    pass


class Wiring(Base):
    __tablename__ = "wirings"
    agent_id: Mapped[str] = mapped_column(String, primary_key=True)
    tool_id: Mapped[str] = mapped_column(String, primary_key=True)


def wire(session, agent_id, tool_id):
    found = session.execute(select(func.count()).select_from(Wiring).where(Wiring.agent_id == agent_id, Wiring.tool_id == tool_id)).scalar()
    if found == 0:
        session.execute(insert(Wiring).values(agent_id=agent_id, tool_id=tool_id))
        session.commit()
"""
    assert variants(text) == ["constraint"]
    assert variants(text.replace("tool_id: Mapped[str] = mapped_column(String, primary_key=True)", "tool_id: Mapped[str] = mapped_column(String)").replace("agent_id: Mapped[str] = mapped_column(String, primary_key=True)", "agent_id: Mapped[str] = mapped_column(String)\n    number: Mapped[int] = mapped_column(primary_key=True)")) == [""]
