"""`noclobber stores explain PATH:LINE`: what the vocabulary makes of the calls on a line."""
from __future__ import annotations

from typing import Any, Optional

from noclobber import analyse
from noclobber.engine import on_big_stack
from noclobber.knowledge import describe
from noclobber.trace import positions


def explain(path: str, line: int, vocabulary: Any) -> Optional[str]:
    """For each call that begins or ends on that line: the entry and signature that matched, and the key, payload and
    precondition of what it reads or writes. None: no call there that the vocabulary knows.

    Raises OSError, resolve.SourceError.
    """
    with open(path, "rb") as stream:
        data = stream.read()
    return on_big_stack(lambda: _explain(data, path, line, vocabulary))


def _explain(data: bytes, path: str, line: int, vocabulary: Any) -> Optional[str]:
    from noclobber.trace.walk import Walker

    matched: dict[int, tuple[Any, Any, list]] = {}  # id of the node → (excerpt, node, specs)

    class Watching(Walker):
        """Notes which specs fit which call."""

        calling: tuple = ()

        def call_method(self, receiver: Any, name: str, args: Any, node: Any, state: Any) -> Any:
            return self.while_calling(node, lambda: super(Watching, self).call_method(receiver, name, args, node, state))

        def call_value(self, callee: Any, args: Any, node: Any, state: Any) -> Any:
            return self.while_calling(node, lambda: super(Watching, self).call_value(callee, args, node, state))

        def while_calling(self, node: Any, work: Any) -> Any:
            before, self.calling = self.calling, (self.site(node), node)
            try:
                return work()
            finally:
                self.calling = before

        def fit(self, spec: Any, args: Any) -> Any:
            bound = super().fit(spec, args)
            if bound is not None and self.calling and getattr(self.calling[1], "at", None) is not None:
                site, node = self.calling
                specs = matched.setdefault(id(node.at), (site.excerpt, node.at, []))[2]
                if spec not in specs:
                    specs.append(spec)
            return bound

    events: dict[int, list] = {}
    traces: dict[int, Any] = {}
    for _, trace, _ in analyse.traces(data, path, vocabulary, walker=Watching):
        for event in trace.events:
            if event.site.at is not None and event.kind in ("read", "write", "effect"):
                known = events.setdefault(id(event.site.at), [])
                if len(event.ctx.calls) == 0 or not known:  # best where its own function is the root
                    known.append((len(event.ctx.calls), event, trace))
                traces[id(event.site.at)] = (event.site.excerpt, event.site.at)
    for key, (excerpt, at) in traces.items():
        matched.setdefault(key, (excerpt, at, []))
    found = []
    for key, (excerpt, at, specs) in matched.items():
        try:
            first, column, last, _ = positions.place(excerpt, at)
        except LookupError:
            continue
        if line in (first, last):
            text = positions.source_text(excerpt, at, whole=True)
            mine = min(events.get(key, ()), key=lambda pair: pair[0], default=None)
            found.append(((first, column, -len(text)), _call(f"{path}:{first}:{column}", text, specs, mine, vocabulary)))
    return "\n\n".join(text for _, text in sorted(found)) or None


def _call(where: str, text: str, specs: list, seen: Any, vocabulary: Any) -> str:
    lines = [f"{where}  {text if len(text) <= 100 else text[:97] + '...'}"]
    event, trace = (seen[1], seen[2]) if seen is not None else (None, None)
    for spec in specs:
        file, number = spec.entry.origin
        lines.append(f"  matched: {describe.describe_call(spec)}")
        lines.append(f"           {spec.signature.text}  (`{spec.entry.id}`, {file}:{number})")
    if event is None:
        return "\n".join(lines)
    if event.kind == "effect":
        lines.append(f"  effect: {event.what}" + (", with an idempotency key" if event.key is not None else ""))
        return "\n".join(lines)
    record = event.record
    if event.kind == "read":
        lock = f"; it takes a {event.lock.kind} lock" if event.lock is not None else ""
        columns = f", columns {', '.join(map(str, event.columns))}" if event.columns else ""
        lines.append(f"  read of: `{record.label}` ({record.family}){columns}{lock}")
    else:
        lines.append(f"  write of: `{record.label}` ({record.family}), {event.verb}")
    lines.append("  key: " + (", ".join(f"{column + ' = ' if column else ''}{_value(value, trace)}" for column, value in record.key) or "none that noclobber can see"))
    if event.kind == "write":
        payload = [f"{name} <- {_value(value, trace)}" for name, value in event.columns or () if name != "?"]
        lines.append("  payload: " + ("; ".join(payload) or _value(event.payload, trace)))
        conditions = [f"{item.column or item.kind} ({item.kind})" for item in event.preconditions if item.kind != "scope"]
        lines.append("  precondition: " + (", ".join(conditions) or "none"))
        if conditions:
            lines.append(f"  a refusal shows as: {event.outcome}" + (f" ({', '.join(sorted(event.conflict))})" if event.conflict else ""))
    return "\n".join(lines)


def _value(value: Any, trace: Any) -> str:
    """Where a value comes from, in words."""
    shape = getattr(value, "shape", None)
    if shape is not None and hasattr(shape, "value"):
        return repr(shape.value)
    parts = getattr(shape, "parts", None)
    if parts:
        return "".join(part if isinstance(part, str) else "{" + _value(part, trace) + "}" for part in parts)
    words = []
    for origin in sorted(value.origins, key=str):
        path = "".join(str(step) if str(step).startswith("[") else f".{step}" for step in origin.path if str(step) != "()")
        if origin.kind == "read":
            words.append(f"the read at line {_line(trace.events[origin.n])}")
        elif origin.kind == "param":
            words.append(f"parameter {origin.n}{path}")
        elif origin.kind == "server":
            words.append("computed by the store")
        elif origin.kind not in ("const", "unknown"):
            words.append(origin.kind)
    words = list(dict.fromkeys(words))
    return " and ".join(words) if words else value.name or "something that noclobber does not follow"


def _line(event: Any) -> int:
    try:
        return positions.place(event.site.excerpt, event.site.at)[0]
    except LookupError:
        return 0
