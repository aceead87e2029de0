"""What a tool does to records, and what it tells the model of their versions."""
from __future__ import annotations

from typing import Any, Iterator, NamedTuple, Optional

from ..events import Read, Record, Test, Trace, Write
from ..exposed import Returned, Tool, Toolbox
from ..records import NO
from ..values import Lit, Origin, Template, Value
from .guards import same


class ModelWrite(NamedTuple):
    """A write of a record that was there before, with values that the model gives. version: 'none', 'own' (the tool has fetched it itself just
    before), 'given' (the model hands it in); values: names of what the model gives; read: where the tool fetched the version."""

    write: Write
    version: str
    values: tuple
    read: Optional[Read] = None


def shape(record: Record) -> tuple:
    """A record without the values of its key: ('sql', 'tickets'), ('http', '/articles/{}')."""
    family = "sql" if record.family == "orm" else record.family
    if record.table is not None:
        return family, _text(record.table).lower()
    return (family, *(_text(value) for _, value in record.key))


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return "".join(_text(part) for part in value)
    if not isinstance(value, Value):
        return str(value)
    if type(value.shape) is Lit:
        return str(value.shape.value)
    if type(value.shape) is Template:
        return "".join(part if isinstance(part, str) else "{}" for part in value.shape.parts)
    if value.ref is not None and value.ref[0] == "class":
        return value.ref[1].table_name() or value.ref[1].name
    return value.name if value.name and value.ref is not None else "{}"


def tools_of(trace: Trace) -> list:
    """The tools whose work this trace shows."""
    return [tool for tool in trace.toolbox.tools if tool.body.trace is trace] if trace.toolbox is not None else []


def from_model(tool: Tool, origin: Origin) -> bool:
    """Does the model give this value? Of a raw schema's handler everything does that is not its object's."""
    if origin.kind == "param":
        return origin.n != tool.body.own if tool.raw else any(origin.n == p.name for p in tool.visible)
    return tool.raw and origin.kind in ("opaque", "item") and any(str(step) in _GIVEN for step in origin.path)


#: Where a model's answer keeps the arguments of a call, for handlers that take the answer apart themselves.
_GIVEN = frozenset(("arguments", "input", "args", "['arguments']", "['input']", "['args']"))


def model_writes(tool: Tool, box: Toolbox) -> Iterator[ModelWrite]:
    """Writes of existing records by key whose new values come from the model as they are."""
    for write in tool.body.events:
        if not isinstance(write, Write) or write.verb not in ("update", "replace", "upsert") or write.record.family == "accessor" or not _keyed(tool, write):
            continue
        if write.record.family == "file" and not _is_edited(write, box):
            continue
        if write.verb in ("replace", "upsert") and box.is_creating(tool.name):
            continue
        values = tuple(dict.fromkeys(_given(tool, write, box)))
        if not values:
            continue
        version, read = _version(tool, write, box)
        if version:
            yield ModelWrite(write, version, values, read)


def _is_edited(write: Write, box: Toolbox) -> bool:
    """A file that another tool gives to the model to read: it is written anew from what was read. Files that are only put out are none."""
    return any(isinstance(event, Read) and event.record.family == "file" and shape(event.record) == shape(write.record) for other in box.tools for event in other.body.events)


def _keyed(tool: Tool, write: Write) -> bool:
    """Is the record one that was there before, found by an id?"""
    values = [value for _, value in write.record.key]
    trace = tool.body.trace
    if write.record.family == "orm" and any(o.kind in ("read", "param") for o in write.base):
        return True
    for value in values:
        for origin in value.origins:
            if origin.kind == "outcome" and trace.events[origin.n].kind == "write" and trace.events[origin.n].verb == "create":
                return False
            if origin.kind == "random":
                return False
    return any(origin.kind in ("param", "read", "opaque", "item") for value in values for origin in value.origins)


