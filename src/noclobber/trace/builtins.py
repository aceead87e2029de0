"""What builtins and the standard library do to values: copies, conversions, joins. Keyed by dotted name; facts of Python, not of a store."""
from __future__ import annotations

from typing import Any, Callable, Optional

from .arguments import Argument, Arguments
from .copies import model_copy, with_changes
from .objects import Dead, Obj, State
from .values import CLOCK, CONST, NOTHING, RANDOM, Lit, Value


def _first(args: Any) -> Optional[Value]:
    return args.positional[0].value if args.positional else (args.all()[0] if args.all() else None)


def _same(walker: Any, args: Any, node: Any, state: State) -> Value:
    """A conversion or clamp: the value stays what it was (`int(x)`, `round(x, 2)`)."""
    value = _first(args)
    if value is None:
        return walker.values.const(None)
    for part in args.all():
        walker.looked_at(state, part, "converted")
    literal = value.literal
    if isinstance(literal, (str, int, float, bool)) and len(args.positional) == 1 and isinstance(node_name(node), str):
        return value
    result = walker.values.make(value.origins, same=value.same, incr=value.incr, shape=value.shape, name=value.name, flags=_NUMBER if node_name(node) in ("int", "float") else NOTHING)
    return walker.altered(value, result) if node_name(node) in ("int", "float") else result


_NUMBER = frozenset(("number",))


def _vars(walker: Any, args: Any, node: Any, state: State) -> Value:
    """`vars(patch)`: every field of a model."""
    value = _first(args)
    dumped = walker.dump_of_whole(value, node, state) if value is not None and len(args.positional) == 1 else None
    if dumped is None and value is not None and walker.fields_in_order(value, state) is not None:
        return walker.fields_as_dict(value, node, state)
    return dumped if dumped is not None else _same(walker, args, node, state) if value is not None else walker.values.unknown


def node_name(node: Any) -> str:
    return getattr(getattr(node, "func", None), "id", "")


def node_name_of(node: Any) -> str:
    """The last part of the name that is called."""
    func = getattr(node, "func", None)
    return getattr(func, "id", "") or getattr(func, "name", "")


def _text(walker: Any, args: Any, node: Any, state: State) -> Value:
    value = _first(args)
    if value is None:
        return walker.values.const("")
    if type(value.shape) is Lit:
        return walker.values.const(str(value.shape.value))
    return walker.values.make(walker.deep(state, value), same=value.same, shape=value.shape, name=value.name)


def _clamp(walker: Any, args: Any, node: Any, state: State) -> Value:
    """`min(a, b)`, `max(a, b)`: still each of them."""
    given = args.all()
    if len(given) == 1:
        inner = walker.member(given[0], state)
        return walker.values.make(inner.origins | given[0].origins)
    value = walker.values.derived(given)
    same = frozenset().union(*(v.same for v in given))
    incr = frozenset().union(*(v.incr for v in given))
    return walker.values.make(value.origins, same=same if len(given) == 2 and any(type(v.shape) is Lit for v in given) else NOTHING, incr=incr)


def _copy(walker: Any, args: Any, node: Any, state: State) -> Value:
    value = _first(args)
    if value is None or (not args.positional and args.keywords):
        fields = {f"[{name!r}]": a.value for name, a in args.keywords}
        return walker.container(node, "dict" if node_name(node) == "dict" else "list", state, fields, None)
    if value.query is not None:
        value = walker.evaluated_query(value, node, state)
        if value.objs:
            return value
    return _as_mapping(walker, value, args, node, state) if node_name(node) == "dict" else walker.copy_container(value, node, state)


def _as_mapping(walker: Any, value: Value, args: Any, node: Any, state: State) -> Value:
    """`dict(row)`, `dict(row, **more)`, `row._asdict()`."""
    copied = walker.copy_container(value, node, state)
    spread = {"@spread": value} if args.positional and walker.is_whole(value, state) else {}
    for oid in copied.objs:
        obj = state.heap[oid]
        state.put(oid, obj.but(kind="dict", fields={**obj.fields, **spread, **{f"[{n!r}]": a.value for n, a in args.keywords}}))
    return walker.values.replace(copied, origins=(copied.origins | walker._union(args.all())) - {CONST} or copied.origins)


