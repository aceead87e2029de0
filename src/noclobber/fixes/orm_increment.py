"""RMW201: `obj.n += k` becomes an expression that the database computes, and the save writes only what was changed.

Unsafe: until the object is read again the attribute is an expression. Where the function itself still wants the number the object is read
again behind the save, where it returns the number there is no fix.
"""
from __future__ import annotations

from typing import Any, Optional

import libcst as cst

from noclobber.trace.questions.objects import derived_fields

from .edits import Refused
from .follow import exclusive, in_return, is_own, later, mentions, root_of, runs_once_before
from .job import Draft, Job, binds_loosely, is_number, terms, walk
from .saves import names_columns, narrow, saved_anyway, updates_only
from .steps import bounds
from .statements import REASON as UNIT_REASON
from .statements import key_of, unit_statement
from .tested import column_condition, keyword_condition, refusal

_LOOSE = (cst.BooleanOperation, cst.Comparison, cst.IfExp, cst.Lambda, cst.NamedExpr, cst.UnaryOperation)
_TESTED = "the old number is tested before: without a row lock the test would not hold any more when it is written"
_REASON = "until the row is read again the attribute is an expression: hooks of the save, signal handlers and validation see no number"


def fix(job: Job) -> Draft:
    template = job.setting("column")
    if not template and job.setting("increment_call") and job.claim.change is not None:
        return _call(job, job.setting("increment_call"))
    if not template:
        raise Refused("the library has no expression for it that noclobber knows")
    if job.claim.change is None:
        return _statement(job, template)
    return _unit(job, template) if job.write.unit else _active(job, template)


class Increment:
    """One change of an attribute: `target`, the node `obj.n`; `object`: the node of the object; `quoted`: code for the field's name as text."""

    def __init__(self, job: Job, change: Any, field: str) -> None:
        sheet = job.sheet
        self.job, self.field = job, field
        if change.site.excerpt is not sheet.excerpt:
            raise Refused("the attribute is changed in another function than it is saved in")
        spot = sheet.spot(change.site.at)
        self.spot, self.leaf, self.old = spot, None, None
        small = spot.small
        if isinstance(small, cst.AugAssign) and isinstance(small.operator, (cst.AddAssign, cst.SubtractAssign)):
            self.target, self.value = small.target, small.value
        elif isinstance(small, cst.Assign) and len(small.targets) == 1:
            self.target, self.value = small.targets[0].target, small.value
            self.leaf = self._find(self.value, sheet.code(self.target))
        elif isinstance(small, cst.Expr) and isinstance(small.value, cst.Call) and sheet.code(small.value.func) == "setattr" and len(small.value.args) == 3:
            self._setattr(small.value)
            return
        else:
            raise Refused("the change is no plain statement")
        if not isinstance(self.target, cst.Attribute) or self.target.attr.value != field:
            raise Refused("the changed field is no attribute of the object")
        self.object = self.target.value
        self.quoted = sheet.quoted(field)

    def _setattr(self, call: Any) -> None:
        sheet = self.job.sheet
        self.object, name, self.value = (arg.value for arg in call.args)
        if not isinstance(name, (cst.SimpleString, cst.Name)):
            raise Refused("the name of the attribute is computed")
        self.target, self.quoted = None, sheet.code(name)
        if isinstance(name, cst.Name):
            self.field = ""
        getter = f"getattr({sheet.code(self.object)}, {self.quoted})"
        self.leaf = self._find(self.value, getter)

    def _find(self, value: Any, old: str) -> Any:
        """The term of the sum that is the old value; it stands there once, as itself, and is not taken away from something."""
        sheet = self.job.sheet
        found = [(sign, term) for sign, term in terms(value) or () if "".join(sheet.code(term).split()) == "".join(old.split())]
        if len(found) != 1 or found[0][0] != "+":
            raise Refused("the new value is more than the old one plus or minus something")
        return found[0][1]

    def check_number(self) -> None:
        """`+` of the database adds numbers only. Raises Refused where neither the field nor the step shows that it is one."""
        job, cls = self.job, self.job.write.model
        call = cls.field_call(self.field) if cls is not None and self.field else None
        if call is not None or cls is not None and cls.annotation_text(self.field):
            return  # declared, and no text: else it would be no increment
        known = job.setting("base") or ()
        if cls is not None and self.field and all(base in known for base in cls.library_bases()) and not cls.text_of(self.field):
            raise Refused("the attribute is no field of the class")
        if self.leaf is None:
            if isinstance(self.spot.small.operator, cst.SubtractAssign) or is_number(job, self.value):
                return
        elif any(sign == "-" or is_number(job, term) for sign, term in terms(self.value) or () if term is not self.leaf):
            return
        raise Refused("what is added may be text: `+` of the database would not join it")

    def computed(self, column: str) -> str:
        """The code of the new value, with the column's expression where the old value was taken."""
        sheet = self.job.sheet
        if self.leaf is None:
            sign = "+" if isinstance(self.spot.small.operator, cst.AddAssign) else "-"
            step = sheet.code(self.value)
            return f"{column} {sign} " + (f"({step})" if binds_loosely(self.value) else step)
        start, end = sheet.outer(self.value)
        first, last = sheet.outer(self.leaf)
        return sheet.text[start:first] + column + sheet.text[last:end]

    def write(self, column: str) -> None:
        """Put the column's expression where the old value was taken."""
        sheet = self.job.sheet
        if self.leaf is not None:
            sheet.replace(self.leaf, column)
            return
        sign = "+" if isinstance(self.spot.small.operator, cst.AddAssign) else "-"
        start, end = sheet.outer(self.value)
        loose = binds_loosely(self.value)
        sheet.replace_range(sheet.span(self.target)[1], start, f" = {column} {sign} " + ("(" if loose else ""))
        if loose:
            sheet.insert(end, ")")