def _given(tool: Tool, write: Write, box: Toolbox) -> Iterator[str]:
    """Names of the written parts that are what the model gave, not made of the record as the tool has just read it."""
    trace = tool.body.trace
    keys = {_plain(o) for _, value in write.record.key for o in value.origins if o.kind == "param"}
    names = {column for column, _ in write.record.key}
    if write.columns:
        parts = [(name, value) for name, value in write.columns if name not in names and not box.is_version(name) and name not in write.self_columns - write.fallbacks]
    elif write.changes:
        parts = [(str(path[0]), trace.events[n].value) for n, path in sorted(write.changes) if trace.events[n].kind == "change"]
    else:
        parts = [("", value) for value in write.leaves or (write.payload,)]
    for name, value in parts:
        given = {o for o in value.origins if from_model(tool, o) and _plain(o) not in keys}
        if given and (given & value.same or not any(_content(trace, write, o, box) for o in value.origins)):
            yield name if name not in ("", "?") else _label(sorted(given, key=str)[0])


def _plain(origin: Origin) -> Origin:
    """Without the mark of an opaque call: what a helper makes of the key is no new value."""
    return origin._replace(path=tuple(step for step in origin.path if step not in ("()", "(.)")))


def _label(origin: Origin) -> str:
    return str(origin.path[-1]).strip("[]'\"") if origin.path and str(origin.path[-1]).startswith("['") else str(origin.n)


def _content(trace: Trace, write: Write, origin: Origin, box: Toolbox) -> bool:
    """Is it what the tool itself read of the record, beside its version?"""
    if origin.kind != "read":
        return False
    event = trace.events[origin.n]
    if not isinstance(event, Read) or any(box.is_version(str(step).strip("[]'\"()")) for step in origin.path):
        return False
    return (event.record.obj is not None and event.record.obj == write.record.obj) or same(trace, event, write) != NO


def _version(tool: Tool, write: Write, box: Toolbox) -> tuple:
    """('none' | 'own' | 'given', the read that fetched it); '' where something else guards the write or it cannot be told."""
    trace = tool.body.trace
    if write.open_where and not write.record.key:
        return "", None
    fetched: Optional[Read] = None
    for p in write.preconditions:
        if p.kind in ("create", "open", "state", "bound"):
            return "", None
        if p.kind != "witness":
            continue
        if any(from_model(tool, o) for o in p.value.origins):
            return "given", None
        reads = [trace.events[o.n] for o in p.value.origins if o.kind == "read"]
        if not reads and write.record.family == "orm":  # the ORM compares what it has loaded
            reads = [trace.events[o.n] for o in sorted(write.base, key=str) if o.kind == "read"]
        if not reads:
            return "", None
        fetched = reads[0]
    if fetched is not None:
        return "own", fetched
    if write.conditional:
        return "", None
    if any(_content(trace, write, o, box) for o in write.payload.origins) and not write.changes:
        return "", None  # read, changed and written back by the tool: the write's own rule speaks
    return "none", None


def offers_precondition(write: ModelWrite, box: Toolbox) -> str:
    """What shows that the store beneath could refuse a stale write, in words; '' when nothing does."""
    if write.version == "own":
        return "the store compares a version"
    where = shape(write.write.record)
    if where in box.versions:
        return f"`{write.write.record.label}` has `{sorted(box.versions[where])[0]}`"
    if write.write.offers:
        return "the store's call takes a precondition"
    if write.write.record.family == "http" and box.words:
        return f"the module knows `{sorted(box.words)[0]}`"
    return ""


def reads_of_record(tool: Tool, box: Toolbox) -> Iterator[tuple]:
    """(read, returned values) of the records by key that a tool reads and gives back."""
    for event in tool.body.events:
        if not isinstance(event, Read) or not event.record.key and event.record.obj is None:
            continue
        if not any(from_model(tool, o) for _, value in event.record.key for o in value.origins):
            continue
        given = [r for r in tool.body.returned if any(o.kind == "read" and o.n == event.n for o in r.value.origins)]
        if given:
            yield event, given


