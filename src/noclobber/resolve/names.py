"""Dotted names, through a module's imports."""
from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable
from os.path import abspath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .index import ModuleIndex

_BUILTINS = frozenset(dir(builtins))


def dotted_text(node: ast.AST | None) -> str:
    """'a.b.c' of a chain of attributes on a name, else ''."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    parts.append(node.id)
    return ".".join(reversed(parts))


def import_names(node: ast.Import | ast.ImportFrom) -> list[tuple[str, str]]:
    """(local name, target as written) of one import statement; a star import is ('*', module)."""
    if isinstance(node, ast.Import):
        return [(alias.asname, alias.name) if alias.asname else (alias.name.split(".", 1)[0],) * 2
                for alias in node.names]
    base = "." * node.level + (node.module or "")
    joint = "" if not base or base.endswith(".") else "."
    return [("*", base) if alias.name == "*" else (alias.asname or alias.name, base + joint + alias.name)
            for alias in node.names]


def dotted(index: ModuleIndex, names: str | Iterable[str], imports: dict[str, str] | None = None) -> str | None:
    """The dotted target of a name as written: 'sa.orm.Session' → 'sqlalchemy.orm.Session'.

    `names`: dotted text or its parts. `imports`: a function's own imports, asked first. Relative targets become
    absolute where the module's name is known, else keep their dots. Names of this module and builtins stand for
    themselves ('Foo' → 'Foo'). None: the first name is bound nowhere in sight, or `names` is no dotted name.
    """
    parts = names.split(".") if isinstance(names, str) else list(names)
    if not parts or not all(part.isidentifier() for part in parts):
        return None
    first = parts[0]
    target = imports.get(first) if imports else None
    if target is None:
        target = index.imports.get(first)
    if target is not None:
        parts[0] = absolute(index, target)
        return ".".join(parts) if not parts[0].endswith(".") else parts[0] + ".".join(parts[1:])
    if first in index.functions or first in index.classes or first in index.assigns or first in index.rebound \
            or first in _BUILTINS:
        return ".".join(parts)
    return None


def absolute(index: ModuleIndex, target: str) -> str:
    """A relative import target made absolute; unchanged when the module's name is unknown or too short."""
    if not target.startswith("."):
        return target
    rest = target.lstrip(".")
    level = len(target) - len(rest)
    package = index.module.split(".") if index.module else []
    if index.is_package:
        level -= 1
    if not index.module or level > len(package):
        return target
    package = package[:len(package) - level]
    if not package and not rest:
        return target
    return ".".join(package + ([rest] if rest else []))


def module_name(path: str, root: str) -> str:
    """'shop.models' for '<root>/shop/models.py'; `__init__.py` is its package. '' where no import can name it."""
    file, base = abspath(path).replace("\\", "/"), abspath(root).replace("\\", "/").rstrip("/") + "/"
    if not file.startswith(base):
        return ""
    stem, dot, suffix = file[len(base):].rpartition(".")
    if not dot or suffix not in ("py", "pyi", "pyw"):
        return ""
    parts = stem.split("/")
    if parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts) if all(part.isidentifier() for part in parts) else ""
