"""Settings: discovery, strict keys with their place, which rules are on."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from fakes import fake_rules, page  # noqa: F401

from noclobber import config
from noclobber.config import ConfigError, Resolver, Selection, Settings
from noclobber.config.places import locate, locate_item
from noclobber.config.versions import version_fits

pytestmark = pytest.mark.usefixtures("fake_rules")


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def failure(tmp_path: Path, text: str, name: str = "pyproject.toml", **options: object) -> str:
    write(tmp_path / name, text)
    with pytest.raises(ConfigError) as caught:
        Resolver(cwd=str(tmp_path), **options).for_path(".")  # type: ignore[arg-type]
    return str(caught.value)


# --- discovery --------------------------------------------------------------------------------------------------------


def test_nearest_file_counts_and_a_pyproject_without_the_table_is_skipped(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml", '[tool.noclobber]\nfail-on = "error"\n')
    write(tmp_path / "app" / "pyproject.toml", "[tool.black]\nline-length = 100\n")
    write(tmp_path / "lib" / "noclobber.toml", 'fail-on = "info"\n')
    resolver = Resolver(cwd=str(tmp_path))
    app = resolver.for_path("app/a.py")
    assert (app.settings.fail_on, app.root, app.file) == ("error", str(tmp_path), "pyproject.toml")
    assert app.origins == {"fail-on": "pyproject.toml:2"}
    lib = resolver.for_path("lib/deep/er/a.py")
    assert (lib.settings.fail_on, lib.root, lib.file) == ("info", str(tmp_path / "lib"), "lib/noclobber.toml")
    assert resolver.for_path("app/b.py") is app


@pytest.mark.parametrize("names", [(".noclobber.toml", "noclobber.toml", "pyproject.toml")])
def test_order_of_files_in_one_folder(tmp_path: Path, names: tuple[str, ...]) -> None:
    write(tmp_path / names[2], '[tool.noclobber]\nbaseline = "c"\n')
    assert Resolver(cwd=str(tmp_path)).for_path(".").settings.baseline == "c"
    write(tmp_path / names[1], 'baseline = "b"\n')
    assert Resolver(cwd=str(tmp_path)).for_path(".").settings.baseline == "b"
    write(tmp_path / names[0], '[tool.noclobber]\nbaseline = "a"\n')
    assert Resolver(cwd=str(tmp_path)).for_path(".").settings.baseline == "a"


def test_search_ends_at_the_repository(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml", '[tool.noclobber]\nfail-on = "error"\n')
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "src").mkdir()
    found = Resolver(cwd=str(tmp_path)).for_path("repo/src/a.py")
    assert (found.settings.fail_on, found.root, found.file) == ("warning", str(tmp_path / "repo"), "")


def test_without_any_file_the_working_directory_is_the_root(tmp_path: Path) -> None:
    assert Resolver(cwd=str(tmp_path)).for_path("x/y.py").root == str(tmp_path)


def test_isolated_and_named_file(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml", '[tool.noclobber]\nfail-on = "error"\n')
    other = write(tmp_path / "ci" / "strict.toml", 'preset = "strict"\n')
    assert Resolver(cwd=str(tmp_path), isolated=True).for_path(".").settings == Settings()
    named = Resolver(cwd=str(tmp_path), config_file="ci/strict.toml").for_path("a/b.py")
    assert (named.settings.preset, named.settings.fail_on, named.root) == ("strict", "warning", str(other.parent))
    with pytest.raises(ConfigError, match=r"^none\.toml: cannot read: No such file or directory$"):
        Resolver(cwd=str(tmp_path), config_file="none.toml")
    write(tmp_path / "other" / "pyproject.toml", "[project]\nname = 'noclobber'\n")
    with pytest.raises(ConfigError, match=r"^other/pyproject\.toml: the file has no table \[tool\.noclobber\]$"):
        Resolver(cwd=str(tmp_path), config_file="other/pyproject.toml")


def test_command_line_environment_file_default(tmp_path: Path) -> None:
    write(
        tmp_path / "noclobber.toml",
        'output-format = "json"\nfail-on = "error"\nignore = ["RMW101"]\nextend-exclude = ["a/"]\n',
    )
    environ = {"NOCLOBBER_OUTPUT_FORMAT": "concise"}
    found = Resolver(cwd=str(tmp_path), environ=environ).for_path(".")
    assert (found.settings.output_format, found.origins["output-format"]) == ("concise", "NOCLOBBER_OUTPUT_FORMAT")
    overrides = {"output-format": "full", "ignore": ["RMW5"], "extend-exclude": ["b/"]}
    found = Resolver(overrides, cwd=str(tmp_path), environ=environ).for_path(".")
    assert (found.settings.output_format, found.origins["output-format"]) == ("full", "--output-format")
    assert found.settings.fail_on == "error"
    assert found.settings.ignore == ("RMW101", "RMW5")
    assert found.settings.extend_exclude == ("a/", "b/")


def test_config_travels_to_workers(tmp_path: Path) -> None:
    write(tmp_path / "noclobber.toml", 'select = ["RMW1"]\n[per-file-ignores]\n"x.py" = ["RMW101"]\n')
    found = Resolver(cwd=str(tmp_path)).for_path(".")
    assert found.selected and found.ignored(str(tmp_path / "x.py"), "RMW101", "blind-sql-update")
    copy = pickle.loads(pickle.dumps(found))
    assert copy == found
    assert copy.selected == found.selected


# --- mistakes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[tool.noclobber]\nmin-confidance = "low"\n',
            "pyproject.toml:2:1: unknown key `min-confidance` in [tool.noclobber]; did you mean `min-confidence`?",
        ),
        ("[tool.noclobber]\nzzz = 1\n", "pyproject.toml:2:1: unknown key `zzz` in [tool.noclobber]"),
        (
            "[tool.black]\nx = 1\n[tool.noclobber.severty]\nRMW101 = 'info'\n",
            "pyproject.toml:3:1: unknown key `severty` in [tool.noclobber]; did you mean `severity`?",
        ),
        ("[tool.noclobber]\npreview = 'yes'\n", "pyproject.toml:2:1: `preview` must be true or false"),
        ("[tool.noclobber]\nselect = 'RMW1'\n", "pyproject.toml:2:1: `select` must be a list of strings"),
        ("[tool.noclobber]\nfail-on = 3\n", "pyproject.toml:2:1: `fail-on` must be a string"),
        (
            "[tool.noclobber]\nfail-on = 'eror'\n",
            "pyproject.toml:2:1: `fail-on` must be one of error, warning, info, never, not `eror`;"
            " did you mean `error`?",
        ),
        (
            "[tool.noclobber]\npreset = 'recommended'\nselect = [\n  'RMW1',\n  'orm-ful-save',  # x\n]\n",
            "pyproject.toml:5:3: unknown rule `orm-ful-save` in `select`; did you mean `orm-full-save`?",
        ),
        ("[tool.noclobber]\nselect = ['RMW8']\n", "pyproject.toml:2:11: unknown rule `RMW8` in `select`"),
        (
            "[tool.noclobber]\nignore = ['RMW001']\n",
            "pyproject.toml:2:11: no file that could not be analysed can be ignored; exclude the file instead (RMW001)",
        ),
        (
            "[tool.noclobber.severity]\n'RMW101' = 'note'\n",
            "pyproject.toml:2:1: `severity` must be one of info, warning, error, not `note`",
        ),
        (
            "[tool.noclobber.per-file-ignores]\n'a/**' = ['RMW1']\n'b/**' = ['RMW1O1']\n",
            "pyproject.toml:3:11: unknown rule `RMW1O1` in `per-file-ignores`; did you mean `RMW101`?",
        ),
        (
            "[tool.noclobber.per-file-ignores]\n'b/**' = 'RMW1'\n",
            "pyproject.toml:2:1: `b/**` of `per-file-ignores` must be a list of strings",
        ),
        (
            "[tool.noclobber]\nstore = 1\n",
            "pyproject.toml:2:1: `store` must be an array of tables: [[tool.noclobber.store]]",
        ),
        ("[tool.noclobber]\nrequired-version = '>=99'\n", "pyproject.toml:2:1: noclobber >=99 is required, this is "),
        (
            "[tool.noclobber]\nrequired-version = 'new'\n",
            "pyproject.toml:2:1: `required-version` is no version specifier: `new`",
        ),
        ("[tool.noclobber]\nselect = [\n", "pyproject.toml:3:1: not TOML: "),
        ("[tool.noclobber]\nselect = = 1\n", "pyproject.toml:2:10: not TOML: invalid value"),
        ("[tool]\nnoclobber = 1\n", "pyproject.toml:2:1: `tool.noclobber` must be a table"),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path: Path, text: str, message: str) -> None:
    told = failure(tmp_path, text)
    assert told.startswith(message)
    if not message.endswith((": ", "is ")):
        assert told == message


def test_mistakes_in_a_file_of_our_own(tmp_path: Path) -> None:
    assert (
        failure(tmp_path, "# x\n\nslect = []\n", "noclobber.toml")
        == "noclobber.toml:3:1: unknown key `slect`; did you mean `select`?"
    )


def test_mistake_on_the_command_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        Resolver({"select": ["RMW101", "stale-retri"]}, cwd=str(tmp_path))
    assert str(caught.value) == "unknown rule `stale-retri` in option `--select`; did you mean `stale-retry`?"
    with pytest.raises(ConfigError) as caught:
        Resolver({"output-format": "pdf"}, cwd=str(tmp_path))
    assert str(caught.value) == "option `--output-format` must be one of full, concise, grouped, json, jsonl, sarif, github, gitlab, junit, rdjson, html, not `pdf`"
    with pytest.raises(ConfigError, match="environment variable NOCLOBBER_OUTPUT_FORMAT must be one of"):
        Resolver(cwd=str(tmp_path), environ={"NOCLOBBER_OUTPUT_FORMAT": "xml"})


TOML = '''\
a = """
b = 1
"""
c = [  # [x]
  "]", 'q',
]
"quoted key" = 2
d.e = 3
[t.u]
k = {inner = 1}
[[r]]
n = 1
  [[r]]
  n = 2
[r.sub]
m = 1
'''


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        (("a",), (1, 1)),
        (("c",), (4, 1)),
        (("quoted key",), (7, 1)),
        (("d", "e"), (8, 1)),
        (("t", "u"), (9, 1)),
        (("t", "u", "k"), (10, 1)),
        (("t", "u", "k", "inner"), (10, 1)),
        (("r", 0), (11, 1)),
        (("r", 1), (13, 3)),
        (("r", 1, "n"), (14, 3)),
        (("r", 1, "sub", "m"), (16, 1)),
        (("b",), (0, 0)),
        (("nowhere",), (0, 0)),
    ],
)
def test_locate(keys: tuple, place: tuple[int, int]) -> None:
    assert locate(TOML, keys) == place


def test_locate_item() -> None:
    assert locate_item(TOML, ("c",), "q") == (5, 8)
    assert locate_item(TOML, ("c",), "zz") is None


@pytest.mark.parametrize(
    ("version", "wanted", "fits"),
    [
        ("0.4.1", ">=0.4,<0.5", True),
        ("0.5.0", ">=0.4,<0.5", False),
        ("0.4", "==0.4.0", True),
        ("0.4.9", "==0.4.*", True),
        ("0.5", "==0.4.*", False),
        ("0.4.9", "!=0.4.*", False),
        ("0.4.2", "~=0.4.1", True),
        ("0.5.0", "~=0.4.1", False),
        ("1.0rc1", "<1.0", True),
        ("1.0", ">1.0rc1", True),
        ("1.0.dev1", "<1.0a1", True),
        ("1.0.post1", ">1.0", True),
        ("1.0", "1.0", True),
        ("0.10", ">0.9", True),
    ],
)
def test_version_fits(version: str, wanted: str, fits: bool) -> None:
    assert version_fits(version, wanted) is fits


@pytest.mark.parametrize("wanted", ["new", ">=", "", "~=1", ">=0.4,"])
def test_version_specifiers_that_are_none(wanted: str) -> None:
    with pytest.raises(ValueError):
        version_fits("0.1.0", wanted)


# --- which rules are on -----------------------------------------------------------------------------------------------


def codes(tmp_path: Path, overrides: dict | None = None, text: str = "") -> str:
    write(tmp_path / "noclobber.toml", text)
    found = Resolver(overrides, cwd=str(tmp_path)).for_path(".")
    return " ".join(
        sorted(
            code[3:]
            for code in (config.knowledge.load().pages[slug].code for slug in found.selected)
            if not code.startswith("RMW0")
        )
    )


DEFAULT = "101 106 204 301 401 404 501 601"


@pytest.mark.parametrize(
    ("overrides", "text", "on"),
    [
        ({}, "", DEFAULT),
        ({"preview": True}, "", "101 106 107 204 301 401 404 501 601"),
        ({"preset": "strict"}, "", "101 106 110 204 301 401 404 501 601"),
        ({"preset": "strict", "preview": True}, "", "101 106 107 109 110 204 301 401 404 501 601"),
        ({"select": ["RMW1"]}, "", "101 106 109 110"),
        ({"select": ["blind-file-rewrite"]}, "", "109"),
        ({"select": ["ALL"], "ignore": ["RMW1"]}, "", "204 301 401 404 501 601"),
        ({"select": ["RMW1"], "ignore": ["RMW10"]}, "", "110"),
        ({"extend-select": ["RMW109"]}, "", "101 106 109 204 301 401 404 501 601"),
        ({"ignore": ["ALL"], "extend-select": ["RMW301"]}, "", "301"),
        ({"ignore": ["stale-retry", "RMW4"]}, "", "101 106 204 301 501 601"),
        ({"select": ["RMW101"], "ignore": ["RMW101"]}, "", ""),
        ({"select": ["RMW101"]}, 'ignore = ["RMW101"]\nselect = ["RMW5"]', "101"),
        ({"select": ["RMW1"]}, 'ignore = ["RMW106"]', "101 109 110"),
        ({"ignore": ["RMW1"]}, 'extend-select = ["RMW109"]', "109 204 301 401 404 501 601"),
        ({"select": ["RMW107"]}, "", ""),
    ],
)
def test_selection(tmp_path: Path, overrides: dict, text: str, on: str) -> None:
    assert codes(tmp_path, overrides, text) == on


def test_a_variant_may_be_on_where_its_page_is_off(tmp_path: Path) -> None:
    selection = Resolver(cwd=str(tmp_path)).for_path(".").selection
    assert selection.on("orm-full-save", "recommended") and not selection.on("orm-full-save", "strict")
    selection = Resolver({"select": ["RMW204"]}, cwd=str(tmp_path)).for_path(".").selection
    assert selection.on("orm-full-save", "recommended") and selection.on("orm-full-save", "strict")


def test_a_rule_that_is_right_too_seldom_is_held_back_and_said_so(tmp_path: Path) -> None:
    selection = Resolver({"select": ["RMW107", "RMW1"]}, cwd=str(tmp_path)).for_path(".").selection
    assert selection.held_back == (("RMW107", "check-then-act"),)
    assert not config.distrusted(page("RMW1", "x", "write", trust={"right": 9, "wrong": 1}))
    assert config.distrusted(page("RMW1", "x", "write", trust={"right": 17, "wrong": 2}))
    assert config.distrusted(page("RMW1", "x", "write", trust={"right": 5, "wrong": 2}))
    assert config.distrusted(page("RMW1", "x", "write", trust={"right": 7, "wrong": 1}))
    assert not config.distrusted(page("RMW1", "x", "write", trust={"right": 6, "wrong": 1}))
    assert not config.distrusted(page("RMW1", "x", "write", trust={"right": 0, "wrong": 1}))


def test_require_reason_turns_its_rule_on(tmp_path: Path) -> None:
    assert "suppression-without-reason" not in Resolver(cwd=str(tmp_path)).for_path(".").selected
    assert "suppression-without-reason" in Resolver({"require-reason": True}, cwd=str(tmp_path)).for_path(".").selected
    assert (
        "suppression-without-reason"
        not in Resolver({"require-reason": True, "ignore": ["RMW003"]}, cwd=str(tmp_path)).for_path(".").selected
    )


@pytest.mark.parametrize("ignored", [["RMW"], ["RMW0"], ["ALL"], ["RMW00"]])
def test_files_that_could_not_be_analysed_cannot_be_ignored(tmp_path: Path, ignored: list[str]) -> None:
    found = Resolver({"ignore": ignored, "per-file-ignores": {"*": ["ALL"]}}, cwd=str(tmp_path)).for_path(".")
    assert {"unparsable-file", "internal-error"} <= found.selected
    assert not found.ignored(str(tmp_path / "a.py"), "RMW001", "unparsable-file")
    assert found.ignored(str(tmp_path / "a.py"), "RMW101", "blind-sql-update")


def test_per_file_ignores_are_relative_to_the_file_of_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "noclobber.toml", '[per-file-ignores]\n"scripts/*.py" = ["RMW1"]\n"gen/**" = ["stale-retry"]\n')
    (tmp_path / "scripts").mkdir()
    monkeypatch.chdir(tmp_path / "scripts")
    found = Resolver().for_path("a.py")
    assert found.ignored("a.py", "RMW101", "blind-sql-update")
    assert not found.ignored("a.py", "RMW401", "stale-retry")
    assert not found.ignored("../a.py", "RMW101", "blind-sql-update")
    assert found.ignored("../gen/x/y.py", "RMW401", "stale-retry")


def test_closest_severity_wins(tmp_path: Path) -> None:
    write(tmp_path / "noclobber.toml", '[severity]\nRMW1 = "info"\nblind-sql-update = "warning"\nALL = "error"\n')
    found = Resolver(cwd=str(tmp_path)).for_path(".")
    assert found.severity_of("RMW101", "blind-sql-update") == "warning"
    assert found.severity_of("RMW106", "blind-accessor-write") == "info"
    assert found.severity_of("RMW401", "stale-retry") == "error"
    assert found.severity_of("RMW001", "unparsable-file") == ""
    assert Resolver(cwd=str(tmp_path), isolated=True).for_path(".").severity_of("RMW101", "blind-sql-update") == ""


def test_one_table_drives_everything() -> None:
    assert set(config.SETTINGS) == {name.replace("_", "-") for name in Settings.__dataclass_fields__}
    for row in config.SETTINGS.values():
        assert row.help and row.default == getattr(Settings(), row.name)
        if row.kind == "choice":
            assert row.default in row.choices


def test_selection_of_no_rules_at_all() -> None:
    assert Selection({}, "recommended", False, False, ()).rules == frozenset()


def test_user_tables_reach_the_vocabulary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    text = '[tool.noclobber]\nvocabulary = ["more.toml"]\n\n[[tool.noclobber.store]]\nid = "ledger"\n'
    text += 'types = ["shop.Ledger"]\nread = ["load(a: key) -> value"]\n'
    write(tmp_path / "pyproject.toml", text)
    write(tmp_path / "more.toml", '[[store]]\nid = "box"\ntypes = ["shop.Box"]\nread = ["peek(a: key) -> value"]\n')
    found = Resolver(cwd=str(tmp_path)).for_path(".")
    assert found.has_user_vocabulary
    assert len(found.vocabulary.methods("shop.Ledger", "load")) == 1
    assert len(found.vocabulary.methods("shop.Box", "peek")) == 1
    assert len(pickle.loads(pickle.dumps(found)).vocabulary.methods("shop.Ledger", "load")) == 1
    more = text.replace("[[tool", '[tool.noclobber.patterns]\nlocking_reader = ["grab_*"]\n[[tool')
    write(tmp_path / "pyproject.toml", more)
    found = Resolver(cwd=str(tmp_path)).for_path(".")
    assert found.vocabulary.match("locking_reader", "grab_row")
    assert pickle.loads(pickle.dumps(found)).vocabulary.match("locking_reader", "grab_row")
    write(tmp_path / "pyproject.toml", text.replace("read = ", "raed = "))
    with pytest.raises(config.knowledge.KnowledgeError) as caught:
        Resolver(cwd=str(tmp_path)).for_path(".").vocabulary  # noqa: B018
    assert str(caught.value).startswith("pyproject.toml:7: ") and "raed" in str(caught.value)
