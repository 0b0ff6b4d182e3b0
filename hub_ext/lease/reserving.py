"""A reservation: GPUs kept for somebody from a wall time on, once or weekly; and one time of it.

It is a record of its own and no lease: its owner can work meanwhile. At its start a lease is held.
"""

from datetime import date
from typing import Annotated, Literal, NewType

from pydantic import AwareDatetime, Field, NaiveDatetime

from .asking import Choice, Device, Reason, ServerKey
from .words import (
    LeaseId,
    PoolName,
    ProfileName,
    ProjectName,
    ShortText,
    TeamName,
    UserName,
    Value,
    When,
)

ReservationId = NewType("ReservationId", str)

Alone = Literal["gpu", "node"]
"""What nobody of another team shares: the GPU, or the whole machine."""

UNUSED = "reserved-unused"
"""Flavor of a charge for GPUs that were kept for a reservation and that no server used."""

REST: dict[Alone, str] = {"gpu": "rest-of-gpu", "node": "rest-of-node"}
"""Flavor of a charge for what is kept empty beside a lease that is alone."""

CORRECTION = "correction"
"""Flavor of a charge that reverses or restates another one: money without time."""

ASIDE = frozenset({UNUSED, CORRECTION, *REST.values()})
"""Flavors of charges that stand beside a lease and are none."""


class Opening(Value):
    """The time of a reservation that has begun.

    `kept_since` is since when GPUs are kept and unused; None while a server uses them, or while
    nothing could be kept yet. `devices` are kept without a lease, because the owner's server runs.
    """

    start: AwareDatetime
    end: AwareDatetime
    kept_since: AwareDatetime | None = None
    devices: tuple[Device, ...] = ()
    lease_id: LeaseId | None = None
    """The lease that is held, or that its server runs on."""
    used: bool = False
    """A server has claimed it at least once."""
    reason: Reason | None = None
    """Why nothing could be kept yet."""


class Reservation(Value):
    """Who reserved what, when on the clock of `zone`, and how far it is.

    `starts` and `ends` are wall times of its first day. `weekly_until` is the last day on which it
    may start again; None where it is once. Times that start no later than `done_until` are over.
    """

    id: ReservationId
    key: ServerKey
    """Whose, and which of their servers claims it."""
    groups: tuple[ShortText, ...] = ()
    """Hub groups of the owner when it was made."""
    choice: Choice
    team: TeamName
    project: ProjectName | None
    profile: ProfileName
    pool: PoolName
    flavor: ShortText
    units: Annotated[int, Field(gt=0)]
    alone: Alone | None = None
    starts: NaiveDatetime
    ends: NaiveDatetime
    zone: ShortText
    weekly_until: date | None = None
    skipped: tuple[date, ...] = ()
    """Days of `zone` on which it would start again and does not."""
    when: When = When.hold
    no_show_s: Annotated[int, Field(gt=0)] = 900
    """How long GPUs are kept for an owner who does not come, as it was agreed."""
    unused_percent: Annotated[int, Field(ge=0, le=100)] = 100
    """Share of the price for time in which they are kept and unused, as it was agreed."""
    reason: Annotated[str, Field(max_length=500)] = ""
    made_at: AwareDatetime
    made_by: ShortText
    current: Opening | None = None
    done_until: AwareDatetime | None = None
    kept: Annotated[int, Field(ge=0)] = 0
    """How many stretches of unused time are on the books."""
    over: bool = False
    ended: Reason | None = None
    """How its newest time ended, or why it was called off."""


class Reserved(Value):
    """One time of a reservation as a decision meets it. `devices` are kept for it already."""

    id: ReservationId
    key: ServerKey
    team: TeamName
    project: ProjectName | None = None
    pool: PoolName
    flavor: ShortText
    units: int
    alone: Alone | None = None
    start: AwareDatetime
    end: AwareDatetime
    lease_id: LeaseId | None = None
    """The lease that has begun for it, which counts by itself."""
    devices: tuple[Device, ...] = ()


class ReservationWish(Value):
    """`POST reservations`: what somebody wants to reserve; `user` is whose, by default the caller.

    Wall times are of `zone`, by default the policy's.
    """

    profile: ProfileName
    team: TeamName | None = None
    project: ProjectName | None = None
    user: UserName | None = None
    server: ShortText = ""
    starts: NaiveDatetime
    ends: NaiveDatetime
    zone: ShortText | None = None
    weekly_until: date | None = None
    skipped: tuple[date, ...] = ()
    """Days on which a weekly one would start and does not."""
    alone: Alone | None = None
    when: When = When.hold
    reason: Annotated[str, Field(max_length=500)] = ""
    by: ShortText = ""
    """Who typed it, where a command on the hub's machine asks."""


class ReservedTime(Value):
    """One time of a pool that is reserved, as everybody may see it: no name is in it."""

    pool: PoolName
    gpus: ShortText
    start: AwareDatetime
    end: AwareDatetime
    reservation: ReservationId | None = None
    """Only where the reader may see whose it is."""


class ReservationSheet(Value):
    """`GET reservations`: those that the caller may see, and every reserved time of their pools."""

    at: AwareDatetime
    timezone: ShortText
    reservations: tuple[Reservation, ...] = ()
    times: tuple[ReservedTime, ...] = ()
