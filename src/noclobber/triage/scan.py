"""One pass over the `ast` of a scope: which kinds its statements have, what it calls and names."""
from __future__ import annotations

import ast
import builtins
from ast import (AnnAssign, Assign, AsyncFor, AsyncFunctionDef, AsyncWith, Attribute, AugAssign, Call, ClassDef,
                 Constant, Dict, Expr, For, FunctionDef, Lambda, Load, Name, Subscript, While, With)
from dataclasses import dataclass, field
from typing import Any, Callable

from noclobber.resolve import dotted_text, import_names

from .kinds import BIT, CHANGE, COMMAND, CONFLICT, OWN_CHANGE, REPLAY, SQL, SQL_MASKS
from .names import Names

#: Methods of an HTTP client that a verb in a variable may come to.
_VERBS = ("get", "put", "patch")
_MUTATORS = frozenset({"append", "update", "insert", "add", "extend", "pop", "remove", "setdefault", "clear", "discard",
                       "popitem", "sort", "reverse", "appendleft", "extendleft", "popleft", "difference_update",
                       "intersection_update", "symmetric_difference_update", "subtract", "move_to_end"})
_SCHEMA_KEYS = frozenset({"properties", "input_schema", "inputSchema", "parameters"})
_FRESH_BUILTINS = frozenset({"dict", "list", "set", "tuple", "str", "int", "float", "bool", "bytes", "bytearray",
                             "len", "sorted", "range"})
_FRESH_IMPORTS = frozenset({"collections.defaultdict", "collections.OrderedDict", "collections.Counter",
                            "collections.deque"})
_CONFLICT_STRINGS = frozenset({"409", "412", "40001", "40P01"})
BUILTINS = frozenset(dir(builtins))
SUBSCRIPTS = frozenset(("__getitem__", "__setitem__", "__delitem__"))


_SKIPPED_FIELDS = frozenset({"ctx", "op", "ops", "annotation", "returns", "type_comment", "type_params", "conversion",
                             "kind", "level", "is_async", "simple"})  # with the plain ints: an int marks a loop's end
_FIELDS: dict[type, tuple[str, ...]] = {
    kind: tuple(name for name in kind._fields if name not in _SKIPPED_FIELDS)
    for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST)}
_FRESH_TYPES = frozenset({ast.List, ast.Dict, ast.Set, ast.Tuple, ast.ListComp, ast.DictComp, ast.SetComp,
                          ast.GeneratorExp, Constant, ast.JoinedStr, ast.Compare, Lambda})
_NAMING = frozenset({ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping})
_ITERATES = frozenset({ast.comprehension, ast.YieldFrom, ast.Starred})


@dataclass(slots=True)
class Part:
    """What one pass saw. `names`: bare and first parts of dotted ones; `attrs`: attributes of receivers other than
    self.

    `mask` is complete only with what `called` (last name parts of what is called, decorates or is handed on) means,
    which depends on what its file imports. `words`: names that are bound; `targets`: of imports.
    """

    mask: int = 0
    called: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    targets: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    attrs: set[str] = field(default_factory=set)
    self_attrs: set[str] = field(default_factory=set)
    self_bases: set[str] = field(default_factory=set)  # read for an attribute of theirs: `self.x.y`
    self_stores: set[str] = field(default_factory=set)
    supers: set[str] = field(default_factory=set)
    dunders: set[str] = field(default_factory=set)

    def merge(self, other: Part) -> None:
        self.mask |= other.mask
        self.called |= other.called
        self.names |= other.names
        self.attrs |= other.attrs
        self.dunders |= other.dunders


def _is_annotated(node: ast.AST | None) -> bool:
    """`Annotated[Session, Depends(get_session)]`: the one annotation that holds calls."""
    return type(node) is Subscript and dotted_text(node.value).rpartition(".")[2] == "Annotated"


def scan(nodes: list, known: Names, imports: tuple[dict[str, str], ...], *, self_name: str = "", new: bool = False,
         loose: bool = False, shadows: frozenset[str] = frozenset(), is_class: bool = False) -> Part:
    """One pass over statements or expressions.

    `imports`: name → target, of the scope and of what is around it, the module's last. `self_name`: the first parameter of a method;
    `is_class`: it is the class. `new`: plain stores on it make a new record (`__init__`), no change. `loose`: leave out defs and
    classes, which are scopes of their own. `shadows`: names of builtins that the module binds.
    """
    seen = _Pass(known, self_name, new, loose)
    seen.run(nodes)
    return seen.finish(imports, shadows, is_class)


