"""Readings of devices and processes, kept a day, and their hourly sums, kept two years.

A file of its own: its loss is no tragedy, so nothing here ever raises towards a decision. A file
that is broken is moved aside; `problem` says so. Money never comes from here.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, inspect, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.schema import CreateColumn

from ..anomaly import NO_LIFE, NO_SPELL, NO_TASKS, Life, Spell, Tasks
from ..i18n import _
from ..lease import DeviceId, DeviceSample, LeaseId, ProcessSample, SampleBatch
from ..metering import Quiet, Use
from ..units import instant_us
from . import spells, sqlite
from .needs import Need, needs
from .readings import (
    HOUR_US,
    Taken,
    keep,
    metadata,
    process_sample,
    prune,
    quiets,
    rollup_hour,
    sample,
    uses,
)
from .samplewriter import SampleWriter
from .schema import instant

FILE = "samples.sqlite"
"""Name of the file in the state directory."""

PRUNE_EVERY = timedelta(minutes=10)
"""How often old rows are looked for."""

NAMED_AT_ONCE = 500
"""Leases that one statement names."""

Result = TypeVar("Result")


class Samples:
    """The samples of one state directory; made by `Samples.open`, used by one thread at a time.

    `problem` is empty, or says in words what is wrong with the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: Connection | None = None
        self._pruned_at: datetime | None = None
        self._moved = ""
        self._trouble = ""
        self.moved = 0
        """How often a damaged file was moved aside."""
        self._newest: dict[DeviceId, int] = {}
        self._writer: SampleWriter | None = None

    @classmethod
    def open(cls, state: Path) -> "Samples":
        """Open or make the file; whatever is wrong with it ends up in `problem`."""
        samples = cls(state / FILE)
        samples._safely(lambda _connection: None, None)
        return samples

    @property
    def problem(self) -> str:
        """What is wrong, in words for the admin; empty where nothing is."""
        writing = self._writer.problem if self._writer is not None else ""
        return writing or self._trouble or self._moved

    def write_aside(self) -> None:
        """From now on write in a thread of its own: no decision waits for it.

        What was added shows to those who ask a moment later, once it is written.
        """
        if self._writer is None:
            self._writer = SampleWriter(Samples(self._path))

    def settle(self) -> None:
        """Wait until all that was added is written."""
        if self._writer is not None:
            self._writer.settle()

    def close(self) -> None:
        """Write what was added and close the file; a later call opens it again."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
        self._let_go()

    def _let_go(self) -> None:
        self._newest.clear()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def add(
        self, batch: SampleBatch, *, now: datetime, holders: Mapping[DeviceId, LeaseId]
    ) -> None:
        """Keep one batch; readings that are there already, too old or from the future are left out.

        Parameters
        ----------
        batch
            What an agent read; each reading stands for one period before it.
        now
            The governor's time, against which the agent's is checked.
        holders
            Which lease holds each device now.
        """
        taken = Taken(batch, now, holders)
        if self._writer is None:
            self.write((taken,))
        else:
            self._writer.put(taken)

    def write(self, taken: Collection[Taken]) -> None:
        """Keep batches in one transaction, and take away a part of what is too old."""
        now = max(one.now for one in taken)

        def work(connection: Connection) -> None:
            keep(connection, taken, self._newest)
            if self._pruned_at is None or abs(now - self._pruned_at) >= PRUNE_EVERY:
                # What is left over goes with the next batches.
                self._pruned_at = None if prune(connection, now) else now

        self._safely(work, None)

    def recent(self, device: DeviceId, since: datetime) -> tuple[DeviceSample, ...]:
        """Readings of a device since an instant, oldest first."""
        query = (
            select(sample)
            .where(sample.c.device == device, sample.c.at >= instant_us(since))
            .order_by(sample.c.at)
        )
        return self._safely(
            lambda connection: tuple(
                DeviceSample(**(row._asdict() | {"at": instant(row.at)}))
                for row in connection.execute(query)
            ),
            (),
        )

    def devices(self) -> tuple[DeviceId, ...]:
        """Devices of which any reading is kept."""
        query = select(sample.c.device).distinct().order_by(sample.c.device)
        return self._safely(
            lambda connection: tuple(DeviceId(row.device) for row in connection.execute(query)), ()
        )

    def recent_processes(self, lease_id: LeaseId, since: datetime) -> tuple[ProcessSample, ...]:
        """Readings of a lease's processes since an instant, oldest first."""
        query = (
            select(process_sample)
            .where(process_sample.c.lease_id == lease_id, process_sample.c.at >= instant_us(since))
            .order_by(process_sample.c.at)
        )
        return self._safely(
            lambda connection: tuple(
                ProcessSample(**(row._asdict() | {"at": instant(row.at)}))
                for row in connection.execute(query)
            ),
            (),
        )

    def spell(self, device: DeviceId, since: datetime) -> Spell:
        """What the readings of a device since an instant have in common."""
        return self._safely(lambda connection: spells.spell(connection, device, since), NO_SPELL)

    def tasks(self, lease_id: LeaseId, since: datetime) -> Tasks:
        """What the readings of a lease's processes since an instant have in common."""
        return self._safely(lambda connection: spells.tasks(connection, lease_id, since), NO_TASKS)

    def life(self, lease_id: LeaseId) -> Life:
        """What was read of a lease in its whole life."""
        return self._safely(lambda connection: spells.life(connection, lease_id), NO_LIFE)

    def used(self, start: datetime, end: datetime) -> dict[LeaseId, Use]:
        """What each lease really used in the hours that touch [start, end).

        A lease with several devices counts as one: its figures are their mean. Leases without
        any reading are absent: unknown, not idle.
        """
        first, last = _hours(start, end)
        query = select(rollup_hour).where(rollup_hour.c.hour >= first, rollup_hour.c.hour < last)
        return self._safely(lambda connection: uses(connection.execute(query).all()), {})

    def needs(self, lease_ids: Iterable[LeaseId]) -> dict[LeaseId, Need]:
        """How much GPU these leases needed at most; those without any reading are absent."""
        query = select(rollup_hour).where(rollup_hour.c.lease_id.in_(list(lease_ids)))
        return self._safely(lambda connection: needs(connection.execute(query).all()), {})

    def quiet(self, start: datetime, end: datetime) -> dict[LeaseId, Quiet]:
        """How long the GPUs of each lease did nothing in the hours that touch [start, end).

        Leases without any reading are absent, as with `used`.
        """
        return self._safely(lambda connection: quiets(connection, *_hours(start, end)), {})

    def used_by(
        self, lease_ids: Iterable[LeaseId], start: datetime, end: datetime
    ) -> dict[LeaseId, Use]:
        """What these leases really used, as `used` has it; others are not read."""
        first_hour, end_hour = _hours(start, end)
        hours = rollup_hour.c.hour.between(first_hour, end_hour - 1)
        wanted = list(dict.fromkeys(lease_ids))

        def work(connection: Connection) -> dict[LeaseId, Use]:
            found: dict[LeaseId, Use] = {}
            for first in range(0, len(wanted), NAMED_AT_ONCE):
                some = rollup_hour.c.lease_id.in_(wanted[first : first + NAMED_AT_ONCE])
                found |= uses(connection.execute(select(rollup_hour).where(some, hours)).all())
            return found

        return self._safely(work, {})

    def _safely(self, work: Callable[[Connection], Result], otherwise: Result) -> Result:
        try:
            if self._writer is not None and self._writer.moves():
                # It moved a damaged file aside: what we have open is that one.
                self._let_go()
            if self._connection is None:
                self._connection = _opened(self._path)
            with self._connection.begin():
                result = work(self._connection)
        except (SQLAlchemyError, OSError, OverflowError) as error:
            self._let_go()
            if sqlite.is_damaged(error) or isinstance(error, _OtherLayoutError):
                self._move_aside(error)
            else:
                self._trouble = _("readings are not kept: {error}").format(error=error)
            return otherwise
        self._trouble = ""
        return result

    def _move_aside(self, error: BaseException) -> None:
        number = 1
        while (aside := self._path.with_name(f"{FILE}.damaged-{number}")).exists():
            number += 1
        try:
            self._path.rename(aside)
            for tail in ("-wal", "-shm"):
                self._path.with_name(FILE + tail).unlink(missing_ok=True)
        except OSError as refusal:
            self._trouble = _("{path} is damaged and cannot be moved: {error}").format(
                path=self._path, error=refusal
            )
            return
        self.moved += 1
        self._moved = _(
            "{path} was damaged ({error}) and was moved to {aside}; readings before that are gone, "
            "charges are not touched"
        ).format(path=self._path, error=getattr(error, "orig", error), aside=aside.name)