def _deep(walker: Any, args: Any, node: Any, state: State) -> Value:
    value = _first(args)
    return walker.copy_container(value, node, state) if value is not None else walker.values.unknown


def _loads(walker: Any, args: Any, node: Any, state: State) -> Value:
    value = _first(args)
    return loaded(walker, value, node, state) if value is not None else walker.values.unknown


def loaded(walker: Any, value: Value, node: Any, state: State) -> Value:
    """A parsed document: a new mutable object made of what the text held."""
    walker.note_parsed(value, state)
    origins = walker.deep(state, value)
    oid = walker.object_id(node, "parsed")
    origin = next((o for o in sorted(value.same, key=str)), None)
    elem = None if origin is not None else walker.values.make(origins)
    state.put(oid, Obj("path" if origin is not None else "dict", origin.at("json") if origin is not None else None, elem=elem, label=value.name))
    return walker.values.make(origins, objs=frozenset((oid,)), name=value.name, same=frozenset(o.at("json") for o in value.same))


def _dumps(walker: Any, args: Any, node: Any, state: State) -> Value:
    value = _first(args)
    if value is None:
        return walker.values.unknown
    stream = args.get("stream", 1) if node_name_of(node) in ("dump", "safe_dump") else None
    if stream is not None and not stream.is_none:
        walker.written_into(stream, walker.flat(state, value), node, state, args)
        return walker.values.none
    return walker.values.make(walker.deep(state, value) - {CONST} or value.origins, same=NOTHING, ref=("dumped", value))


def derived(walker: Any, args: Any, node: Any, state: State) -> Value:
    given = args.all()
    for value in given:
        walker.looked_at(state, value, "converted")
    return walker.values.make(frozenset().union(*(walker.deep(state, v) for v in given)) - {CONST} or frozenset((CONST,))) if given else walker.values.const(None)


def _list_of(walker: Any, args: Any, node: Any, state: State) -> Value:
    value = _first(args)
    if value is None:
        return walker.container(node, "list", state, {}, None)
    if value.query is not None:
        value = walker.evaluated_query(value, node, state)
    rows = walker.last_of(value, state)
    if rows is not None:  # `list(conn.execute(…))`
        return walker.container(node, "list", state, {}, rows, "rows")
    copied = walker.copy_container(value, node, state)
    for extra in args.all()[1:]:
        if extra.ref is not None and extra.ref[0] in ("local", "function"):
            member = walker.member(value, state)
            walker.callback(extra, node, state, _arguments(member))
    return copied


def _arguments(*values: Value) -> Any:
    args = Arguments()
    args.positional = [Argument(v) for v in values]
    return args


def _map(walker: Any, args: Any, node: Any, state: State) -> Value:
    given = args.all()
    if len(given) < 2:
        return walker.values.derived(given)
    members = [_each(walker, v, node, state) for v in given[1:]]
    result = walker.callback(given[0], node, state, _arguments(*members)) if given[0].ref is not None else None
    return walker.container(node, "list", state, {}, result if result is not None else walker.values.derived(members))


def _filter(walker: Any, args: Any, node: Any, state: State) -> Value:
    given = args.all()
    if len(given) < 2:
        return walker.values.derived(given)
    return walker.container(node, "list", state, {}, _each(walker, given[1], node, state))


def _next(walker: Any, args: Any, node: Any, state: State) -> Value:
    value = _first(args)
    if value is None:
        return walker.values.unknown
    return _each(walker, value, node, state)


def _each(walker: Any, value: Value, node: Any, state: State) -> Value:
    """One of what is gone over: of a query's rows, a result's rows, a container's members."""
    if value.query is not None:
        value = walker.evaluated_query(value, node, state)
    rows = walker.last_of(value, state)
    return rows if rows is not None else walker.member(value, state)


