"""Which file an import names, what a name comes to after re-exports, and triage over several modules."""
from __future__ import annotations

import os
from pathlib import Path

import pytest

from noclobber import knowledge, triage
from noclobber.engine import project_root
from noclobber.config import Resolver
from noclobber.project import Project
from noclobber.survey import Survey


def tree(root: Path, **files: str) -> Project:
    """A project of these files: `a__b` is a/b.py, `a__` is a/__init__.py."""
    for name, text in files.items():
        path = root / (name[:-2].replace("__", "/") + "/__init__.py" if name.endswith("__") else name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    vocabulary = knowledge.load().vocabulary
    return Project(str(root), digest=lambda source, parsed, index: triage.read(parsed, index, vocabulary))


def made(project: Project, path: str, target: str) -> str | None:
    """'module:name' that an import target of a file comes to."""
    entry = project.entry(os.path.join(project.root, path))
    assert entry is not None
    found = project.follow(entry, target)
    return None if found is None else f"{found[0].name}:{found[1]}"


PACKAGE = {"shop__": "from .models import Item\n", "shop__models": "class Item: pass\nLIMIT = 3\n", "shop__views": "from . import models\n"}


@pytest.mark.parametrize("path, target, found", [
    ("shop/views.py", "shop.models.Item", "shop.models:Item"),
    ("shop/views.py", ".models.Item", "shop.models:Item"),
    ("shop/views.py", ".", "shop:"),
    ("shop/views.py", "shop.Item", "shop.models:Item"),  # re-exported by the package
    ("shop/views.py", "shop.models", "shop.models:"),
    ("shop/views.py", "shop.models.Nothing", None),
    ("shop/views.py", "models.Item", None),  # inside a package only absolute and relative names are found
    ("shop/views.py", "json.models", None),
    ("script.py", "shop.models.LIMIT", "shop.models:LIMIT"),
    ("tools/run.py", "shop.Item", "shop.models:Item"),  # from the project's root
])
def test_what_an_import_comes_to(tmp_path: Path, path: str, target: str, found: str | None) -> None:
    project = tree(tmp_path, **PACKAGE, script="import shop\n", tools__run="import shop\n")
    assert made(project, path, target) == found


def test_a_package_without_init_around_the_file(tmp_path: Path) -> None:
    """`import shop…` in shop/a/b/views.py means the directory around it, also where no project's root is known."""
    tree(tmp_path, shop__deep__models="class Item: pass\n", shop__a__b__views="from shop.deep.models import Item\n", other__models="class Item: pass\n")
    project = Project("")
    entry = project.entry(str(tmp_path / "shop" / "a" / "b" / "views.py"))
    assert entry is not None
    found = project.follow(entry, "shop.deep.models.Item")
    assert found is not None and (found[0].path, found[1]) == (str(tmp_path / "shop" / "deep" / "models.py"), "Item")
    assert project.follow(entry, "other.models.Item") is None
    assert project.imports_ours(entry.path, b"from shop.deep.models import Item\n")


def test_stars_that_go_round(tmp_path: Path) -> None:
    project = tree(tmp_path, a__="from .b import *\n", a__b="from .c import *\n", a__c="from .b import *\nfrom .d import *\n", a__d="def f(): pass\n")
    assert made(project, "a/b.py", "a.f") == "a.d:f"
    assert made(project, "a/b.py", "a.g") is None


def test_a_name_that_grows(tmp_path: Path) -> None:
    """`from a.b import b` in `a` itself, where there is no module `a.b`: the name gets longer with each step."""
    project = tree(tmp_path, a__="from a.b import b\n", use="from a import b\n")
    assert project.follow(project.entry(str(tmp_path / "use.py")), "a.b") is None


def test_a_name_of_the_package_hides_its_module(tmp_path: Path) -> None:
    project = tree(tmp_path, a__="from .session import session\n", a__session="session = make()\n", a__use="from a import session\n")
    assert made(project, "a/use.py", "a.session") == "a.session:session"


def test_a_src_folder_beside(tmp_path: Path) -> None:
    project = tree(tmp_path, src__lib__="X = 1\n", scripts__go="import lib\n")
    assert made(project, "scripts/go.py", "lib.X") == "lib:X"


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text("X = 1\n")
    root = tmp_path / "project"
    project = tree(root, use="import secret\n")
    (root / "secret.py").symlink_to(outside / "secret.py")
    (root / "lib").symlink_to(outside)
    assert made(project, "use.py", "secret.X") is None
    assert made(project, "use.py", "lib.secret.X") is None


def test_two_modules_of_one_name_stay_apart(tmp_path: Path) -> None:
    project = tree(tmp_path, one__app__="X = 1\n", one__run="import app\n", two__app__="Y = 1\n", two__run="import app\n")
    assert made(project, "one/run.py", "app.X") == "app:X"
    found = project.follow(project.entry(str(tmp_path / "two" / "run.py")), "app.Y")
    assert found is not None and (found[0].path, found[1]) == (str(tmp_path / "two" / "app" / "__init__.py"), "Y")


def test_a_buffer_stands_in_for_the_file(tmp_path: Path) -> None:
    project = tree(tmp_path, a="X = 1\n", b="import a\n")
    path = str(tmp_path / "a.py")
    assert project.accepts(path, b"Y = 1\n")
    assert made(project, "b.py", "a.Y") == "a:Y"
    assert not project.accepts(path, b"Z = 1\n")


def test_project_root(tmp_path: Path) -> None:
    (tmp_path / "app" / "pkg").mkdir(parents=True)
    config = Resolver({}, isolated=True, cwd=str(tmp_path)).for_path(str(tmp_path))
    inside = str(tmp_path / "app" / "pkg")
    assert project_root(config, inside) == ""
    (tmp_path / "app" / "setup.py").write_text("")
    assert project_root(config, inside) == str(tmp_path / "app")


# --- triage over modules --------------------------------------------------------------------------------------------------------

MODELS = "from django.db import models\nclass Item(models.Model):\n    n = models.IntegerField()\n"
TWINS = {
    "all in one": {"use": "from models import Item\ndef f(pk):\n    item = Item.objects.get(pk=pk)\n    item.n += 1\n    item.save()\n"},
    "the read elsewhere": {"store": "from models import Item\ndef load(pk): return Item.objects.get(pk=pk)\n",
                           "use": "from store import load\ndef f(pk):\n    item = load(pk)\n    item.n += 1\n    item.save()\n"},
    "the write elsewhere": {"store": "def keep(item): item.save()\n",
                            "use": "from models import Item\nfrom store import keep as k\ndef f(pk):\n    item = Item.objects.get(pk=pk)\n    item.n += 1\n    k(item)\n"},
    "both elsewhere": {"reader": "from models import Item\ndef load(pk): return Item.objects.get(pk=pk)\n",
                       "writer": "def raise_(item):\n    item.n += 1\n    item.save()\n",
                       "use": "import reader, writer\ndef f(pk): writer.raise_(reader.load(pk))\n"},
    "through a class": {"store": "from models import Item\nclass Store:\n    def load(self, pk): return Item.objects.get(pk=pk)\n    def keep(self, item): item.save()\n",
                        "use": "from store import Store\ndef f(pk):\n    store = Store()\n    item = store.load(pk)\n    item.n += 1\n    store.keep(item)\n"},
    "through a base": {"base": "class Keeps:\n    def keep(self, item): item.save()\n",
                       "use": "from base import Keeps\nfrom models import Item\nclass S(Keeps):\n    def f(self, pk):\n        item = Item.objects.get(pk=pk)\n        item.n += 1\n        self.keep(item)\n"},
}


def test_helpers_of_a_manager_that_share_the_work(tmp_path: Path) -> None:
    """A look and a create in two methods of one manager: the create's method, which reads too, does not excuse their caller."""
    project = tree(
        tmp_path,
        managers="from django.db import models\nfrom kinds import Kind\nclass Tags(models.Manager):\n    def get_for(self, name): return self.filter(name=name)\n"
                 "    def create_for(self, name): return self.create(name=name, kind=Kind.objects.get(pk=1))\n",
        kinds="from django.db import models\nclass Kind(models.Model): pass\n",
        models="from django.db import models\nfrom managers import Tags\nclass Tag(models.Model):\n    objects = Tags()\n",
        use="from models import Tag\ndef f(name):\n    if not Tag.objects.get_for(name).exists():\n        Tag.objects.create_for(name)\n")
    loaded = knowledge.load()
    survey = Survey(project, loaded.vocabulary, [page for page in loaded.pages.values() if page.slug == "check-then-create"])
    entry = project.entry(str(tmp_path / "use.py"))
    assert entry is not None
    assert survey.triage(entry).roots == ("f",)


@pytest.mark.parametrize("files", TWINS.values(), ids=TWINS)
def test_twins_have_a_root(tmp_path: Path, files: dict) -> None:
    project = tree(tmp_path, models=MODELS, **files)
    loaded = knowledge.load()
    survey = Survey(project, loaded.vocabulary, [page for page in loaded.pages.values() if page.slug == "orm-increment"])
    entry = project.entry(str(tmp_path / "use.py"))
    assert entry is not None
    assert [name.rpartition(".")[2] for name in survey.triage(entry).roots] == ["f"]


def test_a_caller_of_the_whole_thing_is_no_root(tmp_path: Path) -> None:
    """Where another module brings all kinds, its own scope is the root."""
    project = tree(tmp_path, models=MODELS, store=TWINS["all in one"]["use"], use="from store import f\ndef g(pk): f(pk)\n")
    loaded = knowledge.load()
    survey = Survey(project, loaded.vocabulary, [page for page in loaded.pages.values() if page.slug == "orm-increment"])
    use, store = (project.entry(str(tmp_path / name)) for name in ("use.py", "store.py"))
    assert use is not None and store is not None
    assert (survey.triage(use).roots, survey.triage(store).roots) == ((), ("f",))


def test_the_order_of_the_questions_does_not_matter(tmp_path: Path) -> None:
    files = {"models": MODELS, **TWINS["both elsewhere"]}
    loaded = knowledge.load()
    pages = [page for page in loaded.pages.values() if page.needs]
    answers = []
    for order in (sorted(files), sorted(files, reverse=True)):
        project = tree(tmp_path, **files)
        survey = Survey(project, loaded.vocabulary, pages)
        found = {}
        for name in order:
            entry = project.entry(str(tmp_path / f"{name}.py"))
            assert entry is not None
            found[name] = (survey.triage(entry).roots, survey.triage(entry).kinds)
        answers.append(found)
    assert answers[0] == answers[1]


def test_beyond_the_nearest_modules_the_order_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that sees only a part of what its imports lead to sees the same part whoever was asked before."""
    monkeypatch.setattr("noclobber.project.MAX_CLOSURE", 3)
    monkeypatch.setattr("noclobber.survey.MAX_CLOSURE", 3)
    load = "from shop.models import Item\ndef load(pk): return Item.objects.get(pk=pk)\n"
    files = {"a": "from b import two\ndef one(pk): two(pk)\n", "b": "from c import three\ndef two(pk): three(pk)\n",
             "c": "from d import four\ndef three(pk): four(pk)\n", "d": "from e import load\ndef four(pk):\n    item = load(pk)\n    item.n += 1\n    item.save()\n",
             "e": load}
    answers = []
    for number, order in enumerate(("abcde", "edcba", "cadbe")):
        project = tree(tmp_path / str(number), **files)
        vocabulary = knowledge.load().vocabulary
        survey = Survey(project, vocabulary, [page for page in knowledge.load().pages.values() if page.needs])
        found = {name: survey.triage(project.entry(os.path.join(project.root, f"{name}.py"))) for name in order}
        answers.append({name: (found[name].roots, found[name].kinds) for name in "abcde"})
    assert answers[0] == answers[1] == answers[2]
    assert answers[0]["d"][0] == ("four",)
