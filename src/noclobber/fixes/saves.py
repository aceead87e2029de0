"""`save(update_fields=[…])`: a save that names the columns it writes."""
from __future__ import annotations

from typing import Any, Sequence

from .edits import Refused
from .follow import mentions
from .job import Job


def saved_anyway(job: Job, cls: Any) -> set:
    """The fields of a class that every save sets (`auto_now=True`)."""
    marks = [text.split("=") for text in job.setting("saved_anyway") or ()]
    calls = {name: base.field_call(name) for base in cls.mro() for name in base.info.assigns}
    return {name for name, call in calls.items() if call is not None and any(call[2].get(key) == value for key, value in marks)}


def updates_only(job: Job) -> None:
    """Raises Refused where the same call may also create a row, or save another object with other changes: an expression or a list of columns
    would be wrong there."""
    write = job.write
    for other in job.trace.of("write"):
        if other is not write and other.site.at is write.site.at and (other.verb == "create" or {path for _, path in other.changes} != {path for _, path in write.changes}):
            raise Refused("the same save may create the row, or save other changes")
    if write.either:
        raise Refused("the save may be of another object, perhaps a new one")


def names_columns(job: Job, save: Any) -> bool:
    """Has the save no arguments but the one that names its columns?"""
    name = (job.setting("save_only") or "").partition("=")[0]
    return all(arg.keyword is not None and not arg.star and arg.keyword.value == name for arg in save.args)


def narrow(job: Job, save: Any, names: Sequence[str], dry: bool = False) -> str:
    """Name the changed columns in a save, with those that every save sets. `names`: in the order wanted. Returns "" or why it cannot be done:
    all that is changed before the save must be known. `dry`: only say whether it can."""
    only = job.setting("save_only")
    if not only:
        return "the library has no save of single columns that noclobber knows"
    if save.args:
        return "the save has arguments of its own"
    if not job.write.full:
        return "the save writes no more than what was changed"
    if "handed-over" in job.write.doubts:
        return "the object was handed to code that may change more"
    cls, bases = job.write.model, job.setting("base") or ()
    if cls is None:
        return "the class of the object is not found: its own save() may set more"
    if cls.method(save.func.attr.value) is not None or any(base not in bases for base in cls.library_bases()):
        return "the class, or one of its bases, has a save() of its own that may set more"
    start = job.sheet.span(save)[0]
    for mention in mentions(job, job.sheet.code(save.func.value), job.sheet.function(save)):
        if mention.written and mention.attribute and mention.attribute not in names and mention.offset < start:
            return "another field is changed before the save on some way"
    if any(change.obj == job.write.record.obj and not str(change.field[0]).isidentifier() for change in job.trace.of("change") if change.field):
        return "which fields are changed does not show"
    always = saved_anyway(job, cls)
    ordered = [*dict.fromkeys(names), *sorted(always - set(names))]
    if any(not name.isidentifier() for name in ordered):
        return "the changed field has no plain name"
    head, _, rest = only.partition("[")
    one = rest.rpartition("]")[0]
    model = job.class_code(cls, save) or ""
    if "{model}" in one and not model:
        return "the class of the object has no name here"
    text = ", ".join(one.replace("{quoted}", job.sheet.quoted(name)).replace("{model}", model).replace("{name}", name) for name in ordered)
    if not dry:
        job.sheet.add_argument(save, f"{head}[{text}]")
    return ""
