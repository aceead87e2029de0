"""Retry policies: what a decorator, an attempt loop, a helper or a transport repeats on, how often, and how it pauses.

A `Policy` is read once from its call; the walk asks it whether an exception, a refusal or a result leads back to the start.
"""
from __future__ import annotations

from typing import Any, Iterable, NamedTuple, Optional

from . import ir
from .arguments import Arguments
from .events import Site, Suspend
from .frames import Past
from .limits import RAISED
from .objects import State
from .predicates import Predicates
from .values import CONST, NOTHING, RANDOM, Lit, Value

#: Status codes that tell a lost race, and codes that ask to slow down (RFC 9110 §15.5.10, §15.5.13; RFC 6585 §4; RFC 9110 §15.6.4).
CONFLICTS = frozenset((409, 412))
THROTTLES = frozenset((429, 503))


class Condition(NamedTuple):
    """What a policy repeats on.

    names: exception classes, None = any; codes: status and error codes that it asks for, None = it asks for none; excluded: classes
    it does not repeat on; result: it looks at what was returned; known: False where it could not be read; site: the test inside a
    predicate.
    """

    names: Optional[frozenset] = None
    codes: Optional[frozenset] = None
    excluded: frozenset = NOTHING
    result: bool = False
    known: bool = True
    site: Optional[Site] = None

    def either(self, other: Condition) -> Condition:
        """`this | other`."""
        return Condition(
            None if self.names is None and not self.result or other.names is None and not other.result else (self.names or NOTHING) | (other.names or NOTHING),
            None if self.codes is None and other.codes is None else (self.codes or NOTHING) | (other.codes or NOTHING),
            self.excluded & other.excluded, self.result or other.result, self.known and other.known, self.site or other.site,
        )

    def both(self, other: Condition) -> Condition:
        """`this & other`."""
        return Condition(
            other.names if self.names is None else self.names if other.names is None else self.names & other.names or self.names,
            other.codes if self.codes is None else self.codes if other.codes is None else self.codes & other.codes,
            self.excluded | other.excluded, self.result or other.result, self.known and other.known, self.site or other.site,
        )


ANY = Condition()
#: What a task raises that has itself run again.
AGAIN = frozenset(("*again",))
UNKNOWN = Condition(known=False)


class Policy:
    """A retry policy.

    on: its Condition; bounded: something ends it; jitter: True, False, or None where it does not pause or cannot be told; methods: HTTP
    verbs that a transport repeats (None: whatever it is given); replays: 'function', 'with' or 'request'; site: where it was made; mixed:
    the codes and classes that it repeats on, where they tell both conflicts and throttling.
    """

    __slots__ = ("spec", "node", "label", "key", "on", "bounded", "jitter", "methods", "replays", "site", "mixed")

    def __init__(self, spec: Any, node: Any, label: str, key: Any, on: Condition = ANY, *, bounded: bool = True, jitter: Optional[bool] = None,
                 methods: Optional[frozenset] = None, replays: str = "function", site: Optional[Site] = None, mixed: frozenset = NOTHING) -> None:
        self.spec, self.node, self.label, self.key, self.on = spec, node, label, key, on
        self.bounded, self.jitter, self.methods, self.replays, self.site, self.mixed = bounded, jitter, methods, replays, site, mixed

    def at(self, node: Any) -> Policy:
        """The same policy where it is used."""
        return Policy(self.spec, node, self.label, id(node.at), self.on, bounded=self.bounded, jitter=self.jitter, methods=self.methods, replays=self.replays, site=self.site,
                      mixed=self.mixed)

    def repeats(self, walker: Any, types: Optional[frozenset], refused: bool = False, cause: Any = None) -> bool:
        """Does it run again after an exception of these types (None: any)? refused: the exception tells a conflict."""
        on = self.on
        if type(cause) is Past and on.names and not on.codes and all(walker.catches(cause.names, frozenset((name,))) == "yes" for name in on.names):
            return False  # all that it repeats on was caught inside
        if on.names == AGAIN:
            return types == AGAIN
        if refused and (not on.known or on.codes is not None and not on.codes & CONFLICTS and not any(walker.is_conflict_name(code) for code in on.codes)):
            return False
        if types is not None and on.excluded and walker.catches(on.excluded, types) == "yes":
            return False
        if on.names is None:
            return not on.result or on.codes is not None
        if types is None:
            # An unresolved call may raise anything, but hardly the conflict class of this project.
            return any(walker.is_general_error(name) for name in on.names)
        return walker.catches(on.names, types) != "no"

    def repeats_result(self, walker: Any) -> bool:
        """Does it run again after a result that tells a conflict?"""
        on = self.on
        return on.result and on.known and (on.codes is None or bool(on.codes & CONFLICTS))


