"""The stores that the proofs run against. Each is made anew for each run of a program: nothing is left of the run before.

A store has `label` (its name in docs/proofs.md), `version()` (what was really run against) and what a proof needs of it. Making one
raises servers.Missing where a library or a server is not there.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.metadata
import json
import sqlite3
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import servers


def library(name: str) -> Any:
    """An imported library. Raises Missing."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise servers.Missing(f"{name.partition('.')[0]} is not installed") from None


def version_of(distribution: str) -> str:
    return importlib.metadata.version(distribution)


class Store:
    """`folder`: for files. `serve`: name → the running server of that name, started on demand and shared by the session."""

    label = ""

    def __init__(self, folder: Path, serve: Callable[[str], Any]) -> None:
        self.folder, self.serve = folder, serve
        self._closing = contextlib.ExitStack()
        self.open()

    def open(self) -> None:
        """Make the store empty. Raises Missing."""

    def close(self) -> None:
        self._closing.close()

    def version(self) -> str:
        return ""

    def worker(self, call: Callable[[], Any]) -> Any:
        """Run a worker's call, in its thread."""
        return call()

    def closing(self, thing: Any) -> Any:
        """Have it closed with the store."""
        self._closing.callback(thing.close)
        return thing


class Nothing(Store):
    """No store: what is proven does not depend on one."""

    label = "no store"


class Sql(Store):
    def connect(self) -> Any:
        raise NotImplementedError

    def run(self, *statements: str) -> None:
        connection = self.connect()
        for statement in statements:
            connection.execute(statement)
        connection.commit()

    def rows(self, query: str) -> Any:
        """The value of a single column of a single row; else the list of rows."""
        found = [tuple(row) for row in self.connect().execute(query).fetchall()]
        return found[0][0] if len(found) == 1 and len(found[0]) == 1 else found


class Sqlite(Sql):
    label = "sqlite3"

    def connect(self) -> sqlite3.Connection:
        return self.closing(sqlite3.connect(self.folder / "store.sqlite3", check_same_thread=False))

    def version(self) -> str:
        return f"SQLite {sqlite3.sqlite_version}"


class Postgres(Sql):
    label = "psycopg"

    def open(self) -> None:
        self.psycopg = library("psycopg")
        self.url = empty_postgres(self.psycopg, self.serve)

    def connect(self) -> Any:
        return self.closing(self.psycopg.connect(self.url))

    def version(self) -> str:
        return postgres_version(self.psycopg, self.url) + f", psycopg {version_of('psycopg')}"


def empty_postgres(psycopg: Any, serve: Callable[[str], Any]) -> str:
    url = serve("postgres")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    return url


def postgres_version(psycopg: Any, url: str) -> str:
    with psycopg.connect(url) as connection:
        return "PostgreSQL " + connection.execute("SHOW server_version").fetchone()[0].split()[0]


class Alchemy(Store):
    """SQLAlchemy. `engine`, and a `session()` for each worker."""

    def open(self) -> None:
        self.sqlalchemy = library("sqlalchemy")
        self.engine = self.sqlalchemy.create_engine(self.url())
        self._closing.callback(self.engine.dispose)

    def url(self) -> str:
        raise NotImplementedError

    def session(self) -> Any:
        return self.closing(library("sqlalchemy.orm").Session(self.engine))


class AlchemySqlite(Alchemy):
    label = "SQLAlchemy on SQLite"

    def url(self) -> str:
        return f"sqlite:///{self.folder / 'store.sqlite3'}"

    def version(self) -> str:
        return f"SQLite {sqlite3.sqlite_version}, SQLAlchemy {version_of('sqlalchemy')}"


class AlchemyPostgres(Alchemy):
    label = "SQLAlchemy on PostgreSQL"

    def url(self) -> str:
        self.psycopg = library("psycopg")
        self.plain = empty_postgres(self.psycopg, self.serve)
        return self.plain.replace("postgresql://", "postgresql+psycopg://")

    def version(self) -> str:
        return f"{postgres_version(self.psycopg, self.plain)}, SQLAlchemy {version_of('sqlalchemy')}"