class _Pass:
    """What one pass keeps until it has seen everything. The handlers are by type of node; no handler calls another."""

    def __init__(self, known: Names, self_name: str, new: bool, loose: bool) -> None:
        self.known, self.self_name, self.new, self.loose = known, self_name, new, loose
        self.part = Part()
        self.stack: list[Any] = []
        self.mask = self.calls_seen = self.receivers = 0
        self.pairs: set[tuple[str, str, str]] = set()  # called methods of plain names: name, method, with its arguments' mark
        self.chains: set[tuple[str, str]] = set()  # what is called or read below a plain name, which may be a package
        self.functions: set[str] = set()  # plain names that are called
        self.bare: set[str] = set()  # names that stand alone
        self.bound: list[tuple[str, Any]] = []  # names bound by a statement, with the value where one is
        self.stale: set[str] = set()  # names bound to anything but a container made here
        self.fresh: set[str] = set()  # parameters that are one: `*args`
        self.mutated: set[str] = set()
        self.keywords: set[str] = set()
        self.witnesses: set[str] = set()  # keywords whose argument may be a witness
        self.strings: list[str] = []
        self.iterates = self.withs = self.subscripts = self.spreads = False

    def run(self, nodes: list) -> None:
        stack = self.stack
        stack.extend(nodes)
        push, pop, extend = stack.append, stack.pop, stack.extend
        handlers, fields = _HANDLERS, _FIELDS
        while stack:
            node = pop()
            kind = node.__class__
            handler = handlers.get(kind)
            if handler is not None:
                handler(self, node)
                continue
            for name in fields.get(kind, ()):
                value = getattr(node, name, None)
                if value.__class__ is list:
                    extend(value)
                elif value is not None:
                    push(value)

    # --- expressions -------------------------------------------------------------------------------------------------
    def name(self, node: Name) -> None:
        if node.ctx.__class__ is Load:
            self.bare.add(node.id)
        else:
            self.stale.add(node.id)

    def constant(self, node: Constant) -> None:
        value = node.value
        kind = value.__class__
        if kind is str:
            self.strings.append(value)
        elif kind is int and (value == 409 or value == 412):
            self.mask |= CONFLICT

    def call(self, node: Call) -> None:
        self.calls_seen += 1
        self.stack.extend(node.args)
        if node.keywords:
            self.call_keywords(node)
        func = node.func
        kind = func.__class__
        if kind is Attribute:
            self.method_call(node, func)
        elif kind is Name:
            name = func.id
            self.functions.add(name)
            self.bare.add(name)
            if (name == "getattr" or name == "setattr") and len(node.args) > 1:
                self.named_attribute(name, node.args[0], node.args[1])
        else:
            self.stack.append(func)

    def call_keywords(self, node: Call) -> None:
        telling = self.known.keywords
        for keyword in node.keywords:
            value = keyword.value
            self.stack.append(value)
            if keyword.arg in telling:
                self.part.called.add(keyword.arg + "=")
            if keyword.arg is None:
                self.spreads = True
            elif value.__class__ is not Constant:
                self.witnesses.add(keyword.arg)
            else:
                self.keywords.add(keyword.arg)

    def method_call(self, node: Call, func: Attribute) -> None:
        part = self.part
        attr, value = func.attr, func.value
        kind = value.__class__
        marked = attr + _arguments_mark(node) if attr in self.known.shaped else attr
        if kind is Name:
            if value.id == self.self_name:
                part.self_attrs.add(attr)
                part.called.add("." + marked)
            else:
                self.pairs.add((value.id, attr, marked))
                part.attrs.add(attr)
                part.names.add(value.id)
            if attr in _MUTATORS:
                self.mutated.add(value.id)
            return
        if kind is Constant or kind is ast.JoinedStr:  # ", ".join(…)
            self.stack.append(value)
            return
        part.called.add("." + marked)
        if attr in _MUTATORS:
            self.mask |= CHANGE
        if kind is Call and value.func.__class__ is Name and value.func.id == "super":
            part.supers.add(attr)
            return
        part.attrs.add(attr)
        self.chain(value, marked)

    def named_attribute(self, function: str, owner: ast.AST, attr: ast.AST) -> None:
        """The arguments of `getattr` or `setattr`."""
        if attr.__class__ is Constant and attr.value.__class__ is str:
            self.part.attrs.add(attr.value)
            self.part.called.add(attr.value)
            self.part.self_attrs.add(attr.value)
            if function == "setattr":
                self.part.self_stores.add(attr.value)
        elif function == "getattr" and attr.__class__ is not Constant:
            for verb in _VERBS:  # `getattr(requests, method.lower())(url)`
                if owner.__class__ is Name:
                    self.pairs.add((owner.id, verb, verb))
                    self.part.names.add(owner.id)
                elif owner.__class__ is Attribute:
                    self.part.called.add("." + verb)
                    self.chain(owner, verb)
                self.part.attrs.add(verb)

    def attribute(self, node: Attribute) -> None:
        part = self.part
        attr, value = node.attr, node.value
        own = value.__class__ is Name and value.id == self.self_name
        if node.ctx.__class__ is not Load:
            if own:
                part.self_stores.add(attr)
            if not own:
                self.mask |= CHANGE
            elif not self.new:
                self.mask |= OWN_CHANGE
        else:
            part.called.add("." + attr)  # may be handed on: executor.submit(client.put, …)
        if own:
            part.self_attrs.add(attr)
            return
        part.attrs.add(attr)
        self.chain(value, attr)

    def chain(self, value: ast.AST, last: str) -> None:
        """What is below an attribute: `a.b.c` of `a.b.c.last`."""
        part = self.part
        kind = value.__class__
        while kind is Attribute:
            inner = value.value
            kind = inner.__class__
            if kind is Name and inner.id == self.self_name:
                part.self_bases.add(value.attr)
            else:
                part.attrs.add(value.attr)
            value = inner
        if kind is Name:
            part.names.add(value.id)
            self.chains.add((value.id, last))
        else:
            self.stack.append(value)

    def subscript(self, node: Subscript) -> None:
        value = node.value
        self.subscripts = True
        if node.ctx.__class__ is not Load:
            if value.__class__ is Name:
                self.mutated.add(value.id)
            else:
                self.mask |= CHANGE
        self.stack.append(value)
        self.stack.append(node.slice)

    def mapping(self, node: Dict) -> None:
        for key in node.keys:
            if key.__class__ is Constant and key.value in _SCHEMA_KEYS:
                self.mask |= BIT["schema"]
        self.stack.extend(node.keys)
        self.stack.extend(node.values)

    # --- statements --------------------------------------------------------------------------------------------------
    def expression(self, node: Expr) -> None:
        if node.value.__class__ is not Constant:  # a docstring is no SQL
            self.stack.append(node.value)

    def assign(self, node: Assign) -> None:
        for target in node.targets:
            if target.__class__ is Name:
                self.bound.append((target.id, node.value))
            else:
                self.stack.append(target)
        self.stack.append(node.value)

    def annotated(self, node: AnnAssign) -> None:
        if node.value is not None:
            if node.target.__class__ is Name:
                self.bound.append((node.target.id, node.value))
            else:
                self.stack.append(node.target)
            self.stack.append(node.value)
        if _is_annotated(node.annotation):
            self.stack.append(node.annotation)

    def augmented(self, node: AugAssign) -> None:
        target, value = node.target, node.value
        if target.__class__ is Name:
            if not (value.__class__ is Constant and value.value.__class__ is not str):
                self.mutated.add(target.id)  # `tags += [x]` changes the list in place
        else:
            own = target.__class__ is Attribute and target.value.__class__ is Name and target.value.id == self.self_name
            self.mask |= OWN_CHANGE if own else CHANGE
            self.stack.append(target)
        self.stack.append(value)

    def end_of_loop(self, before: int) -> None:
        """The end of a loop's body, pushed as the number of calls before it."""
        if self.calls_seen > before:
            self.mask |= REPLAY

    def while_loop(self, node: While) -> None:
        self.stack.extend(node.orelse)
        self.stack.append(self.calls_seen)
        self.stack.append(node.test)
        self.stack.extend(node.body)

    def for_loop(self, node: For | AsyncFor) -> None:
        self.stack.extend(node.orelse)
        self.iterates = True
        if node.__class__ is AsyncFor:
            self.mask |= REPLAY
        self.stack.append(node.target)
        self.stack.append(node.iter)
        # what is below this mark runs once, what is above it runs again and again
        self.stack.append(self.calls_seen)
        self.stack.extend(node.body)

    def with_block(self, node: With | AsyncWith) -> None:
        self.withs = True
        for item in node.items:
            expression = item.context_expr
            if expression.__class__ is not Call or expression.func.__class__ is not Name:
                self.part.called.add(last_name(expression))
            self.stack.append(expression)
            if item.optional_vars is not None:
                self.stack.append(item.optional_vars)
        self.stack.extend(node.body)

    def definition(self, node: FunctionDef | AsyncFunctionDef | ClassDef) -> None:
        if self.loose:
            return
        self.stale.add(node.name)
        for decorator in node.decorator_list:
            self.part.called.add(last_name(decorator))
        for name in _FIELDS[node.__class__]:
            value = getattr(node, name)
            if value.__class__ is list:
                self.stack.extend(value)
            elif value.__class__ is ast.arguments:
                self.stack.append(value)

    def parameters(self, node: ast.arguments) -> None:
        for group in (node.posonlyargs, node.args, node.kwonlyargs):
            for argument in group:
                if argument.arg == self.self_name:
                    self.receivers += 1
                else:
                    self.stale.add(argument.arg)
                if _is_annotated(argument.annotation):
                    self.stack.append(argument.annotation)
        for rest in (node.vararg, node.kwarg):
            if rest:
                self.fresh.add(rest.arg)
        self.stack.extend(node.defaults)
        self.stack.extend(default for default in node.kw_defaults if default is not None)

    def imported(self, node: ast.Import | ast.ImportFrom) -> None:
        for name, target in import_names(node):
            self.part.targets.add(target)
            self.stale.add(name)

    def outer_names(self, node: ast.Global | ast.Nonlocal) -> None:
        self.stale.update(node.names)

    def iterating(self, node: ast.AST) -> None:
        self.iterates = True
        self.below(node)

    def naming(self, node: ast.AST) -> None:
        name = getattr(node, "rest", None) or getattr(node, "name", None)
        if name is not None:
            self.stale.add(name)
        self.below(node)

    def below(self, node: ast.AST) -> None:
        for name in _FIELDS[node.__class__]:
            value = getattr(node, name, None)
            if value.__class__ is list:
                self.stack.extend(value)
            elif value is not None:
                self.stack.append(value)

    # --- names to kinds ----------------------------------------------------------------------------------------------
    def finish(self, imports: tuple[dict[str, str], ...], shadows: frozenset[str], is_class: bool) -> Part:
        part, known = self.part, self.known
        for name, value in self.bound:
            kind = value.__class__
            made = kind in _FRESH_TYPES or kind is Call and _makes_fresh(value.func, imports, shadows)
            (self.fresh if made else self.stale).add(name)
        made_here = self.fresh - self.stale
        if len(imports) > 1:
            made_here -= imports[0].keys()
        part.names |= self.bare
        self.called_names(imports, shadows, made_here)
        mask = self.mask | self.masks(is_class) | (self.masks_of_strings() if self.strings else 0)
        if self.mutated and not self.mutated <= made_here:
            mask |= CHANGE
        if self.subscripts:
            part.dunders.update(SUBSCRIPTS)
            if known.subscripts:
                mask |= BIT["subscript"]
        if self.iterates:
            part.dunders.update(("__iter__", "__next__", "__aiter__", "__anext__"))
        if self.withs:
            part.dunders.update(("__enter__", "__exit__", "__aenter__", "__aexit__"))
        if self.calls_seen:
            part.dunders.add("__call__")
        name = self.self_name
        if name and (self.receivers > 1 or name in self.stale or name in self.fresh):  # rebound: not always the receiver
            part.attrs |= part.self_attrs | part.self_bases
        part.words.update(self.stale, self.fresh, self.keywords, self.witnesses)
        part.mask = mask
        return part

    def called_names(self, imports: tuple[dict[str, str], ...], shadows: frozenset[str], made_here: set[str]) -> None:
        """The names of calls, with what tells functions from methods."""
        called, known = self.part.called, self.known
        for name in self.bare:
            for table in imports:
                if name in table:  # `from requests import get as fetch`
                    called.add("(" + table[name].rpartition(".")[2])
                    break
            else:
                if name in self.functions or name in BUILTINS:
                    # `set(rows)` is no `redis.set(…)`, but `open(path)` may be in the vocabulary as a function
                    if name not in BUILTINS or name in self.stale or name in shadows or known.builtin(name):
                        called.add("(" + name)
        for name, attr, marked in self.pairs:
            if name not in made_here and not (name in imports[-1] and known.plain(imports[-1][name], attr)):
                called.add("." + marked)
                if any(name in table for table in imports):  # a package's function, or a method of a class
                    called.add("(" + marked)
        for name, marked in self.chains:
            if any(name in table for table in imports):
                called.add("(" + marked)

    def masks(self, is_class: bool) -> int:
        """Kinds of names, of attributes of what may be a class, and of arguments."""
        part, known, mask = self.part, self.known, 0
        table, unknown = known.mentions, known.mention
        for name in part.names:
            found = table.get(name)
            mask |= unknown(name) if found is None else found
        table, unknown = known.attributes, known.attribute
        for group in (part.attrs, part.self_attrs, part.self_bases) if is_class else (part.attrs,):
            for name in group:
                found = table.get(name)
                mask |= unknown(name) if found is None else found
        for name in self.witnesses:
            mask |= known.argument(name)
        return mask

    def masks_of_strings(self) -> int:
        """Kinds of SQL, of commands, and of strings that are names."""
        part, known, mask = self.part, self.known, 0
        if known.commands and any(known.commands.intersection(text.split()) for text in self.strings if len(text) < 200):
            if any(program in text for program in known.programs for text in (*self.strings, *part.names, *part.called)):
                mask |= COMMAND
        for text in self.strings:
            if len(text) < 64 and (text in _CONFLICT_STRINGS or text.isidentifier()):
                mask |= known.mention(text)
                if text in known.keywords:  # f(**{"nx": True})
                    part.called.add(text + "=")
                if self.spreads:  # f(**{"if_match": etag})
                    mask |= known.argument(text)
        for found in SQL.finditer("\0".join(self.strings)):
            mask |= SQL_MASKS[found.lastgroup]
        return mask


