"""`noclobber prove`: what it writes runs as written, is red on the program as it is, and green on the fixed one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from noclobber import cli

PROGRAMS = Path(__file__).resolve().parent / "proof" / "programs"

SHOP = {
    "manage.py": 'import os\n\nos.environ.setdefault("DJANGO_SETTINGS_MODULE", "site_of.settings")\n',
    "site_of/__init__.py": "",
    "site_of/settings.py": '''\
SECRET_KEY = "none"
INSTALLED_APPS = ["shop"]
DATABASES = {"default": {"ENGINE": "django.db.backends.postgresql", "NAME": "live"}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
BONUS = 1
''',
    "shop/__init__.py": "",
    "shop/models.py": """\
from django.db import models


class Card(models.Model):
    code = models.CharField(max_length=20, unique=True)
    points = models.IntegerField(default=0)
    changed = models.DateTimeField(auto_now=True)

    def add(self, points: int) -> None:
        self.points += points
        self.save()
""",
    "shop/services.py": """\
from django.conf import settings

from shop.models import Card

BONUS = settings.BONUS


def add_points(code: str, points: int) -> int:
    card = Card.objects.get(code=code)
    card.points = card.points + points
    card.save()
    return points
""",
}


def proven(place: str, folder: Path) -> Path:
    """Write the test for a place in the working directory; its path."""
    file = folder / f"test_of_{Path(place.partition(':')[0]).stem}.py"
    assert cli.main(["prove", "--isolated", place, "-o", str(file)]) == 0
    return file


def run(*files: Path) -> dict[str, str]:
    """Run tests as somebody would, in a process without noclobber: name of the file → what its test said, "" where it passed."""
    report = files[0].parent / "report.xml"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *map(str, files)],
        cwd=files[0].parent,
        capture_output=True,
        text=True,
        timeout=120,
    )
    said = {}
    for case in ElementTree.parse(report).iter("testcase"):
        wrong = case.find("failure") if case.find("failure") is not None else case.find("error")
        said[case.get("classname", "").rpartition(".")[2]] = "" if wrong is None else f"{wrong.get('message')}\n{wrong.text}"
    assert set(said) == {file.stem for file in files}, done.stdout + done.stderr
    return said


def fix(path: Path) -> None:
    before = path.read_bytes()
    cli.main(["check", "--isolated", "--strict", "--fix", "--unsafe-fixes", "-q", str(path)])
    assert path.read_bytes() != before, "nothing was fixed"


def laid(folder: Path, files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.chdir(folder)


def red_then_green(folder: Path, places: dict[str, str], tests: Path) -> None:
    """`places`: place → the file whose fix must turn its test green."""
    files = [proven(place, tests) for place in places]
    for name, said in run(*files).items():
        assert "lost update: workers [0, 1] were not refused" in said, (name, said)
    for name in dict.fromkeys(places.values()):
        fix(folder / name)
    assert set(run(*files).values()) == {""}


def test_red_on_the_program_green_on_the_fixed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = {"stock_sqlite.py:8": "stock_sqlite.py", "wiki_sqlite.py:10": "wiki_sqlite.py", "turnstile_sqlalchemy.py:18": "turnstile_sqlalchemy.py"}
    laid(tmp_path, {name: (PROGRAMS / name).read_text() for name in places.values()}, monkeypatch)
    red_then_green(tmp_path, places, tmp_path)


@pytest.mark.parametrize(
    "place, fixed",
    [
        pytest.param("shop/models.py:11", "shop/models.py", id="method"),
        pytest.param("shop/services.py:11", "shop/services.py", id="function", marks=pytest.mark.services),
    ],
)
def test_an_app_of_django(place: str, fixed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model's own method in an app alone; in a project with settings a function that finds the row by another field than its key."""
    project = ("shop/services.py", "manage.py", "site_of/settings.py", "site_of/__init__.py")
    laid(tmp_path, {name: text for name, text in SHOP.items() if fixed == "shop/services.py" or name not in project}, monkeypatch)
    (tmp_path / "tests").mkdir()
    red_then_green(tmp_path, {place: fixed}, tmp_path / "tests")


# --- how the function comes to its store --------------------------------------------------------------------------------------

