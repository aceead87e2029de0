"""`noclobber prove`: what it writes runs as written, is red on the program as it is, and green on the fixed one."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from noclobber import cli

PROGRAMS = Path(__file__).resolve().parent / "proof" / "programs"

SHOP = {
    "shop/__init__.py": "",
    "shop/models.py": '''\
from django.db import models


class Card(models.Model):
    code = models.CharField(max_length=20, unique=True)
    points = models.IntegerField(default=0)
    changed = models.DateTimeField(auto_now=True)

    def add(self, points: int) -> None:
        self.points += points
        self.save()
''',
    "shop/services.py": '''\
from shop.models import Card


def add_points(code: str, points: int) -> int:
    card = Card.objects.get(code=code)
    card.points = card.points + points
    card.save()
    return points
''',
}


def proven(place: str, folder: Path, *options: str) -> Path:
    """Write the test for a place in the working directory; its path."""
    file = folder / "test_proof.py"
    assert cli.main(["prove", "--isolated", place, "-o", str(file), *options]) == 0
    return file


def run(file: Path) -> tuple[int, str]:
    """Run the test as somebody would, in a process of its own, without noclobber in sight."""
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)], cwd=file.parent, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def fix(path: Path) -> None:
    before = path.read_bytes()
    cli.main(["check", "--isolated", "--strict", "--fix", "--unsafe-fixes", "-q", str(path)])
    assert path.read_bytes() != before, "nothing was fixed"


def laid(folder: Path, files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.chdir(folder)


@pytest.mark.parametrize("program, line", [("stock_sqlite", 8), ("wiki_sqlite", 10), ("turnstile_sqlalchemy", 18), ("loyalty_django", 16)])
def test_red_on_the_program_green_on_the_fixed_one(program: str, line: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    laid(tmp_path, {f"{program}.py": (PROGRAMS / f"{program}.py").read_text()}, monkeypatch)
    file = proven(f"{program}.py:{line}", tmp_path)
    code, said = run(file)
    assert code == 1 and "lost update: workers [0, 1] were not refused" in said, said
    fix(tmp_path / f"{program}.py")
    code, said = run(file)
    assert code == 0 and "1 passed" in said, said


@pytest.mark.parametrize("place, fixed", [("shop/models.py:11", "shop/models.py"), ("shop/services.py:7", "shop/services.py")])
def test_an_app_of_django(place: str, fixed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model's own method, and a function elsewhere that finds the row by another field than its key."""
    laid(tmp_path, SHOP, monkeypatch)
    (tmp_path / "tests").mkdir()
    file = proven(place, tmp_path / "tests")
    code, said = run(file)
    assert code == 1 and "lost update: workers [0, 1] were not refused" in said, said
    fix(tmp_path / fixed)
    code, said = run(file)
    assert code == 0 and "1 passed" in said, said