def _enumerate(walker: Any, args: Any, node: Any, state: State) -> Value:
    value = _first(args)
    member = _each(walker, value, node, state) if value is not None else walker.values.unknown
    pair = walker.container(node, "tuple", state, {"[0]": walker.values.unknown, "[1]": member}, None, "pair")
    return walker.container(node, "list", state, {}, pair, "enumerate")


def _zip(walker: Any, args: Any, node: Any, state: State) -> Value:
    fields = {f"[{i}]": _each(walker, v, node, state) for i, v in enumerate(args.all())}
    pair = walker.container(node, "tuple", state, fields, None, "pair")
    return walker.container(node, "list", state, {}, pair, "zip")


def _getattr(walker: Any, args: Any, node: Any, state: State) -> Value:
    given = args.all()
    if len(given) < 2:
        return walker.values.unknown
    name = given[1].text
    if name is not None:
        value = walker.attribute(given[0], name, node, state)
        return value if len(given) == 2 else walker.defaulted(value, given[2])
    named = walker.dynamic_field(given[0], given[1])
    dumps = frozenset(o for o in given[1].origins if o.kind == "dump")
    return walker.values.make(frozenset(o.at("[*]") for o in given[0].origins) | named | dumps, same=named)


def _setattr(walker: Any, args: Any, node: Any, state: State) -> Value:
    given = args.all()
    if len(given) == 3:
        name = given[1].text
        base_node = node.args[0].value if node.args else None
        if name is not None:
            walker.put_attribute(given[0], name, given[2], state, node, "assign", base_node)
        else:
            walker.put_dynamic(given[0], given[1], given[2], state, node, base_node)
    return walker.values.none


def _partial(walker: Any, args: Any, node: Any, state: State) -> Value:
    given = [a.value for a in args.positional]
    if not given:
        return walker.values.unknown
    ref = ("partial", walker.callable_of(args.positional[0], state), tuple(given[1:]), tuple((k, a.value) for k, a in args.keywords))
    return walker.values.make(walker.values.derived(args.all()).origins, ref=ref)


def _digest(walker: Any, args: Any, node: Any, state: State) -> Value:
    """`sha256(data)`: what is made of its answer (`.hexdigest()`) is the digest."""
    value = _dumps(walker, args, node, state)
    return walker.values.replace(value, flags=value.flags | {"digest"}, ref=None)


def _asdict(walker: Any, args: Any, node: Any, state: State) -> Value:
    value = _first(args)
    if value is not None and walker.is_whole(value, state):
        return _as_mapping(walker, value, args, node, state)
    return walker.fields_as_dict(value, node, state) if value is not None else walker.values.unknown


def _astuple(walker: Any, args: Any, node: Any, state: State) -> Value:
    value = _first(args)
    if value is None:
        return walker.values.unknown
    members = walker.fields_in_order(value, state)
    if members is None:
        return walker.fields_as_dict(value, node, state)
    result = walker.container(node, "tuple", state, {f"[{i}]": v for i, v in enumerate(members)}, None)
    return walker.values.replace(result, origins=(result.origins | value.origins) - {CONST} or result.origins)


def _through(walker: Any, args: Any, node: Any, state: State) -> Value:
    value = _first(args)
    return value if value is not None else walker.values.none


def _second(walker: Any, args: Any, node: Any, state: State) -> Value:
    given = args.all()
    return given[1] if len(given) > 1 else walker.values.unknown


def _clock(walker: Any, args: Any, node: Any, state: State) -> Value:
    return walker.values.make(frozenset((CLOCK,)) | walker.made_fresh("clock", node, state))


def _random(walker: Any, args: Any, node: Any, state: State) -> Value:
    return walker.values.make(frozenset((RANDOM,)) | walker.made_fresh("random", node, state))


def _made_or_same(walker: Any, args: Any, node: Any, state: State) -> Value:
    """`ObjectId()` is a new one, `ObjectId(text)` the one that the text names."""
    return _same(walker, args, node, state) if args.all() else _random(walker, args, node, state)


def _gather(walker: Any, args: Any, node: Any, state: State) -> Value:
    values = [walker.awaited(v, node, state) for v in args.all()]
    return walker.container(node, "tuple", state, {f"[{i}]": v for i, v in enumerate(values)}, None)


