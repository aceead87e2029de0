"""Which files are looked at."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from noclobber.config import Resolver
from noclobber.files import Collected, collect, display, read_list


def tree(root: Path, *names: str, **texts: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            path.mkdir(exist_ok=True)
        else:
            path.write_text("")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def found(root: Path, *paths: str, **overrides: object) -> Collected:
    return collect(
        paths or (".",), Resolver({key.replace("_", "-"): value for key, value in overrides.items()}, cwd=str(root))
    )


def names(root: Path, *paths: str, **overrides: object) -> list[str]:
    return [item.path for item in found(root, *paths, **overrides).files]


def test_walk_takes_python_files_and_leaves_the_default_excludes(tmp_path: Path) -> None:
    tree(
        tmp_path,
        "a.py",
        "b.pyi",
        "c.txt",
        "script",
        "src/z.py",
        "src/y.py",
        "tests/t.py",
        "src/test_a.py",
        "src/a_test.py",
        "src/conftest.py",
        "app/migrations/0001.py",
        "alembic/versions/1.py",
        "db/alembic/versions/1.py",
        "alembic/env.py",
        "versions/v.py",
        "vendor/v.py",
        "vendored/v.py",
        "third_party/x.py",
        "node_modules/n.py",
        ".venv/l.py",
        "venv/l.py",
        "myenv/pyvenv.cfg",
        "myenv/lib/l.py",
        "build/b.py",
        "dist/d.py",
        ".tox/t.py",
        ".nox/t.py",
        "src/__pycache__/c.py",
        "lib/site-packages/s.py",
        "proto/x_pb2.py",
        "proto/x.py",
        "testing/t.py",
        "contest.py",
    )
    assert names(tmp_path) == [
        "a.py",
        "alembic/env.py",
        "contest.py",
        "proto/x.py",
        "src/y.py",
        "src/z.py",
        "testing/t.py",
        "versions/v.py",
    ]


def test_a_named_folder_is_read_whatever_it_is_called(tmp_path: Path) -> None:
    tree(
        tmp_path, "tests/fixtures/a.py", "tests/fixtures/tests/b.py", "tests/c.py", "tests/test_d.py", "migrations/e.py"
    )
    assert names(tmp_path, "tests/fixtures") == ["tests/fixtures/a.py"]
    assert names(tmp_path, "tests") == ["tests/c.py", "tests/fixtures/a.py"]
    assert names(tmp_path, "migrations") == ["migrations/e.py"]
    assert names(tmp_path / "tests") == ["c.py", "fixtures/a.py"]
    assert names(tmp_path, "tests", force_exclude=True) == []


def test_a_named_folder_outside(tmp_path: Path) -> None:
    tree(tmp_path, "work/", "tests/other/a.py", "tests/other/tests/b.py")
    assert names(tmp_path / "work", "../tests/other") == [f"{tmp_path}/tests/other/a.py"]


@pytest.mark.parametrize("name", ["script", "tests/t.py", "notes.txt", "x_pb2.py", ".venv/a.py"])
def test_a_named_file_is_always_read(tmp_path: Path, name: str) -> None:
    tree(tmp_path, name)
    assert names(tmp_path, name) == [name]


def test_force_exclude_counts_for_named_files(tmp_path: Path) -> None:
    tree(tmp_path, "tests/t.py", "src/a.py", "gen/x/b.py", "src/tests.py")
    write(tmp_path / "noclobber.toml", 'extend-exclude = ["gen/x/"]\nforce-exclude = true\n')
    result = found(tmp_path, "tests/t.py", "src/a.py", "gen/x/b.py", "src/tests.py")
    assert [item.path for item in result.files] == ["src/a.py", "src/tests.py"]
    assert result.excluded == 2


def test_exclude_replaces_and_extend_exclude_adds(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "tests/t.py", "gen/g.py", "src/gen/g.py", "old/o.py")
    assert names(tmp_path, exclude=["gen/"]) == ["a.py", "old/o.py", "tests/t.py"]
    assert names(tmp_path, extend_exclude=["/gen", "o*.py"]) == ["a.py", "src/gen/g.py"]
    assert names(tmp_path, extend_exclude=["**/gen/**"]) == ["a.py", "old/o.py"]
    assert names(tmp_path, exclude=[]) == ["a.py", "gen/g.py", "old/o.py", "src/gen/g.py", "tests/t.py"]


def test_a_path_pattern_is_relative_to_the_settings_and_yields_to_a_named_folder(tmp_path: Path) -> None:
    tree(tmp_path, "src/gen/a.py", "src/gen/sub/b.py", "src/c.py")
    write(tmp_path / "noclobber.toml", 'extend-exclude = ["src/gen/"]\n')
    assert names(tmp_path, "src") == ["src/c.py"]
    assert names(tmp_path / "src") == ["c.py"]
    assert names(tmp_path, "src/gen") == ["src/gen/a.py", "src/gen/sub/b.py"]
    write(tmp_path / "noclobber.toml", 'extend-exclude = ["src/gen/", "src/gen/sub/"]\n')
    assert names(tmp_path, "src/gen") == ["src/gen/a.py"]


def test_settings_of_a_folder_below_count_there(tmp_path: Path) -> None:
    tree(tmp_path, "a/x.py", "b/x.py", "b/y.py")
    write(tmp_path / "b" / "noclobber.toml", 'extend-exclude = ["x.py"]\n')
    result = found(tmp_path)
    assert [item.path for item in result.files] == ["a/x.py", "b/y.py"]
    assert result.files[1].config.root == str(tmp_path / "b")


def test_gitignore_nested_negated_and_info_exclude(tmp_path: Path) -> None:
    tree(
        tmp_path,
        ".git/info/",
        "a.py",
        "out/b.py",
        "keep.py",
        "drop.py",
        "sub/keep.py",
        "sub/c.py",
        "sub/deep/d.py",
        "local.py",
    )
    write(tmp_path / ".gitignore", "# built\nout/\n/drop.py\n*keep.py\n")
    write(tmp_path / "sub" / ".gitignore", "!keep.py\ndeep\n")
    write(tmp_path / ".git" / "info" / "exclude", "local.py\n")
    assert names(tmp_path) == ["a.py", "sub/c.py", "sub/keep.py"]
    assert names(tmp_path, "sub") == ["sub/c.py", "sub/keep.py"]
    assert names(tmp_path, "out") == ["out/b.py"]
    assert names(tmp_path, "sub/deep") == ["sub/deep/d.py"]
    assert names(tmp_path, "drop.py") == ["drop.py"]
    everything = ["a.py", "drop.py", "keep.py", "local.py", "out/b.py", "sub/c.py", "sub/deep/d.py", "sub/keep.py"]
    assert names(tmp_path, respect_gitignore=False) == everything


def test_gitignore_ends_at_the_repository(tmp_path: Path) -> None:
    tree(tmp_path, "repo/.git/", "repo/a.py", "repo/inner/.git/info/", "repo/inner/a.py", "repo/inner/b.py")
    write(tmp_path / ".gitignore", "*.py\n")
    write(tmp_path / "repo" / "inner" / ".git" / "info" / "exclude", "b.py\n")
    assert names(tmp_path, "repo") == ["repo/a.py", "repo/inner/a.py"]
    write(tmp_path / "repo" / ".gitignore", "a.py\n")
    assert names(tmp_path, "repo") == ["repo/inner/a.py"]  # another repository


def test_pathspec_is_imported_only_when_there_is_a_pattern_for_it(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "src/b.py")
    probe = (
        "import sys; from noclobber.config import Resolver; from noclobber.files import collect;"
        "print(len(collect(['.'], Resolver()).files), 'pathspec' in sys.modules)"
    )

    def run() -> str:
        return subprocess.run(
            [sys.executable, "-c", probe], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout

    assert run() == "2 False\n"
    write(tmp_path / ".gitignore", "a.py\n")
    assert run() == "1 True\n"


def test_symbolic_links(tmp_path: Path) -> None:
    tree(tmp_path, "outside/o.py", "work/a.py", "work/sub/b.py")
    work = tmp_path / "work"
    os.symlink(tmp_path / "outside", work / "folder")
    os.symlink(tmp_path / "outside" / "o.py", work / "o.py")
    os.symlink(work / "a.py", work / "0.py")
    os.symlink(work, work / "sub" / "loop")
    os.symlink(tmp_path / "nowhere.py", work / "broken.py")
    assert names(work) == ["a.py", "sub/b.py"]
    assert names(work, "o.py") == ["o.py"]
    assert names(work, "folder") == ["folder/o.py"]


def test_each_file_once_and_sorted(tmp_path: Path) -> None:
    tree(tmp_path, "b.py", "a.py", "sub/c.py")
    assert names(tmp_path, "sub", ".", "b.py", "./a.py", str(tmp_path / "sub")) == ["a.py", "b.py", "sub/c.py"]


def test_missing_empty_and_special(tmp_path: Path) -> None:
    tree(tmp_path, "empty/", "docs/x.txt", "lib/tests/t.py")
    result = found(tmp_path, "no.py", "empty", "docs", "lib")
    assert result.missing == [("no.py", "no such file or directory")]
    assert result.warnings == [
        "no Python files in empty",
        "no Python files in docs",
        "no Python files in lib outside of what is excluded",
    ]
    assert result.files == []
    os.mkfifo(tmp_path / "pipe.py")
    assert names(tmp_path, ".") == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_cannot_be_read_makes_the_run_incomplete(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "closed/b.py")
    (tmp_path / "closed").chmod(0)
    try:
        result = found(tmp_path)
    finally:
        (tmp_path / "closed").chmod(0o755)
    assert result.missing == [("closed", "permission denied")]


def test_whole_project(tmp_path: Path) -> None:
    tree(tmp_path, ".git/", "src/a.py")
    assert found(tmp_path).whole
    assert found(tmp_path.parent, str(tmp_path)).whole
    assert not found(tmp_path, "src").whole
    assert not found(tmp_path, "src/a.py").whole


def test_odd_names(tmp_path: Path) -> None:
    odd = os.fsdecode(b"\xff.py")
    tree(tmp_path, "a b.py", "é.py", odd)
    assert names(tmp_path) == sorted(["a b.py", "é.py", odd])


def test_display() -> None:
    assert display("/w/a/b.py", "/w") == "a/b.py"
    assert display("/wx/b.py", "/w") == "/wx/b.py"
    assert display("/b.py", "/") == "b.py"


@pytest.mark.parametrize(
    ("data", "paths"),
    [
        (b"a.py\nb c.py\n", ["a.py", "b c.py"]),
        (b"a\nb.py\0c.py\0", ["a\nb.py", "c.py"]),
        (b"a.py\r\nb.py", ["a.py", "b.py"]),
        (b"", []),
    ],
)
def test_read_list(data: bytes, paths: list[str]) -> None:
    assert read_list(data) == paths