def _column(job: Job, template: str, found: Increment) -> str:
    """The library's expression for the column of a changed attribute."""
    if "{model}" in template and not found.field:
        raise Refused("the name of the attribute is computed")
    return column_code(job, found.field, found.quoted, found.object)


def column_code(job: Job, name: str, quoted: str, node: Any) -> str:
    """The library's expression for a column of the written row. `quoted`: code for the column's name as text."""
    template, needs = job.setting("column"), job.setting("column_import")
    if not template:
        raise Refused("the library has no expression for it that noclobber knows")
    if "{model}" in template:
        return template.replace("{model}", job.model_code(node)).replace("{name}", name)
    column = template.replace("{quoted}", quoted)
    if needs:
        last = needs.rpartition(".")[2]
        column = column.replace(f"{last}(", f"{job.imported(needs, node)}(", 1)
    return column


def _increments(job: Job) -> list[Increment]:
    """All increments that the write persists. Raises Refused where something else that it writes is derived from the row, too."""
    derived = derived_fields(job.trace, job.write)
    if any(item.kind != "increment" for item in derived.values()):
        raise Refused("the same save writes another value that was computed from the row")
    found = []
    for n, path in sorted(job.write.changes):
        if str(path[0]) in derived:
            if len(path) > 1:
                raise Refused("the changed field is a part of a column")
            found.append(Increment(job, job.trace.events[n], str(path[0])))
    return list({id(item.spot.small): item for item in found}.values())


def _bounds(job: Job, change: Any, field: str) -> list:
    """`if card.points >= price: card.points -= price`: the tests that the database would have to make again."""
    try:
        return bounds(job, frozenset(change.base), field, change, job.write)
    except Refused:
        raise Refused(_TESTED) from None


def _untested(job: Job, change: Any, field: str) -> None:
    if _bounds(job, change, field):
        raise Refused(_TESTED)


