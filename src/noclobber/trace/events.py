"""Events: what one walk over a scope saw, in order. Rules see these and nothing else.

A `Site` is a position handle. Every event knows where it stands (site, call path), what was certain there (`held`, `tx`), in
which loops, and which tests decided that it is reached (`control`). The record it touches is a `Record` (see `records`).
"""
from __future__ import annotations

from typing import Any, NamedTuple, Optional

from .values import NOTHING, Value


class Site(NamedTuple):
    """excerpt: opaque to everybody but `positions`; at: the node handle; function: qualified name of the scope it stands in."""

    excerpt: Any
    at: Any
    function: str
    path: str = ""


class Record(NamedTuple):
    """A shared record. family: which rule speaks of it (sql, http, object, orm, document, key, accessor, file).

    store: entry id; table: Value or template of the table/class/bucket/URL part, or None; key: ((column or '', Value), …);
    obj: heap object when an object carries the row; label: words for messages; owner: Value of the client it is reached through, or None.
    """

    family: str
    store: str
    table: Any
    key: tuple
    obj: Optional[int] = None
    label: str = ""
    owner: Any = None


class Lock(NamedTuple):
    """Something held. kind: private (a store that nobody else has), row, table, advisory, file, ttl, process, serializable, begin (SQLite BEGIN before the read),
    atomic (a transaction that is no guard), pattern (an unresolved name that promises a lock), written
    (an open transaction has written rows: n is the write; no guard).

    n: number of the event that took it; scope: 'tx' (ends with the transaction), 'session', 'block'; table/key: what it covers;
    source: read number whose row it locks (row locks), else None.
    """

    kind: str
    n: int
    scope: str = "block"
    record: Optional[Record] = None
    source: Optional[int] = None
    owner: Any = None

    def __eq__(self, other: object) -> bool:
        # The record may be seen anew in another round; the lock is the same one.
        return self is other or isinstance(other, Lock) and (self.kind, self.n, self.scope, self.owner) == (other.kind, other.n, other.scope, other.owner)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.kind, self.n, self.scope))


class Precondition(NamedTuple):
    """kind: 'witness' (value must equal what was read), 'state' (column = constant), 'bound' (column >= …), 'create', 'exists',
    'scope' (a comparison of a column that the write leaves as it is: no guard, but the test is made).

    where: 'header' or 'body' of a request, '' for an argument or a predicate."""

    kind: str
    column: str
    value: Value
    where: str = ""


class Context(NamedTuple):
    """loops: ids of the open loops and retry regions, outermost first; control: origins of the tests that decide that the
    event is reached; held: locks certainly held; freed: row locks that
    some way here has given back; calls: call sites from the root down to the event's function; unseen: conditional writes and deletes
    on the way here whose outcome nobody has looked at."""

    loops: tuple = ()
    control: frozenset = NOTHING
    held: frozenset = NOTHING
    calls: tuple = ()
    unseen: frozenset = NOTHING
    freed: frozenset = NOTHING


class Event:
    """Base of all events. n: number in the trace (stable over the rounds of a fixpoint)."""

    __slots__ = ("n", "site", "ctx")
    kind = "event"

    def __init__(self, n: int, site: Site, ctx: Context) -> None:
        self.n, self.site, self.ctx = n, site, ctx

    def describe(self) -> str:
        return ""


