"""All that is PostgreSQL's own: its address, connections, the write lock, the claim, triggers.

`sqlite.py` is the same for SQLite. A password in the address is in no word, error or name here.
"""

import os
import socket
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Self

from sqlalchemy import URL, Connection, Engine, RowMapping, create_engine, make_url, text
from sqlalchemy import event as signals
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from ..errors import FencedError, LedgerError
from ..i18n import _

BUSY_MS = 1000
"""How long a write waits for another one's lock, in milliseconds; as with SQLite."""

TRIGGERS = frozenset(
    {
        "event_refuses_change",
        "posting_refuses_change",
        "policy_generation_refuses_change",
        "event_in_order",
    }
)
"""Names of the triggers that the migrated schema has."""

_SCHEMES = {"postgres", "postgresql", "postgresql+psycopg"}
_SECRET = ("password", "sslpassword")
"""Parts of an address that are written down nowhere."""

_REACH = {
    "connect_timeout": "5",
    # A server that was cut off is noticed within seconds, not after two hours.
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
    "client_encoding": "utf8",
}
"""Parameters of libpq where the URL does not set them."""

_SETTINGS = (
    f"SET lock_timeout = {BUSY_MS}",
    # What the ledger confirmed is on the disk, also where a site trades that for speed.
    (
        "SELECT set_config('synchronous_commit', 'on', false) "
        "WHERE current_setting('synchronous_commit') IN ('off', 'local')"
    ),
)
_CLAIM_SETTINGS = (
    "SET idle_session_timeout = 0",
    # The other way round: the server lets go of a governor whose machine or network died.
    "SET tcp_keepalives_idle = 5",
    "SET tcp_keepalives_interval = 2",
    "SET tcp_keepalives_count = 3",
)
_TAG = 0x47505543
"""Upper half of the advisory lock's number ("GPUC"); the lower half is the schema's own."""

_PASSING = {"40001", "40P01"}
"""SQLSTATE of a serialization failure and of a deadlock."""

_DAMAGED = {"XX001", "XX002"}


@dataclass(frozen=True)
class PostgresDatabase:
    """A ledger in a PostgreSQL; see `places.Database` for what each part means."""

    url: URL = field(repr=False)

    @classmethod
    def at(cls, address: str) -> Self:
        """Read an address such as `postgresql+psycopg://governor@db/gpu_commons`.

        Raises
        ------
        LedgerError
            When it is none. The address is not shown: it may hold a password.
        """
        url = _read(address)
        if url is None or url.drivername not in _SCHEMES or not url.database:
            raise LedgerError(
                _(
                    "the address of the ledger cannot be read; write it as "
                    "postgresql+psycopg://ROLE@HOST/DATABASE, or leave it empty for SQLite"
                )
            )
        return cls(url.set(drivername="postgresql+psycopg"))

    @property
    def words(self) -> str:
        """Role, host, port and database."""
        host = self.url.host or self._asked("host")
        shown = URL.create(
            "postgresql", self.url.username, None, host, self.url.port, self.url.database
        )
        return shown.render_as_string()

    @property
    def bare(self) -> str:
        """The address without what is secret in it, as it may be written down."""
        url = self.url.difference_update_query(_SECRET)
        url = URL.create(
            url.drivername, url.username, None, url.host, url.port, url.database, url.query
        )
        return url.render_as_string()

    @property
    def remedy(self) -> str:
        """What to do where it cannot be used."""
        words = _("See that the server runs, and lets this role into a database of its own")
        if self.has_password:
            return words
        return _(
            "{words}; a password is read from ~/.pgpass, or from the address in "
            "GPU_COMMONS_LEDGER_URL"
        ).format(words=words)

    @property
    def has_password(self) -> bool:
        """Whether the address itself holds a password."""
        return self.url.password is not None or "password" in self.url.query

    def is_at(self, other: "PostgresDatabase") -> bool:
        """Whether two addresses are the same but for a password."""

        def bare(url: URL) -> tuple[object, ...]:
            rest = {key: value for key, value in url.query.items() if key not in _SECRET}
            return (url.username, url.host, url.port, url.database, rest)

        return bare(self.url) == bare(other.url)

    def exists(self) -> bool:
        """Tell that only the server knows."""
        return True

    def writer(self) -> Engine:
        """Make an engine of serializable transactions."""
        return self._engine("writer", _SETTINGS, isolation_level="SERIALIZABLE")

    def reader(self) -> Engine:
        """Make an engine that reads each transaction from one snapshot and cannot write."""
        options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        return self._engine("reader", (), execution_options=options)

    def fence(self) -> "AdvisoryFence":
        """Take the advisory lock of this database and schema, on a connection of its own."""
        return AdvisoryFence.take(self)

    def claiming(self) -> Connection:
        """Open the connection that an advisory lock lives on."""
        engine = self._engine("governor", _CLAIM_SETTINGS, isolation_level="AUTOCOMMIT")
        return engine.connect()

    def hold(self, connection: Connection) -> None:
        """Lock `epoch` against every other writer; who reads is not kept waiting.

        Its first statement, so that the snapshot is taken when the lock is there: what the
        transaction sees is what nobody else can change until it ends.
        """
        connection.execute(text("LOCK TABLE epoch IN EXCLUSIVE MODE"))

    def is_passing(self, error: BaseException) -> bool:
        """Whether it was a serialization failure, a deadlock or a lost connection."""
        lost = isinstance(error, DBAPIError) and error.connection_invalidated
        return lost or _sqlstate(error) in _PASSING

    def is_damaged(self, error: BaseException) -> bool:
        """Whether the server says that what is stored is broken."""
        return _sqlstate(error) in _DAMAGED

    def filled(self, connection: Connection) -> None:
        """Let the next intent have a number that none has."""
        connection.execute(
            text(
                "SELECT setval(pg_get_serial_sequence('intent', 'id'), "
                "COALESCE(MAX(id), 0) + 1, false) FROM intent"
            )
        )

    def set_aside(self, connection: Connection, tables: Iterable[str]) -> str:
        """Move tables into a new schema beside theirs, rows, indexes, triggers and all."""
        known = set(connection.execute(text("SELECT nspname FROM pg_namespace")).scalars())
        here: str = connection.execute(text("SELECT current_schema()")).scalar_one()
        names = (f"{here}_replaced_{number}" for number in count(1))
        aside = next(name for name in names if name not in known)
        quote = connection.dialect.identifier_preparer.quote
        connection.exec_driver_sql(f"CREATE SCHEMA {quote(aside)}")
        for table in tables:
            connection.exec_driver_sql(f"ALTER TABLE {quote(table)} SET SCHEMA {quote(aside)}")
        return aside

    def _engine(self, what: str, settings: tuple[str, ...], **options: Any) -> Engine:  # noqa: ANN401 - SQLAlchemy's
        name = f"gpu-commons {what}, process {os.getpid()} on {socket.gethostname()}"
        asked = {**_REACH, "application_name": name[:63]}
        fresh = {key: value for key, value in asked.items() if key not in self.url.query}
        try:
            engine = create_engine(
                self.url.update_query_dict(fresh),
                poolclass=NullPool,
                hide_parameters=True,
                **options,
            )
        except ImportError as error:
            raise LedgerError(
                _("the driver of PostgreSQL is missing; install jupyterhub-gpu-commons[postgres]")
            ) from error

        def prepare(connection: Any, _record: object) -> None:  # noqa: ANN401 - the driver's connection
            with connection.cursor() as cursor:
                for setting in settings:
                    cursor.execute(setting)
            connection.commit()

        signals.listen(engine, "connect", prepare)
        return engine

    def _asked(self, name: str) -> str | None:
        value: Any = self.url.query.get(name)
        return value if isinstance(value, str) or value is None else ",".join(value)


