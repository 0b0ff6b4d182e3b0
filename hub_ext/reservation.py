"""When a reservation is, on the clock of its zone, and what stands against it, with figures.

Pure. Wall times follow one rule: one that comes twice means its first coming; one that a jump of
the clock leaves out means the instant of the jump. So order is kept, and a time that lies wholly
in a jump does not happen.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from .errors import RefusedError
from .i18n import _, ngettext
from .lease import Device, DeviceId, Maintenance, OpenLease, Reason, local_text
from .lease.reserving import Reservation, Reserved
from .mig.geometry import device_units
from .policy.model import Policy
from .policy.room import declared_end, held_devices, may_be_drained, room_for, stays
from .units import UNITS_PER_GPU, duration_text, gpus_text

WEEK = timedelta(days=7)

MOST_TIMES = 520
"""Times of one reservation that are ever looked at: ten years of weeks."""

_DAYS_OF_WEEK = 7

_SHARE = "share-"
"""Flavors of time-shares begin so."""

_SECOND = timedelta(seconds=1)
_DAY = timedelta(days=1)


class Occurrence(NamedTuple):
    """One time of a reservation, in UTC; `start` is before `end`."""

    start: datetime
    end: datetime


def instant_of(wall: datetime, zone: str) -> datetime:
    """Give the instant at which a wall clock first shows a time, or jumps over it.

    Raises
    ------
    RefusedError
        When it lies outside the calendar.
    """
    tz = ZoneInfo(zone)
    try:
        first = wall.replace(tzinfo=tz, fold=0).astimezone(UTC)
        second = wall.replace(tzinfo=tz, fold=1).astimezone(UTC)
    except OverflowError:
        raise RefusedError(
            "bad-time", _("This time lies outside the calendar; choose another."), status=400
        ) from None
    if first <= second:
        return first
    # In a gap the two readings lie around the jump: before it by the offset after, and reversed.
    return _jump(second, first, tz)


def _jump(low: datetime, high: datetime, tz: ZoneInfo) -> datetime:
    """Find the instant in (low, high] from which the zone's offset is that of `high`."""
    after = high.astimezone(tz).utcoffset()
    while high - low > _SECOND:
        middle = low + (high - low) // 2
        if middle.astimezone(tz).utcoffset() == after:
            high = middle
        else:
            low = middle
    # Zones change at whole seconds.
    return high.replace(microsecond=0)


def occurrences(one: Reservation, first: datetime, last: datetime) -> Iterator[Occurrence]:
    """List its times that end after `first` and start before `last`, in order.

    What is over (`done_until`) or skipped is left out; a time that does not happen, too.
    """
    for number in range(MOST_TIMES):
        shift = number * WEEK
        try:
            starts, ends = one.starts + shift, one.ends + shift
        except OverflowError:
            return
        if number and (one.weekly_until is None or starts.date() > one.weekly_until):
            return
        start, end = instant_of(starts, one.zone), instant_of(ends, one.zone)
        if start >= last:
            return
        over = one.done_until is not None and start <= one.done_until
        skipped = starts.date() in one.skipped
        if start < end and end > first and not over and not skipped:
            yield Occurrence(start, end)


def times(one: Reservation, first: datetime, last: datetime) -> Iterator[Reserved]:
    """List the same as decisions meet them: with what is kept for the time that has begun."""
    if one.over:
        return
    if one.current is not None and one.current.end > first:
        now = one.current
        yield _reserved(one, Occurrence(now.start, now.end), now.lease_id, now.devices)
    for time in occurrences(one, first, last):
        if one.current is None or time.start > one.current.start:
            yield _reserved(one, time, None, ())


def _reserved(
    one: Reservation, time: Occurrence, lease_id: str | None, devices: tuple[Device, ...]
) -> Reserved:
    return Reserved.model_validate(
        {
            "id": one.id,
            "key": one.key,
            "team": one.team,
            "project": one.project,
            "pool": one.pool,
            "flavor": one.flavor,
            "units": one.units,
            "alone": one.alone,
            "start": time.start,
            "end": time.end,
            "lease_id": lease_id,
            "devices": devices,
        }
    )


