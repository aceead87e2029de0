"""Object stores: handles that carry their version, reads into a buffer or a file, and files whose content is written when they are closed."""
from __future__ import annotations

from typing import Any, Optional

from .events import Precondition, Read, Write
from .objects import State
from .records import YES, same_value
from .values import CONST, Lit, Origin, Value


class Blobs:
    """Mixin of Walker."""

    # --- the version that a handle carries ------------------------------------------------------------------------------------------
    def with_receiver_object(self, receiver: Optional[Value], node: Any, state: State) -> Optional[Value]:
        if receiver is None or receiver.objs:
            return receiver
        with_object = self.as_object(receiver, state)
        func = getattr(node, "func", None)
        if with_object is not receiver and func is not None:
            self.rebind(getattr(func, "value", None), receiver, with_object, state)
        return with_object

    def set_on_receiver(self, spec: Any, receiver: Optional[Value], origin: Origin, node: Any, state: State) -> None:
        """`blob.generation` is that of the last download, reload or upload of this handle."""
        names = spec.get("sets", ()) or ()
        if not names or receiver is None:
            return
        receiver = self.with_receiver_object(receiver, node, state)
        for oid in receiver.objs:
            obj = state.heap.get(oid)
            if obj is not None:
                state.put(oid, obj.but(fields={**obj.fields, **{name: self.values.origin(origin.at(name)) for name in names}}))

    def lazy_attribute(self, base: Value, name: str, node: Any, state: State) -> Optional[Value]:
        """An attribute that asks the store when it is first looked at (`s3.Object(b, k).e_tag`): a read of its own."""
        if not base.typ or base.typ.startswith("class:"):
            return None
        for entry in self.vocabulary.entries_of_type(base.typ):
            for spec in entry.specs:
                if spec.op != "read" or not spec.get("lazy") or name not in (spec.get("sets", ()) or ()):
                    continue
                from noclobber.knowledge.signatures import Bound

                record = self.record_of(spec, Bound(), base, state)
                event = self.event(Read, node, state, "lazy", record=record, columns=None, lock=None, many=False, cached=False, spec=spec)
                origin = Origin("read", event.n)
                for oid in base.objs:
                    obj = state.heap.get(oid)
                    if obj is not None:
                        state.put(oid, obj.but(fields={**obj.fields, **{n: self.values.origin(origin.at(n)) for n in spec.get("sets")}}))
                return self.values.origin(origin.at(name))
        return None

    # --- conditions ------------------------------------------------------------------------------------------------------------------
    def object_preconditions(self, spec: Any, bound: Any, found: list) -> list:
        """`MatchConditions.IfPresent` is no guard; 0 as generation, "create" as mode only create; without overwrite=True an upload creates."""
        for _, how in bound.by_role.get("condition", ()):
            last = (how.dotted or how.text or "").rsplit(".", 1)[-1]
            if last and last != "IfNotModified":
                found = [p._replace(kind="create" if last == "IfMissing" else "exists") if p.kind == "witness" else p for p in found]
                if last in ("IfMissing", "IfPresent") and not found:
                    found = [Precondition("create" if last == "IfMissing" else "exists", "match_condition", how)]
        for shape in spec.get("create_if", ()) or ():
            name, _, wanted = shape.partition(" ")
            value = bound.by_name.get(name)
            if value is not None and type(value.shape) is Lit and str(value.shape.value) == wanted and value.shape.value is not False:
                found = [p for p in found if p.column != name] + [Precondition("create", name, value)]
        overwrites = [param for param in spec.signature.params if param.role == "replaces"]
        if overwrites and not found and not self.given(bound, "replaces"):
            found = [Precondition("create", overwrites[0].name, self.values.unknown)]
        return found

    # --- into a buffer, into a file ----------------------------------------------------------------------------------------------------
    def read_into(self, bound: Any, origin: Origin, node: Any, state: State) -> None:
        """`download_fileobj(bucket, key, buffer)`: the buffer holds the record; a path is remembered, its file holds it."""
        for _, target in bound.by_role.get("into", ()):
            if target.objs and any(state.heap[oid].kind in ("list", "dict", "new") for oid in target.objs if oid in state.heap):
                self.mutated(target, state, node, None, self.values.origin(origin))
            self.files.append((target, origin))

    def file_payload(self, value: Value, state: State) -> Value:
        """What a file that is uploaded holds: what was downloaded to the same path, as it was or changed."""
        origins = set(self.deep(state, value))
        for path, origin in self.files:
            if same_value(path, value) == YES:
                origins.add(origin)
        origins |= self.content_of(value)
        return self.values.make(frozenset(origins - {CONST}) or value.origins)

    # --- files that are open for writing -------------------------------------------------------------------------------------------------
    def feed(self, base: Value, value: Optional[Value], state: State) -> None:
        """Something is written into a file of an object store: it is the payload of the write that opening it was."""
        if value is None:
            return
        for origin in base.origins:
            event = self.trace.events[origin.n] if origin.kind == "outcome" else None
            if isinstance(event, Write) and origin.n in self.streams:
                event.payload = self.values.derived([event.payload, self.flat(state, value)])

    def feed_by_call(self, receiver: Value, given: list, state: State) -> None:
        """`frame.to_csv(file)`: what a call is given together with the file goes into it."""
        streams = [v for v in given if any(o.kind == "outcome" and o.n in self.streams for o in v.origins)]
        for stream in streams:
            for other in (receiver, *(v for v in given if v is not stream)):
                self.feed(stream, other, state)

    def part_of_result(self, spec: Any, value: Value, args: Any, node: Any, state: State) -> Value:
        """`fs, path = url_to_fs(url)`: the receiver is one member of what comes back."""
        part = spec.get("part")
        if not part:
            return value
        others = self.values.origin(next(iter(value.same)).at("[other]")) if value.same else self.values.derived(args.all())
        return self.container(node, "tuple", state, {f"[{i}]": value if f"[{i}]" == part else others for i in range(2)}, None, "part")


def fits_only(spec: Any, bound: Any, words: Any) -> bool:
    """`only_if = ["urlpath s3://*", "json"]`: one of the shapes must fit, or the argument be given at all."""
    from fnmatch import fnmatchcase

    shapes = spec.get("only_if", ()) or ()
    for shape in shapes:
        name, _, glob = shape.partition(" ")
        value = bound.by_name.get(name)
        if value is not None and not value.is_none and (not glob or fnmatchcase(words(value), glob)):
            return True
    return not shapes