class AdvisoryFence:
    """An advisory lock, held as long as its connection lives."""

    def __init__(self, connection: Connection, backend: int, words: str) -> None:
        self._connection = connection
        self._backend = backend
        self._words = words
        self._lost = False

    @classmethod
    def take(cls, database: PostgresDatabase) -> Self:
        """Take the lock at once or not at all.

        Raises
        ------
        LedgerError
            When another governor has it (named as the server knows it), or the database is not
            fit for a ledger.
        """
        with ExitStack() as held:
            connection = database.claiming()
            held.callback(connection.close)
            where = connection.execute(_WHERE).mappings().one()
            _check_fit(where, database.words)
            key = {"key": (_TAG << 32) | where["schema"]}
            if not connection.execute(_TRY, key).scalar():
                raise LedgerError(
                    _(
                        "another governor ({holder}) holds {address}; only one may write. "
                        "Stop that one first, or use another database"
                    ).format(holder=_holder(connection, key), address=database.words)
                )
            held.pop_all()
        return cls(connection, where["backend"], database.words)

    def check(self) -> None:
        """Ask the connection whether it is still the one that has the lock.

        Raises
        ------
        FencedError
            When it is not, now and ever after: another governor may have the lock.
        """
        try:
            backend = self._connection.execute(text("SELECT pg_backend_pid()")).scalar()
        except SQLAlchemyError:
            backend = None
        self._lost = self._lost or backend != self._backend
        if self._lost:
            raise FencedError(
                _(
                    "the connection that holds the lock of {address} was lost; this governor "
                    "ends, and the next one goes on from the ledger"
                ).format(address=self._words)
            )

    def release(self) -> None:
        """Close the connection, and with it the lock; a second call does nothing."""
        self._connection.close()


_WHERE = text(
    "SELECT pg_backend_pid() AS backend, pg_is_in_recovery() AS standby, "
    "current_setting('server_encoding') AS encoding, "
    "(SELECT oid::bigint FROM pg_namespace WHERE nspname = current_schema()) AS schema"
)
_TRY = text("SELECT pg_try_advisory_lock(:key)")
_HOLDER = text(
    "SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid) "
    "WHERE locktype = 'advisory' AND granted AND objsubid = 1 "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
    "AND classid::bigint = :key >> 32 AND objid::bigint = :key & 4294967295"
)


def _read(address: str) -> URL | None:
    # The error is dropped: its words may quote the address.
    try:
        return make_url(address)
    except (ArgumentError, ValueError):
        return None


def _holder(connection: Connection, key: dict[str, int]) -> str:
    return str(connection.execute(_HOLDER, key).scalar() or "?")


def _check_fit(where: RowMapping, words: str) -> None:
    wrong = ""
    if where["standby"]:
        wrong = _("it is a standby that only reads; name the primary")
    elif where["encoding"] != "UTF8":
        wrong = _("its encoding is {encoding}; make the database with encoding UTF8").format(
            encoding=where["encoding"]
        )
    elif where["schema"] is None:
        wrong = _("none of the schemas in its search_path is there; make one")
    if wrong:
        raise LedgerError(
            _("{address} cannot hold a ledger: {why}").format(address=words, why=wrong)
        )


def _sqlstate(error: BaseException) -> str | None:
    state: str | None = getattr(getattr(error, "orig", error), "sqlstate", None)
    return state
