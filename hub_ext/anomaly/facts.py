"""What the search for anomalies looks at: live leases with their figures, pools, machines."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..lease import DeviceId, OpenLease, ServerKey
from .finding import Finding


@dataclass(frozen=True)
class Spell:
    """All readings of one device over a stretch of time; None where no reading has the figure."""

    readings: int
    known: int
    """Readings with utilisation and memory."""
    first_at: datetime | None
    last_at: datetime | None
    most_percent: int | None
    least_bytes: int | None
    most_bytes: int | None
    total_bytes: int | None
    known_at: datetime | None
    """The newest reading that has any figure."""
    busy: int = 0
    """Readings in which something ran."""
    gauged: int = 0
    """Readings that also tell how much of the multiprocessors and of the memory's bandwidth."""
    most_sm: int | None = None
    most_dram: int | None = None


@dataclass(frozen=True)
class Tasks:
    """All readings of one lease's processes over a stretch of time."""

    readings: int
    known: int
    mean_millis: int | None


@dataclass(frozen=True)
class Life:
    """What was read of one lease since its start, of several devices the mean."""

    sampled_s: int
    """Seconds with a reading of utilisation."""
    peak_percent: int | None


NO_LIFE = Life(sampled_s=0, peak_percent=None)
NO_SPELL = Spell(
    readings=0,
    known=0,
    first_at=None,
    last_at=None,
    most_percent=None,
    least_bytes=None,
    most_bytes=None,
    total_bytes=None,
    known_at=None,
)
NO_TASKS = Tasks(readings=0, known=0, mean_millis=None)


@dataclass(frozen=True)
class Held:
    """One live lease with GPUs.

    Parameters
    ----------
    spells, tasks
        Its readings over `Anomalies.hoarding`, or since its start.
    life
        All that was read of it.
    cost_micro
        What it has cost so far; None where nothing priced it.
    measured
        Whether figures of its own devices can be expected at all.
    long
        Its readings over `Anomalies.gaming`; empty where it is younger.
    input_at
        When somebody was last seen at it; None where nobody was.
    """

    lease: OpenLease
    spells: Sequence[Spell] = ()
    tasks: Tasks | None = None
    life: Life = NO_LIFE
    cost_micro: int | None = None
    measured: bool = True
    long: Sequence[Spell] = ()
    input_at: datetime | None = None


@dataclass(frozen=True)
class Ended:
    """What leases of one profile have cost that ended within the last 30 days."""

    costs: Sequence[int]


@dataclass(frozen=True)
class Reach:
    """A stretch of time in which so many units of a pool were held."""

    start: datetime
    end: datetime
    units: int
    watched: bool = False
    """Whether it is what was seen to be held in all, and not one line of the ledger."""


@dataclass(frozen=True)
class Pool:
    """One pool: what is in service, who held how much of it, and what an hour of it costs.

    Parameters
    ----------
    held
        Stretches that touch the last `Anomalies.unallocated`.
    since
        When the pool was known to be there.
    free_micro_per_hour
        Price of what is free now; None where any of it has no price.
    """

    name: str
    usable_units: int
    held: Sequence[Reach]
    since: datetime
    free_units: int
    free_micro_per_hour: int | None


@dataclass(frozen=True)
class Stray:
    """Processes on one device that belong to no open lease of it."""

    device: DeviceId
    node: str
    pids: tuple[int, ...]
    memory_bytes: int | None
    since: datetime
    lease: OpenLease | None
    """Whose mark they carry, else who had the device last; None where nobody is known."""
    micro_per_hour: int | None
    pool: str | None = None


@dataclass(frozen=True)
class Stranger:
    """A server that runs on the hub without a lease."""

    key: ServerKey
    since: datetime
    words: str


@dataclass(frozen=True)
class Silence:
    """A machine whose agent has not spoken."""

    node: str
    since: datetime


@dataclass(frozen=True)
class Facts:
    """Everything at one instant."""

    now: datetime
    leases: Sequence[OpenLease] = ()
    """Live leases with GPUs."""
    known: Sequence[Finding] = ()
    """What was found about each of them at the last look at its readings."""
    pools: Sequence[Pool] = ()
    strays: Sequence[Stray] = ()
    strangers: Sequence[Stranger] = ()
    forgotten: Sequence[tuple[OpenLease, datetime]] = ()
    """Leases whose server the hub has forgotten, and since when."""
    silent: Sequence[Silence] = ()


FRESH = timedelta(minutes=3)
"""What was not read within so long is not known now."""