def tells_version(read: Read, returned: Returned, box: Toolbox) -> bool:
    """Is the record's version in what is given back, as far as can be told?"""
    if any(box.is_version(key) for key in returned.keys):
        return True
    for origin in returned.value.origins:
        if origin.kind != "read" or origin.n != read.n:
            continue
        steps = [str(step).strip("[]'\"") for step in origin.path if not str(step).endswith("()") and str(step) not in ("json", "[*]")]
        if any(box.is_version(step) for step in steps):
            return True
        if read.columns is not None:
            if any(name is None or box.is_version(name) for name in read.columns) and (not steps or not any(_is_column(step, read) for step in steps)):
                return True
            if any(step.lstrip("-").isdigit() and _column_at(read, int(step)) and box.is_version(_column_at(read, int(step))) for step in steps[:1]):
                return True
        elif not steps or steps[-1] in ("(.)", "()") or "(.)" in map(str, origin.path):
            return True  # all of it, or something that cannot be followed
    return False


def _is_column(step: str, read: Read) -> bool:
    return step in read.columns or step.lstrip("-").isdigit()


def _column_at(read: Read, place: int) -> Optional[str]:
    return read.columns[place] if -len(read.columns) <= place < len(read.columns) else None


def new_version_told(tool: Tool, write: Write, returned: Returned, box: Toolbox) -> bool:
    """Does the answer after success hold the version that the record has now? An answer that cannot be followed counts."""
    if any(box.is_version(key) for key in returned.keys):
        return True
    for origin in returned.value.origins:
        names = [str(step).strip("[]'\"()") for step in origin.path]
        if any(box.is_version(name) for name in names):
            return True
        if origin.kind in ("read", "outcome") and not names and not returned.plain:
            return True
        if origin.kind == "opaque" or origin.kind == "param" and origin.n == tool.version:
            return True
    return False


def state_told(tool: Tool, write: Write, returned: Returned) -> bool:
    """Does the answer after a refusal hold something of the record as it is now?"""
    return any(origin.kind in ("read", "opaque") or origin.kind == "outcome" and bool(origin.path) for origin in returned.value.origins)


def covers(read: Read, write: Write, tool: Tool, box: Toolbox) -> bool:
    """Does the SET list cover every column that the read gives back (two at least beside key and version), each from a required parameter?"""
    if not read.columns or any(name is None for name in read.columns) or not write.columns:
        return False
    keys = {name for name, _ in (*read.record.key, *write.record.key)} | {"id"}
    shown = {name for name in read.columns if name not in keys and not box.is_version(name)}
    written = dict(write.columns)
    if len(shown) < 2 or not shown <= written.keys():
        return False
    return all(_required(tool, written[name]) for name in shown)


def _required(tool: Tool, value: Value) -> bool:
    for origin in value.origins:
        if origin.kind == "param":
            for p in tool.visible:
                if p.name == origin.n:
                    field = str(origin.path[0]).strip("[]'\"") if origin.path else ""
                    return p.required and all(required for name, required in p.fields if name == field)
    return False


def hidden_outcome(tool: Tool, write: Write, box: Toolbox) -> str:
    """What the model is not told of a conditional write, in words; '' when it is told all, or when it cannot be seen."""
    answers = tool.body.returned
    fine = [r for r in answers if write.n not in r.lost or write.n in r.won]
    refused = [r for r in answers if write.n in r.lost and write.n not in r.won]
    if fine and not any(new_version_told(tool, write, r, box) for r in fine):
        return "its answer does not hold the new version"
    if refused and not any(state_told(tool, write, r) for r in refused):
        return "its answer to a conflict does not hold the current record"
    return ""


#: Parameters that hold a complete document, where the store knows values by key only.
_DOCUMENTS = frozenset((
    "content", "contents", "text", "body", "document", "doc", "markdown", "html", "json", "yaml", "data", "state", "object", "record", "page", "note", "profile", "config", "settings", "plan", "payload",
))