class Django(Store):
    """Django with its default database set to an empty one. Each worker's connection is closed with its thread."""

    def open(self) -> None:
        self.django = library("django")
        conf = library("django.conf")
        if not conf.settings.configured:
            conf.settings.configure(
                DATABASES={},
                INSTALLED_APPS=[],
                DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
                USE_TZ=True,
                EMAIL_BACKEND="django.core.mail.backends.locmem.EmailBackend",
            )
            self.django.setup()
        self.connections = library("django.db").connections
        self.connections.close_all()
        with contextlib.suppress(AttributeError):
            del self.connections["default"]
        self.connections.settings = self.connections.configure_settings({"default": self.database()})
        self._closing.callback(self.connections.close_all)
        library("django.core.mail").outbox = []

    def database(self) -> dict[str, Any]:
        raise NotImplementedError

    def create(self, *models: Any) -> None:
        with self.connections["default"].schema_editor() as editor:
            for model in models:
                editor.create_model(model)

    def outbox(self) -> list[Any]:
        """The mails that were sent."""
        return list(library("django.core.mail").outbox)

    def worker(self, call: Callable[[], Any]) -> Any:
        """Run in a worker's thread, whose connection is its own."""
        try:
            return call()
        finally:
            self.connections.close_all()


class DjangoSqlite(Django):
    label = "Django on SQLite"

    def database(self) -> dict[str, Any]:
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(self.folder / "store.sqlite3")}

    def version(self) -> str:
        return f"SQLite {sqlite3.sqlite_version}, Django {version_of('django')}"


class DjangoPostgres(Django):
    label = "Django on PostgreSQL"

    def database(self) -> dict[str, Any]:
        from urllib.parse import urlsplit

        self.psycopg = library("psycopg")
        self.plain = empty_postgres(self.psycopg, self.serve)
        parts = urlsplit(self.plain)
        return {"ENGINE": "django.db.backends.postgresql", "NAME": "postgres", "USER": parts.username, "HOST": parts.hostname, "PORT": parts.port}

    def version(self) -> str:
        return f"{postgres_version(self.psycopg, self.plain)}, Django {version_of('django')}"


class Peewee(Store):
    label = "Peewee on SQLite"

    def open(self) -> None:
        self.peewee = library("peewee")

    def bind(self, program: Any, *models: Any) -> None:
        program.database.init(str(self.folder / "store.sqlite3"))
        program.database.create_tables(models)
        self.closing(program.database)

    def version(self) -> str:
        return f"SQLite {sqlite3.sqlite_version}, Peewee {version_of('peewee')}"


class Tortoise(Sql):
    """Tortoise. Each worker has an event loop and a context of its own."""

    label = "Tortoise on SQLite"

    def open(self) -> None:
        library("aiosqlite")
        self.tortoise = library("tortoise").Tortoise

    def loop(self, program: Any, work: Callable[[], Any], schemas: bool = False) -> Any:
        """Run a coroutine function with the program's models set up."""

        async def run() -> Any:
            await self.tortoise.init(db_url=f"sqlite://{self.folder / 'store.sqlite3'}", modules={"models": [program.__name__]})
            try:
                if schemas:
                    await self.tortoise.generate_schemas()
                return await work()
            finally:
                await self.tortoise.close_connections()

        return asyncio.run(run())

    def connect(self) -> sqlite3.Connection:
        return self.closing(sqlite3.connect(self.folder / "store.sqlite3", check_same_thread=False))

    def version(self) -> str:
        return f"SQLite {sqlite3.sqlite_version}, Tortoise {version_of('tortoise-orm')}"


class SqlModel(AlchemySqlite):
    label = "SQLModel on SQLite"

    def open(self) -> None:
        base = library("sqlmodel").SQLModel  # one for all programs
        base.metadata.clear()
        base._sa_registry.dispose()
        super().open()

    def session(self) -> Any:
        return self.closing(library("sqlmodel").Session(self.engine))

    def version(self) -> str:
        return f"{super().version()}, SQLModel {version_of('sqlmodel')}"