class Read(Event):
    """columns: names of the selected columns in order (or None); lock: the row lock it took, or None; many: several rows; listed: all rows of its result were fetched;
    cached: the answer may come from an identity map or cache and not see the winner; snapshot: it sees what the first read of its transaction saw; session: Value of the session asked, or None;
    outside: it asks for a row lock where no transaction is seen ('autocommit': the connection commits each statement; 'request': in a handler of requests there is none
    either; 'none': there, a setting may have opened one; '' = there is one);
    filters: ((column, operator, Value), …) that every row it gives fulfils; sources: for each of `columns` the columns that it is computed from;
    preconditions: it answers only while the record is still that version;
    aggregate: a count, sum, maximum of rows; partial: only some columns were loaded; open_filter: it is narrowed by something that could not be read;
    ordered: its rows were asked for in an order; of_new: its key names a row that was made here (None: not asked yet);
    absent: what it gives where there is no such record, if the call says so."""

    __slots__ = ("record", "columns", "lock", "many", "cached", "spec", "session", "outside", "filters", "sources", "preconditions", "aggregate",
                 "partial", "open_filter", "snapshot", "listed", "ordered", "of_new", "absent")
    kind = "read"

    def __init__(self, n: int, site: Site, ctx: Context) -> None:
        super().__init__(n, site, ctx)
        self.session, self.outside, self.filters, self.sources, self.snapshot = None, "", (), (), False
        self.preconditions: tuple = ()
        self.aggregate = self.partial = self.open_filter = self.listed = self.ordered = False
        self.of_new: Optional[bool] = None
        self.absent: Optional[Value] = None

    def describe(self) -> str:
        return f"{self.record.label} key={self.record.key!r} cols={self.columns} lock={self.lock}{' outside=' + self.outside if self.outside else ''}"


class Change(Event):
    """An attribute or element of a loaded object was changed in memory.

    field: path of steps from the object; value: what it holds now; op: 'assign', 'aug', 'item', 'mutate'; base: origins of the
    object itself, so that `base.at(field[0])` is the old value; row: number of the read that loaded it, or None; detached: no session held it then; formed: the value
    is what one call gave, or a slice (`row.note = short(row.note)`), nothing put together; takes: members are only taken out.
    """

    __slots__ = ("obj", "field", "value", "op", "base", "row", "detached", "formed", "takes")
    kind = "change"

    def __init__(self, n: int, site: Site, ctx: Context) -> None:
        super().__init__(n, site, ctx)
        self.detached = self.formed = self.takes = False

    def describe(self) -> str:
        return f"obj {self.obj}.{self.field} {self.op} {self.value!r}"


class Write(Event):
    """verb: replace | update | create | delete | append | atomic.

    payload: one Value for everything written (its origins are the union of all parts); columns: ((name, Value), …) where known;
    preconditions; outcome: how a refusal shows: 'count' | 'row' | 'raises' | 'status' | 'result' | 'none'; conflict: tuple of
    exception names a refusal raises; changes: {(number of the Change event, path from the object)} that it persists; columns_known: it writes only
    `columns`; base: origins of the written object itself; entry: (kind, id) of the vocabulary entry; unit: a flush of a unit of work (stands at the change); text: 'sql'
    where SQL text was run, 'builder' for a statement object; conflict_handled: some test asks for the refusal by its code; help: the repair
    in this library's own terms, `{field}` and `{record}` to be filled; role: 'cache' for a store of what can be computed again; lock_help: how the row is held there from its load to its save; refused: numbers of
    writes that are certainly refused where it is sent; leaves: the parts of a structured payload; named: its ((dotted name, Value), …) where
    it was written out in sight; call: the method or HTTP verb; offers: the store's
    entry has a call with a precondition; fallbacks: of self_columns those that only stay as they are where nothing new is given (COALESCE(:new, column));
    save_help: how only the changed columns are written; handled: an error that tells of a duplicate is caught around it, or the row was created before by the same object; unique: does the class declare
    a unique constraint (None: not known)?; unique_columns: the columns of each, where they are known; owner_named: the foreign key to the row's owner is `@owner` in them; keys: columns of its primary key, where the class tells; session: Value of the session that was given it, or None;
    others: its condition leaves one row out (`id != :this`); owed: by a unit of work that its owner commits, out of sight; kept: a version that other code compares and that this write leaves as it is; kept_how:
    'around', 'compared' or 'lease' (a takeover); tells: the part of the result that alone tells of a refusal (`[0]`), '' where any may; model: the class of the project whose row it is, or None;
    directed: the call says which database it goes to; alone: the row has no other column that somebody could have set meanwhile; given: where the statement was
    handed to the helper that runs it, or None: a finding about it stands there; either: on some way it is another object that is saved there.
    """

    __slots__ = ("record", "verb", "payload", "columns", "preconditions", "outcome", "conflict", "changes", "full", "entry", "unit",
                 "base", "doubts", "commit", "open_where", "self_columns", "text", "conflict_handled", "help", "lock_help", "role", "refused", "leaves", "call", "offers",
                 "fallbacks", "save_help", "handled", "unique", "kept", "kept_how", "tells", "model",
                 "session", "others", "keys", "owed", "directed", "unique_columns", "owner_named", "alone", "named", "given", "either")
    kind = "write"

    def __init__(self, n: int, site: Site, ctx: Context) -> None:
        super().__init__(n, site, ctx)
        self.lock_help = self.role = self.save_help = self.kept = self.kept_how = ""
        self.leaves: tuple = ()
        self.named: tuple = ()
        self.call, self.offers, self.tells = "", False, ""
        self.fallbacks: frozenset = NOTHING
        self.handled = self.others = self.owed = self.either = False
        self.keys: frozenset = NOTHING
        self.unique: Optional[bool] = None
        self.model: Any = None
        self.session: Optional[Value] = None
        self.given: Optional[Site] = None
        self.directed = self.alone = False
        self.unique_columns: tuple = ()
        self.owner_named = False

    @property
    def conditional(self) -> bool:
        return any(p.kind in ("witness", "state", "bound") for p in self.preconditions)

    def describe(self) -> str:
        return (f"{self.verb} {self.record.label} key={self.record.key!r} cols={self.columns!r} pre={self.preconditions!r}"
                f" outcome={self.outcome} changes={self.changes}")


