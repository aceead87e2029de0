"""The tools of a module: exposures and raw schemas brought together with the functions that do the work, and what the module shows of versions."""
from __future__ import annotations

import re
from typing import Any, Callable, Iterator, Optional

from .exposed import Body, Collected, Exposure, Parameter, Schema, Tool, Toolbox
from .questions.tools import shape
from .tools import describing_texts

MAX_DISPATCHED = 60  # tools behind dispatching functions that are walked one by one
_ANNOTATED = re.compile(r"\W+")
_TABLE = re.compile(r"(?is)\bcreate\s+table\s+(?:if\s+not\s+exists\s+)?[\"'`\[]?(?:\w+\.)?(\w+)[\"'`\]]?\s*\((.{1,3000}?)\)\s*(?:;|\"|'|without|strict|$)")
_SET = re.compile(r"(?is)\bupdate\s+[\"`\[]?(?:\w+\.)?(\w+)[\"`\]]?\s+set\b([^;]{1,800}?)\bwhere\b([^;\n]{0,200})")
_ASSIGNED = re.compile(r"(?:^|[,\s])[\"`\[]?(\w+)[\"`\]]?\s*=")
_HEADER = re.compile(r"(?i)[\"'](if-match|etag|x-\w*version|if-unmodified-since)[\"']")
_FIELD = re.compile(r"[\"']([A-Za-z_]\w*)[\"']")
#: "the complete ticket", "full markdown text": an adjective, and what is whole within the next words.
_WHOLE = re.compile(r"(?i)\b(?:complete|whole|full|entire)\b(?!-)((?:\W+[\w'’]+){1,4})")
_DOCUMENTS = frozenset((
    "content", "contents", "text", "body", "document", "doc", "object", "record", "file", "markdown", "html", "json", "yaml", "source", "payload", "state", "entry", "entity", "item", "data",
    "replacement", "page", "note", "article", "profile", "config", "configuration", "row", "definition", "list", "value", "description", "resource", "settings", "memory", "plan", "code", "version",
))
#: After these the adjective is no longer about what is written.
_STOPS = frozenset(("a", "an", "and", "or", "with", "of", "to", "by", "name", "names", "path", "paths", "url", "id", "access", "search", "history", "time", "task", "tasks", "url", "uri", "day"))