MODEL = """\
from sqlalchemy import Column, ForeignKey, Integer, MetaData, String, Table, create_engine, select, text
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, sessionmaker

engine = create_engine("postgresql+psycopg://nowhere/shop")
SessionLocal = sessionmaker(bind=engine)


class Base(DeclarativeBase):
    pass


class Shelf(Base):
    __tablename__ = "shelves"
    code: Mapped[str] = mapped_column(primary_key=True)
    owner_id: Mapped[int] = mapped_column(ForeignKey("owners.id"))
    label: Mapped[str] = mapped_column(String(40))
    books: Mapped[int] = mapped_column(default=0)


class Owner(Base):
    __tablename__ = "owners"
    id: Mapped[int] = mapped_column(primary_key=True)


"""
BOUND = MODEL.replace("postgresql+psycopg://nowhere/shop", "sqlite://")
SHAPES = {
    "opens its own connection": """\
import sqlite3

SCHEMA = "CREATE TABLE IF NOT EXISTS stock (id INTEGER PRIMARY KEY, quantity INTEGER NOT NULL, place TEXT NOT NULL, seen TEXT)"


class Stock:
    def __init__(self, path: str) -> None:
        self.db = sqlite3.connect(path, timeout=10)

    def receive(self, item: int, amount: int) -> None:
        quantity = self.db.execute("SELECT quantity FROM stock WHERE id = :id", {"id": item}).fetchone()[0]
        with self.db:
            self.db.execute("UPDATE stock SET quantity = :q WHERE id = :id", {"q": quantity + amount, "id": item})  # here
""",
    "rows by name, JSON, two tables": """\
import json
import sqlite3
from datetime import datetime


def note(db: sqlite3.Connection, ticket: int, text: str) -> None:
    row = db.execute("SELECT history, changed_at FROM tickets WHERE id = ?", (ticket,)).fetchone()
    history = json.loads(row["history"])
    history["notes"].append(text)
    db.execute("INSERT INTO audit (ticket, what) VALUES (?, ?)", (ticket, text))
    db.execute("UPDATE tickets SET history = ?, changed_at = ? WHERE id = ?", (json.dumps(history), datetime.now().isoformat(), ticket))  # here
    db.commit()
""",
    "a claim that answers with a value": """\
import sqlite3


def claim(cur, job_id, worker):
    cur.execute("SELECT state FROM jobs WHERE id = ?", (job_id,))
    state = cur.fetchone()[0]
    if state != "queued":
        return False
    cur.execute("UPDATE jobs SET state = 'running', worker = ? WHERE id = ?", (worker, job_id))  # here
    cur.connection.commit()
    return True
""",
    "a bound that both keep alone": """\
import sqlite3


def reserve(db: sqlite3.Connection, concert: int, seats: int) -> None:
    sold, room = db.execute("SELECT sold, room FROM concerts WHERE id = ?", (concert,)).fetchone()
    if sold + seats > room:
        raise ValueError("sold out")
    db.execute("UPDATE concerts SET sold = ? WHERE id = ?", (sold + seats, concert))  # here
    db.commit()
""",
    "the module's session maker": BOUND
    + """\
def shelve(code: str, books: int) -> None:
    with SessionLocal() as session:
        shelf = session.get(Shelf, code)
        shelf.books += books  # here
        session.commit()
""",
    "the module's engine": BOUND
    + """\
def shelve(code: str, books: int) -> None:
    with Session(engine) as session:
        shelf = session.scalars(select(Shelf).where(Shelf.code == code)).one()
        shelf.books = shelf.books + books  # here
        session.commit()
""",
    "an engine, and SQL text": """\
from sqlalchemy import Engine, text


def shelve(engine: Engine, code: str, books: int) -> None:
    with engine.begin() as connection:
        row = connection.execute(text("SELECT books FROM shelves WHERE code = :code"), {"code": code}).one()
        connection.execute(text("UPDATE shelves SET books = :books WHERE code = :code"), {"books": row.books + books, "code": code})  # here
""",
    "a table of Core": """\
from sqlalchemy import Column, Connection, Integer, MetaData, Table, select, update

shelves = Table("shelves", MetaData(), Column("id", Integer, primary_key=True), Column("books", Integer, nullable=False))


def shelve(connection: Connection, shelf: int, books: int) -> None:
    held = connection.scalar(select(shelves.c.books).where(shelves.c.id == shelf))
    connection.execute(update(shelves).where(shelves.c.id == shelf).values(books=held + books))  # here
    connection.commit()
""",
    "the record itself": BOUND
    + """\
def shelve(session: Session, shelf: Shelf, books: int) -> None:
    shelf.books += books  # here
    session.commit()
""",
    "a row that points to another, in no app": """\
from django.conf import settings
from django.db import models


class Branch(models.Model):
    name = models.CharField(max_length=40)


class Shelf(models.Model):
    branch = models.ForeignKey(Branch, on_delete=models.CASCADE)
    keeper = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    books = models.IntegerField()


def shelve(branch: Branch, shelf_id: int, books: int) -> None:
    shelf = Shelf.objects.get(branch=branch, id=shelf_id)
    shelf.books += books
    shelf.save()  # here
""",
    "what is looked for and then made": """\
from django.db import models


class Entry(models.Model):
    day = models.DateField()
    title = models.CharField(max_length=40)

    class Meta:
        app_label = "diary"


def enter(title: str) -> None:
    if not Entry.objects.filter(title=title).exists():
        Entry.objects.create(title=title, day="2030-01-01")  # here
""",
}