def _active(job: Job, template: str) -> Draft:
    """An object that is saved by a call of its own."""
    sheet, write = job.sheet, job.write
    if write.site.excerpt is not sheet.excerpt:
        raise Refused("the object is saved in another function")
    save = sheet.around(write.site.at, cst.Call)
    if save is None or not isinstance(save.func, cst.Attribute):
        raise Refused("the save is no plain call")
    updates_only(job)
    found = _increments(job)
    if not found:
        raise Refused("the change is no plain statement")
    code = sheet.code(found[0].object)
    if any(sheet.code(item.object) != code for item in found) or sheet.code(save.func.value) != code:
        raise Refused("the object is saved under another name")
    _alone(job, found, sheet.span(save)[0], save)
    _model_reads(job, found)
    start, end = sheet.span(save)
    fields = {str(path[0]) for _, path in write.changes}
    for item in found:
        for mention in mentions(job, code, sheet.function(save)):
            if sheet.span(item.spot.node)[1] <= mention.offset < start and not exclusive(sheet, mention.node, item.spot.node):
                _between(item, mention)
    behind = later(job, code, end, save)
    behind = [m for m in behind if not any(sheet.inside(m.node, item.spot.node) for item in found)]
    if any(m.attribute in {item.field for item in found} and in_return(sheet, m.node) for m in behind):
        raise Refused("the new number is returned: only a row lock can give it")
    tests = [(item, tested) for item, n in found_changes(job, found) for tested in _bounds(job, job.trace.events[n], item.field)]
    if tests:
        return _guarded(job, save, found, tests, behind, template)
    for item in found:
        item.check_number()
        item.write(_column(job, template, item))
    names = [item.field for item in found]
    narrowed = all(names) and not narrow(job, save, [*names, *sorted(fields - set(names))])
    wanted = [m for m in behind if not m.attribute or m.called or m.attribute in fields and not m.written]
    reload = bool(wanted) or not is_own(job, root_of(found[0].object)) or type(found[0].object) is not cst.Name
    if reload:
        _reload(job, save, code, found)
    title = f"let the database compute {', '.join(f'`{item.field or item.quoted}`' for item in found)}"
    if narrowed:
        title += ", and save the changed fields only"
    return job.draft(title, _REASON + ("; save() then writes the named fields only" if narrowed else "") + ("; one more query reads the new value" if reload else ""))


def found_changes(job: Job, found: list[Increment]) -> list[tuple[Increment, int]]:
    """(increment, number of its Change event) of each."""
    return [(item, n) for item in found for n, path in sorted(job.write.changes) if job.trace.events[n].site.excerpt is job.sheet.excerpt
            and job.sheet.inside(job.trace.events[n].site.at, item.spot.node)]


def _guarded(job: Job, save: Any, found: list[Increment], tests: list, behind: list, template: str) -> Draft:
    """A bound was tested before: one statement tests it again and computes the number, in place of the change and of the save."""
    sheet, write, cls = job.sheet, job.write, job.write.model
    rows = dict(row.partition(" -> ")[::2] for row in job.setting("update_where") or ())
    statement = rows.get(save.func.attr.value)
    if not statement or len(found) != 1 or cls is None:
        raise Refused(_TESTED)
    item = found[0]
    reason = narrow(job, save, [item.field], dry=True)
    spot = sheet.spot(save)
    whole = sheet.parent(save) if isinstance(sheet.parent(save), cst.Await) else save
    if reason and not save.args or not names_columns(job, save) or sheet.parent(whole) is not spot.small or not isinstance(spot.small, cst.Expr):
        raise Refused(_TESTED)
    if saved_anyway(job, cls) and not save.args:
        raise Refused("every save sets a time stamp that the statement would not set")
    item.check_number()
    column, code = _column(job, template, item), sheet.code(item.object)
    value = item.computed(column)
    others = list(dict.fromkeys(str(path[0]) for _, path in sorted(write.changes) if str(path[0]) != item.field))
    values = ", ".join([f"{item.field}={value}", *(f"{name}={code}.{name}" for name in others)])
    model = job.model_code(save)
    conditions = ", ".join(dict.fromkeys(column_condition(job, tested, model) if "{key}" in statement else keyword_condition(job, tested) for _, tested in tests))
    name = job.fresh("updated", "changed", "rows")
    text = statement.replace("{key}", key_of(job)) if "{key}" in statement else statement
    for key, given in (("object", code), ("model", model), ("tests", conditions), ("values", values)):
        text = text.replace("{" + key + "}", given)
    sheet.replace(whole, sheet.laid_out(spot, f"{name} = {text}"))
    lines = [f"if {name} != 1:", sheet.unit(spot) + refusal(job, tests[0][1], f"{write.record.label} no longer meets the condition of the write")]
    if any(not m.attribute or m.called or m.attribute == item.field for m in behind) or not is_own(job, root_of(item.object)) or type(item.object) is not cst.Name:
        lines.append(_reloading(job, save, code, found))
    sheet.insert_after(spot, lines)
    sheet.delete(item.spot)
    return job.draft(f"let the database compute `{item.field}` and test its bound",
                     "where the bound does not hold any more nothing is written, and the function leaves as it does where the test fails; a statement sends no signals and runs no hooks of the save")