def check_wish(policy: Policy, one: Reservation, now: datetime) -> None:
    """Hold a new reservation against what its pool lets people reserve.

    Raises
    ------
    RefusedError
        400 or 403 with the limit and what was asked.
    """
    rule = policy.pools[one.pool].reservable
    if rule is None:
        raise not_reservable(policy, one.pool)
    if one.flavor.startswith(_SHARE):
        raise _refused(
            "not-reservable",
            _(
                "A time-share of a GPU cannot be reserved, since it keeps nothing apart. Choose a "
                "whole GPU or a MIG profile."
            ),
            one,
        )
    _check_times(one, now)
    length = one.ends - one.starts
    if length > rule.longest:
        raise _refused(
            "reservation-too-long",
            _("A reservation of pool {pool} lasts {limit} at most; this lasts {asked}."),
            one,
            limit=duration_text(rule.longest),
            asked=duration_text(length),
        )
    newest = max(time.start for time in occurrences(one, now, datetime.max.replace(tzinfo=UTC)))
    if newest > now + rule.ahead:
        raise _refused(
            "reservation-too-far",
            _(
                "Pool {pool} can be reserved {limit} ahead; the last time of this starts at "
                "{asked}. Choose an earlier day, or fewer weeks."
            ),
            one,
            limit=duration_text(rule.ahead),
            asked=local_text(newest, one.zone),
        )
    if one.units > rule.most:
        raise _refused(
            "reservation-too-large",
            _("At most {limit} GPUs of pool {pool} may be reserved at once; this takes {asked}."),
            one,
            limit=gpus_text(rule.most),
            asked=gpus_text(one.units),
        )


def not_reservable(policy: Policy, pool: str) -> RefusedError:
    """Say which pools can be reserved, where this cannot."""
    others = [name for name, rules in policy.pools.items() if rules.reservable is not None]
    return RefusedError(
        "not-reservable",
        _("Pool {pool} cannot be reserved. Choose one of: {pools}.").format(
            pool=pool, pools=", ".join(others) or _("none; ask an administrator")
        ),
        status=403,
    )


def _check_times(one: Reservation, now: datetime) -> None:
    if one.starts >= one.ends:
        raise _refused("bad-time", _("It ends before it starts; choose a later end."), one)
    if one.weekly_until is not None and one.ends - one.starts > WEEK:
        raise _refused("bad-time", _("A weekly reservation lasts a week at most."), one)
    if one.weekly_until is not None and one.weekly_until < one.starts.date():
        raise _refused("bad-time", _("Its last day is before its first; choose a later one."), one)
    if instant_of(one.starts, one.zone) < now:
        raise _refused("bad-time", _("It starts in the past; choose a later start."), one)
    weeks = {(day - one.starts.date()).days % _DAYS_OF_WEEK for day in one.skipped}
    if one.skipped and (one.weekly_until is None or weeks != {0}):
        raise _refused(
            "bad-time",
            _("Only days on which a weekly reservation would start can be left out."),
            one,
        )
    if next(occurrences(one, now, datetime.max.replace(tzinfo=UTC)), None) is None:
        if one.skipped:
            raise _refused("bad-time", _("Every time of it is left out; leave out fewer."), one)
        raise _refused(
            "bad-time",
            _("The clock of {zone} jumps over this time, so it does not happen."),
            one,
            zone=one.zone,
        )


def _refused(code: str, words: str, one: Reservation, **figures: str) -> RefusedError:
    return RefusedError(
        code,
        words.format(pool=one.pool, **figures),
        figures={"pool": one.pool, **figures},
        status=400,
    )


@dataclass(frozen=True)
class Books:
    """What a reservation is held against: devices in service, open leases, other times."""

    policy: Policy
    now: datetime
    devices: tuple[Device, ...]
    leases: tuple[OpenLease, ...]
    others: tuple[Reserved, ...]
    maintenance: tuple[Maintenance, ...] = ()
    owners: Mapping[DeviceId, str] = field(default_factory=dict)
    """Project of each device that is kept for one."""


def conflict(one: Reservation, books: Books) -> Reason | None:
    """Say why a reservation cannot be had, for the first of its times that cannot; else None.

    Three rules hold at each start of anything within each time. With its team's running leases
    that end later and the team's other reservations it stays within the team's guarantee. All
    reservations of the pool together stay within the policy's `most`. And a device is left for it
    by leases that end later, as far as they may not be called in, and by earlier reservations.
    """
    last = books.now + timedelta(days=3650)
    for time in occurrences(one, books.now, last):
        beside = [x for x in books.others if x.start < time.end and time.start < x.end]
        starts = {max(time.start, x.start) for x in beside if x.pool == one.pool} | {time.start}
        for at in sorted(starts):
            found = _at(one, books, time, at)
            if found is not None:
                return found
    return None