class Web(Store):
    label = "a local HTTP server with ETags"

    def open(self) -> None:
        self.site = self._closing.enter_context(servers.site())

    def put(self, path: str, document: Any) -> None:
        self.site.documents[path] = json.dumps(document).encode()

    def get(self, path: str) -> Any:
        return json.loads(self.site.documents[path])

    def version(self) -> str:
        return f"http.server, requests {version_of('requests')}, httpx {version_of('httpx')}"


class Aws(Store):
    """boto3 against moto, in this process."""

    def open(self) -> None:
        library("boto3")
        library(f"moto.{self.service}")
        patch = self._closing.enter_context(_environment())
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "proof")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        self._closing.enter_context(library("moto").mock_aws())

    service = ""

    def version(self) -> str:
        return f"moto {version_of('moto')}, boto3 {version_of('boto3')}"


@contextlib.contextmanager
def _environment() -> Iterator[Any]:
    import pytest

    with pytest.MonkeyPatch.context() as patch:
        yield patch


class S3(Aws):
    label = "S3 (moto)"
    service = "s3"

    def open(self) -> None:
        super().open()
        self.client().create_bucket(Bucket="proof")

    def client(self) -> Any:
        return library("boto3").client("s3")


class DynamoDb(Aws):
    label = "DynamoDB (moto)"
    service = "dynamodb"

    def table(self) -> Any:
        return library("boto3").resource("dynamodb").Table("proof")

    def create(self, key: str) -> Any:
        library("boto3").resource("dynamodb").create_table(
            TableName="proof",
            KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        return self.table()


class Mongo(Store):
    """No MongoDB server can be had from the package registries: mongomock stands in."""

    label = "MongoDB (mongomock)"

    def open(self) -> None:
        mongomock = library("mongomock")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.collection = mongomock.MongoClient().proof.documents

    def version(self) -> str:
        return f"mongomock {version_of('mongomock')}"


class MongoEngine(Mongo):
    label = "MongoEngine (mongomock)"

    def open(self) -> None:
        super().open()
        library("mongoengine").disconnect()
        library("mongoengine").connect("proof", mongo_client_class=library("mongomock").MongoClient, uuidRepresentation="standard")
        self._closing.callback(library("mongoengine").disconnect)

    def version(self) -> str:
        return f"{super().version()}, MongoEngine {version_of('mongoengine')}"


class PynamoDb(DynamoDb):
    label = "PynamoDB (moto)"

    def open(self) -> None:
        library("pynamodb.models")
        super().open()

    def version(self) -> str:
        return f"{super().version()}, PynamoDB {version_of('pynamodb')}"


class Redis(Store):
    label = "redis-server"

    def open(self) -> None:
        library("redis")
        self.port = self.serve("redis")
        self.client().flushall()

    def client(self) -> Any:
        return self.closing(library("redis").Redis(port=self.port, decode_responses=True))

    def version(self) -> str:
        return f"Redis {self.client().info('server')['redis_version']}, redis-py {version_of('redis')}"


class Memcached(Store):
    label = "memcached"

    def open(self) -> None:
        library("pymemcache")
        self.port = self.serve("memcached")
        self.client().flush_all(noreply=False)

    def client(self) -> Any:
        return self.closing(library("pymemcache.client.base").Client(("127.0.0.1", self.port), default_noreply=False))

    def version(self) -> str:
        return f"memcached {self.client().version().decode()}, pymemcache {version_of('pymemcache')}"


class DiskCache(Store):
    label = "diskcache"

    def cache(self) -> Any:
        return self.closing(library("diskcache").Cache(str(self.folder / "cache")))

    def version(self) -> str:
        return f"diskcache {version_of('diskcache')}, SQLite {sqlite3.sqlite_version}"