def _to_thread(walker: Any, args: Any, node: Any, state: State) -> Value:
    """`to_thread(f, *args)`: the call happens, with the caller's locks."""
    if not args.positional:
        return walker.values.unknown
    inner = Arguments()
    inner.positional, inner.keywords = args.positional[1:], args.keywords
    inner.open_star, inner.open_kwargs, inner.rest = args.open_star, args.open_kwargs, args.rest
    return walker.call_value(walker.callable_of(args.positional[0], state), inner, node, state)


def _as_function(walker: Any, args: Any, node: Any, state: State) -> Value:
    """`sync_to_async(table.put_item)`: that method."""
    return walker.callable_of(args.positional[0], state) if args.positional else walker.values.unknown


def _join_path(walker: Any, args: Any, node: Any, state: State) -> Value:
    parts: list = []
    for i, value in enumerate(args.all()):
        if i:
            parts.append("/")
        parts.append(value)
    return walker.values.template(parts)


def _path(walker: Any, args: Any, node: Any, state: State) -> Value:
    pieces: list = []
    for value in args.all():
        pieces += ["/", value] if pieces else [value]
    return walker.path(*pieces)


def _temporary(walker: Any, args: Any, node: Any, state: State) -> Value:
    return walker.temporary(node_name_of(node), node, state)


def _urljoin(walker: Any, args: Any, node: Any, state: State) -> Value:
    given = args.all()
    return walker.values.template([given[0], "⁄", given[1]]) if len(given) > 1 else walker.values.derived(given)


def _setdefault_none(walker: Any, args: Any, node: Any, state: State) -> Value:
    for value in args.all():
        walker.escapes(state, value, "passed on")
    return walker.values.none


def _print(walker: Any, args: Any, node: Any, state: State) -> Value:
    return walker.values.none


def _isinstance(walker: Any, args: Any, node: Any, state: State) -> Value:
    given = args.all()
    if len(given) < 2:
        return walker.values.unknown
    return walker.values.make(given[0].origins, ref=("isinstance", given[0], given[1]))


def _exit(walker: Any, args: Any, node: Any, state: State) -> Value:
    walker.throw(state, frozenset(("SystemExit",)))
    raise Dead


def _suppress(walker: Any, args: Any, node: Any, state: State) -> Value:
    return walker.values.make(NOTHING, ref=("suppress", tuple(args.all())))


def _count(walker: Any, args: Any, node: Any, state: State) -> Value:
    return walker.values.make(frozenset((CONST,)), flags=frozenset(("endless",)))


def _chain(walker: Any, args: Any, node: Any, state: State) -> Value:
    elem: Optional[Value] = None
    for value in args.all():
        member = walker.member(value, state)
        elem = member if elem is None else walker.values.join(elem, member)
    return walker.container(node, "list", state, {}, elem)


def _in_place(walker: Any, args: Any, node: Any, state: State) -> Value:
    """`heapq.heappush(list, x)`, `bisect.insort(list, x)`: the first argument is changed."""
    given = args.all()
    if given:
        base_node = node.args[0].value if node.args else None
        walker.mutated(given[0], state, node, base_node, given[1] if len(given) > 1 else None)
        return walker.member(given[0], state)
    return walker.values.unknown


def _buffer(walker: Any, args: Any, node: Any, state: State) -> Value:
    """A file in memory: what was written into it is what it holds."""
    value = _first(args)
    return walker.container(node, "list", state, {}, walker.values.make(walker.deep(state, value)) if value is not None else None)


def _dump_into(walker: Any, args: Any, node: Any, state: State) -> Value:
    """`json.dump(doc, file)`: the file holds the document."""
    given = args.all()
    if len(given) > 1:
        base_node = node.args[1].value if len(node.args) > 1 else None
        walker.mutated(given[1], state, node, base_node, walker.flat(state, given[0]))
    return walker.values.none