MAX_FACTORIES = 4  # functions of a module that are looked at for the client that they make

class Policies(Predicates):
    """Mixin of Walker."""

    # --- reading a policy ------------------------------------------------------------------------------------------------
    def policies_of(self, definition: Any, state: State) -> list:
        """The retry policies of a function's decorators, outermost first."""
        found = []
        for decorator in getattr(definition, "decorators", ()):
            policy = self.policy_of(decorator, state, ("decorator", "policy"))
            if policy is not None and policy.replays != "request":
                found.append(policy)
            again = self._task_policy(definition, decorator)
            if again is not None:
                found.append(again)
        return found

    def _task_policy(self, definition: Any, decorator: Any) -> Optional[Policy]:
        """A task whose first parameter is `self` can have itself run again with the same arguments: `raise self.retry()`."""
        func = decorator.func if isinstance(decorator, ir.Call) else decorator
        name = func.name if isinstance(func, ir.Attr) else func.id if isinstance(func, ir.Name) else ""
        if not isinstance(definition, ir.FunctionDef) or not name or not self.vocabulary.match("task_decorator", name):
            return None
        params = definition.params.items
        if not params or params[0].name != "self":
            return None
        return Policy(None, decorator, name, (id(decorator.at), "again"), Condition(AGAIN))

    def task_again(self, receiver: Value, args: Any, node: Any, state: State) -> None:
        """`self.retry(countdown=10)` in a task: it raises, and the task is delivered again with the arguments that it had."""
        from .objects import Dead

        if not any(o.kind == "param" and o.n == "self" and not o.path for o in receiver.same) or not any(r.event.policy is not None and r.event.policy.on.names == AGAIN for r in self.regions):
            return
        if args.get("args", 0) is not None or args.get("kwargs", 1) is not None or args.open_kwargs:
            return
        length = args.get("countdown")
        event = self.event(Suspend, node, state, what="retry", value=length if length is not None else self.values.const(180))
        state.done |= {(region.id, ("pause", event.n)) for region in self.regions}
        self.throw(state, AGAIN, RAISED)
        throw = args.get("throw")
        if throw is None or throw.literal is not False:
            raise Dead

    def policy_of(self, expression: Any, state: State, ops: tuple) -> Optional[Policy]:
        """The policy that an expression names or makes: a call of the vocabulary, a name bound to one, a function that returns one."""
        func = expression.func if isinstance(expression, ir.Call) else expression
        name = self.static_name(func)
        specs: list = []
        if name:
            specs = [s for s in self.vocabulary.functions(name) if s.entry.kind == "retry" and s.op in ops]
            last = name.rsplit(".", 1)[-1]
            if not specs and "." in name:
                specs = [s for s in self.vocabulary.methods("_", last) if s.entry.kind == "retry" and s.op in ops]
        if not specs:
            return self._named_policy(expression, func, state)
        args = self.arguments(expression, state.copy()) if isinstance(expression, ir.Call) else Arguments()
        return self.made_policy(specs, args, expression, name, state)

    def _named_policy(self, expression: Any, func: Any, state: State) -> Optional[Policy]:
        """`@contended` where `contended = Retry(…)`, `@conflict_retry(5)` where that function returns a decorator."""
        head = func
        while isinstance(head, ir.Attr):
            head = head.value
        if not isinstance(head, ir.Name) or not self.frames:
            return None
        frame = self.frames[-1]
        if frame.closure is None or head.id not in frame.closure:
            found = self.ask.name(frame.scope.module, head.id)
            if found is None or found[0] not in ("global", "function", "import"):
                return None
            if found[0] == "function" and (found[1].kinds is None or "policy" not in found[1].kinds):
                return None
        known = self.shared.setdefault("policies", {})
        if id(expression) not in known:
            self.keep.append(expression)
            known[id(expression)] = None  # while it is being read
            known[id(expression)] = self._policy_value(expression, state)
        return known[id(expression)]

    def _policy_value(self, expression: Any, state: State) -> Optional[Policy]:
        from .objects import Dead

        trial = state.copy()
        saved = self.collectors, self.regions
        self.collectors, self.regions = [], []
        try:
            value = self.eval(expression, trial)
            if value.ref is not None and value.ref[0] == "function" and not isinstance(expression, ir.Call):
                # `def resilient(func): return retry(…)(func)`
                from .builtins import _arguments

                definition = value.ref[1].definition()
                if definition is not None and len(definition.params.items) == 1:
                    value = self.call_value(value, _arguments(self.values.unknown), expression, trial)
        except Dead:
            return None
        finally:
            self.collectors, self.regions = saved
        policy = self.policy_in(value, trial, 0)
        if policy is None or policy.node is expression:
            return policy
        # It is the decorator that stands in the function's way, wherever it was made.
        return policy.at(expression)

    def made_policy(self, specs: Iterable, args: Any, node: Any, name: str, state: State) -> Optional[Policy]:
        for spec in specs:
            bound = self.fit(spec, args)
            if bound is not None:
                on = self.condition_of(spec, bound, state)
                codes = (on.codes or NOTHING) | (on.names or NOTHING)
                return Policy(
                    spec, node, name, id(node.at), on, mixed=self.mixed_of(codes), bounded=self.is_bounded(spec, bound), jitter=self.jitter_of(spec, bound),
                    methods=self.methods_of(spec, bound, state), replays=spec.get("replays") or "function", site=self.site(node) if self.frames else None,
                )
        return None

    def condition_of(self, spec: Any, bound: Any, state: State) -> Condition:
        """What the arguments say that it repeats on; the library's default where they say nothing."""
        found: Optional[Condition] = None
        given = [value for role in ("on", "exceptions") for _, value in bound.by_role.get(role, ()) if not value.is_none and value.literal is not False]
        for value in given:
            mine = self.condition_in(value, state)
            found = mine if found is None else found.either(mine)
        for param in spec.get("excludes", ()) or ():
            value = bound.by_name.get(param)
            if value is not None and not value.is_none:
                mine = self.condition_in(value, state, negated=True)
                found = mine if found is None else found.both(mine)
        if spec.get("about") == "result":
            return self._of_result(found)
        if found is None:
            default = spec.get("default_on", ()) or ()
            codes = frozenset(int(code) for code in default if code.isdigit())
            names = frozenset(name for name in default if not name.isdigit())
            if names & {"Exception", "BaseException"}:
                return ANY
            return Condition(names, codes or (NOTHING if spec.get("replays") == "request" else None))
        if spec.get("replays") == "request" and found.codes is None:
            return found._replace(codes=NOTHING)
        return found

    @staticmethod
    def _of_result(found: Optional[Condition]) -> Condition:
        """A predicate of a result; one that asks for no code (`lambda done: not done`) asks for failure."""
        return Condition(NOTHING, found.codes if found is not None else None, NOTHING, True, True, found.site if found is not None else None)

    def condition_in(self, value: Value, state: State, negated: bool = False) -> Condition:
        """The condition that a value is: one made by the library, exception classes, status codes, or a predicate of the project."""
        ref = value.ref
        if ref is not None and ref[0] == "condition":
            return ref[1]
        if ref is not None and ref[0] in ("function", "local"):
            return self.predicate_condition(ref, negated)
        if ref is not None and ref[0] == "partial" and ref[1].ref is not None:
            return self.condition_in(ref[1], state, negated)
        codes = frozenset(code for code in self._codes(value, state) if isinstance(code, int) and not isinstance(code, bool))
        if codes:
            return Condition(frozenset(), codes)
        texts = frozenset(part.text for part in self.known_items(value, state) or () if part.text)
        names = texts or self.exception_names(value, deep=True)
        if names is None:
            found = frozenset()
            for part in self.known_items(value, state) or ():
                mine = self.exception_names(part, deep=True)
                if mine is None:
                    return UNKNOWN
                found |= mine
            names = found or None
        if names is None:
            return UNKNOWN
        if ref is not None and ref[0] == "dotted" and ref[1].rsplit(".", 1)[-1][:1].islower():
            return UNKNOWN  # a predicate of another module
        if negated:
            return Condition(None, None, names)
        return ANY if names & {"Exception", "BaseException"} else Condition(names)

    def is_bounded(self, spec: Any, bound: Any) -> bool:
        for shape in spec.get("unbounded_if", ()) or ():
            if all(self._lacks(part, bound) for part in shape.split(" and ")):
                return False
        return True

    def _lacks(self, shape: str, bound: Any) -> bool:
        """`stop missing`: the argument is absent or None; `stop None`: it is given as None; any other word: the name of what was given."""
        name, _, what = shape.partition(" ")
        if what == "missing":
            value = bound.by_name.get(name)
            return value is None or value.is_none
        if what == "None":
            value = bound.by_name.get(name)
            return value is not None and value.is_none
        return any(value.name == name or value.dotted.rsplit(".", 1)[-1] == name for _, value in bound.by_role.get("stop", ()))

    def jitter_of(self, spec: Any, bound: Any) -> Optional[bool]:
        """True: its pauses differ at random; False: they do not; None: it does not pause, or nobody can tell."""
        for shape in spec.get("jitter", ()) or ():
            if all(self._has(part, bound) for part in shape.split(" and ")):
                return True
        pauses = [value for _, value in bound.by_role.get("wait", ()) if not value.is_none]
        for value in pauses:
            if RANDOM in value.origins:
                return True
            if value.ref is not None and value.ref[0] == "dotted":
                continue  # `backoff.expo`: how it waits, without its own jitter
            if value.ref is not None or any(o.kind in ("opaque", "unknown", "global") for o in value.origins):
                return None  # a function of the project, or something from elsewhere
        if pauses and all(type(value.shape) is Lit and not value.shape.value for value in pauses):
            return None
        return False if pauses or spec.get("wait") == ["always"] else None

    def _has(self, shape: str, bound: Any) -> bool:
        if shape == "always":
            return True
        name = shape.removeprefix("not ")
        value = bound.by_name.get(name)
        off = value is not None and type(value.shape) is Lit and not value.shape.value
        return not off if name != shape else value is not None and not off

    def methods_of(self, spec: Any, bound: Any, state: State) -> Optional[frozenset]:
        """The verbs that a transport's policy repeats: upper case; None = all."""
        default = spec.get("methods")
        for _, value in bound.by_role.get("method", ()):
            if value.literal is False or value.is_none:
                return None
            known = self.known_items(value, state)
            texts = [part.text for part in known or [self.member(value, state)] if part.text]
            if not texts:
                return None
            return frozenset(text.upper() for text in texts)
        return frozenset(default) if default else None

    # --- calls that make one ---------------------------------------------------------------------------------------------------
    def op_retry_policy(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        """`Retry(…)` as a value: it decorates, wraps a callable, or is handed to a transport."""
        policy = self.made_policy((spec,), args, node, spec.signature.name, state)
        return self.values.make(frozenset((CONST,)), ref=("policy", policy), name=spec.signature.last)

    def op_retry_condition(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        """`retry_if_exception_type(E)`, `if_exception_type(E)`: a part of a policy."""
        parts = [value for role in ("on", "exceptions", "func") for _, value in bound.by_role.get(role, ())] + [value for name, value in bound.extra if name is None]
        about = spec.get("about") or "exception"
        conditions = [self.condition_in(value, state, negated=about == "not result") for value in parts if not value.is_none]
        if not conditions:
            return self.values.make(frozenset((CONST,)), ref=("condition", ANY))
        found = conditions[0]
        for other in conditions[1:]:
            found = found.both(other) if about == "all" else found.either(other)
        if about == "not exception":
            found = Condition(None, None, found.names or NOTHING) if found.known else UNKNOWN
        elif about in ("result", "not result"):
            found = self._of_result(found)
        return self.values.make(frozenset((CONST,)), ref=("condition", found))

    def op_retry_pause(self, spec: Any, bound: Any, receiver: Optional[Value], args: Any, node: Any, state: State, doubt: str) -> Value:
        """`wait_exponential(…)`: a pause between tries; `random` in the vocabulary tells those that differ."""
        given = [value for value in args.all() if RANDOM in value.origins or value.ref is not None and value.ref[0] in ("local", "function")]
        jitter = spec.get("random") or any(RANDOM in value.origins for value in given)
        return self.values.make(frozenset((RANDOM,) if jitter else (CONST,)), name=spec.signature.last)

    def told_by_result(self, policy: Policy, state: State, value: Value) -> State:
        """The state in which a policy looks at a returned answer: of an answer that nobody has tested (`retry_if_result(lambda r: r.status_code == 412)`)
        it is the policy that finds the refusal."""
        asked = [o.n for o in value.same if o.kind == "outcome" and o.n not in state.won and self.trace.events[o.n].kind == "write"]
        if not asked or not policy.on.codes or not policy.on.codes & CONFLICTS:
            return state
        told = state.copy()
        told.lost |= frozenset(asked)
        return told

    # --- policies of transports -----------------------------------------------------------------------------------------------
    def policy_in(self, value: Optional[Value], state: State, depth: int = 3) -> Optional[Policy]:
        """A policy that a value is, or that an object was made with: `HTTPAdapter(max_retries=Retry(…))`."""
        if value is None:
            return None
        if value.ref is not None and value.ref[0] in ("policy", "retried"):
            return value.ref[1]
        if depth:
            for oid in sorted(value.objs):
                obj = state.heap.get(oid)
                if obj is None or obj.kind not in ("new", "cursor", "instance", "path", "dict"):
                    continue
                for inner in obj.fields.values():
                    found = self.policy_in(inner, state, depth - 1)
                    if found is not None:
                        return found
        return None

    def can_have_policy(self, value: Value) -> bool:
        """Is it of a type whose methods give it a policy?"""
        return bool(value.typ) and any(spec.op == "attach" for entry in self.vocabulary.entries_of_type(value.typ) if entry.kind == "retry" for spec in entry.specs)

    def attach_policy(self, specs: Iterable, receiver: Optional[Value], result: Optional[Value], args: Any, node: Any, state: State) -> None:
        """`session.mount(prefix, adapter)`, `Client(transport=…)`: from now on what it sends is repeated by that policy."""
        for spec in specs:
            if spec.entry.kind != "retry" or spec.op != "attach":
                continue
            bound = self.fit(spec, args)
            if bound is None:
                continue
            policy = next((p for _, value in bound.by_role.get("policy", ()) for p in (self.policy_in(value, state),) if p is not None), None)
            if policy is None and any(True for role in ("on", "stop") for _ in self.given(bound, role)):
                policy = self.made_policy((spec,), args, node, spec.signature.name, state)
            target = result if result is not None and result.objs else receiver
            if policy is None or target is None:
                continue
            for oid in target.objs:
                obj = state.heap.get(oid)
                if obj is not None:
                    marker = self.values.make(frozenset((CONST,)), ref=("policy", policy))
                    state.put(oid, obj.but(fields={**obj.fields, "@policy": marker}))

    def transport_policy(self, receiver: Optional[Value], args: Any, state: State) -> Optional[Policy]:
        """The policy under which a request is sent: an argument of the call (`retry=policy`), or its client's."""
        for _, argument in getattr(args, "keywords", ()):
            if argument.value.ref is not None and argument.value.ref[0] == "policy":
                return argument.value.ref[1]
        if receiver is not None:
            for oid in sorted(receiver.objs):
                obj = state.heap.get(oid)
                marker = obj.fields.get("@policy") if obj is not None else None
                if marker is not None:
                    return marker.ref[1]
            if self.can_have_policy(receiver) and receiver.same and all(o.kind == "param" for o in receiver.same):
                return self.policy_of_factory(receiver.typ)
        return None

    def policy_of_factory(self, typ: Optional[str]) -> Optional[Policy]:
        """The policy of a client that was handed in, where the functions of the module that make such clients all give them one."""
        module = getattr(self.frames[-1].scope, "module", None)
        if module is None or self.beside:
            return None
        known = self.shared.setdefault("factories", {})
        key = (module.name, typ)
        if key not in known:
            known[key] = None
            found: list = []
            for name, info in module.index.functions.items():
                scope = module.scope(name) if info.cls is None and len(found) < MAX_FACTORIES else None
                if scope is None or scope.kinds is not None and "policy" not in scope.kinds:
                    continue
                walker = type(self)(self.ask, self.vocabulary, self.values, self.shared)
                walker.beside = True
                walker.walk(scope)
                for state, value in walker.root_returns:
                    if value.typ == typ:
                        found += [state.heap[oid].fields.get("@policy") for oid in value.objs if oid in state.heap]
            if found and all(marker is not None for marker in found):
                known[key] = found[0].ref[1]
        return known[key]

    def note_transport(self, event: Any, verb: str, receiver: Optional[Value], args: Any, node: Any, state: State) -> None:
        """Note that the transport sends this request again by itself: a retry region of its own, around the one call."""
        policy = self.transport_policy(receiver, args, state)
        if policy is None:
            return
        if verb and policy.methods is not None and verb.upper() not in policy.methods:
            return
        region = self.open_region(node, state, "transport", policy.label, extra=event.kind, policy=policy)
        event.ctx = event.ctx._replace(loops=event.ctx.loops + (region.id,)) if region.id not in event.ctx.loops else event.ctx
        if event.kind == "write":
            names = policy.on.names or NOTHING
            if policy.on.known and ((policy.on.codes or NOTHING) & CONFLICTS or any(self.is_conflict_name(name) for name in names | (policy.on.codes or NOTHING))):
                region.event.retried.add(event.n)
        else:
            region.event.replayed.setdefault(event.n, "exception")

    def is_conflict_name(self, name: Any) -> bool:
        return isinstance(name, str) and self.vocabulary.match("conflict_exception", name.replace(":", ".").rsplit(".", 1)[-1])

    def is_throttle_name(self, name: Any) -> bool:
        return isinstance(name, str) and self.vocabulary.match("throttle_exception", name.replace(":", ".").rsplit(".", 1)[-1])

    def mixes(self, items: Iterable) -> bool:
        """Do these codes and names hold both a conflict and a request to slow down?"""
        found = set(items)
        return any(self.is_conflict(code) for code in found) and any(self.is_throttle(code) for code in found)

    def mixed_of(self, items: Iterable) -> frozenset:
        """Those of these codes and names that are a conflict or a request to slow down, where there are both."""
        found = frozenset(item for item in items if self.is_conflict(item) or self.is_throttle(item))
        return found if self.mixes(found) else NOTHING

    def is_conflict(self, code: Any) -> bool:
        return code in CONFLICTS or self.is_conflict_name(code)

    def is_throttle(self, code: Any) -> bool:
        return code in THROTTLES or self.is_throttle_name(code)