def _call(job: Job, template: str) -> Draft:
    """A document whose class has a call that adds on the server: it takes the place of the change and of the save right below it."""
    sheet, write, change = job.sheet, job.write, job.claim.change
    if write.site.excerpt is not sheet.excerpt or len(write.changes) != 1:
        raise Refused("the same save writes other changes, too")
    updates_only(job)
    path = [str(step) for _, steps in write.changes for step in steps]
    found = Increment(job, change, path[-1])
    save = sheet.around(write.site.at, cst.Call)
    spot = sheet.spot(save)
    if spot.block is not found.spot.block or spot.at != found.spot.at + 1 or not isinstance(spot.small, cst.Expr):
        raise Refused("other statements stand between the change and the save")
    whole = spot.small.value.expression if isinstance(spot.small.value, cst.Await) else spot.small.value
    if whole is not save or save.args or not isinstance(save.func, cst.Attribute):
        raise Refused("the save is no plain call")
    code = sheet.code(save.func.value)
    if sheet.code(found.target if found.target is not None else found.object) != ".".join([code, *path]):
        raise Refused("the object is saved under another name")
    if len(path) > 1 and "{path}" not in template:
        raise Refused("the changed field is a part of a column")
    _untested(job, change, path[-1])
    found.check_number()
    if found.leaf is None:
        step = sheet.code(found.value)
        if isinstance(found.spot.small.operator, cst.SubtractAssign):
            step = f"-({step})" if isinstance(found.value, (cst.BinaryOperation, *_LOOSE)) and not found.value.lpar else f"-{step}"
    else:
        rest = [(sign, term) for sign, term in terms(found.value) if term is not found.leaf]
        if len(rest) != 1 or rest[0][0] == "-" and binds_loosely(rest[0][1]):
            raise Refused("the new value is more than the old one plus or minus something")
        step = ("-" if rest[0][0] == "-" else "") + sheet.code(rest[0][1])
    model = job.model_code(save) if "{model}" in template else ""
    behind = later(job, code, sheet.span(save)[1], save)
    if any(m.attribute == path[0] and in_return(sheet, m.node) for m in behind):
        raise Refused("the new number is returned: what the server gives back may hold another's step, too")
    text = template
    for name, value in (("object", code), ("model", model), ("name", path[-1]), ("path", "__".join(path)), ("step", step)):
        text = text.replace("{" + name + "}", value)
    sheet.replace(save, text)
    sheet.delete(found.spot)
    return job.draft(f"let the server add to `{'.'.join(path)}`", "hooks and validation of the save do not run, and the step is applied even where nothing else of the object is saved")


def _between(item: Increment, mention: Any) -> None:
    if mention.attribute == item.field and not mention.written:
        raise Refused("the new number is read before it is saved")
    if not mention.attribute or mention.called:
        raise Refused("the object is handed on before it is saved")


def _alone(job: Job, found: list[Increment], flush: Optional[int], write: Any) -> None:
    """Each field is changed once before it is written: a second `n = F('n') + 1` would replace the first."""
    sheet = job.sheet
    for item in found:
        if write is not None and not runs_once_before(sheet, item.spot.node, write):
            raise Refused("the change may run several times before it is saved, or not be saved")
        for other in found:
            if other is not item and other.field == item.field and not exclusive(sheet, other.spot.node, item.spot.node):
                raise Refused("the field is changed twice before it is saved")


