"""The ledger as its one writer has it: locked, fenced, migrated, one transaction at a time.

The governor calls it in one thread. What a transaction wrote is all there or not at all.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, RootTransaction, delete, func, insert, select, update
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from ..errors import FencedError, LedgerError
from ..i18n import _
from .duties import Duties
from .generations import Generations
from .known import Known
from .leases import Leases
from .lock import GovernorLock
from .migrate import migrate
from .months import Months
from .places import FILE, LOCK, Database, Fence, place
from .records import words_of
from .reservations import Reservations
from .schema import epoch, event, tombstone
from .whereabouts import check_not_left_behind, check_not_moved

__all__ = ["FILE", "LOCK", "Ledger", "Tx"]

_TRIAL = "trial" * 4096
"""Larger than a page, so that room for it must be found; no attempt is called so."""

_EPOCH = select(
    epoch.c.number,
    epoch.c.pid,
    select(func.max(event.c.seq)).scalar_subquery().label("head"),
)

TRIES = 3
"""How often a transaction is begun that the database turns away before anything is done in it."""


class Tx(Leases, Reservations, Months, Duties, Generations):
    """One transaction on the ledger: reads see it as it stands, writes come whole or not."""


class Ledger:
    """The ledger, open for writing by this process alone; made by `Ledger.open`.

    `epoch` grows by one each time that it is opened; a process with an older one cannot write.
    """

    def __init__(self, database: Database, engine: Engine, fence: Fence, *, hub: str) -> None:
        self._database = database
        self._engine = engine
        self._fence = fence
        self._hub = hub
        self._known = Known()
        self._connection: Connection = engine.connect()
        self._held = ExitStack()
        self._in_doubt = ""
        self.epoch = 0

    @classmethod
    def open(cls, state: Path, *, hub: str = "hub", url: str | None = None) -> "Ledger":
        """Take the lock, bring the schema up to date and begin a new epoch.

        Parameters
        ----------
        state
            The state directory; it exists.
        hub
            Name of the hub in events that belong to no lease.
        url
            Address of the PostgreSQL that holds the ledger; None for the file in `state`.

        Raises
        ------
        LedgerError
            When another process holds the lock, the ledger was moved elsewhere, or it cannot be
            used.
        """
        database = place(state, url)
        with ExitStack() as held:
            held.callback(GovernorLock.take(state / LOCK).release)
            if url:
                check_not_left_behind(state / FILE)
            try:
                fence = database.fence()
                held.callback(fence.release)
                engine = database.writer()
                held.callback(engine.dispose)
                migrate(engine)
                ledger = cls(database, engine, fence, hub=hub)
                held.callback(ledger._connection.close)
                ledger._begin_epoch()
            except (SQLAlchemyError, OSError) as error:
                raise _unusable(database, error) from error
            ledger._held = held.pop_all()
        return ledger

    @contextmanager
    def transaction(self) -> Iterator[Tx]:
        """Hold the write lock for one transaction; commit at its end, roll back on any error.

        What the database turns away before the caller's part begins is begun again by itself, up
        to `TRIES` times; after that nothing is: only the caller knows whether it may be repeated.

        Raises
        ------
        FencedError
            When another process has opened the ledger since, the lock's connection was lost, or
            it is not known whether a commit came through; exit without another write.
        LedgerError
            When the database refuses or fails; nothing of the transaction is kept.
        """
        if self._in_doubt:
            raise FencedError(self._in_doubt)
        self._fence.check()
        sealed = False
        try:
            with self._begun():
                tx = Tx(self._connection, self._hub, self._known)
                try:
                    yield tx
                    tx.seal()
                    sealed = True
                finally:
                    tx.end()
            self._known.tally.keep()
        except SQLAlchemyError as error:
            self._known.clear()
            raise self._refusal(error, committing=sealed) from error
        except BaseException:
            # A number that was rolled back is given out again, for other content.
            self._known.clear()
            raise

    def trial(self) -> None:
        """Write a page and take it back, to learn whether a record would be taken now.

        Raises
        ------
        FencedError, LedgerError
            As `transaction`: a full disk, a lock, a file that may only be read.
        """
        with self.transaction():
            row = {"attempt_id": _TRIAL, "at": 0}
            self._connection.execute(insert(tombstone), row)
            self._connection.execute(delete(tombstone).where(tombstone.c.attempt_id == _TRIAL))

    def close(self) -> None:
        """Close the ledger and give the lock back; a second call does nothing."""
        self._held.close()

    def _begun(self, tries: int = TRIES) -> RootTransaction:
        """Begin, wait for the write lock, check the epoch."""
        transaction = self._connection.begin()
        try:
            self._database.hold(self._connection)
            self._check_epoch()
        except BaseException as error:
            transaction.rollback()
            if tries > 1 and self._database.is_passing(error):
                return self._begun(tries - 1)
            raise
        return transaction

    def _begin_epoch(self) -> None:
        with self._connection.begin():
            self._database.hold(self._connection)
            check_not_moved(self._connection, self._database.words)
            number = self._connection.execute(select(epoch.c.number)).scalar()
            self.epoch = (number or 0) + 1
            values = {"number": self.epoch, "pid": os.getpid()}
            if number is None:
                self._connection.execute(insert(epoch), {"id": 1, **values})
            else:
                self._connection.execute(update(epoch).values(values))

    def _check_epoch(self) -> None:
        row = self._connection.execute(_EPOCH).first()
        if row is None or row.number != self.epoch:
            raise FencedError(
                _("process {pid} has taken over the ledger; this governor ends").format(
                    pid=row.pid if row else "?"
                )
            )
        if not self._known.is_at(row.head or 0):
            # Only what no fence would let through can have written meanwhile.
            if self._known.newest is not None:
                self._known.tally.clear()
            self._known.clear()

    def _refusal(self, error: SQLAlchemyError, *, committing: bool) -> LedgerError:
        if committing and isinstance(error, DBAPIError) and error.connection_invalidated:
            self._in_doubt = _(
                "the connection to {address} was lost during a commit, and nobody knows whether "
                "it came through; this governor ends, and the next one reads it from the ledger"
            ).format(address=self._database.words)
            return FencedError(self._in_doubt)
        return LedgerError(
            _("the ledger did not take a record: {error}. Nothing of it happened").format(
                error=words_of(error)
            )
        )


def _unusable(database: Database, error: BaseException) -> LedgerError:
    return LedgerError(
        _("{path} cannot be used: {error}. {remedy}").format(
            path=database.words, error=words_of(error), remedy=database.remedy
        )
    )