class Effect(Event):
    """what: kind of effect (email, payment, …); label: words; key: Value of the idempotency key or None; entry: (kind, id) of the vocabulary
    entry; given: origins of all that it was given; help: the repair in this library's own terms; delayed: it is told to wait before it is done."""

    __slots__ = ("what", "label", "key", "entry", "given", "help", "delayed")
    kind = "effect"

    def __init__(self, n: int, site: Site, ctx: Context) -> None:
        super().__init__(n, site, ctx)
        self.given, self.help, self.delayed = NOTHING, "", False

    def describe(self) -> str:
        return f"{self.what} {self.label} key={self.key!r}"


class KeyLock(Event):
    """A lock that is a key of a store. how: 'take' (written if it was not there), 'drop' (deleted), 'extend' (given a longer life); key: words for the
    key; ttl: it expires by itself; shown: class, function or key say that it is a lock, or it was taken in a method beside; handled: in an exception's handler
    only; doubts."""

    __slots__ = ("how", "key", "ttl", "shown", "handled", "owned", "doubts")
    kind = "keylock"

    def describe(self) -> str:
        return f"{self.how} {self.key} ttl={self.ttl} shown={self.shown} owned={self.owned}"


class Fresh(Event):
    """A value that is another one each time: random, a clock, or a text with the number of the attempt in it. what: `random`, `clock`, `attempt`."""

    __slots__ = ("what",)
    kind = "fresh"

    def describe(self) -> str:
        return self.what


class LockEvent(Event):
    """asked: it is only tried to take it (`pg_try_advisory_lock`): who does not get it is told so and goes on."""

    __slots__ = ("lock", "asked")
    kind = "lock"

    def __init__(self, n: int, site: Site, ctx: Context) -> None:
        super().__init__(n, site, ctx)
        self.asked = False

    def describe(self) -> str:
        return repr(self.lock)


#: Behind a test's branch in `Context.control`: one of several tests has led here, this one or another.
SOME = "some"


class Test(Event):
    """A test that decides what is reached. left `op` right; op 'truth': of a bare value. Behind its branches `Context.control` holds
    Origin('test', n, ('yes',)) or ('no',)."""

    __slots__ = ("left", "op", "right")
    kind = "test"

    def describe(self) -> str:
        return f"{self.left!r} {self.op} {self.right!r}"