def _at(one: Reservation, books: Books, time: Occurrence, at: datetime) -> Reason | None:
    others = [x for x in books.others if x.pool == one.pool and x.start <= at < x.end]
    staying = [lease for lease in books.leases if stays(lease, at) and lease.pool == one.pool]
    # What its owner's own server holds changes over to it.
    free = [x for x in staying if x.key != one.key and not _counted(x, others)]
    return (
        _beyond_guarantee(one, books, at, free, others)
        or _beyond_most(one, books, at, others)
        or _without_room(one, books, time, at, free, others)
    )


def _counted(lease: OpenLease, others: Collection[Reserved]) -> bool:
    return any(x.lease_id == lease.id for x in others)


def _beyond_guarantee(
    one: Reservation,
    books: Books,
    at: datetime,
    staying: Iterable[OpenLease],
    others: Iterable[Reserved],
) -> Reason | None:
    quota = books.policy.teams[one.team].quota.get(one.pool)
    nominal = quota.nominal if quota is not None else 0
    mine = [lease for lease in staying if lease.team == one.team]
    held = sum(lease.units for lease in mine)
    reserved = sum(x.units for x in others if x.team == one.team)
    if held + reserved + one.units <= nominal:
        return None
    return _reason(
        "reservation-beyond-guarantee",
        _(
            "At {at} team {team} has {nominal} of pool {pool} guaranteed: {held} by leases that "
            "end later{end}, {reserved} reserved already; this needs {wants}."
        ),
        one,
        at,
        mine,
        nominal=_gpus(nominal),
        held=_gpus(held),
        reserved=_gpus(reserved),
    )


def _beyond_most(
    one: Reservation, books: Books, at: datetime, others: Iterable[Reserved]
) -> Reason | None:
    rule = books.policy.pools[one.pool].reservable
    reserved = sum(x.units for x in others)
    if rule is None or reserved + one.units <= rule.most:
        return None
    return _reason(
        "reservation-beyond-most",
        _(
            "At {at} {reserved} of pool {pool} are reserved already, and at most {most} may be; "
            "this needs {wants}."
        ),
        one,
        at,
        (),
        reserved=_gpus(reserved),
        most=_gpus(rule.most),
    )


def _without_room(
    one: Reservation,
    books: Books,
    time: Occurrence,
    at: datetime,
    staying: Collection[OpenLease],
    others: Collection[Reserved],
) -> Reason | None:
    kept = [x for x in staying if not may_be_drained(books.policy, x, time.start, books.now)]
    closed = [x for x in books.maintenance if x.start < time.end and time.start < x.end]
    devices = tuple(
        x
        for x in books.devices
        if x.pool == one.pool and not any(window.covers(x) for window in closed)
    )
    wanted = [*others, _reserved(one, time, None, ())]
    if room_for(devices, held_devices(kept), wanted, books.owners) is not None:
        return None
    return _reason(
        "reservation-no-room",
        _(
            "At {at} no device of pool {pool} is left for it: of {devices} in service, leases "
            "that end later{end} hold {held}, and {reserved} are reserved; this needs {wants}."
        ),
        one,
        at,
        kept,
        devices=_gpus(sum(device_units(device) for device in devices)),
        held=_gpus(sum(lease.units for lease in kept)),
        reserved=_gpus(sum(x.units for x in others)),
    )


def _reason(
    code: str,
    words: str,
    one: Reservation,
    at: datetime,
    leases: Iterable[OpenLease],
    **figures: str,
) -> Reason:
    ends = [x for lease in leases if (x := declared_end(lease)) is not None]
    until = min(ends, default=None)
    later = (
        "" if until is None else _(" (the first at {at})").format(at=local_text(until, one.zone))
    )
    values = {"pool": one.pool, "team": one.team, "wants": _gpus(one.units), **figures}
    message = words.format(at=local_text(at, one.zone), end=later, **values)
    remedy = _("Choose another time, or fewer GPUs.")
    numbers: dict[str, int | str] = {**values, "at": local_text(at, one.zone)}
    if until is not None:
        numbers["first_end"] = local_text(until, one.zone)
    return Reason(code=code, message=f"{message} {remedy}", figures=numbers)


def _gpus(units: int) -> str:
    one = 0 < units <= UNITS_PER_GPU
    return ngettext("{n} GPU", "{n} GPUs", 1 if one else 2).format(n=gpus_text(units))