_HANDLERS: dict[type, Callable[[_Pass, Any], None]] = {
    Name: _Pass.name, Constant: _Pass.constant, Call: _Pass.call, Attribute: _Pass.attribute, Subscript: _Pass.subscript,
    Dict: _Pass.mapping, Expr: _Pass.expression, Assign: _Pass.assign, AnnAssign: _Pass.annotated, AugAssign: _Pass.augmented,
    int: _Pass.end_of_loop, While: _Pass.while_loop, For: _Pass.for_loop, AsyncFor: _Pass.for_loop,
    With: _Pass.with_block, AsyncWith: _Pass.with_block,
    FunctionDef: _Pass.definition, AsyncFunctionDef: _Pass.definition, ClassDef: _Pass.definition,
    ast.arguments: _Pass.parameters, ast.Import: _Pass.imported, ast.ImportFrom: _Pass.imported,
    ast.Global: _Pass.outer_names, ast.Nonlocal: _Pass.outer_names,
    **dict.fromkeys(_ITERATES, _Pass.iterating), **dict.fromkeys(_NAMING, _Pass.naming),
}


def _arguments_mark(node: Call) -> str:
    """What the positional arguments are like, as `reach.Calls` knows it; "" where a `*x` may be anything."""
    args = node.args
    if not args:
        return "="
    if any(arg.__class__ is ast.Starred for arg in args):
        return ""
    if args[0].__class__ is Constant and args[0].value.__class__ is str:
        return "'"
    return "1" if len(args) == 1 and not node.keywords else "+"


def _makes_fresh(func: ast.AST, imports: tuple[dict[str, str], ...], shadows: frozenset[str]) -> bool:
    """Does this call make a container (or a plain value) that nobody else has?"""
    text = dotted_text(func)
    first, dot, rest = text.partition(".")
    for table in imports:
        if first in table:
            return table[first] + dot + rest in _FRESH_IMPORTS
    return text in _FRESH_BUILTINS and text not in shadows


def last_name(node: ast.AST) -> str:
    """Last name part of a called, decorating or entered expression."""
    while node.__class__ is Call or node.__class__ is ast.Await:
        node = node.func if node.__class__ is Call else node.value
    if node.__class__ is Attribute:
        return node.attr
    return node.id if node.__class__ is Name else ""