class Dump(Event):
    """A patch was written out with every field. label: name of its class; optional: may fields be left out (None: not known)?
    handler: what the function around is, 'patch', 'update' (by its name only), 'put', 'keys' or ''; whole: it is all that came in, not a part of it;
    all_optional: every field may be left out; of_patch: it is a part of a patch; source: origins of the object itself."""

    __slots__ = ("label", "optional", "handler", "whole", "all_optional", "of_patch", "source")
    kind = "dump"

    def __init__(self, n: int, site: Site, ctx: Context) -> None:
        super().__init__(n, site, ctx)
        self.whole = self.all_optional = self.of_patch = False
        self.source: frozenset = NOTHING

    def describe(self) -> str:
        return f"{self.label} optional={self.optional} {self.handler}"


class LockQuery(Event):
    """A query that would lock rows was built. used: it was run, or handed on."""

    __slots__ = ("record", "used")
    kind = "lockquery"

    def describe(self) -> str:
        return f"{self.record.label} used={self.used}"


class Expire(Event):
    """A session forgets what it has loaded."""

    __slots__ = ()
    kind = "expire"


class Pending(Event):
    """A unit of work was given an object to insert or delete. label: words; session: its Value, or None; objs: numbers of the objects."""

    __slots__ = ("label", "session", "objs")
    kind = "pending"

    def __init__(self, n: int, site: Site, ctx: Context) -> None:
        super().__init__(n, site, ctx)
        self.session: Optional[Value] = None
        self.objs: frozenset = NOTHING

    def describe(self) -> str:
        return self.label


class Begin(Event):
    """passed: numbers of the writes, effects and pauses of the paths that leave this transaction well; alias: words for the database that it
    is of, where that is certainly another one than the default ('replica')."""

    __slots__ = ("label", "passed", "alias")
    kind = "begin"

    def __init__(self, n: int, site: Site, ctx: Context) -> None:
        super().__init__(n, site, ctx)
        self.passed: frozenset = NOTHING
        self.alias = ""

    def describe(self) -> str:
        return self.label


class Commit(Event):
    """passed: numbers of the writes, effects and pauses of the paths that come here, since their transaction began."""

    __slots__ = ("label", "passed")
    kind = "commit"

    def __init__(self, n: int, site: Site, ctx: Context) -> None:
        super().__init__(n, site, ctx)
        self.passed: frozenset = NOTHING

    def describe(self) -> str:
        return self.label


class Check(Event):
    """The outcome of `write` was looked at."""

    __slots__ = ("write", "how")
    kind = "check"

    def describe(self) -> str:
        return f"of {self.write}: {self.how}"


class CallEvent(Event):
    """An unresolved call that was given something, noted where a conditional write before it is still unlooked at. value: what it was given."""

    __slots__ = ("name", "value")
    kind = "call"

    def describe(self) -> str:
        return f"{self.name} {self.value!r}"


class Accessor(Event):
    """An unresolved call named like half of an accessor pair. name; writes: which half; owner: dotted name of the module or object it belongs to, or the
    receiver's Value; typ: last part of the receiver's class; given: ((keyword or '', Value), …); parts: origins of all that is in each; origin: of what it gives."""

    __slots__ = ("name", "writes", "owner", "typ", "given", "parts", "origin")
    kind = "accessor"

    def describe(self) -> str:
        return f"{self.name} of {self.owner!r} {self.given!r}"


class RaiseEvent(Event):
    __slots__ = ("types",)
    kind = "raise"

    def describe(self) -> str:
        return repr(self.types)


class Swallow(Event):
    """A handler that was entered, or the branch of a refused write. lost: writes whose refusal led here; general: told by the class of the
    exception alone; verdicts: what became of the conflict where that is wrong: 'dropped', 'success', 'flattened', 'generic'."""

    __slots__ = ("types", "lost", "general", "verdicts")
    kind = "swallow"

    def __init__(self, n: int, site: Site, ctx: Context) -> None:
        super().__init__(n, site, ctx)
        self.lost: frozenset = NOTHING
        self.general = False
        self.verdicts: set = set()

    def describe(self) -> str:
        return repr(self.types)


