"""Names of exceptions: what a handler catches, what a raised value may be."""
from __future__ import annotations

import builtins as _python
from typing import Any, Optional

from . import ir
from .causes import root_of
from .objects import State
from .values import Origin, Value

_ANY = frozenset(("Exception", "BaseException"))
#: Library exceptions below one another, as far as handlers in real code need it (requests 2.34, httpx 0.28, aiohttp 3.14, botocore 1.43).
_LIBRARY_BASES = {
    "HTTPError": ("RequestException", "OSError", "IOError"), "ConnectionError": ("RequestException", "OSError"),
    "Timeout": ("RequestException", "OSError"), "HTTPStatusError": ("HTTPError",), "ClientResponseError": ("ClientError",),
    "TransportError": ("RequestError", "HTTPError"), "StaleDataError": ("SQLAlchemyError",), "IntegrityError": ("DatabaseError", "DBAPIError", "SQLAlchemyError"),
    "OperationalError": ("DatabaseError", "DBAPIError", "SQLAlchemyError"), "ConditionalCheckFailedException": ("ClientError",),
}
_TRANSPORT = frozenset(("ConnectionError", "ConnectTimeout", "ReadTimeout", "Timeout", "TimeoutError", "ConnectionResetError", "TransportError", "ConnectError",
                        "TimeoutException", "ClientConnectionError", "ClientConnectorError", "ServerDisconnectedError", "EndpointConnectionError", "NetworkError",
                        "OSError", "IOError", "ConnectTimeoutError", "ReadTimeoutError", "ChunkedEncodingError", "OperationalError", "InterfaceError"))
_LOCAL_ERRORS = frozenset(("KeyError", "IndexError", "ValueError", "TypeError", "AttributeError", "LookupError", "AssertionError", "StopIteration", "JSONDecodeError",
                           "UnicodeDecodeError", "ZeroDivisionError", "DoesNotExist", "NoResultFound", "ImportError", "NotImplementedError", "NameError"))
#: Exceptions that are the server's answer: no handler for a lost connection catches them.
_ANSWERS = frozenset(("botocore.exceptions.ClientError", "kubernetes.client.exceptions.ApiException", "googleapiclient.errors.HttpError"))

#: What `raise_for_status()` raises: one of these, by the client's library. Who catches one of them by name catches it.
BAD_STATUS = frozenset(("HTTPError", "HTTPStatusError", "ClientResponseError"))


