"""Facts about a class of the project: its bases, methods, fields and table."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from noclobber.resolve import ClassInfo, dotted

from .annotations import annotation_expression
from .scopes import Loose, Scope, statements_at

if TYPE_CHECKING:
    from .modules import Module


class Class:
    """Facts of a class of the project, those of its bases in the project included."""

    def __init__(self, module: Module, info: ClassInfo) -> None:
        self.module, self.info = module, info
        self.name = info.qualname.rsplit(".", 1)[-1]
        self.type_name = f"class:{module.name}:{info.key or info.qualname}"
        self._mro: Optional[list] = None
        self._library: Optional[tuple] = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Class) and self.type_name == other.type_name

    def __hash__(self) -> int:
        return hash(self.type_name)

    def mro(self) -> list:
        """This class and its bases in the project, nearest first."""
        if self._mro is None:
            self._mro = [self]
            found = [self]
            for base in self.info.bases:
                below = self.module.class_named(base.split("[")[0])
                if below is not None and below != self:
                    for cls in below.mro():
                        if cls not in found and len(found) < 30:
                            found.append(cls)
            self._mro = found
        return self._mro

    def library_bases(self) -> tuple:
        """Dotted names of the bases that are not of this project; `f()` for what a call made."""
        if self._library is None:
            found: list = []
            for cls in self.mro():
                index = cls.module.index
                for base in cls.info.bases:
                    text = base.split("[")[0]
                    if cls.module.class_named(text) is not None:
                        continue
                    called = text.endswith("()")
                    name = text[:-2] if called else text
                    target = dotted(index, name)
                    if target is None:
                        continue
                    maker: Any = cls.module if target in index.assigns else None
                    if maker is None and name.partition(".")[0] in index.imports:
                        followed = cls.module.library.follow(cls.module, index.imports[name.partition(".")[0]] + name[len(name.partition(".")[0]):])
                        if followed is not None and followed[1] in followed[0].index.assigns:
                            maker, target = followed
                    if maker is not None:
                        made = maker.made_by(target)
                        if made:
                            found.append(made)
                        continue
                    found.append(target + ("()" if called else ""))
            self._library = tuple(dict.fromkeys(found))
        return self._library

    def ancestors(self) -> list:
        return [cls.name for cls in self.mro()] + list(self.library_bases())

    def method(self, name: str) -> Optional[Scope]:
        for cls in self.mro():
            info = cls.info.methods.get(name)
            if info is not None:
                return cls.module.scope(info.key or info.qualname)
        return None

    def inherited(self, name: str) -> Optional[Scope]:
        for cls in self.mro()[1:]:
            info = cls.info.methods.get(name)
            if info is not None:
                return cls.module.scope(info.key or info.qualname)
        return None

    def assign(self, name: str) -> Optional[tuple]:
        """(scope, excerpt, statements) of a class-level assignment."""
        for cls in self.mro():
            ranges = cls.info.assigns.get(name)
            if ranges:
                return statements_at(cls.module, ranges, f"{cls.info.qualname}.{name}")
        return None

    def annotation(self, name: str) -> Optional[tuple]:
        """(scope, expression) of a class-level annotation."""
        for cls in self.mro():
            text = cls.info.annotations.get(name)
            if text:
                expression = annotation_expression(text)
                if expression is not None:
                    return Loose(cls.module, cls.info.qualname, (), None, 0), expression
        return None

    def field_names(self) -> list:
        """Names of the fields of a dataclass-like class, in order."""
        names: list = []
        for cls in reversed(self.mro()):
            for name in cls.info.annotations:
                if name not in names:
                    names.append(name)
        return names

    def text_of(self, name: str) -> str:
        """The source text of a class-level assignment or annotation."""
        for cls in self.mro():
            ranges = cls.info.assigns.get(name)
            if ranges:
                first, last = ranges[0]
                return "\n".join(cls.module.source.lines[first - 1:last])
        return ""

    def field_call(self, name: str) -> Optional[tuple]:
        """(dotted constructor, argument texts, {keyword: text}) of `name = Constructor(…)` in the class body; None: no such assignment."""
        for cls in self.mro():
            if name in cls.info.assigns:
                return _constructor(cls.module, cls.info.assigns[name][0])
        return None

    def annotation_text(self, name: str) -> str:
        return next((text for cls in self.mro() for text in (cls.info.annotations.get(name),) if text), "")

    def nested(self, name: str) -> Optional[Class]:
        """A class inside this one or inside a base (`Order.Status`)."""
        for cls in self.mro():
            key = f"{cls.info.qualname}.{name}"
            if key in cls.module.index.classes:
                return cls.module.klass(key)
        return None

    def nested_text(self, name: str) -> str:
        """The source of a class inside this one (`class Meta`), those of its bases after it; '' where there is none."""
        found = []
        for cls in self.mro():
            inner = cls.module.index.classes.get(f"{cls.info.qualname}.{name}")
            if inner is not None:
                found.append("\n".join(cls.module.source.lines[inner.start - 1:inner.end]))
        return "\n".join(found)

    def mentions(self, marker: str) -> bool:
        """Does the class body hold a marker such as `__mapper_args__['version_id_col']`, `Settings['use_revision = True']` or a field class?"""
        name, _, key = marker.partition("[")
        key = key.strip("[]'\"")
        for cls in self.mro():
            if key:
                method = cls.info.methods.get(name)
                ranges = cls.info.assigns.get(name) or (((method.start, method.end),) if method is not None else ())
                inner = cls.module.index.classes.get(f"{cls.info.qualname}.{name}")
                if any(key in "\n".join(cls.module.source.lines[a - 1:b]) for a, b in (*ranges, *(((inner.start, inner.end),) if inner is not None else ()))):
                    return True
                continue
            last = name.rsplit(".", 1)[-1]
            for ranges in cls.info.assigns.values():
                text = "\n".join(cls.module.source.lines[ranges[0][0] - 1:ranges[0][1]])
                if last + "(" in text:
                    return True
        return False

    def table_name(self) -> str:
        for cls in self.mro():
            ranges = cls.info.assigns.get("__tablename__")
            if ranges:
                text = cls.module.source.lines[ranges[0][0] - 1]
                value = text.partition("=")[2].strip().strip("'\"")
                if value.isidentifier():
                    return value
        return ""


def _constructor(module: Module, lines: tuple) -> Optional[tuple]:
    """(dotted constructor, argument texts, {keyword: text}) of the assignment at these lines whose value is a call, else None."""
    import ast
    from textwrap import dedent

    first, last = lines
    if last - first > 60:
        return None
    try:
        statement = ast.parse(dedent("\n".join(module.source.lines[first - 1:last]))).body[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError, IndexError):
        return None
    call = getattr(statement, "value", None)
    if not isinstance(call, ast.Call):
        return None
    head = ast.unparse(call.func)
    return (dotted(module.index, head) or head, tuple(ast.unparse(a) for a in call.args),
            {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords if keyword.arg})