class Suspend(Event):
    """Time passes: a model call, a request, a sleep. value: how long a sleep takes, else None; model: a known request or model call."""

    __slots__ = ("what", "value", "model")
    kind = "suspend"

    def __init__(self, n: int, site: Site, ctx: Context) -> None:
        super().__init__(n, site, ctx)
        self.value: Optional[Value] = None
        self.model = False

    def describe(self) -> str:
        return self.what


class Mixed(Event):
    """One test, handler or policy that takes a conflict and a request to slow down for the same. codes: what it names."""

    __slots__ = ("codes",)
    kind = "mixed"

    def describe(self) -> str:
        return repr(sorted(map(str, self.codes)))


class Loop(Event):
    """A loop or retry region.

    how: 'loop' | 'decorator' (also a call that runs its callback again) | 'attempts' (for attempt in Retrying()) | 'recursion' |
    'transport' (a client repeats one request by itself); items: it runs over independent items;
    retried: numbers of writes after whose refusal it runs again; accepted: of writes after whose acceptance it runs again (then
    it is no retry); replayed: {effect n: what made it run again}; quiet: it also runs again when nothing went wrong (a poll, a
    queue); resent: numbers of effects whose own failure, with an unknown outcome, makes it run again; unseen: writes retried without anything that makes a session read its rows again; policy: the `policies.Policy` of a
    library, or None; bounded: something ends it although the conflict goes on: a count, a deadline, a cancellation; pauses: numbers of
    the Suspend events on the way back after a conflict; mixed: of the Mixed events on the way back; dropped: numbers of writes that it sends again without their condition; given: handles of the calls in it that
    run a function which was handed in; decorator: place of the decorator of the project whose wrapper loops, or None.
    """

    __slots__ = ("how", "retried", "accepted", "replayed", "items", "label", "quiet", "unseen", "policy", "bounded", "pauses", "mixed", "given", "dropped", "decorator", "resent")
    kind = "loop"

    def describe(self) -> str:
        return f"{self.how} retried={sorted(self.retried)} accepted={sorted(self.accepted)} replayed={dict(self.replayed)} quiet={self.quiet} items={self.items}"


class Trace:
    """The events of one root with what rules ask of them."""

    __slots__ = ("events", "root", "unchecked", "incomplete", "loops", "entry", "route", "made", "touched", "used", "match", "bodies", "toolbox", "behind", "ordered", "parsed", "callees", "taken", "mute", "relations", "weighed")

    def __init__(self, root: str) -> None:
        self.root = root
        self.events: list[Event] = []
        self.unchecked: frozenset = NOTHING
        self.incomplete: set = set()
        self.loops: dict = {}
        self.ordered: dict = {}  # origin of an opaque tag → site where it was compared for order
        self.match: Any = lambda group, name: False  # the name patterns of the vocabulary: (group, name) → does it fit?
        self.entry = ""  # 'command', 'task', 'script': a framework calls the root, without a transaction
        self.route = False  # a web framework calls the root: its parameters are what a client has sent, and what the framework hands in
        self.made: dict = {}  # n of an opaque origin → (the loops it was made in, was it given something that was read)
        self.callees: dict = {}  # call sites from the root down (`Context.calls`) → (qualified name, path) of the function that the last one enters
        self.taken: set = set()  # numbers of the writes that take a lock
        self.mute: set = set()  # of those among them whose answer does not tell whether they were refused
        self.relations: set = set()  # origins of fields that hold another row
        self.parsed: set = set()  # numbers of the reads of which a document was made
        self.weighed: set = set()  # writes whose answer was compared with something
        self.used: set = set()  # reads whose content was handed out: returned, sent, passed on
        self.bodies: list = []  # functions walked with nothing known of their arguments (`tools.Body`): the root, functions in it that are tools
        self.toolbox: Any = None  # `tools.Toolbox` of the module, when this is the trace of one of its tools
        self.behind: dict = {}  # n of an effect or pause → numbers of what its transaction has passed before it and what was not refused
        self.touched: dict = {}  # (kind, n) of an origin → {(path, loops, node)} of unresolved calls on it or with it

    def of(self, kind: str) -> list:
        return [event for event in self.events if event.kind == kind]

    def __getitem__(self, n: int) -> Event:
        return self.events[n]
