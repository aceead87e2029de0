"""Document stores: filters, update operators and condition expressions become keys, columns and preconditions.

Four expression languages, switched on by `language` of a vocabulary entry: "mongo" (filter and update documents, pipelines), "dynamodb" (update and
condition expressions, `Attr` builders), "cosmos" (patch operations), "elasticsearch" (update bodies). What the words of a language mean is written here;
which call takes which of them is the vocabulary's.
"""
from __future__ import annotations

from typing import Any, Iterable, NamedTuple, Optional

from .events import Precondition
from .expressions import DESCRIPTORS, assignments, conditions
from .objects import State
from .values import NOTHING, SERVER, Lit, Template, Value

#: Comparison words of filters → operators of `split_predicates`.
_FILTER_WORDS = {"$eq": "=", "$in": "in", "$nin": "not in", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<=", "$ne": "!="}
#: Methods of a condition under construction (`Attr("n").eq(v)`).
_CONDITION_METHODS = {"eq": "=", "ne": "!=", "lt": "<", "lte": "<=", "gt": ">", "gte": ">=", "is_in": "in", "between": ">=", "begins_with": ">=", "contains": ">="}
_EXISTENCE = {"exists": "exists_only", "not_exists": "absent"}
_SETTING = frozenset(("$set", "$replaceWith", "$replaceRoot", "$addFields", "$project"))
_ONLY_NEW = frozenset(("$setOnInsert",))


class Update(NamedTuple):
    """What an update writes. columns: ((name, Value), …) or None where it could not be read; server: columns that the store itself computes."""

    columns: Optional[tuple]
    server: frozenset
    payload: Optional[Value] = None


class Documents:
    """Mixin of Walker."""

    # --- mappings ---------------------------------------------------------------------------------------------------------------
    def entries(self, value: Value, state: State) -> Optional[tuple[dict, Optional[Value]]]:
        """({name: Value}, what else it holds or None) of a mapping that was written out; None: it was not."""
        if len(value.objs) != 1:
            return None
        obj = state.heap.get(next(iter(value.objs)))
        if obj is None or obj.kind != "dict":
            return None
        return {step[2:-2]: inner for step, inner in obj.fields.items() if step.startswith(("['", '["'))}, obj.elem

    def plain(self, value: Value, state: State) -> Value:
        """Without its type descriptor: `{"N": str(n)}` is n."""
        found = self.entries(value, state)
        if found is not None and len(found[0]) == 1 and found[1] is None:
            (name, inner), = found[0].items()
            if name in DESCRIPTORS:
                return self.plain(inner, state)
        return value

    def key_parts(self, param: str, value: Value, state: State) -> list:
        """A key argument as ((column, Value), …): mappings by name, references to a record by what they were made with."""
        found = self.entries(value, state)
        if found is not None and found[0] and found[1] is None:
            return [(name, self.plain(inner, state)) for name, inner in found[0].items()]
        made = list(self.receiver_keys(value, state).items()) if value.objs else []
        if made:
            return [(name[5:], inner) for name, inner in made]
        return [(param, value)]

    def entity_parts(self, spec: Any, value: Value, state: State) -> list:
        """The key that a written document carries: the document itself, and those of its fields that were set here (a copy under another key)."""
        if len(value.objs) != 1:
            return [("entity", value)]
        obj = state.heap.get(next(iter(value.objs)))
        if obj is None:
            return [("entity", value)]
        given = {}
        for step, inner in obj.fields.items():
            if step.startswith(("['", '["')) and (obj.origin is None or inner.same != frozenset((obj.origin.at(step),))):
                given[step[2:-2]] = self.plain(inner, state)
        names = [name for name in spec.get("key_fields") or () if name in given]
        if names:
            given = {name: given[name] for name in names}
        if obj.kind == "dict" and obj.elem is None and given and (obj.origin is None):
            return list(given.items())  # all of it was written out here
        return [("entity", value), *(given.items() if names or not spec.get("key_fields") else ())]

    # --- filters ----------------------------------------------------------------------------------------------------------------
    def filter_predicates(self, value: Value, state: State) -> Optional[list]:
        """[(column, operator, Value)] of a filter document or a condition object; None: it was not written out here."""
        if value.ref is not None and value.ref[0] == "pred":
            return list(value.ref[1])
        found = self.entries(value, state)
        if found is None or not found[0]:
            return None
        predicates: list = []
        for name, inner in found[0].items():
            if name == "$and":
                for part in self.known_items(inner, state) or ():
                    predicates += self.filter_predicates(part, state) or []
            elif name == "$or":
                for part in self.known_items(inner, state) or ():
                    predicates += [(column, "or " + op, v) for column, op, v in self.filter_predicates(part, state) or ()]
            elif not name.startswith("$"):
                predicates += self._filter_field(name, inner, state)
        return predicates

    def _filter_field(self, name: str, inner: Value, state: State) -> list:
        words = self.entries(inner, state)
        if words is None or not any(word.startswith("$") for word in words[0]):
            return [(name, "=", inner)]
        return [(name, _FILTER_WORDS[word], v) for word, v in words[0].items() if word in _FILTER_WORDS and word != "$ne"]

    def filter_of(self, spec: Any, bound: Any, state: State, written: Iterable = ()) -> tuple:
        """(key, preconditions) of the filters of a call. written: columns that it writes."""
        key: list = []
        preconditions: list = []
        for param, value in bound.by_role.get("filter", ()):
            predicates = self.filter_predicates(value, state)
            if predicates is None and value.text is not None and spec.get("language") == "dynamodb":
                predicates = self._expression_predicates(bound, value.text, state)
            if predicates is None:
                if value.text is not None and spec.get("language") != "mongo":
                    continue
                key.append((param, value))
                continue
            mine, conditions_ = self.split_predicates(predicates, set(written))
            key += mine
            preconditions += conditions_
        return key, preconditions

    def read_filters(self, bound: Any, state: State) -> tuple:
        """((column, operator, Value), …) that every document of a read fulfils."""
        given = (self.filter_predicates(value, state) for _, value in bound.by_role.get("filter", ()))
        return tuple((column, op, self.flat(state, value)) for predicates in given for column, op, value in predicates or () if not op.startswith("or "))

    def replaced_columns(self, spec: Any, bound: Any, state: State) -> set:
        """Columns in the filter of a call that replaces or deletes the whole document which say in what state it must be. Its id says which one it is."""
        ids = frozenset(spec.get("key_fields") or ("id", "_id", "pk"))
        found = set()
        for _, value in bound.by_role.get("filter", ()):
            for column, _, v in self.filter_predicates(value, state) or ():
                if column in ids:
                    continue
                if self.vocabulary.match("state_column", column) or any(self._was_read(column, o) for o in v.same):
                    found.add(column)
        return found

    def _was_read(self, column: str, origin: Any) -> bool:
        """Is it that field of a document, and not the one by which the document was found (`{"slug": doc["slug"]}`)?"""
        if origin.kind != "read" or not origin.path or str(origin.path[-1]).strip("[]'\"") != column:
            return False
        return column not in dict(self.trace.events[origin.n].record.key)

    # --- updates ----------------------------------------------------------------------------------------------------------------
    def update_of(self, spec: Any, bound: Any, state: State) -> Optional[Update]:
        """What the update document or expression of a call writes; None: it has none."""
        language = spec.get("language")
        given = [value for _, value in bound.by_role.get("operators", ()) if not value.is_none]
        if not given:
            return None
        if language == "dynamodb":
            return self._expression_update(bound, given[0], state)
        columns: list = []
        server: set = set()
        for value in given:
            found = self._cosmos_update(value, state) if language == "cosmos" else self._operator_update(spec, value, state)
            if found is None:
                return Update(None, NOTHING, self.flat(state, value))
            columns += found.columns
            server |= found.server
        return Update(tuple(columns), frozenset(server))

    def _operator_update(self, spec: Any, value: Value, state: State) -> Optional[Update]:
        stages = self.known_items(value, state)
        if stages is not None:
            return self._pipeline(stages, state)
        found = self.entries(value, state)
        if found is None or not found[0] and found[1] is None:
            return None  # it was not written out here, or is the copy of something that was not
        atomic = spec.get("atomic_operators") or ()
        setting = spec.get("set_operators") or ()
        columns: list = []
        server: set = set()
        for word, inner in found[0].items():
            fields = self.entries(inner, state)
            if word in _ONLY_NEW:
                continue
            if word in atomic:
                for name in fields[0] if fields is not None else ():
                    columns.append((name, self.values.make(frozenset((SERVER,)))))
                    server.add(name)
                server.add(word)
                columns.append((word, self.values.make(frozenset((SERVER,)))))
            elif word in _SETTING or word in setting:
                if fields is None:
                    columns.append(("?", self.flat(state, inner)))
                    continue
                columns += [(name, self._set_value(name, v, server, state)) for name, v in fields[0].items()]
                if fields[1] is not None:
                    columns.append(("?", self.flat(state, fields[1])))
            elif not word.startswith("$"):
                columns.append((word, self._set_value(word, inner, server, state)))
        if found[1] is not None:
            columns.append(("?", self.flat(state, found[1])))
        return Update(tuple(columns), frozenset(server))

    def _set_value(self, name: str, value: Value, server: set, state: State) -> Value:
        """The value of a field; one that the store computes (`Increment(1)`, `Sum(…)`) is no value of ours."""
        if SERVER in value.origins:
            server.add(name)
        return self.flat(state, value)

    def _pipeline(self, stages: list, state: State) -> Update:
        """`[{"$set": {"n": {"$add": ["$n", 1]}}}]`: what names a field of the document is computed by the server."""
        columns: list = []
        server: set = set()
        for stage in stages:
            found = self.entries(stage, state)
            for word, inner in (found[0] if found is not None else {}).items():
                fields = self.entries(inner, state)
                if word not in _SETTING or fields is None:
                    server.add(word)
                    continue
                for name, v in fields[0].items():
                    if self._names_field(v, state):
                        server.add(name)
                    columns.append((name, self.flat(state, v)))
        return Update(tuple(columns), frozenset(server))

    def _names_field(self, value: Value, state: State) -> bool:
        return any(part.text is not None and part.text.startswith("$") and not part.text.startswith("$$NOW") for part in self.parts(state, value))

    def _cosmos_update(self, value: Value, state: State) -> Optional[Update]:
        """`[{"op": "incr", "path": "/n", "value": 1}]`: increments and appends are computed by the server."""
        operations = self.known_items(value, state)
        if operations is None:
            for oid in value.objs:
                obj = state.heap.get(oid)
                if obj is not None and obj.kind == "list":
                    operations = [*(v for k, v in obj.fields.items() if k.startswith("[")), *([obj.elem] if obj.elem is not None else [])]
        if operations is None:
            return None
        columns: list = []
        server: set = set()
        for operation in operations:
            found = self.entries(operation, state)
            if found is None:
                columns.append(("?", self.flat(state, operation)))
                continue
            word, path = found[0].get("op"), found[0].get("path")
            name = (path.text or "?").strip("/") if path is not None else "?"
            if word is not None and (word.text == "incr" or word.text == "add" and name.endswith("/-") or word.text == "remove"):
                columns.append((name, self.values.make(frozenset((SERVER,)))))
                server.add(name)
            elif "value" in found[0]:
                columns.append((name, self.flat(state, found[0]["value"])))
        return Update(tuple(columns), frozenset(server))

    # --- expressions of DynamoDB ----------------------------------------------------------------------------------------------------
    def _names_and_values(self, bound: Any, state: State) -> tuple[dict, dict, Optional[Value]]:
        names = self.entries(bound.by_name["ExpressionAttributeNames"], state) if "ExpressionAttributeNames" in bound.by_name else None
        given = bound.by_name.get("ExpressionAttributeValues")
        found = self.entries(given, state) if given is not None else None
        aliases = {alias: value.text for alias, value in (names[0] if names is not None else {}).items() if value.text is not None}
        values = {alias: self.plain(value, state) for alias, value in (found[0] if found is not None else {}).items()}
        return aliases, values, given

    def _expression_update(self, bound: Any, expression: Value, state: State) -> Update:
        aliases, values, given = self._names_and_values(bound, state)
        everything = self.flat(state, given) if given is not None else self.values.const(None)
        found = assignments(expression.text) if expression.text is not None else None
        if found is None:
            return Update(None, NOTHING, everything)
        columns: list = []
        server: set = set()
        for path, operands, computed in found:
            name = ".".join(aliases.get(part, part) for part in path.split("."))
            if computed:
                server.add(name)
            used = [values[operand] for operand in operands if operand in values]
            if len(used) < len(operands) and not values:
                used = [everything]
            columns.append((name, self.values.derived([self.flat(state, v) for v in used]) if used else self.values.const(None)))
        return Update(tuple(columns), frozenset(server))

    def _expression_predicates(self, bound: Any, text: str, state: State) -> Optional[list]:
        """[(column, operator, Value)] of the text of a condition with aliases; None where it cannot be read."""
        aliases, values, _ = self._names_and_values(bound, state)
        found = conditions(text)
        return None if found is None else [(aliases.get(column, column), op, values.get(operand, self.values.unknown)) for column, op, operand in found]

    def expression_preconditions(self, bound: Any, param: str, condition: Value, written: set, state: State) -> list:
        """What a condition expression demands: text with aliases, or a condition object."""
        if condition.ref is not None and condition.ref[0] == "pred":
            predicates = list(condition.ref[1])
        elif condition.text is not None:
            found = self._expression_predicates(bound, condition.text, state)
            if found is None:
                return [Precondition("witness", param, condition)]
            predicates = found
        else:
            return [Precondition("witness", param, condition)]
        result = [Precondition("create" if op.endswith("absent") else "exists", column, v) for column, op, v in predicates if op.endswith(("absent", "exists_only"))]
        rest = [(column, op, v) for column, op, v in predicates if not op.endswith(("absent", "exists_only"))]
        # `attribute_not_exists(id) OR version = :v`: somebody's version is compared, or nothing is there.
        rest = [(c, op[3:] if op.startswith("or ") and len(rest) < len(predicates) else op, v) for c, op, v in rest]
        columns = written | {c for c, _, v in rest if self.vocabulary.match("state_column", c) or any(
            o.kind == "read" and o.path and str(o.path[-1]).strip("[]'\"") == c for o in v.same)}
        _, preconditions = self.split_predicates(rest, columns)
        return result + list(preconditions)

    def condition_method(self, receiver: Value, name: str, args: Any, state: State) -> Optional[Value]:
        """`Attr("version").eq(v)`: a predicate."""
        column = None
        for oid in receiver.objs:
            obj = state.heap.get(oid)
            if obj is not None and obj.fields.get("@0") is not None:
                column = obj.fields["@0"].text
        value = args.positional[0].value if args.positional else self.values.none
        if column is None:
            return None
        if name in _EXISTENCE:
            return self.values.make(frozenset((SERVER,)), ref=("pred", ((column, _EXISTENCE[name], self.values.none),)))
        if name in _CONDITION_METHODS:
            return self.values.make(value.origins | {SERVER}, ref=("pred", ((column, _CONDITION_METHODS[name], value),)))
        return None

    # --- documents that carry their version ---------------------------------------------------------------------------------------------
    def carried_witness(self, spec: Any, bound: Any, receiver: Optional[Value], state: State) -> list:
        """A document that goes back with the version it was read with (`carries`), unless that was taken out, is a conditional write. A new one has none yet."""
        paths = spec.get("carries") or ()
        if not paths or spec.op == "create":
            return []
        found = []
        bodies = [value for role in ("entity", "payload") for _, value in bound.by_role.get(role, ())]
        if spec.get("deferred"):
            bodies.append(self.deferred(receiver, "@body", state))
        for value in bodies:
            # `resource_version` of an object, `resourceVersion` of its mapping: where one of them was taken out it is gone.
            carried = [self._carried(value, _steps(path.lstrip("=")), state, not path.startswith("=")) for path in paths]
            for path, inner in zip(paths, carried):
                if inner is not None and not any(other is not None and other.is_none for other in carried):
                    found.append(Precondition("witness", path, inner))
                    break
        return found

    def _carried(self, value: Value, steps: list, state: State, whole: bool = True, top: bool = True) -> Optional[Value]:
        """The version at a path of a document, or what stands for it in a document that was not taken apart; None: it is not there.

        whole: False where it must have been put there in sight.
        """
        if value.is_none and "maybe-none" not in value.flags:
            return value
        if not steps:
            return value
        step = steps[0]
        for oid in value.objs:
            obj = state.heap.get(oid)
            if obj is None:
                continue
            for name in (step, f"[{step!r}]", step.strip("[]'\"")):
                if name in obj.fields:
                    return self._carried(obj.fields[name], steps[1:], state, whole, False)
            if obj.origin is None and obj.elem is None:
                return None  # written out here, without it
        if not whole:
            return None
        if not top:
            return value if any(o.kind in ("read", "outcome", "param", "opaque") for o in value.origins) else None
        if any(o.kind in ("read", "outcome") and all(part in _WHOLE for part in o.path) for o in value.origins):
            return value
        # A document that was handed in: its reader has left the version in it.
        return value if any(o.kind == "param" and not o.path for o in value.same) else None


#: Steps of a read's result that still are the whole document.
_WHOLE = frozenset(("()", "(.)", "json", "to_dict()", "[*]"))


def _steps(path: str) -> list:
    """`.metadata.resource_version` or `['metadata']['resourceVersion']` as steps."""
    if path.startswith("."):
        return path[1:].split(".")
    return [f"['{part}']" for part in path.strip("[]'\"").replace("']['", "\0").replace('"]["', "\0").split("\0")]


def is_text(value: Value) -> bool:
    return type(value.shape) is Template or type(value.shape) is Lit and isinstance(value.shape.value, str)