def _model_reads(job: Job, found: list[Increment]) -> None:
    """A save() or clean() of the class that looks at the attribute would see an expression."""
    cls = job.write.model
    if cls is None:
        return
    for name in ("save", "asave", "clean", "full_clean", "clean_fields", "__setattr__"):
        method = cls.method(name)
        excerpt = method.excerpt() if method is not None else None
        for node in _attributes(excerpt.module) if excerpt is not None else ():
            if node.attr.value in {item.field for item in found}:
                raise Refused(f"{cls.name}.{name}() looks at the attribute")


def _attributes(module: Any) -> Any:
    return (node for node in walk(module) if isinstance(node, cst.Attribute))


def _reload(job: Job, save: Any, code: str, found: list[Increment]) -> None:
    """Read the row again behind the save: what follows wants a number."""
    spot = job.sheet.spot(save)
    if not isinstance(spot.small, cst.Expr):
        raise Refused("the new number is wanted afterwards")
    job.sheet.insert_after(spot, [_reloading(job, save, code, found)])


def _reloading(job: Job, save: Any, code: str, found: list[Increment]) -> str:
    """The statement that reads the changed fields of the object again."""
    sheet = job.sheet
    for row in job.setting("reload_with") or ():
        name, _, text = row.partition(" -> ")
        if name == save.func.attr.value:
            break
    else:
        raise Refused("the new number is wanted afterwards, and noclobber knows no way to read it again")
    head, _, rest = text.partition("[")
    one, _, tail = rest.partition("]")
    if any(not item.field for item in found):
        fields = [item.quoted for item in found]
    else:
        fields = [one.replace("{quoted}", sheet.quoted(name)).replace("{name}", name) for name in dict.fromkeys(item.field for item in found)]
    row = f"{head}[{', '.join(fields)}]{tail}" if rest else text
    if row.startswith("{object} = ") and not (type(found[0].object) is cst.Name and is_own(job, found[0].object)):
        raise Refused("the new number is wanted afterwards, and others have the object, too")
    if "{model}" in row:
        row = row.replace("{model}", job.model_code(save))
    return row.replace("{object}", code)


def _unit(job: Job, template: str) -> Draft:
    """An object whose changes its session writes at a flush."""
    sheet, write = job.sheet, job.write
    found = Increment(job, job.claim.change, job.claim.field)
    code = sheet.code(found.object)
    tests = _bounds(job, job.claim.change, job.claim.field)
    if tests:
        return _unit_guarded(job, found, code, tests)
    flush = write.site.at if write.site.excerpt is sheet.excerpt and sheet.function(write.site.at) is sheet.function(found.spot.node) else None
    function = sheet.function(found.spot.node)
    end = sheet.span(found.spot.node)[1]
    everything = [m for m in mentions(job, code, function) if not sheet.inside(m.node, found.spot.node)]
    if any(m.attribute == found.field and m.written and not exclusive(sheet, m.node, found.spot.node) for m in everything):
        raise Refused("the field is changed again in this function")
    start = None
    if flush is not None and sheet.span(flush)[0] >= end:
        if not runs_once_before(sheet, found.spot.node, flush):
            raise Refused("the change may run several times before it is written, or not be written")
        start = sheet.span(flush)[0]
    elif flush is not None and sheet.inside(found.spot.node, flush):
        start = sheet.span(flush)[1]
    if start is None:
        if not is_own(job, root_of(found.object)) or any(m.offset > end for m in everything):
            raise Refused("the object is written elsewhere, and whoever has it in between would see an expression")
        start = sheet.span(function)[1]
    handlers = {spec.signature.last for entry in (job.entry,) if entry is not None
                for spec in entry.specs if spec.op in ("add", "flush", "commit", "reload", "merge", "expire")}
    for mention in everything:
        if end <= mention.offset < start and not exclusive(sheet, mention.node, found.spot.node):
            call = sheet.around(mention.node, cst.Call)
            if call is not None and not mention.attribute and isinstance(call.func, cst.Attribute) and call.func.attr.value in handlers:
                continue
            _between(found, mention)
    behind = later(job, code, start, flush if flush is not None else found.spot.node)
    if any(m.attribute == found.field and in_return(sheet, m.node) for m in behind):
        raise Refused("the new number is returned: only a row lock can give it")
    wanted = [m for m in behind if not m.written and (not m.attribute or m.called or m.attribute == found.field)]
    if wanted and flush is not None and isinstance(sheet.parent(flush), cst.Await) and not _is_reloaded(job, wanted[0], handlers):
        raise Refused("the object is used after the commit: in asynchronous code its attribute would have to be loaded first")
    found.check_number()
    found.write(_column(job, template, found))
    return job.draft(f"let the database compute `{found.field}`", "until the flush the attribute is an expression, and afterwards the next look at it asks the database")