def _rows_of(walker: Any, args: Any, node: Any, state: State) -> Value:
    value = _first(args)
    if value is None:
        return walker.values.unknown
    walker.note_parsed(value, state)
    return walker.container(node, "list", state, {}, walker.values.make(walker.deep(state, value) - {CONST} or value.origins))


BUILTINS: dict[str, Callable] = {}


def _enter(handler: Callable, names: str) -> None:
    for name in names.split():
        BUILTINS[name] = handler


_enter(_same, "builtins.int builtins.float builtins.round builtins.abs builtins.bool decimal.Decimal fractions.Fraction builtins.complex "
              "math.ceil math.floor math.trunc operator.index uuid.UUID")
_enter(_vars, "builtins.vars")
_enter(_text, "builtins.str builtins.repr builtins.bytes builtins.ascii builtins.format urllib.parse.quote")
_enter(_clamp, "builtins.min builtins.max")
_enter(_buffer, "io.BytesIO io.StringIO tempfile.SpooledTemporaryFile")
_enter(_dump_into, "json.dump yaml.dump_all pickle.dump simplejson.dump ujson.dump toml.dump tomli_w.dump marshal.dump")
_enter(_through, "csv.writer csv.DictWriter io.TextIOWrapper io.BufferedWriter gzip.GzipFile codecs.getwriter")
_enter(_rows_of, "csv.reader csv.DictReader")
_enter(_copy, "builtins.dict collections.OrderedDict collections.Counter collections.ChainMap types.SimpleNamespace collections.defaultdict copy.copy")
_enter(_list_of, "builtins.list builtins.tuple builtins.set builtins.frozenset builtins.sorted builtins.reversed builtins.iter collections.deque "
                 "itertools.islice")
_enter(_deep, "copy.deepcopy")
_enter(_loads, "json.loads json.load pickle.loads pickle.load yaml.safe_load yaml.load tomllib.loads tomllib.load tomli.loads orjson.loads "
               "ujson.loads simplejson.loads msgpack.unpackb ast.literal_eval toml.loads yaml.full_load rapidjson.loads msgspec.json.decode "
               "bson.decode bson.loads ujson.load simplejson.load toml.load")
_enter(_dumps, "json.dumps pickle.dumps yaml.dump yaml.safe_dump orjson.dumps ujson.dumps simplejson.dumps msgpack.packb toml.dumps tomli_w.dumps "
               "base64.b64encode base64.b64decode zlib.compress gzip.compress zlib.decompress gzip.decompress "
               "rapidjson.dumps msgspec.json.encode")
_enter(_digest, "hashlib.sha256 hashlib.md5 hashlib.sha1 hashlib.sha512 hashlib.blake2b hashlib.blake2s hashlib.sha3_256 zlib.crc32")
_enter(derived, "builtins.sum builtins.len builtins.any builtins.all builtins.hash builtins.divmod builtins.pow builtins.ord builtins.chr builtins.type "
                 "builtins.id builtins.hasattr builtins.callable builtins.bytearray builtins.memoryview builtins.hex builtins.oct "
                 "statistics.mean math.sqrt math.log datetime.timedelta datetime.datetime.fromisoformat datetime.datetime.strptime datetime.date datetime.datetime "
                 "re.sub re.match re.search re.compile re.findall re.split textwrap.dedent math.prod math.fsum difflib.unified_diff "
                 "datetime.date.fromisoformat datetime.datetime.fromtimestamp os.path.basename os.path.dirname builtins.issubclass")
_enter(_map, "builtins.map")
_enter(_filter, "builtins.filter")
_enter(_next, "builtins.next builtins.anext")
_enter(_enumerate, "builtins.enumerate")
_enter(_zip, "builtins.zip itertools.zip_longest")
_enter(_getattr, "builtins.getattr")
_enter(_setattr, "builtins.setattr builtins.object.__setattr__")
_enter(_partial, "functools.partial")
_enter(with_changes, "dataclasses.replace copy.replace attr.evolve attrs.evolve")
_enter(_asdict, "dataclasses.asdict attr.asdict attrs.asdict")
_enter(_astuple, "dataclasses.astuple attr.astuple attrs.astuple")
_enter(_through, "contextlib.closing contextlib.aclosing contextlib.nullcontext asyncio.wait_for asyncio.shield asyncio.run asyncio.create_task "
                 "asyncio.ensure_future inspect.unwrap functools.wraps typing.no_type_check "
                 "types.MappingProxyType builtins.aiter anyio.run")