def _hours(start: datetime, end: datetime) -> tuple[int, int]:
    """First hour that touches a stretch, and the one behind the last."""
    return instant_us(start) // HOUR_US, -(-instant_us(end) // HOUR_US)


class _OtherLayoutError(OSError):
    """The file has other columns than this version writes."""


def _opened(path: Path) -> Connection:
    connection = sqlite.writer(path, synchronous="NORMAL").connect()
    try:
        with connection.begin():
            metadata.create_all(connection)
            _widen(connection)
            _check_layout(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _widen(connection: Connection) -> None:
    """Add the columns that a file of an older version lacks; what was not read then is unknown."""
    inspector = inspect(connection)
    for table in metadata.sorted_tables:
        found = {column["name"] for column in inspector.get_columns(table.name)}
        lacking = [one for one in table.columns if one.name not in found]
        if all(one.nullable or one.server_default is not None for one in lacking):
            for column in lacking:
                made = CreateColumn(column).compile(connection).string
                connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {made}")


def _check_layout(connection: Connection) -> None:
    inspector = inspect(connection)
    for table in metadata.sorted_tables:
        found = {column["name"] for column in inspector.get_columns(table.name)}
        if found != set(table.columns.keys()):
            raise _OtherLayoutError(_("table {table} is of another version").format(table=table))
