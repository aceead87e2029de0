"""What a request is made of: headers of the call and of its session, query, a request built before it is sent, functions run on its response."""
from __future__ import annotations

from typing import Any, Optional

from . import ir
from .events import Precondition
from .objects import Obj, State
from .values import CONST, Origin, Value


class Requests:
    """Mixin of Walker."""

    # --- headers ----------------------------------------------------------------------------------------------------------------
    def headers_of(self, spec: Any, bound: Any, receiver: Optional[Value], node: Any, state: State) -> list:
        """The mappings in which a header of this request may stand: its own, then those of its session."""
        found = [value for _, value in bound.by_role.get("headers", ())]
        for name in spec.get("receiver_headers", ()) or () if receiver is not None else ():
            kept = self.kept_by(receiver, name, node, state)
            if kept is not None:
                found.append(kept)
        return found

    def kept_by(self, receiver: Value, name: str, node: Any, state: State) -> Optional[Value]:
        """What an attribute of a client holds, where something was put into it (`session.headers[…] = …`, `Client(headers=…)`)."""
        for oid in receiver.objs:
            obj = state.heap.get(oid)
            if obj is not None and name in obj.fields:
                return obj.fields[name]
        value = self.attribute(receiver, name, node, state)
        if value.objs:
            return value
        if len(value.origins) != 1:
            return None
        (origin,) = value.origins
        oid = self.objects.get(("path", origin))
        return self.values.replace(value, objs=frozenset((oid,))) if oid in state.heap else None

    def header_items(self, headers: Value, state: State) -> list:
        """(name, value) of the known entries of a mapping: a dict, what a constructor (`Headers({…})`) was given, a list of pairs."""
        items = []
        for oid in headers.objs:
            obj = state.heap.get(oid)
            if obj is None:
                continue
            items += [(step[2:-2], value) for step, value in obj.fields.items() if step.startswith(("['", '["'))]
            if obj.kind == "new" and "@0" in obj.fields:
                items += self.header_items(obj.fields["@0"], state)
            if obj.kind in ("list", "tuple"):
                for member in obj.fields.values():
                    pair = self.known_items(member, state) if member.objs else None
                    if pair is not None and len(pair) == 2 and pair[0].text is not None:
                        items.append((pair[0].text, pair[1]))
        return items

    def header_unknown(self, headers: Value, state: State) -> bool:
        """Headers that a caller or an unresolved helper filled: a precondition may be among them only where a read's tag flows in."""
        if headers.is_none or self.wholly_known(headers, state):
            return False
        tags = [o for o in self.deep(state, headers) if o.kind == "read" and any(self.is_witness_step(step) for step in o.path)]
        known = {o for _, value in self.header_items(headers, state) for o in value.origins}
        return any(o not in known for o in tags)

    def wholly_known(self, mapping: Value, state: State) -> bool:
        """Is it a dict of this function whose every entry was written out, also where one was taken out again?"""
        objs = [state.heap.get(oid) for oid in mapping.objs]
        return len(objs) == 1 and objs[0] is not None and objs[0].kind == "dict" and objs[0].elem is None and bool(objs[0].fields) and not any(name.startswith("@") for name in objs[0].fields)

    def header_preconditions(self, spec: Any, bound: Any, receiver: Optional[Value], node: Any, state: State) -> list:
        wanted = [h.lower() for h in spec.get("precondition_headers", ()) or ()]
        creating = [h.lower() for h in spec.get("create_headers", ()) or ()]
        if not wanted:
            return []
        found = []
        for headers in self.headers_of(spec, bound, receiver, node, state):
            for name, value in self.header_items(headers, state):
                if name.lower() in wanted and not value.is_none:
                    found.append(Precondition("exists" if value.text == "*" else "witness", name, value, "header"))
                elif name.lower() in creating and not value.is_none:
                    found.append(Precondition("create", name, value, "header"))
            if self.header_unknown(headers, state):
                found.append(Precondition("open", "headers", headers, "header"))
        return found + self.body_witnesses(spec, bound, state)

    # --- query ------------------------------------------------------------------------------------------------------------------
    def query_keys(self, bound: Any, state: State) -> list:
        """Query parameters as further parts of the key: `params={"id": x}`."""
        return [(f"?{name}", value) for _, given in bound.by_role.get("query", ()) for name, value in self.header_items(given, state)]

    # --- requests that are built before they are sent -----------------------------------------------------------------------------
    def op_build_request(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        """`Request("PUT", url, headers=…)`: an object that holds what it was built of."""
        for _, request in bound.by_role.get("request", ()):
            return request  # `session.prepare_request(request)`
        oid = self.object_id(node, "request")
        fields = {f"@{name}": value for name, value in bound.by_name.items()}
        fields["headers"] = bound.by_name.get("headers") or self.container(node, "dict", state, {}, None, "headers")
        own = Origin("opaque", self.object_id_of(("value", id(node.at), self.frames[-1].calls)))
        origins = frozenset().union(*(self.deep(state, v) for v in args.all())) - {CONST} if args.all() else frozenset()
        state.put(oid, Obj("new", own, fields=fields, new=True, label="request"))
        return self.values.make(origins | {own}, same=frozenset((own,)), objs=frozenset((oid,)), ref=("request", spec, receiver))

    def request_method(self, receiver: Value, name: str, args: Any, state: State) -> Optional[Value]:
        """A method of a built request: `prepare()` gives it, `add_header(name, value)` adds to it."""
        given = args.all()
        if name in ("add_header", "add_unredirected_header") and len(given) == 2:
            for oid in receiver.objs:
                obj = state.heap.get(oid)
                headers = obj.fields.get("headers") if obj is not None else None
                if headers is not None:
                    self.put_item(headers, given[0], given[1], state, None, "assign")
            return self.values.none
        if name in ("prepare", "copy"):
            return receiver
        return None

    def sent_request(self, spec: Any, bound: Any, receiver: Optional[Value], state: State) -> Optional[tuple]:
        """(bound, receiver) of the request that a call sends: as if it had been given the parts itself; None when it sends none.

        A URL in place of a request (`urlopen(url, data)`) is a request of that URL.
        """
        given = bound.by_role.get("request", ())
        if not given:
            return None
        from noclobber.knowledge.signatures import Bound

        _, request = given[0]
        fields: dict = {}
        built = spec
        if request.ref is not None and request.ref[0] == "request":
            built = request.ref[1]
            receiver = receiver or request.ref[2]
            for oid in request.objs:
                obj = state.heap.get(oid)
                fields.update(obj.fields if obj is not None else {})
        elif spec.signature.param("payload") is None:
            return Bound(), receiver  # a request that came from elsewhere: nobody knows what it does
        merged = Bound()
        for param in built.signature.params:
            # What was assigned to the request afterwards (`req.data = body`) comes before what it was made with.
            value = fields.get("headers") if param.role == "headers" else fields.get(param.name) or fields.get(f"@{param.name}")
            if value is None and param.role == "method" and isinstance(param.default, str):
                # A body and no verb make a POST of it.
                value = self.values.const("POST" if any(p.role == "payload" and self.is_given(fields.get(p.name) or fields.get(f"@{p.name}")) for p in built.signature.params) else param.default)
            if value is None:
                continue
            merged.by_name[param.name] = value
            if param.role:
                merged.by_role.setdefault(param.role, []).append((param.name, value))
        if built is spec:
            merged.by_role["key"] = [("url", request)]
            body = bound.by_role.get("payload")
            merged.by_role["method"] = [("method", self.values.const("POST" if body else "GET"))]
            if body:
                merged.by_role["payload"] = body
        return merged, receiver

    @staticmethod
    def is_given(value: Optional[Value]) -> bool:
        return value is not None and not value.is_none

    # --- what happens to every response ---------------------------------------------------------------------------------------------
    def keep_client(self, bound: Any, oid: int, state: State) -> frozenset:
        """What a client was made with (`Client(headers=…, event_hooks=…)`) is kept in its attributes. Returns flags of the client."""
        obj = state.heap[oid]
        fields = dict(obj.fields)
        for role in ("headers", "hooks"):
            fields.update({name: value for name, value in bound.by_role.get(role, ()) if not value.is_none})
        state.put(oid, obj.but(fields=fields))
        return frozenset(("raises",)) if any(self.raises_by_itself(v) for _, v in bound.by_role.get("raises", ())) else frozenset()

    @staticmethod
    def raises_by_itself(value: Value) -> bool:
        return not value.is_none and value.literal is not False

    def after_response(self, spec: Any, bound: Any, receiver: Optional[Value], response: Value, node: Any, state: State) -> None:
        """A client that raises for every bad status, and functions that it runs on every response."""
        given = bound.by_role.get("raises", ())
        if any(self.raises_by_itself(v) for _, v in given) or not given and receiver is not None and "raises" in receiver.flags:
            self.check_outcome(response, state, node, raising=True)
        containers = [value for _, value in bound.by_role.get("hooks", ())]
        for name in spec.get("response_hooks", ()) or () if receiver is not None else ():
            kept = self.kept_by(receiver, name, node, state)
            if kept is not None:
                containers.append(kept)
        for container in containers:
            hooks = self.item(container, self.values.const("response"), None, state)
            for hook in self.members_of(hooks, state):
                self.run_hook(hook, response, node, state)

    def members_of(self, value: Value, state: State) -> list:
        """The functions in a hook: itself, or the members of a list."""
        if value.ref is not None:
            return [value]
        found = self.known_items(value, state)
        return found if found is not None else [self.member(value, state)] if value.objs else []

    def run_hook(self, hook: Value, response: Value, node: Any, state: State) -> None:
        from .builtins import _arguments

        if hook.ref is None or hook.ref[0] not in ("function", "local", "partial", "method"):
            # Something is run on every response that cannot be seen: it may look at the status.
            if any(o.kind not in ("const", "unknown") for o in hook.origins):
                self.escapes(state, response, "passed on")
            return
        self.call_value(hook, _arguments(response), node, state)

    # --- senders of the project -------------------------------------------------------------------------------------------------------
    @staticmethod
    def verb_by_name(node: Any, state: State) -> Optional[Value]:
        """The verb in `getattr(requests, method.lower())(url)`, as it came in."""
        func = getattr(node, "func", None)
        if not (isinstance(func, ir.Call) and isinstance(func.func, ir.Name) and func.func.id == "getattr" and len(func.args) == 2):
            return None
        verb = func.args[1].value
        while isinstance(verb, (ir.Call, ir.Attr)):
            verb = verb.func if isinstance(verb, ir.Call) else verb.value
        return state.env.get(verb.id) if isinstance(verb, ir.Name) else None

    def lift(self, event: Any, method: Optional[Value]) -> None:
        """A helper that sends whatever verb it is given (`self._request("PUT", …)`) is no write by itself: the event stands at its call."""
        if method is None or method.text is None:
            return
        depth = len(self.frames) - 1
        while depth > 0 and any(value is method for value in (self.frames[depth].entry or {}).values()):
            depth -= 1
        frame = self.frames[depth + 1] if depth + 1 < len(self.frames) else None
        if frame is None or not frame.calls or len(frame.calls[-1]) < 2 or not hasattr(frame.calls[-1][1], "at"):
            return
        event.site = frame.calls[-1][1]
        event.ctx = event.ctx._replace(calls=frame.calls[:-1])