def _unit_guarded(job: Job, found: Increment, code: str, tests: list) -> Draft:
    """A bound was tested before: one statement tests it again and computes the number, in place of the change; the commit stays."""
    if len(job.write.changes) != 1:
        raise Refused(_TESTED)
    found.check_number()
    behind = later(job, code, job.sheet.span(found.spot.node)[1], found.spot.node)
    flush = job.write.site.at
    if isinstance(job.sheet.parent(flush), cst.Await) and any(m.attribute == found.field for m in behind):
        raise Refused("the new number is wanted afterwards: in asynchronous code it would have to be loaded first")
    column = _column(job, job.setting("column"), found)
    unit_statement(job, [found.spot], code, [(found.field, found.computed(column))], tests, f"{job.write.record.label} no longer meets the condition of the write")
    return job.draft(f"let the database compute `{found.field}` and test its bound", UNIT_REASON)


def _is_reloaded(job: Job, mention: Any, handlers: set) -> bool:
    """Is the first thing done with the object to load it again?"""
    entry = job.entry
    names = {spec.signature.last for spec in entry.specs if spec.op == "reload"} if entry is not None else ()
    call = job.sheet.around(mention.node, cst.Call)
    return call is not None and isinstance(call.func, cst.Attribute) and call.func.attr.value in names


def _statement(job: Job, template: str) -> Draft:
    """`queryset.update(n=row.n + 1)`: one statement that writes a value from a loaded row."""
    sheet, field = job.sheet, job.claim.field
    if job.write.site.excerpt is not sheet.excerpt:
        raise Refused("the statement is made in another function")
    spot = sheet.spot(job.write.site.at)
    given = [node for node in walk(spot.node) if isinstance(node, cst.Arg) and node.keyword is not None and node.keyword.value == field]
    if len(given) != 1:
        raise Refused("the new value is not given by keyword")
    value = given[0].value
    leaves = [(sign, term) for sign, term in terms(value) or () if isinstance(term, cst.Attribute) and term.attr.value == field]
    if len(leaves) != 1 or leaves[0][0] != "+":
        raise Refused("the new value is more than the old one plus or minus something")
    leaf = leaves[0][1]
    rest = [term for _, term in terms(value) if term is not leaf]
    if not any(sign == "-" or is_number(job, term) for sign, term in terms(value) if term is not leaf) and (job.write.model is None or job.write.model.field_call(field) is None):
        raise Refused("what is added may be text: `+` of the database would not join it")
    if any(sheet.code(node) == sheet.code(leaf.value) for term in rest for node in walk(term) if isinstance(node, (cst.Name, cst.Attribute))):
        raise Refused("the step is computed from the row, too")
    found = Increment.__new__(Increment)
    found.job, found.object, found.field, found.quoted = job, leaf.value, field, sheet.quoted(field)
    sheet.replace(leaf, _column(job, template, found))
    return job.draft(f"let the database compute `{field}`", "the new number is no longer known in Python: what was loaded before keeps the old one")