_PLAIN = frozenset(("str", "int", "float", "bytes"))
#: Calls of document stores that put a new document in the place of the old one.
_REPLACING = frozenset(("replace_one", "find_one_and_replace", "replace_item", "put_item", "upsert_item"))


def whole(tool: Tool, found: ModelWrite, box: Toolbox) -> str:
    """Why the write replaces the complete record, in words; '' when it does not."""
    write = found.write
    if write.changes and not tool.whole or _fills_in(tool, write) or _names_a_part(tool, write):
        return ""
    if tool.whole and _one_document(tool, write):
        return "its description asks for all of it"
    if (write.verb == "replace" or write.call in _REPLACING) and not box.is_patching(write.call) and not _is_part(write):
        if write.record.family == "key" and not _holds_document(tool, write):
            return ""
        return "its write replaces everything"
    if write.verb in ("update", "upsert"):
        for other in box.tools:
            for event in other.body.events:
                if isinstance(event, Read) and event.record.family in ("sql", "orm") and shape(event.record) == shape(write.record) and other is not tool and covers(event, write, tool, box):
                    return f"it sets every column that `{other.name}` returns"
    return ""


def _written_parameters(tool: Tool, write: Write) -> list:
    """What the model gives of the new content, beside the key."""
    keys = {o.n for _, value in write.record.key for o in value.origins if o.kind == "param"}
    return [p for p in tool.visible if p.name not in keys and any(o.kind == "param" and o.n == p.name for o in write.payload.origins)]


def _fills_in(tool: Tool, write: Write) -> bool:
    """Are all the fields optional, and each sent only when it is given (`if title is not None: body["title"] = title`, `**fields`)? Then the request changes these."""
    given = _written_parameters(tool, write)
    if tool.raw or not given or any(p.required and p.kind != "varkw" for p in given):
        return False
    named = {p.name for p in given if p.kind != "varkw"}
    asked = {o.n for event in tool.body.events if isinstance(event, Test) for o in event.left.same if o.kind == "param"}
    return named <= asked and (len(named) > 1 or any(p.kind == "varkw" for p in given))


def _names_a_part(tool: Tool, write: Write) -> bool:
    """Does the model say which part of it is meant: the lines from here to there, the text that is to be replaced?"""
    return any(tool.body.trace.match("part_argument", p.name) for p in tool.visible) and not tool.raw


def _one_document(tool: Tool, write: Write) -> bool:
    """Is what is written required, at least in part? Optional fields make a patch."""
    return any(_required(tool, value) for _, value in write.columns or ()) or not write.columns and any(
        p.required for p in tool.visible for o in write.payload.origins if o.kind == "param" and o.n == p.name) or tool.raw


def _is_part(write: Write) -> bool:
    """Has what is written an address of its own below the record: `/articles/{id}/sections/{heading}`, `/users/{id}/email`?"""
    if write.record.family != "http":
        return False
    pieces = [part for _, value in write.record.key for part in (value.shape.parts if type(value.shape) is Template else ())]
    holes = [i for i, part in enumerate(pieces) if isinstance(part, Value)]
    if not holes:
        return False
    tail = "".join(part for part in pieces[holes[-1] + 1:] if isinstance(part, str)).split("?")[0]
    return bool(tail.strip("/")) or sum(1 for i in holes if any(from_key.kind == "param" for from_key in pieces[i].origins)) > 1


def _holds_document(tool: Tool, write: Write) -> bool:
    for p in tool.visible:
        if any(o.kind == "param" and o.n == p.name for o in write.payload.origins):
            if "Union" in p.words and p.words & _PLAIN:
                continue  # whatever a value may be: it is the unit
            if p.fields or "dict" in p.words or "Dict" in p.words or p.name.lower() in _DOCUMENTS or p.name.lower().rsplit("_", 1)[-1] in _DOCUMENTS:
                return True
    return False
