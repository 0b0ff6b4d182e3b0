"""A real PostgreSQL for the tests: started once, on loopback with a password, ended with them.

`initdb` refuses root, so root hands it to the account `nobody`. Ledgers belong to a plain role.
"""

import ctypes
import itertools
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from tests.support.ports import free_port

_PR_SET_PDEATHSIG = 1
_START_S = 60.0
SETTINGS = {
    # Nothing here outlives the tests, so nothing needs to reach the disk.
    "fsync": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "max_connections": "50",
    "shared_buffers": "32MB",
    "logging_collector": "off",
}


def programs() -> Path | None:
    """Folder of PostgreSQL's programs, which Debian keeps off the path; the newest version."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/postgres"),
        key=lambda path: int(path.parts[-3]),
    )
    if found:
        return found[-1].parent
    on_path = shutil.which("postgres")
    return Path(on_path).resolve().parent if on_path else None


def required() -> Path:
    """Return the folder of the programs, or skip the test; where CI=true, fail it instead."""
    folder = programs()
    if folder is not None:
        return folder
    words = "PostgreSQL is missing (Debian: apt install postgresql)"
    if os.environ.get("CI") == "true":
        pytest.fail(words)
    pytest.skip(words)


@dataclass
class PostgresServer:
    """One server, its superuser `postgres`, and the role that owns the ledgers.

    `password` is that role's; it is in the URLs and must be nowhere else.
    """

    folder: Path
    port: int
    user: str = "governor"
    password: str = field(default_factory=lambda: secrets.token_hex(12), repr=False)
    _master: str = field(default_factory=lambda: secrets.token_hex(12), repr=False)
    process: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1), repr=False)

    @classmethod
    @contextmanager
    def running(cls, **settings: str) -> Iterator["PostgresServer"]:
        """Make a server in a directory of its own and end it afterwards, whatever happens."""
        folder = Path(tempfile.mkdtemp(prefix="gpu-commons-pg-"))
        server = cls(folder, free_port())
        try:
            server._make(required())
            server.start(**settings)
            role = sql.Identifier(server.user)
            secret = sql.Literal(server.password)
            server.run(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(role, secret))
            server.run(sql.SQL("CREATE DATABASE books OWNER {}").format(role))
            yield server
        finally:
            server.stop()
            shutil.rmtree(folder, ignore_errors=True)

    def start(self, **settings: str) -> None:
        """Start it, for example again after `stop`, on the same port and files."""
        chosen = {
            **SETTINGS,
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": str(self.folder),
            **settings,
        }
        options = [word for name, value in chosen.items() for word in ("-c", f"{name}={value}")]
        command = [str(required() / "postgres"), "-D", str(self.folder / "data"), *options]
        self.process = self._popen(command)
        until = time.monotonic() + _START_S
        while True:
            try:
                psycopg.connect(self._conninfo("postgres"), connect_timeout=5).close()
            except psycopg.OperationalError as error:
                if self.process.poll() is not None or time.monotonic() > until:
                    words = (self.folder / "out").read_text(errors="replace")
                    raise RuntimeError(f"PostgreSQL did not start: {error}\n{words}") from error
                time.sleep(0.05)
            else:
                return

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """End it at once, as a power cut would (SIGINT: in order)."""
        if self.process is None:
            return
        self.process.send_signal(how)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def _conninfo(self, database: str) -> str:
        return psycopg.conninfo.make_conninfo(
            host="127.0.0.1",
            port=self.port,
            user="postgres",
            password=self._master,
            dbname=database,
        )

    def url(self, *, schema: str = "", database: str = "books") -> str:
        """Make the address of a schema in a database, as a site would set it."""
        path = f"?options=-csearch_path%3D{schema}" if schema else ""
        return (
            f"postgresql+psycopg://{self.user}:{self.password}@127.0.0.1:{self.port}"
            f"/{database}{path}"
        )

    def schema(self) -> str:
        """Make an empty schema of the plain role and return its name; cheaper than a database."""
        name = f"books_{next(self._numbers)}"
        self.run(
            sql.SQL("CREATE SCHEMA {} AUTHORIZATION {}").format(
                sql.Identifier(name), sql.Identifier(self.user)
            ),
            "books",
        )
        return name

    def drop(self, schema: str) -> None:
        """Take a schema away with all that is in it, and cut off whoever uses the database."""
        self.disconnect()
        self.run(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)), "books")

    def run(self, statement: sql.Composed | sql.SQL, database: str = "postgres") -> int:
        """Run one statement as superuser, outside any transaction; return its count of rows."""
        with self.superuser(database) as connection:
            return connection.execute(statement).rowcount

    def superuser(self, database: str) -> "psycopg.Connection[tuple[object, ...]]":
        """Connect as one who may do everything; each statement commits itself."""
        return psycopg.connect(self._conninfo(database), autocommit=True)

    def disconnect(self, *, only: str = "%") -> int:
        """Cut connections whose application name is like `only`; return how many."""
        statement = sql.SQL(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = 'books' AND application_name LIKE {} AND pid <> pg_backend_pid()"
        )
        return self.run(statement.format(sql.Literal(only)))

    def _make(self, folder: Path) -> None:
        self.folder.chmod(0o700)
        secret = self.folder / "password"
        secret.write_text(self._master)
        if os.getuid() == 0:
            for path in (self.folder, secret):
                shutil.chown(path, "nobody", "nogroup")
        made = self._popen(
            [
                str(folder / "initdb"),
                *("-D", str(self.folder / "data")),
                *("--username", "postgres", "--pwfile", str(secret)),
                *("--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C.UTF-8"),
                "--no-sync",
            ]
        )
        if made.wait(timeout=_START_S):
            raise RuntimeError((self.folder / "out").read_text(errors="replace"))
        secret.unlink()

    def _popen(self, command: list[str]) -> "subprocess.Popen[bytes]":
        root = os.getuid() == 0
        with (self.folder / "out").open("ab") as out:
            return subprocess.Popen(
                command,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8"},
                preexec_fn=_end_with_parent(os.getpid()),  # noqa: PLW1509 - one thread here
                user="nobody" if root else None,
                group="nogroup" if root else None,
                extra_groups=[] if root else None,
            )


def _end_with_parent(parent: int) -> Callable[[], None]:
    """Ask the kernel to end the server when the tests die, also by SIGKILL."""
    library = ctypes.CDLL(None)

    def ask() -> None:
        library.prctl(_PR_SET_PDEATHSIG, int(signal.SIGQUIT), 0, 0, 0)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGQUIT)

    return ask
