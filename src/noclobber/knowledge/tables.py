"""The words that vocabulary files may use: tables, list names (ops), roles, fields. The one source for loader and docs.

`rules/README.md` holds what `markdown()` writes; a test keeps the two equal. A new field is one line here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

#: What a store's records belong to (`family`); a store that does not say has keys.
FAMILIES = ("sql", "http", "object", "document", "key", "accessor", "file", "remote")

#: Event kinds of triage (a page's `needs`; DESIGN §4) → what a scope with it has.
KIND_HELP = {
    "read": "a call that reads some record",
    "write": "a call that writes some record",
    "conditional": "a write that may carry a precondition",
    "create": "a write that only creates",
    "delete": "a write that deletes",
    "lock": "a call or name that takes a lock",
    "unlock": "a call that releases one",
    "begin": "a transaction's begin",
    "replay": "a loop with calls, a retry, recursion",
    "effect": "an external effect",
    "policy": "a retry policy",
    "conflict": "the name or code of a conflict",
    "tool": "a function exposed to a model",
    "schema": "a raw tool schema",
    "dump": "a dump of a patch",
    "makekey": "a fresh key: random, clock",
    "change": "an attribute, item or container that is changed in place",
    "subscript": "a subscript, where a store has such",
    "row-change": "a change that may be of a row: any but `self.x = …` in a class that is no model",
    "recursion": "a function that calls itself",
    "precondition": "a store's call whose write may carry a precondition",
    "witness": "a call with a witness as keyword: whatever is called, its write carries a precondition",
    "record-read": "one of the reads below, of any family",
    "versioned": "the file names an ORM's own version marker",
    **{
        f"{family}-{kind}": text
        for family in FAMILIES
        for kind, text in (
            ("read", "reads such a record" if family != "sql" else "SELECT in a text, a builder's select"),
            ("write", "replaces such a record" if family != "sql" else "UPDATE, INSERT, REPLACE, MERGE; a builder's"),
        )
    },
    "sql-run": "a call that runs SQL text or a builder's statement",
    "sql-conditional": "UPDATE, DELETE, MERGE or the conflict clause of an INSERT in a text",
    "sql-built": "a builder's update or delete",
    "decode": "a document is made of text or a file",
    "encode": "a document is written as text or into a file",
    "orm-read": "what rows of an ORM come from: managers, queries, a builder's select, loads by key, reloads",
    "orm-session-read": "loads and queries of a unit of work's session, whose changes its owner commits",
    "orm-update": "one statement that writes the rows of a query",
    "orm-persist": "writes the object it is called on",
    "orm-flush": "writes a unit of work's changes: flush, commit, leaving its block",
}
TRIAGE_KINDS = tuple(KIND_HELP)

ROLES: dict[str, str] = {
    "key": "identity of the record; several make one composite key",
    "payload": "the new value; several are alternatives (`data` or `json`)",
    "entity": "an object that carries key and payload (`save(order)`)",
    "instance": "a loaded object that the call acts on (`refresh(obj)`, `session.delete(obj)`)",
    "ident": "the key part of `get(Entity, ident)`",
    "table": "what holds the record: table, model class, collection, bucket",
    "fields": "`**kw` or a dict of field → value (`update(**fields)`)",
    "columns": "the subset of fields that a call writes or reads (`update_fields`, `only`)",
    "filter": "a predicate: its id part is the key, the rest are preconditions",
    "operators": "an update document; atomic when every operator is in `atomic_operators`",
    "precondition": "a witness given here makes the write conditional",
    "create_only": "given and not false: only if absent (guards creation, not update)",
    "exists_only": "only if present: never a guard",
    "headers": "a mapping that is searched for `precondition_headers`, `create_headers`, `idempotency_headers`",
    "sql": "SQL text",
    "params": "the binds of SQL text",
    "statement": "a statement object that a builder made, or SQL text",
    "query": "query parameters: those that two calls have in common must be equal for the record to be the same",
    "raises": "given and not false: a refusal raises by itself (`ClientSession(raise_for_status=True)`)",
    "into": "an object or a path that receives what was read (`download_fileobj(bucket, key, buffer)`)",
    "file": "a path or an open file whose content is the payload",
    "operations": "a list of operations, each a write of its own",
    "command": "words of a command, or its text (`run([\"git\", \"push\"])`)",
    "partial": "given and not false: only what is named is written; else the whole record is replaced (`set(data, merge=True)`)",
    "replaces": "given and not false: it overwrites; else the call only creates, unless it carries a condition",
    "condition": "how a witness beside it is compared; only `IfNotModified` guards an update",
    "hooks": "functions that are run on every response (`event_hooks={'response': [f]}`)",
    "request": "a request that was built before (`session.send(prepared)`)",
    "method": "an HTTP verb that selects the role (`method_roles`)",
    "func": "a callback that the call runs, perhaps several times",
    "lock": "given and not false: the read takes a row lock",
    "session": "ties the call to a session",
    "txn": "ties the call to a transaction (absent: outside it)",
    "ttl": "lifetime of a lock or key",
    "idempotency_key": "makes an effect repeatable",
    "isolation": "the isolation level of the transaction or connection",
    "autocommit": "whether the connection commits by itself",
    "on": "what a retry policy repeats on: exception classes, a predicate, status codes",
    "stop": "what bounds a retry policy",
    "wait": "the pause between tries",
    "exceptions": "exception classes (`suppress(*exceptions)`)",
    "policy": "a retry policy that is handed on (`HTTPAdapter(max_retries=policy)`)",
}

#: Receivers: how an entry is found. Not copied by `extends`.
RECEIVERS = ("id", "types", "base", "functions", "names", "make", "made_by")


@dataclass(frozen=True, slots=True)
class Field:
    """`type`: 'str' | 'list' (of str; one str counts as a list of one) | 'bool' | 'table' (str → str) | 'str|bool';
    `values`: the only words allowed (for 'table': as values), else None; `inline`: allowed in an inline table only."""

    type: str
    help: str
    values: tuple[str, ...] | None = None
    inline: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    help: str
    ops: dict[str, str]
    fields: dict[str, Field] = field(default_factory=dict)


_COMMON: dict[str, Field] = {
    "id": Field(
        "str", "name in messages, target of `extends` and `disable`; default: the last part of the first type or module"
    ),
    "types": Field("list", "classes of the receiver, dotted; `*` globs (`*.OrderRepo`); subclasses count"),
    "functions": Field("list", "modules whose functions the undotted signatures are as well"),
    "names": Field(
        "list", "globs on the receiver's own name, used only when its type is unknown (one step of confidence)"
    ),
    "extends": Field(
        "str", "copies the entry of that id; what stands here replaces the copy's (receivers are not copied)"
    ),
    "since": Field("str", "first version of the library that has it; entries with since and until are both tried"),
    "until": Field("str", "last version of the library that has it"),
    "confidence": Field("str", "the best confidence a finding on it can have", ("high", "medium", "low")),
    "verified": Field("str", "versions the entry was checked against"),
    "help": Field("str", "one help line that names the repair in this library's own terms"),
    "doc": Field("str", "address of the library's documentation of it"),
}
_OUTCOME: dict[str, Field] = {
    "conflict": Field(
        "list",
        "how a refused write shows: `raises pkg.Error[code=X]`, `returns 0`, `.matched_count == 0`, `status 412, "
        "409`, `in result`",
    ),
    "outcome": Field("list", "paths on the result that tell the outcome (`.rowcount`); `none`: it cannot be learnt"),
    "value": Field("str", "path from a read's result to the record's value (`['Body'].read()`)"),
    "witness": Field(
        "list", "paths to the version that came with the read (`['ETag']`); `.`: the value itself can be compared"
    ),
    "no_witness": Field("list", "paths on a read's result to what looks like its version and is none (`[0]`)"),
    "on": Field("list", "only on receivers of these types", inline=True),
    "rows": Field("str", "what a fetch or read returns", ("one", "many", "value"), inline=True),
    "refreshes": Field("bool", "false: taking the lock does not re-read an object already loaded"),
    "requires": Field("str", "the lock counts only inside it: `transaction`, `autocommit=False`"),
    "noop_on": Field("list", "backends on which it silently does nothing"),
    "context": Field(
        "str", "what leaving `with` on the receiver does: commit or roll back, or only close", ("transaction", "close")
    ),
    "guard": Field("bool", "on begin: reads after it and before the commit are protected (WATCH)"),
    "needs": Field("list", "on commit: the call that must stand between (`multi()`)"),
    "after_begin": Field("str", "on begin: the word of the begin that must be given to guard", inline=True),
    "savepoint": Field("bool", "on begin: it is inside another transaction; its end commits nothing and gives back no lock", inline=True),
    "writes": Field(
        "str",
        "which columns a persist writes",
        ("all columns", "changed columns", "named columns", "loaded columns"),
        inline=True,
    ),
    "locks": Field("bool", "the call locks the row it reads before it writes", inline=True),
    "row": Field("str", "on persist: the attribute of the receiver that holds the row (`serializer.save(n=1)` writes `serializer.instance`)", inline=True),
    "unversioned": Field("bool", "the version that the ORM keeps is not asked for by this call", inline=True),
    "spares": Field("bool", "on a chain: an INSERT then leaves alone the row that is there", inline=True),
    "filter": Field("str", "`chain`: the predicate stands in earlier links of the chain", ("chain",), inline=True),
    "always_conditional": Field("bool", "every such write carries a precondition"),
    "per_item": Field("bool", "the call handles many records and reports each refusal in its result"),
    "silent_if": Field("list", "call shapes under which the result lies (`noreply=True`)"),
    "ttl": Field("str|bool", "the lock expires by itself: name of the parameter, or true"),
    "fencing": Field("str", "path to the fencing token on the lock, or `none`"),
    "scope": Field("str", "whom the lock keeps out", ("process", "host", "cluster")),
    "atomic_values": Field(
        "list", "dotted names or globs whose calls or expressions are computed by the store (`F`, `Increment`)"
    ),
    "kinds": Field("list", "triage kinds, when the list's own do not fit", TRIAGE_KINDS, inline=True),
    "result": Field("list", "on lock: how a refused acquire shows", inline=True),
    "unless": Field("list", "call shapes to which the entry does not apply: `retries missing`, `max_retries 0`", inline=True),
}


def _fields(*names: str, **own: Field) -> dict[str, Field]:
    return {**_COMMON, **{name: _OUTCOME[name] for name in names}, **own}


_READ_HINTS = (
    "conflict",
    "outcome",
    "value",
    "witness",
    "no_witness",
    "on",
    "rows",
    "refreshes",
    "requires",
    "noop_on",
    "context",
    "always_conditional",
    "per_item",
    "silent_if",
    "guard",
    "needs",
    "writes",
    "locks",
    "row",
    "unversioned",
    "spares",
    "filter",
    "atomic_values",
    "kinds",
    "unless",
    "after_begin",
    "savepoint",
    "result",
)

TABLES: dict[str, Table] = {
    "store": Table(
        "a store: receivers and their reads and writes",
        ops={
            "make": "calls that give such a receiver, `-> type`",
            "made_by": "short for make with `-> store:ID`",
            "result": "methods that only return a typed thing (`cursor() -> sqlite3.Cursor`)",
            "run": 'the SQL text (language = "sql") or the builder\'s statement decides the role',
            "fetch": "rows of the last run",
            "read": "reads a record",
            "write": "overwrites a record",
            "create": "creates; refuses or ignores what is there",
            "delete": "deletes",
            "atomic": "computed by the store itself",
            "append": "adds to a log or list, overwrites nothing",
            "lock": "takes a lock or returns a lock object",
            "unlock": "releases it",
            "begin": "opens a transaction or watch",
            "commit": "commits it",
            "rollback": "rolls it back",
            "replay": "runs a callback, perhaps several times",
            "check": "looks at the outcome (`raise_for_status()`)",
            "request": "builds a request that another call sends",
            "batch": "does several writes at once, each as if it were called by itself",
            "change": "changes in memory what the receiver holds (`parser.set(section, option, value)`)",
            "decode": "makes a document of a text or an open file (`json.load(file)`)",
            "encode": "writes a document as text, or into an open file (`json.dump(doc, file)`)",
        },
        fields=_fields(
            *_READ_HINTS,
            "ttl",
            "fencing",
            "scope",
            family=Field("str", "chooses the rule", FAMILIES),
            language=Field("str", "switches an expression engine on", ("sql", "mongo", "dynamodb", "cosmos", "elasticsearch", "command")),
            dialect=Field("str", "SQL dialect by sqlglot's name"),
            paramstyle=Field(
                "str", "placeholders of the driver", ("qmark", "numeric", "named", "format", "pyformat", "dollar")
            ),
            witness_from=Field(
                "str", "`same`: a witness from another read of the key is a split witness", ("same", "any")
            ),
            status=Field("str", "path to the status of a response (`.status_code`)"),
            checked_by=Field("list", "expressions on the result that count as looking at it (`.ok`, `bool`)"),
            key_fields=Field("list", "id names inside a filter; default `id`, `pk`, `_id`"),
            precondition_headers=Field("list", "headers that make a write conditional"),
            create_headers=Field("list", "headers that make it create-only"),
            sets=Field("list", "attributes of the receiver that tell the version it has just read or written", inline=True),
            lazy=Field("bool", "on read: looking at an attribute in `sets` is such a read", inline=True),
            unset=Field("list", "attributes of what it makes that are None until a call sets them", inline=True),
            stream=Field("bool", "what is written into the result is the payload (`open(path, 'w')`)", inline=True),
            row_lists=Field("bool", "on run: `VALUES %s` in the text takes a list of rows", inline=True),
            part=Field("str", "on make: which member of the result is the receiver (`[0]`)", inline=True),
            statement_text=Field("list", "calls that give a piece of a statement's text (`psycopg.sql.SQL`)"),
            statement_name=Field("list", "calls whose arguments are the parts of a name in a statement (`psycopg.sql.Identifier`)"),
            statement_literal=Field("list", "calls that write a value into a statement"),
            statement_placeholder=Field("list", "calls that give a placeholder, with its name or without"),
            statement_joined=Field("list", "calls that join such pieces"),
            only_if=Field("list", "argument and glob (`urlpath s3://*`), or an argument that must be given (`json`); one of them must fit"),
            create_if=Field("list", "argument and value (`if_generation_match 0`) that make a write create-only"),
            key_names=Field("table", "parameter → name of the key part, where calls name the same part differently"),
            receiver_headers=Field("list", "attributes of the receiver that hold headers of every request"),
            response_hooks=Field("list", "attributes of the receiver that hold functions run on every response"),
            atomic_operators=Field("list", "update operators that the store computes (`$inc`)"),
            receiver_is_key=Field("bool", "false: the receiver is no part of the record's identity"),
            method_roles=Field("table", "HTTP verb → role", ("read", "write", "create", "delete", "effect")),
            subscript=Field("str", "`store[key]` reads, `store[key] = x` writes", ("read", "write", "read/write")),
            autocommit=Field("str|bool", "whether a connection commits each statement by default"),
            role=Field("str", "`cache`: memoising in it is a warning; `swap`: what was written elsewhere takes the record's place at once", ("cache", "swap")),
            set_operators=Field("list", "update operators beside `$set` that only set"),
            aliases=Field("table", "key parameter → the field of the document that holds the same (`item` → `id`)"),
            carries=Field("list", "where a document holds its version: written back with it the write is conditional (`['_rev']`; `=['f']`: only where it is put there in sight)"),
            document=Field("bool", "on read: it gives the document itself, not its text; on write: the receiver is what is written (`frame.to_csv(path)`)", inline=True),
            fills=Field("bool", "on read: the receiver holds from then on what was read (`parser.read(path)`)", inline=True),
            whole=Field("bool", "on read: it reads every record of its receiver (all cells of a sheet)", inline=True),
            item_version=Field("list", "with per_item: keys inside the items under which one carries its condition (`if_seq_no`)"),
            exists_values=Field("list", "values of a precondition that test existence only (`IfPresent`)"),
            in_transaction=Field("bool", "its calls belong to the transaction that the receiver is (`transaction.set(ref, data)`)"),
            isolation=Field("str", "the level that a transaction begun here runs at"),
            deferred=Field("bool", "what it writes, and under what condition, was given to the call that made the receiver (a request object)"),
            names_are_keys=Field("bool", "the names of its calls are part of the record's identity (`service.events().get(…)`)"),
            queue=Field("bool", "its calls are queued until `commit`, and only then answered (a pipeline)"),
            operations=Field("table", "word or class of an operation in a batch → the call of this entry that does the same"),
            operation_key=Field("str", "where an operation is one mapping: its member that holds the word; without it the first word of `operations` is meant"),
            program=Field("str", "of commands: the program"),
            commands=Field("table", "word of a command → role", ("read", "write")),
            forced=Field("list", "options of a command that take its condition away (`--force`)"),
            last_writer_wins=Field("bool", "declared: the last writer wins, nothing here is reported"),
            condition=Field("list", "fix: arguments that make a write depend on what was read (`IfMatch={response}[\"ETag\"]`, `{reader}`: the object read from)"),
            version_condition=Field("list", "fix: arguments that compare the version which the document itself carries (`ConditionExpression={import boto3.dynamodb.conditions.Attr}({quoted}).eq({old})`)"),
            increments=Field("list", "fix: in place of which call the store adds (`set -> {object}.incrby({key}, {step})`; `set - ->`: where it takes away); `before ->`: a line above it, `ex ->`: one below where that parameter gives a time to live, `note ->`: words for what is different then"),
            appends=Field("list", "fix: the same where the store joins texts (`set -> {object}.append({key}, {step})`)"),
            increment_value=Field("str", "fix: the value that makes the store add (`{import google.cloud.firestore.Increment}({step})`)"),
            operators=Field("list", "fix: the operators that set, add, append (`$set`, `$inc`, `$push`)"),
            null_tests=Field("list", "fix: how a column is tested for NULL, and for something else (`{column}.is_(None)`)"),
            membership=Field("str", "fix: how a column is tested for being one of several values (`{column}.in_({values})`)"),
            condition_header=Field("str", "fix: the same as a request header (`If-Match: {response}.headers[\"ETag\"]`)"),
        ),
    ),
    "orm": Table(
        "attribute-tracking objects: loads, persists, atomic expressions",
        ops={
            "make": "calls that give a session or query, `-> type`",
            "made_by": "short for make with `-> orm:ID`",
            "result": "methods that only return a typed thing",
            "chain": "methods that keep a query a query; `*`: every unknown method",
            "filter": "chain methods that narrow the query",
            "lock": "chain methods or calls that lock the rows read",
            "load": "ends in one object",
            "many": "ends in several objects",
            "scalar": "ends in a value",
            "check_exists": "tells whether rows exist",
            "persist": "writes the object it is called on",
            "form_save": "saves a form made after a model (`class Meta: model = …`): gives the row that it was given, or a new one",
            "set_write": "one statement that writes the rows of the query",
            "create": "creates a row",
            "upsert": "creates or overwrites",
            "reload": "reads the object again",
            "add": "attaches an object to the session",
            "merge": "copies an object's values over the row",
            "flush": "writes the session's changes",
            "commit": "writes and commits them",
            "rollback": "drops them",
            "begin": "opens a transaction",
            "remove": "deletes objects or the rows of the query",
            "run": "executes a statement that a builder made, or SQL text",
            "fetch": "rows of the last run",
            "transaction": "context managers and decorators that are a transaction",
            "after_commit": "runs a callback after the commit",
            "replay": "runs a callback, perhaps several times",
            "mutation": "marks an attribute as changed (`flag_modified`)",
            "expire": "makes the next access of the object read again",
            "detach": "lets go of an object, or of all that the session holds: what is changed in it from then on is not written (`close`, `expunge`)",
            "assign": "sets attributes of the object it is called on (`set(**fields)`, `update_from_dict(data)`)",
            "execute": "runs the statement that it is called on (`Model.update(…).where(…).execute()`)",
        },
        fields=_fields(
            *_READ_HINTS,
            base=Field("list", "base classes of the models, dotted or globs"),
            model_modules=Field("list", "globs of modules that models live in"),
            manager=Field("list", "globs of attribute names that give a query (`objects`, `*_set`)"),
            unit_of_work=Field(
                "bool", "true: the diagnostic stands at the line that changes the object (SQLAlchemy); required"
            ),
            version_markers=Field(
                "list", "what makes a model versioned: field classes, `__mapper_args__['version_id_col']`"
            ),
            version_generator=Field("str", "key beside the marker: False leaves it to the program to raise the version"),
            conflict_errors=Field("list", "exceptions that tell a lost race"),
            key_fields=Field("list", "id names inside a filter; default `id`, `pk`"),
            identity_map=Field(
                "bool", "the load may return an object that is loaded already, without asking the database", inline=True
            ),
            optimistic=Field("str", "the ORM itself checks old values", ("read attributes",)),
            unchecked=Field("list", "words in the declaration of an attribute whose old value it does not check (`volatile=True`), and types of such (`float`)"),
            generators=Field("bool", "a generator over a model class is a query (`select(p for p in Part if p.stock > 0)`)"),
            lookup_separator=Field("str", "between a field and its lookup in keyword filters (`__`)"),
            save_help=Field("str", "one help line: how only the changed columns are written (`{fields}`)"),
            column=Field("str", "fix: the expression that stands for a column of the row in an assignment (`F({quoted})`, `{model}.{name}`)"),
            column_import=Field("str", "fix: what that expression needs imported (`django.db.models.F`)"),
            save_only=Field("str", "fix: the argument of a save that names the columns (`update_fields=[{quoted}]`)"),
            reload_with=Field("list", "fix: after which call the object is read again, and how (`save -> {object}.refresh_from_db(fields=[{quoted}])`)"),
            increment_call=Field("str", "fix: the call that adds to a field on the server, in place of the change and the save (`{object}.modify(inc__{path}={step})`)"),
            update_where=Field("list", "fix: in place of which save a statement tests and writes (`save -> {model}.objects.filter(pk={object}.pk, {tests}).update({values})`)"),
            lock_read=Field("list", "fix: what makes a reading call lock the row: before its name (`get -> .select_for_update()`), behind its first argument (`execute -> @0.with_for_update()`), or as an argument (`get -> with_for_update=True`)"),
            lock_refuses=Field("list", "fix: calls in a read that such a lock does not go with (`select_related`)"),
            lock_transaction=Field("str", "fix: the decorator that makes a function a transaction (`django.db.transaction.atomic`)"),
            unit_statement=Field("list", "fix: the lines of a statement that tests and writes a row in place of changes that a flush would write (`{session}.execute(`, …; a tab is one step of indentation)"),
            unit_count=Field("str", "fix: where its result has the count of the rows (`.rowcount`)"),
            value_form=Field("str", "fix: how one new value is given in `update_where` (`set__{name}={value}`); else `{name}={value}`"),
            null_tests=Field("list", "fix: how a column is tested for NULL, and for something else (`{column}.is_(None)`)"),
            membership=Field("str", "fix: how a column is tested for being one of several values (`{column}.in_({values})`)"),
            get_or_create=Field("list", "fix: the call that looks and creates, by the one that creates (`create -> get_or_create`)"),
            saved_anyway=Field("list", "fix: keyword and value of a field's constructor that make every save change it (`auto_now=True`)"),
            lock_help=Field("str", "one help line: how the row is held from its load to its save in this library"),
            class_queries=Field("bool", "queries begin on the model class itself (`Model.get(…)`, `Model.select()`)"),
            request_transactions=Field("bool", "a setting of its framework may open a transaction around each request"),
            subscript=Field("str", "`Model[key]` loads a row", ("read",)),
            awaitable=Field("bool", "a query is run by awaiting it"),
            embedded=Field("bool", "attributes of attributes belong to the same document"),
            row_objects=Field("list", "names under which some middleware holds a row: `flask_login.current_user`, `request.user`"),
            row_parameters=Field("list", "parameters by which a framework hands a row in (`sender, instance -> instance`), or a query of several (`request, queryset -> queryset[]`)"),
            form_parameters=Field("list", "parameters by which a view is handed a form, and the attribute of the view that names its class (`form -> form_class`)"),
            editing_views=Field("list", "globs of bases of views whose form holds the row that is edited"),
            item_changes=Field("bool", "a changed key of a mapping field is written alone"),
            related_managers=Field("bool", "the many-side of a relation is a query (`order.lines.all()`)"),
            many_side=Field("list", "keywords of such a field that name the other side of the relation (`related_name`)"),
            relations=Field("list", "constructors of fields that hold another row; the first argument names its class"),
            not_numbers=Field("list", "constructors or types of fields that hold no number"),
            made_if=Field("list", "parameters of such handlers that say that the row was just made: `created -> instance`, `not change -> obj`"),
            deletion_signals=Field("list", "signals that are sent once for each deleted row, and the parameter by which a handler gets it (`post_delete -> instance`)"),
            save_upserts=Field("bool", "save() of a new object whose key is set updates the row with that key, if there is one"),
            implicit_key=Field("str", "the primary key of a class that declares none (`id`)"),
            unique_in=Field("list", "names in the class body that declare unique constraints (`Meta`)"),
            unique_errors=Field("list", "exceptions that tell that a unique constraint refused a row"),
            atomic_operators=Field("list", "prefixes of update keywords that the store computes (`inc__n`)"),
            set_operators=Field("list", "prefixes of update keywords that only set (`set__n`)"),
            family=Field("str", "chooses the rule", ("orm",)),
            language=Field("str", "switches an expression engine on for `run`", ("sql",)),
            dialect=Field("str", "SQL dialect by sqlglot's name"),
            replays=Field("str", "what a decorator or `with` repeats", ("function", "with")),
            isolation=Field("str", "the level that a transaction begun here runs at", inline=True),
            last_writer_wins=Field("bool", "declared: the last writer wins, nothing here is reported"),
        ),
    ),
    "builder": Table(
        "calls that build a statement for `run`",
        ops={
            "start": "begins a statement, `-> select|update|delete|insert|text`",
            "filter": "adds a predicate",
            "values": "gives the new values",
            "lock": "locks the rows read",
            "chain": "keeps the statement; `*`: every unknown method",
            "upsert": "turns insert into insert-or-overwrite",
            "conjunction": "calls that join predicates: all of them hold (`and_`)",
            "disjunction": "calls that join predicates: none of them need hold (`or_`, `not_`)",
            "columns": "chooses or returns columns (`returning`)",
        },
        fields=_fields(
            "on",
            "filter",
            "spares",
            "noop_on",
            "refreshes",
            "requires",
            "conflict",
            "outcome",
            "atomic_values",
            "kinds",
            "unless",
        ),
    ),
    "effect": Table(
        "external side effects",
        ops={
            "make": "calls that give such a receiver, `-> type`",
            "made_by": "short for make with `-> effect:ID`",
            "result": "methods that only return a typed thing",
            "call": "the effect",
            "after_commit": "defers a callback until the commit",
        },
        fields=_fields(
            "on",
            "conflict",
            "outcome",
            "kinds",
            "unless",
            "per_item",
            kind=Field(
                "str",
                "what is done outside",
                ("email", "sms", "chat", "payment", "publish", "enqueue", "http", "process", "model", "file", "remote"),
            ),
            idempotency_headers=Field("list", "headers that make the call repeatable"),
            idempotent_if=Field("list", "call shapes that are repeatable"),
            errors=Field("list", "exceptions that only its own calls raise, dotted or globs (`smtplib.*`); left out: those of its packages"),
            auto_key=Field("str", "the library sends a key of its own for each", ("per call", "per attempt")),
            receiver_is_key=Field("bool", "false: the receiver is no part of the identity"),
        ),
    ),
    "retry": Table(
        "retry decorators, loops and policies",
        ops={
            "decorator": "decorators that run the function again",
            "loop": "iterables or context managers that run the body again",
            "call": "calls that run a callback again",
            "policy": "objects that configure retries: they decorate, wrap a callable or are handed to a transport",
            "condition": "calls that say what a policy repeats on",
            "pause": "calls that say how long it waits",
            "attach": "calls that give their receiver, or what they return, a policy",
            "make": "calls that give such a receiver, `-> type`",
            "made_by": "short for make with `-> retry:ID`",
        },
        fields=_fields(
            "kinds",
            "unless",
            on=Field("list", "parameters that say what is retried"),
            stop=Field("list", "parameters that bound it"),
            wait=Field("list", "parameters that pace it; `always`: it pauses by itself"),
            unbounded_if=Field("list", "what makes it unbounded (`stop missing`, `stop None`, `stop_never`, `max_tries missing and max_time missing`)"),
            jitter=Field("list", "what adds jitter: a parameter that is given, `not PARAM`: one that is not switched off, `always`"),
            random=Field("bool", "on pause: its lengths differ at random"),
            about=Field("str", "on condition: what it looks at; `any` and `all` join others", ("exception", "not exception", "result", "not result", "any", "all")),
            default_on=Field("list", "what it retries when nothing is said"),
            excludes=Field("list", "parameters that say what is not retried"),
            replays=Field(
                "str",
                "what it runs again; `transaction`: a function that is a transaction, after a conflict; `task`: a workflow engine's task",
                ("function", "with", "request", "transaction", "task"),
            ),
            gives=Field("list", "on call: what it hands to the callback before the caller's own arguments"),
            methods=Field("list", "HTTP verbs that a policy repeats by default"),
            conflict_by_default=Field("bool", "409 or 412 are among what it retries by default"),
        ),
    ),
    "lock": Table(
        "free-standing locks",
        ops={
            "make": "calls that give such a lock, `-> type`",
            "made_by": "short for make with `-> lock:ID`",
            "enter": "takes it; the word `with`: entering the context manager does",
            "unlock": "releases it",
            "extend": "prolongs its lifetime",
            "take": "takes a lock that is a key of a store: writes it if it is not there",
            "drop": "deletes such a key, whoever holds the lock by now",
        },
        fields=_fields(
            "ttl",
            "fencing",
            "scope",
            "on",
            "requires",
            "noop_on",
            "conflict",
            "kinds",
            "unless",
            "silent_if",
            unsure=Field("bool", "only the answer of its `enter` tells whether it was had; a `with` block is entered without it as well"),
            result=Field(
                "list", "how a refused acquire shows: `returns False`, `raises pkg.Timeout`; `none`: it does not"
            ),
        ),
    ),
    "tool": Table(
        "functions that are exposed to a model as tools",
        ops={
            "make": "calls that give such a receiver, `-> type`",
            "made_by": "short for make with `-> tool:ID`",
            "decorator": "decorators that expose a function",
            "register": "calls that expose a function",
            "subclass": "base classes of tools, as their constructors: what stands below one is a tool",
            "schema": "constructors of raw schemas",
        },
        fields=_fields(
            "kinds",
            "unless",
            methods=Field("list", "methods of such a class that the model calls (`_run`); `*`: those that its `__init__` hands on"),
            injected=Field("list", "annotations of parameters that the model does not see"),
            context=Field("list", "attributes of such a parameter that hold an object of the class that its annotation gives in brackets (`RunContext[Deps]`: `RunContext.deps`)"),
            readonly_if=Field("list", "paths of the decorator's arguments that declare it read-only"),
            retry_signal=Field("list", "exceptions that make the model call again"),
        ),
    ),
    "transaction": Table(
        "context managers and decorators that are a transaction",
        ops={
            "enter": "opens it (context manager or decorator)",
            "after_commit": "runs a callback after the commit",
            "make": "calls that give such a receiver, `-> type`",
        },
        fields=_fields(
            "on",
            "kinds",
            "unless",
            "guard",
            isolation=Field("str", "the level it runs at when the call does not say"),
            replays=Field("str", "what it runs again on conflict", ("function", "with")),
        ),
    ),
}

#: Keys that a vocabulary file or `[tool.noclobber]` may hold at its top.
TOP_KEYS = (*TABLES, "disable", "patterns")


def markdown() -> str:
    """Return the reference part of rules/README.md."""
    out = ["### Roles of parameters", "| role | meaning |", "|---|---|"]
    out += [f"| `{role}` | {text} |" for role, text in ROLES.items()]
    out += ["", "### Fields that every table has", "| field | type | meaning |", "|---|---|---|"]
    out += [_row(name, entry) for name, entry in _COMMON.items()]
    for name, table in TABLES.items():
        out += ["", f"### `[[{name}]]`: {table.help}", "| list | its calls |", "|---|---|"]
        out += [f"| `{op}` | {_cell(text)} |" for op, text in table.ops.items()]
        out += ["", "| field | type | meaning |", "|---|---|---|"]
        out += [_row(key, entry) for key, entry in table.fields.items() if key not in _COMMON]
    out += ["", "### Kinds of triage", "| kind | a scope with it has |", "|---|---|"]
    out += [f"| `{kind}` | {_cell(text)} |" for kind, text in KIND_HELP.items()]
    return "\n".join(out) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _row(name: str, entry: Field) -> str:
    words = f": {', '.join(f'`{word}`' for word in entry.values)}" if entry.values and name != "kinds" else ""
    place = " (inline tables only)" if entry.inline else ""
    return f"| `{name}` | {entry.type.replace('|', ' or ')}{place} | {_cell(entry.help)}{words} |"