_enter(_as_function, "asgiref.sync.sync_to_async asgiref.sync.async_to_sync")
_enter(_second, "typing.cast")
_enter(_clock, "time.time time.monotonic time.perf_counter time.time_ns datetime.datetime.now datetime.datetime.utcnow datetime.datetime.today "
               "datetime.date.today django.utils.timezone.now time.strftime time.localtime time.gmtime")
_enter(_random, "uuid.uuid4 uuid.uuid1 random.random random.uniform random.randint random.choice random.expovariate random.randrange "
                "secrets.token_hex secrets.token_urlsafe secrets.token_bytes os.urandom secrets.randbelow random.sample random.shuffle "
                "random.getrandbits random.gauss random.betavariate random.triangular uuid.uuid7 ulid.new ulid.ULID nanoid.generate shortuuid.uuid "
                "uuid6.uuid7 uuid_utils.uuid4 uuid_utils.uuid7 ksuid.ksuid cuid.cuid secrets.choice "
                "random.choices django.utils.crypto.get_random_string")
_enter(_made_or_same, "bson.ObjectId bson.objectid.ObjectId")
_enter(_gather, "asyncio.gather")
_enter(_to_thread, "asyncio.to_thread anyio.to_thread.run_sync starlette.concurrency.run_in_threadpool fastapi.concurrency.run_in_threadpool")
_enter(_join_path, "os.path.join posixpath.join")
_enter(_path, "pathlib.Path pathlib.PurePath pathlib.PurePosixPath pathlib.PosixPath anyio.Path aiopath.AsyncPath")
_enter(_temporary, "tempfile.mkdtemp tempfile.mkstemp tempfile.gettempdir tempfile.TemporaryDirectory tempfile.mktemp")
_enter(_through, "os.path.expanduser os.path.abspath os.path.realpath os.path.normpath os.fspath os.path.expandvars")
_enter(_urljoin, "urllib.parse.urljoin")
_enter(_print, "builtins.print builtins.range builtins.slice builtins.object warnings.warn traceback.print_exc")
_enter(_isinstance, "builtins.isinstance")
_enter(_exit, "sys.exit builtins.exit builtins.quit os._exit")
_enter(_suppress, "contextlib.suppress")
_enter(_count, "itertools.count itertools.repeat itertools.cycle")
_enter(_chain, "itertools.chain itertools.chain.from_iterable")
_enter(_in_place, "heapq.heappush heapq.heappop bisect.insort bisect.insort_left bisect.insort_right heapq.heapreplace heapq.heappushpop random.shuffle "
                  "operator.setitem")

#: Modules whose functions only compute: what they give is made of what they are given.
COMPUTING = (
    "re.", "math.", "statistics.", "textwrap.", "string.", "html.", "itertools.", "functools.reduce", "operator.", "base64.", "binascii.", "struct.", "unicodedata.", "difflib.", "calendar.",
    "decimal.", "fractions.", "datetime.", "zlib.", "gzip.compress", "gzip.decompress", "bz2.compress", "bz2.decompress", "lzma.compress", "lzma.decompress", "bisect.", "heapq.n", "heapq.merge",
    "fnmatch.", "ipaddress.", "urllib.parse.", "shlex.", "posixpath.", "ntpath.", "hmac.", "codecs.encode", "codecs.decode", "json.", "pprint.pformat", "zoneinfo.",
)
#: Methods of a class of input data (pydantic) that are not the project's own, as functions of the object.
MODEL_METHODS: dict[str, Callable] = {"model_copy": model_copy, "model_dump": _asdict, "dict": _asdict}
#: Methods that every named tuple has, as functions of the tuple.
INHERITED: dict[str, Callable] = {"_replace": with_changes, "_asdict": _asdict}
