"""How long leases really live, as shares of what they declared; and one possible end of a lease.

Nothing here is random: which of the possible lives a lease has in the n-th course is read from its
id, so that the same snapshot gives the same forecast.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple
from zlib import crc32

from ..lease import LeaseId, LeaseState, OpenLease

WHOLE = 1000
"""A lease that lived as long as it declared, in thousandths."""

PRIOR = (100, 250, 400, 550, 700, 850, WHOLE, WHOLE)
"""Lives in thousandths of the declared one before any are known: a guess, and said to be one."""

ENOUGH = 12
"""So many ended leases of a profile tell more than those of all profiles together."""

_COMES = 850
"""In so many of 1000 courses an announced stop comes; in the others it is taken back."""

_IDLES = 700
"""In so many of 1000 courses a quiet server stays quiet until its idle rule stops it."""


class Past(NamedTuple):
    """A lease that ended: what it was, when it was asked for, and how long it lived."""

    asked_at: datetime
    team: str
    project: str | None
    profile: str
    declared: timedelta
    lived: timedelta


@dataclass(frozen=True)
class Lives:
    """Lives of leases that ended, in thousandths of what each declared at its start.

    `of` are those of one profile, `all_` those of every profile; each in ascending order.
    """

    of: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    all_: tuple[int, ...] = ()

    @property
    def known(self) -> int:
        """How many ended leases stand behind it."""
        return len(self.all_)

    def like(self, profile: str) -> tuple[int, ...]:
        """Lives of a profile; of all where it has few, and a guess where those are few as well."""
        mine = self.of.get(profile, ())
        if len(mine) >= ENOUGH:
            return mine
        return self.all_ if len(self.all_) >= ENOUGH else PRIOR


def lives(ended: Iterable[Past]) -> Lives:
    """Learn from leases that ended how long leases live."""
    found: dict[str, list[int]] = {}
    for one in ended:
        if one.declared > timedelta(0) and one.lived >= timedelta(0):
            found.setdefault(one.profile, []).append(one.lived * WHOLE // one.declared)
    return Lives(
        {profile: tuple(sorted(shares)) for profile, shares in found.items()},
        tuple(sorted(share for shares in found.values() for share in shares)),
    )


def chance(name: str, course: int) -> int:
    """Give a number from 0 to 999 that is the same whenever it is asked for."""
    return crc32(f"{name}|{course}".encode()) % WHOLE


def life(known: Lives, profile: str, declared: timedelta, age: timedelta, at: int) -> timedelta:
    """Choose one of the lives that are longer than its age; `at` from 0 to 999 says which."""
    shares = known.like(profile)
    first = bisect_right(shares, age * WHOLE // declared) if declared > timedelta(0) else 0
    left = shares[first:]
    if not left:
        return max(age, declared)
    return declared * left[len(left) * at // WHOLE] // WHOLE


def end_of(
    lease: OpenLease,
    now: datetime,
    known: Lives,
    idle_at: Mapping[LeaseId, datetime],
    course: int,
) -> datetime | None:
    """When a lease that holds devices ends in one course; None where nothing tells."""
    if lease.state is LeaseState.stopping:
        return now
    if lease.notice is not None and chance(f"{lease.id}!", course) < _COMES:
        return max(now, lease.notice.stops_at)
    since, declared = lease.assigned_at or lease.state_since, lease.ends_at
    if declared is None:
        return None
    span = life(known, lease.profile, declared - since, now - since, chance(lease.id, course))
    end = min(since + span, max(declared, lease.longest_end_at or declared))
    idle = idle_at.get(lease.id)
    if idle is not None and chance(f"{lease.id}?", course) < _IDLES:
        end = min(end, idle)
    return max(now, end)