def shown(shapes: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests as written show the loss: the call is right, and the first row lets both workers write."""
    files = {f"shape{number}": SHAPES[shape] for number, shape in enumerate(shapes)}
    laid(folder, {f"{name}.py": text for name, text in files.items()}, monkeypatch)
    lines = {name: next(number for number, said in enumerate(text.split("\n"), 1) if said.endswith("# here")) for name, text in files.items()}
    found = run(*(proven(f"{name}.py:{line}", folder) for name, line in lines.items()))
    for (name, said), shape in zip(sorted(found.items(), key=lambda pair: int(pair[0].removeprefix("test_of_shape"))), shapes):
        assert "lost update: workers [0, 1] were not refused" in said, (shape, said)


def test_the_call_the_table_and_its_row_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown([shape for shape, text in SHAPES.items() if "django" not in text], tmp_path, monkeypatch)


@pytest.mark.parametrize("shape", [shape for shape, text in SHAPES.items() if "django" in text])
def test_the_same_in_django(shape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown([shape], tmp_path, monkeypatch)


# --- where it cannot --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "program, line, missing",
    [
        ("stock_psycopg", 9, "the store of receive() (stock_psycopg.py:9) is not at hand"),
        ("visits_redis", 7, "RMW105 blind-key-set: its store is not at hand"),
        ("payment_http", 14, "what it finds does not show in a table that two workers write"),
        ("member_django", 16, "the other writer is another function"),
        ("wallet_django", 15, "reads and writes in transaction.atomic(): SQLite refuses the second writer there"),
        ("price_sqlite", 7, "change_price() (price_sqlite.py:7)"),
        ("article_django", 15, "reads nothing before it writes"),
        ("tags_django", 16, "`Tag.name` is unique: the store refuses the second row"),
    ],
)
def test_it_says_what_is_missing(program: str, line: int, missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(PROGRAMS)
    assert cli.main(["prove", "--isolated", f"{program}.py:{line}"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and "noclobber: no test can be written: " in err and missing in err
    assert len(err.rstrip().split("\n")) == 2, "what is missing, and what to do"


REFUSED = {
    "asynchronous": ("async def f(db: sqlite3.Connection, key: int, n: int):", "f() is asynchronous or a generator"),
    "a parameter that nobody knows": (
        "def f(db: sqlite3.Connection, request, key: int, n: int):",
        "the parameter `request` of f(): no value for it is known (its type)",
    ),
    "a connection of the module": ("db = sqlite3.connect('x')\ndef f(key: int, n: int):", "takes no connection and opens none"),
    "inside a function": ("def g(db: sqlite3.Connection, key: int, n: int):\n  def f():", "f() is made inside g(): a test cannot call it"),
}


@pytest.mark.parametrize("head, missing", REFUSED.values(), ids=list(REFUSED))
def test_functions_that_no_test_can_call(
    head: str, missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    body = [
        '    (old,) = db.execute("SELECT n FROM t WHERE id = ?", (key,)).fetchone()',
        '    db.execute("UPDATE t SET n = ? WHERE id = ?", (old + n, key))',
        "    db.commit()",
    ]
    text = "\n".join(["import sqlite3", head, *body, "  f()" if "def g" in head else "", ""])
    laid(tmp_path, {"program.py": text}, monkeypatch)
    line = next(number for number, said in enumerate(text.split("\n"), 1) if "UPDATE" in said)
    assert cli.main(["prove", "--isolated", f"program.py:{line}"]) == 2
    assert missing in capsys.readouterr().err


def test_places_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    laid(tmp_path, {"stock_sqlite.py": (PROGRAMS / "stock_sqlite.py").read_text(), "taken.py": ""}, monkeypatch)
    assert cli.main(["prove", "--isolated", "stock_sqlite.py:6"]) == 0, "the line of the read"
    text = capsys.readouterr().out
    compile(text, "test", "exec")
    assert text.startswith('"""Does receive() lose an update? (stock_sqlite.py:8)\n')
    for place, said in (
        ("stock_sqlite.py:1", "no finding here, so nothing to prove; findings of this file stand on line 8"),
        ("stock_sqlite.py", "prove needs PATH:LINE"),
    ):
        assert cli.main(["prove", "--isolated", place]) == 2
        assert said in capsys.readouterr().err
    assert cli.main(["prove", "--isolated", "stock_sqlite.py:8", "-o", "taken.py"]) == 2
    assert "taken.py is there already" in capsys.readouterr().err and (tmp_path / "taken.py").read_text() == ""


def test_nothing_of_the_program_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    laid(tmp_path, {"program.py": "raise SystemExit('imported')\n" + SHAPES["a bound that both keep alone"]}, monkeypatch)
    assert cli.main(["prove", "--isolated", "program.py:9"]) == 0