class Bench:
    """Makes the toolbox of one module. walk(scope): the trace of a root; dispatch(scope, name, names): the trace of a dispatching function for one tool."""

    def __init__(self, collected: Collected, module: Any, vocabulary: Any, walk: Callable, dispatch: Callable) -> None:
        self.collected, self.module, self.vocabulary, self.walk, self.dispatch = collected, module, vocabulary, walk, dispatch
        self.injected = frozenset(name.rsplit(".", 1)[-1] for entry in vocabulary.entries("tool") for name in entry.fields.get("injected", ()))
        self.signals = tuple(dict.fromkeys(name.rsplit(".", 1)[-1] for entry in vocabulary.entries("tool") for name in entry.fields.get("retry_signal", ())))
        self.box = Toolbox()
        self.box.is_version = self.is_version
        self.box.is_creating = lambda name: vocabulary.match("creating_tool", name)
        self.box.is_patching = lambda name: vocabulary.match("patching_call", name)

    def is_version(self, name: str) -> bool:
        return self.vocabulary.match("version_column", name) or self.vocabulary.match("tool_witness", name)

    def toolbox(self) -> Toolbox:
        for exposure in [*self.collected.exposures, *self.of_classes()]:
            if exposure.name.startswith("="):
                continue
            body = exposure.body or self.body(exposure.scope)
            if body is not None:
                self.add(exposure, body)
        left = MAX_DISPATCHED
        for schema in self.collected.schemas.values():
            body = self.handler(schema) if left > 0 else None
            left -= 1
            if body is not None:
                self.box.tools.append(Tool(schema.name, schema.site, body, schema.parameters, f"{schema.name} . {schema.description} . {body.doc}", False, self.signals, True))
        self.gather_versions()
        self.box.tools = [tool._replace(version=self.version_parameter(tool), whole=self.is_whole(tool)) for tool in self.box.tools]
        return self.box

    # --- tools -----------------------------------------------------------------------------------------------------------------------
    def body(self, scope: Any) -> Optional[Body]:
        trace = self.walk(scope)
        return next((body for body in trace.bodies if body.key == scope.key), None) if trace is not None else None

    def add(self, exposure: Exposure, body: Body) -> None:
        if any(tool.body.site.at is body.site.at for tool in self.box.tools):
            return
        visible = tuple(p for p in body.parameters if not self.is_hidden(p)) + tuple(p for p in exposure.seen if p.name not in {q.name for q in body.parameters})
        cls = exposure.scope.cls if exposure.scope is not None and exposure.entry is not None and exposure.entry.fields.get("methods") else None
        told = [exposure.name or body.name, exposure.description, body.doc]
        if cls is not None:
            told.append(describing_texts(cls))
        site = body.site
        if site.path != self.module.path:  # defined in another module, exposed in this one
            site = exposure.site
            if site is None or site.path != self.module.path:
                return
        self.box.tools.append(Tool(exposure.name or body.name, site, body, visible, " . ".join(filter(None, told)), exposure.readonly, self.signals))

    def is_hidden(self, parameter: Parameter) -> bool:
        return bool(parameter.words & self.injected) or parameter.typ.rsplit(".", 1)[-1] in self.injected

    def of_classes(self) -> Iterator[Exposure]:
        """Methods of classes below a base class of tools."""
        bases = {spec.signature.name: entry for entry in self.vocabulary.entries("tool") for spec in entry.specs if spec.op == "subclass"}
        for key in self.module.index.classes:
            cls = self.module.klass(key)
            entry = next((bases[base] for base in cls.library_bases() if base in bases), None)
            if entry is None:
                continue
            seen: tuple = ()
            for name in entry.fields.get("methods", ()):
                for method in self.handed_on(cls) if name == "*" else [cls.method(name)]:
                    if method is not None:
                        yield Exposure(entry, method, seen=seen)

    def handed_on(self, cls: Any) -> list:
        """Methods that `__init__` mentions without calling them: `self.register(self.update)`, `tools=[self.update]`."""
        init = cls.method("__init__")
        if init is None:
            return []
        text = "".join(init.module.source.lines[init.info.start - 1:init.info.end])
        return [cls.method(name) for name in dict.fromkeys(re.findall(r"\bself\.([a-z]\w*)\b(?!\s*[(=.])", text)) if cls.method(name) is not None]

    def handler(self, schema: Schema) -> Optional[Body]:
        """What runs when the model calls a raw schema's tool: a table's function, a branch of a dispatching function, a function of that name."""
        for exposure in self.collected.exposures:
            if exposure.name == "=" + schema.name:
                return exposure.body
        scope = self.collected.handlers.get(schema.name)
        if scope is not None:
            return self.body(scope)
        functions = self.module.index.functions
        # The loop that talks to the model names its tools as well; what takes the schema's own properties is what they are handed to.
        properties = {parameter.name for parameter in schema.parameters}
        own = [key for key, info in functions.items() if info.name == schema.name and properties & set(info.params)]
        if len(own) == 1:
            return self.body(self.module.scope(own[0]))
        names = frozenset(self.collected.schemas)
        quoted = rf"[\"']{re.escape(schema.name)}[\"']"
        tested = re.compile(rf"(?:==|!=|\bcase\b|\bin\s*[(\[{{])[^\n]*{quoted}|{quoted}\s*(?:==|\|)")
        for key, info in functions.items():
            if tested.search("".join(self.module.source.lines[info.start - 1:info.end])):
                trace = self.dispatch(self.module.scope(key), schema.name, names)
                if trace is not None and trace.bodies:
                    return trace.bodies[0]
        for name in (schema.name, f"_{schema.name}", f"handle_{schema.name}", f"_handle_{schema.name}", f"{schema.name}_tool", f"tool_{schema.name}", f"do_{schema.name}"):
            found = [key for key, info in functions.items() if info.name == name]
            if len(found) == 1:
                return self.body(self.module.scope(found[0]))
        return None

    # --- what a tool says and takes -------------------------------------------------------------------------------------------------------
    def version_parameter(self, tool: Tool) -> str:
        for parameter in tool.visible:
            for name in (parameter.name, *(field for field, _ in parameter.fields)):
                if self.vocabulary.match("tool_witness", name):
                    return name
        return ""

    def is_whole(self, tool: Tool) -> bool:
        """Does the description ask for the complete object?"""
        nouns = _DOCUMENTS | {word for p in tool.visible for word in p.name.lower().split("_")} | set(tool.name.lower().split("_")[1:])
        for event in tool.body.events:
            if event.kind == "write":
                nouns |= {word.rstrip("s") for word in _ANNOTATED.split(event.record.label.lower()) if word}
        for found in _WHOLE.finditer(tool.description):
            for word in _ANNOTATED.split(found.group(1).lower()):
                if word in _STOPS:
                    break
                if word in nouns or word.rstrip("s") in nouns:
                    return True
        return False

    # --- versions -------------------------------------------------------------------------------------------------------------------------
    def gather_versions(self) -> None:
        """Which records have a version, as far as the module shows: in the SQL of tables and updates, in what its tools read, write and take."""
        text = self.module.source.text
        for table, columns in _TABLE.findall(text):
            for line in columns.replace("\n", " ").split(","):
                words = line.strip(" \"'`[\t").split()
                if words:
                    self.note(("sql", table.lower()), words[0].strip("\"'`[]"))
        for table, columns, condition in _SET.findall(text):
            for name in _ASSIGNED.findall(columns) + _ASSIGNED.findall(condition):
                self.note(("sql", table.lower()), name)
        self.box.words = frozenset(word.lower() for word in _HEADER.findall(text))
        for key in self.module.index.classes if self.box.tools else ():
            cls = self.module.klass(key)
            if any(self.vocabulary.listed("base", base) for base in cls.library_bases()):
                for name in {*cls.field_names(), *(name for owner in cls.mro() for name in owner.info.assigns)}:
                    self.note(("sql", (cls.table_name() or cls.type_name).lower()), name)
        for tool in self.box.tools:
            version = self.version_parameter(tool)
            for event in tool.body.events:
                if event.kind not in ("read", "write"):
                    continue
                where = shape(event.record)
                names = [name for name in (event.columns or ()) if isinstance(name, str)] if event.kind == "read" else [name for name, _ in event.columns or ()]
                if event.kind == "write":
                    names += [p.column for p in event.preconditions if p.kind == "witness" and p.column]
                    if version and event.verb != "create":
                        self.note(where, version)
                        names += [p.column for p in event.preconditions if p.kind in ("witness", "state")]
                names += [str(step).strip("[]'\"") for step in self.steps_of(tool, event)]
                for name in names:
                    self.note(where, name)

    @staticmethod
    def steps_of(tool: Tool, event: Any) -> Iterator[Any]:
        """The fields of a read that its tool gives back."""
        if event.kind == "read":
            for returned in tool.body.returned:
                for origin in returned.value.origins:
                    if origin.kind == "read" and origin.n == event.n:
                        yield from origin.path

    def note(self, where: tuple, name: str) -> None:
        if name and (self.vocabulary.match("strong_version", name)):
            self.box.versions.setdefault(where, set()).add(name)
