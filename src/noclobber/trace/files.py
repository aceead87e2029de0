"""Files: what a path names, documents that are read out of files and written into them, files that take another's place."""
from __future__ import annotations

from typing import Any, Optional

from .events import Read, Write
from .objects import Obj, State
from .records import YES, same_value
from .values import CONST, Origin, Value

PATH = "pathlib.Path"
_PATHS = frozenset((PATH, "pathlib.PurePath", "pathlib.PosixPath", "pathlib.WindowsPath", "pathlib.PurePosixPath", "anyio.Path", "aiopath.AsyncPath"))
#: Methods of a path that give the same file.
_SAME_FILE = frozenset(("expanduser", "resolve", "absolute", "as_posix", "__str__", "__fspath__"))
#: Methods and attributes that give another one, by what they are given.
_OTHER_FILE = frozenset(("with_suffix", "with_name", "with_stem", "relative_to"))
_NEAR = frozenset(("parent", "name", "stem", "suffix"))


class Files:
    """Mixin of Walker."""

    # --- paths -------------------------------------------------------------------------------------------------------------------------
    @staticmethod
    def is_path(value: Value) -> bool:
        return value.typ in _PATHS

    def path(self, *parts: Any) -> Value:
        """A path made of pieces. What one of them says of the whole (it is private) stays with it."""
        value = self.values.template(parts)
        flags = frozenset().union(*(p.flags for p in parts if type(p) is Value)) & _OF_PATHS
        named = [p.name for p in parts if type(p) is Value and p.name]
        return self.values.replace(value, typ=PATH, flags=value.flags | flags, name=value.name or (named[0] if named and not any(type(p) is str for p in parts) else ""))

    def path_method(self, receiver: Value, name: str, args: Any, node: Any, state: State) -> Optional[Value]:
        if name in _SAME_FILE:
            return receiver
        given = [a.value for a in args.positional]
        if name == "joinpath":
            pieces: list = [receiver]
            for value in given:
                pieces += ["/", value]
            return self.path(*pieces)
        if name in _OTHER_FILE and given:
            return self.path(receiver, f"⁄{name}:", *given)
        return None

    def path_attribute(self, base: Value, name: str) -> Optional[Value]:
        return self.path(base, f"⁄{name}") if name in _NEAR else None

    # --- documents ---------------------------------------------------------------------------------------------------------------------
    def note_parsed(self, value: Value, state: State) -> None:
        """A document is made of what was read: of the file that it came from the content is known to be one."""
        for n in {o.n for o in self.deep(state, value) if o.kind == "read"}:
            self.trace.parsed.add(n)
            read = self.trace.events[n]
            if isinstance(read, Read) and read.record.family == "file" and read.spec is not None and read.spec.signature.last == "open":
                # Opening the file read nothing yet: a lock that was taken since then is held over the read as well.
                read.ctx = read.ctx._replace(held=read.ctx.held | state.held)

    def filled(self, receiver: Value, value: Value, node: Any, state: State) -> None:
        """`parser.read(path)`: the parser holds the document."""
        func = getattr(node, "func", None)
        self.note_parsed(value, state)
        self.mutated(receiver, state, node, getattr(func, "value", None), value)

    def op_change(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        """`parser.set(section, option, value)`: what the receiver holds is another one from here on."""
        if receiver is None:
            return None
        func = getattr(node, "func", None)
        self.mutated(receiver, state, node, getattr(func, "value", None), self.values.derived(args.all()))
        return self.values.none

    def op_decode(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        from .builtins import loaded

        value = bound.first("payload")
        return loaded(self, value, node, state) if value is not None else None

    def op_encode(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Optional[Value]:
        value = bound.first("payload")
        if value is None:
            value = receiver  # `settings.model_dump_json()`
        if value is None:
            return None
        stream = bound.first("into")
        if stream is not None and not stream.is_none:
            self.written_into(stream, self.flat(state, value), node, state, args)
            return self.values.none
        return self.values.make(self.deep(state, value) - {CONST} or value.origins)

    def written_into(self, stream: Value, value: Value, node: Any, state: State, args: Any) -> None:
        """`json.dump(doc, file)`: the file holds the document."""
        place = next((a.node for a in args.positional if a.value is stream), None) or next((a.node for _, a in args.keywords if a.value is stream), None)
        self.mutated(stream, state, node, getattr(place, "value", None), value)

    # --- files that are open for reading and writing -----------------------------------------------------------------------------------
    def updated_in_place(self, base: Value, value: Value, node: Any, state: State) -> None:
        """`open(path, "r+")`: what is written into it is a write of the record that was read."""
        for origin in base.same:
            read = self.trace.events[origin.n] if origin.kind == "read" and not origin.path else None
            if not isinstance(read, Read) or read.record.family != "file" or not (read.spec is not None and read.spec.get("stream")):
                continue
            self.write(node, state, record=read.record, verb="replace", payload=self.flat(state, value), spec=read.spec)

    # --- files that take another's place -----------------------------------------------------------------------------------------------
    def content_of(self, path: Value) -> frozenset:
        """What was written into the file of that path, or into one that was made together with it (`fd, path = mkstemp()`)."""
        found: set = set()
        mine = {(o.kind, o.n) for o in path.same}
        for event in self.trace.of("write"):
            if not isinstance(event, Write) or event.record.family != "file":
                continue
            keys = [value for _, value in event.record.key]
            if any(same_value(key, path) == YES or mine & {(o.kind, o.n) for o in key.same if o.kind == "opaque"} for key in keys) or ("outcome", event.n) in mine:
                found |= event.payload.origins
        return frozenset(found)

    def temporary(self, name: str, node: Any, state: State) -> Value:
        """A file or folder of this process: nobody else knows its path."""
        own = Origin("opaque", self.object_id_of(("value", id(node.at), self.frames[-1].calls)))
        oid = self.object_id(node, "temporary")
        # `fd, path = mkstemp()`: what it is made of is of this process as well.
        parts = {f"[{i}]": self.values.origin(own.at(f"[{i}]"), flags=_OF_PATHS, name=name) for i in range(2)}
        state.put(oid, Obj("path", own, fields=parts, label=name))
        return self.values.make(frozenset((own,)), same=frozenset((own,)), objs=frozenset((oid,)), flags=_OF_PATHS, name=name)


def plain_path(words: str) -> str:
    """What a message calls a file: `hosts.new` for what `hosts.yaml` is with another suffix."""
    head, mark, rest = words.partition("⁄")
    if not mark:
        return words
    how, _, given = rest.partition("⁄")[0].partition(":")
    stem, dot, _ = head.rpartition(".")
    if how == "with_suffix":
        return (stem if dot and "/" not in head[len(stem):] else head) + given
    return head.rpartition("/")[0] + "/" + given if how == "with_name" and given else head


#: What a path has from its pieces.
_OF_PATHS = frozenset(("scratch",))