class Exceptions:
    """Mixin of Walker."""

    # --- exceptions -----------------------------------------------------------------------------------------------------------
    def exception_names(self, value: Value, deep: bool = False) -> Optional[frozenset]:
        """Names of the exception classes that a value names; None = cannot be told."""
        ref = value.ref
        if ref is not None:
            if ref[0] == "dotted":
                return frozenset((_short(ref[1]),))
            if ref[0] == "class":
                return frozenset((ref[1].type_name,))
            if ref[0] == "localclass":
                return frozenset((ref[1],))
            if ref[0] in ("function", "local"):
                return self._predicate_names(ref)
            if ref[0] == "column":
                return frozenset((ref[2],))
        if value.typ:
            return frozenset((value.typ if value.typ.startswith("class:") else _short(value.typ),))
        found: set = set()
        for oid in value.objs:
            for state in (self.module_state, *(self.live_states[-1:])):
                obj = state.heap.get(oid) if state is not None else None
                if obj is not None:
                    for inner in [*obj.fields.values(), *([obj.elem] if obj.elem is not None else [])]:
                        names = self.exception_names(inner, deep)
                        if names is None:
                            return None
                        found |= names
                    break
        if found:
            return frozenset(found)
        if deep or not value.objs:
            for origin in value.origins:
                if origin.kind == "global" and _names_a_class(str(origin.n)):
                    name = str(origin.n)
                    found.add(name if name.startswith("class:") else _short(name))
        return frozenset(found) or None

    def raised_classes(self, value: Value, state: State) -> Optional[frozenset]:
        """The classes of the instances that a value may be (`raise error_for(status)`); None where one of them cannot be told."""
        found: set = set()
        for oid in value.objs:
            obj = state.heap.get(oid)
            if obj is None or obj.kind not in ("instance", "new") or obj.cls is None:
                return None
            found.add(obj.cls if isinstance(obj.cls, str) else obj.cls.type_name)
        return frozenset(found) or None

    def is_transient(self, wanted: Any) -> bool:
        """A handler for lost connections, timeouts and throttling only."""
        return bool(wanted) and all(_last(name) in _TRANSPORT or self.vocabulary.match("transient_exception", _last(name)) for name in wanted)

    def _predicate_names(self, ref: tuple) -> Optional[frozenset]:
        """The classes that a predicate such as `lambda e: isinstance(e, Conflict)` tests for."""
        definition = ref[1].definition() if ref[0] == "function" else self.local_functions[ref[1]][0]
        found: set = set()
        stack = [definition]
        while stack:
            node = stack.pop()
            if isinstance(node, ir.Call) and isinstance(node.func, ir.Name) and node.func.id == "isinstance" and len(node.args) > 1:
                wanted = node.args[1].value
                for item in wanted.items if isinstance(wanted, ir.TupleX) else (wanted,):
                    name = self.static_name(item) if isinstance(item, (ir.Name, ir.Attr)) else ""
                    if isinstance(item, ir.Name):
                        value = self.module_name(item.id, State())
                        names = self.exception_names(value)
                        found |= names or set()
                    elif name:
                        found.add(_short(name))
            if isinstance(node, ir.Node):
                for field in node._fields:
                    stack.append(getattr(node, field))
            elif isinstance(node, tuple):
                stack.extend(node)
        return frozenset(found) or None

    def handler_names(self, handler: Any, state: State) -> Optional[frozenset]:
        if handler.types is None:
            return None
        if isinstance(handler.types, ir.TupleX):
            found: set = set()
            for item in handler.types.items:
                names = self.exception_names(self.eval(item, state.copy()))
                found |= names if names is not None else {"?"}
            return frozenset(found)
        value = self.eval(handler.types, state.copy())
        self.live_states.append(state)
        try:
            return self.exception_names(value) or frozenset(("?",))
        finally:
            self.live_states.pop()

    def catches(self, wanted: Optional[frozenset], types: Optional[frozenset]) -> str:
        """Does a handler for `wanted` (None: bare) catch an exception of `types` (None: any)? yes | maybe | no."""
        if wanted is None or any(_last(name) in _ANY for name in wanted):
            return "yes"
        if types is None:
            return "maybe"
        answers = [self._catches_one(wanted, name) for name in types]
        if all(a == "yes" for a in answers) or types == BAD_STATUS and "yes" in answers:
            return "yes"
        return "no" if all(a == "no" for a in answers) else "maybe"

    def _catches_one(self, wanted: frozenset, name: str) -> str:
        if name.startswith("*io"):
            if all(self.is_from_elsewhere(w, name) for w in wanted):
                return "no"
            return "no" if all(self.vocabulary.match("conflict_exception", _last(w)) or w.startswith("class:") or _last(w) in _LOCAL_ERRORS for w in wanted) else "maybe"
        if name == "*conflict":
            return "no" if all(_last(w) in _TRANSPORT or _last(w) in _LOCAL_ERRORS for w in wanted) else "maybe"
        ancestors = self._ancestors(name)
        if any(_last(w) in ancestors for w in wanted):
            return "yes"
        if name.startswith("class:") or hasattr(_python, _last(name)):
            return "no" if "?" not in wanted else "maybe"
        # Two library classes: only what is known to be unrelated is ruled out.
        for w in wanted:
            if w == "?":
                return "maybe"
            if w.startswith("class:") or hasattr(_python, _last(w)):
                continue
            if root_of(w) and root_of(name) and root_of(w) != root_of(name):
                continue
            if self.vocabulary.match("not_found", _last(w)) and self.vocabulary.match("conflict_exception", _last(name)):
                continue
            if self.is_transient((w,)) and (name in _ANSWERS or self.vocabulary.match("conflict_exception", _last(name))):
                continue
            return "maybe"
        return "no"

    def _ancestors(self, name: str) -> set:
        found = {_last(name)}
        if name.startswith("class:"):
            cls = self.ask.klass_of(name)
            if cls is not None:
                found |= {_last(a) for a in cls.ancestors()}
        for known in list(found):
            exception = getattr(_python, known, None)
            if isinstance(exception, type) and issubclass(exception, BaseException):
                found |= {base.__name__ for base in exception.__mro__}
            stack = list(_LIBRARY_BASES.get(known, ()))
            while stack:
                base = stack.pop()
                if base not in found:
                    found.add(base)
                    stack += _LIBRARY_BASES.get(base, ())
        return found

    def is_general_error(self, name: str) -> bool:
        """An error that any call may meet (network, database, operating system), not a conflict class of the project."""
        return not name.startswith("class:") and not self.vocabulary.match("conflict_exception", _last(name))

    def exception_value(self, handler: Any, state: State) -> Value:
        origin = Origin("exc", self.object_id_of(("exc", id(handler.at), self.frames[-1].calls)))
        return self.values.origin(origin, name=handler.name or "")


def _last(name: str) -> str:
    return name.replace(":", ".").rsplit(".", 1)[-1]


def _short(dotted: str) -> str:
    return dotted[9:] if dotted.startswith("builtins.") else dotted


def _names_a_class(name: str) -> bool:
    return _last(name)[:1].isupper()
