"""When waiting requests will start: a range, from many possible courses of their pool.

It reads what is declared (ends, notices, reservations, maintenance) and how long leases of that
profile lived before; what nobody can know, an end that comes early above all, makes it wide.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ..i18n import _, ngettext
from ..lease import Forecast, LeaseId, OpenLease, PoolName, Standing, minute_text
from ..lease.reserving import Reserved
from .course import Course, Holder, Spot, Wish, spots_of
from .gates import access, caps
from .levels import queue_of
from .lives import WHOLE, Lives, Past, chance, end_of
from .newcomers import Newcomer, comers, newcomers
from .placing import in_service
from .protection import safe_until
from .snapshot import NOBODY, Demand, Scene, Snapshot, scene
from .starving import limit_of

MOST = 40
"""Requests of one pool that get a forecast, in the order of their turn."""

COURSES = 20
"""Courses a forecast is read from: the range is from the first start of all to the last. In a
simulated week 8 of 10 real starts lie in it, since no course knows all that can come."""

HORIZON = timedelta(days=21)
"""What would start later has no forecast."""

NOWHERE = "\x00"
"""Queue of what takes devices and no quota."""

_SHORTEST = timedelta(minutes=1)


@dataclass(frozen=True)
class Known:
    """What is known beside the snapshot.

    How long leases live, who came before, and when each server that is quiet would be stopped.
    """

    lives: Lives = field(default_factory=Lives)
    past: tuple[Past, ...] = ()
    idle_at: Mapping[LeaseId, datetime] = field(default_factory=dict)


@dataclass(frozen=True)
class Forecasts:
    """What was worked out at one instant, for those who wait and for who would come now."""

    at: datetime
    waiting: Mapping[LeaseId, Forecast]
    coming: Mapping[Newcomer, Forecast]


def forecast(snapshot: Snapshot, known: Known) -> Forecasts:
    """Forecast the start of every waiting request, and of one more of each team and profile.

    A newcomer has the default lifetime and no project; nobody who waits is passed by it.
    """
    waiting: dict[LeaseId, Forecast] = {}
    coming: dict[Newcomer, Forecast] = {}
    for pool in snapshot.policy.pools:
        view = scene(snapshot, PoolName(pool), without=NOBODY, lease_id=None)
        if view.holding or view.waiting:
            one, other = _of_pool(view, known)
            waiting |= one
            coming |= other
    return Forecasts(snapshot.at, waiting, coming)


def _of_pool(view: Scene, known: Known) -> tuple[dict[LeaseId, Forecast], dict[Newcomer, Forecast]]:
    found: dict[str, Forecast] = {}
    wishes: list[Wish] = []
    leases = {str(one.id): one for one in view.others}
    for demand in sorted(view.waiting, key=lambda one: (-one.priority, one.requested_at, one.tie)):
        if len(wishes) >= MOST:
            found[demand.tie] = _none(_("So many wait before it that no forecast is made."))
        elif (why := _stuck(view, demand)) is not None:
            found[demand.tie] = _none(why)
        else:
            wishes.append(_wish(view, demand, leases[demand.tie]))
    kinds = newcomers(view.policy, view.pool, view.snapshot.at)
    asked = [one for one in kinds.values() if _stuck(view, one.demand) is None]
    starts: dict[str, list[datetime]] = {one.demand.tie: [] for one in (*wishes, *asked)}
    for number in range(COURSES if starts else 0):
        for tie, at in _course(view, known, number, wishes, asked).items():
            starts[tie].append(at)
    for tie, times in starts.items():
        found[tie] = _range(sorted(times), known, view.policy.timezone)
    return (
        {LeaseId(tie): one for tie, one in found.items() if tie in leases},
        {who: found[one.demand.tie] for who, one in kinds.items() if one.demand.tie in found},
    )


def _stuck(view: Scene, demand: Demand) -> str | None:
    """Say why no end of another's lease lets it start; None where one does."""
    if demand.alone is not None:
        return _("When a whole GPU or machine will be empty cannot be said.")
    refused = access(view, demand) or in_service(view, demand)
    if refused is None and view.policy.modes.quota == "enforce":
        refused = caps(view, demand)
    if refused is None:
        return None
    return _("It waits for something else than a free device, so no time can be said.")


def _none(why: str) -> Forecast:
    return Forecast(earliest=None, latest=None, words=why)


def _range(times: list[datetime], known: Known, zone: str) -> Forecast:
    """Read the range from the starts in all courses; where one has none, no end is told."""
    if not times:
        return _none(_("Nothing that is declared makes room for it within three weeks."))
    earliest, latest = times[0], times[-1] if len(times) == COURSES else None
    learned = known.lives.known
    return Forecast(
        earliest=earliest,
        latest=latest,
        words=f"{_when(earliest, latest, zone)} {_grounds(learned)}",
        learned=learned,
    )


def _when(earliest: datetime, latest: datetime | None, zone: str) -> str:
    first = minute_text(earliest, zone)
    if latest is None:
        return _(
            "It starts at {first} at the earliest; no latest time can be said, since servers in "
            "its way declare no end."
        ).format(first=first)
    last = minute_text(latest, zone)
    if first == last:
        return _("It will probably start at {first}.").format(first=first)
    return _("It will probably start between {first} and {last}: 8 of 10 do.").format(
        first=first, last=last
    )


def _grounds(learned: int) -> str:
    if not learned:
        return _("Read from declared ends and notices; how long leases live here is not known yet.")
    return ngettext(
        "Read from declared ends, notices and how long {n} lease lived before.",
        "Read from declared ends, notices and how long {n} leases lived before.",
        learned,
    ).format(n=learned)


def _wish(view: Scene, demand: Demand, lease: OpenLease) -> Wish:
    limit = limit_of(view)
    late = None if limit is None else demand.waits_since + limit
    if lease.caller_since is not None:
        late = demand.requested_at
    return Wish(demand, view.queue(demand), lease.profile, _lifetime(view, lease), late)


def _lifetime(view: Scene, lease: OpenLease) -> timedelta:
    if lease.choice.lifetime_s is not None:
        return timedelta(seconds=lease.choice.lifetime_s)
    entry = view.policy.profiles.get(lease.profile)
    return entry.lifetime.default if entry is not None else timedelta(hours=4)


def _course(
    view: Scene, known: Known, number: int, wishes: Iterable[Wish], asked: Sequence[Wish]
) -> dict[str, datetime]:
    now = view.snapshot.at
    free = Counter((one.node, one.part) for one in view.free)
    enforced = view.policy.modes.quota == "enforce"
    course = Course(view.quotas, free, enforced, now + HORIZON)
    course.begin(_holder(view, one, known, number) for one in view.holding)
    course.begin(_announced(view))
    return course.run(
        [_lived(one, known, number) for one in wishes],
        now,
        asked=asked,
        comers=comers(view.policy, view.pool, known.past, now, number),
    )


def _lived(wish: Wish, known: Known, number: int) -> Wish:
    """Give a request the life it has in one course, once it has started."""
    name = wish.demand.tie
    shares = known.lives.like(wish.profile)
    share = shares[len(shares) * chance(name, number) // WHOLE]
    return replace(wish, lives=max(_SHORTEST, wish.lives * share // WHOLE))


def _holder(view: Scene, lease: OpenLease, known: Known, number: int) -> Holder:
    until = end_of(lease, view.snapshot.at, known.lives, known.idle_at, number)
    return Holder(
        view.queue(lease), lease.units, spots_of(lease), until, callable_at=_callable(view, lease)
    )


def _callable(view: Scene, lease: OpenLease) -> datetime | None:
    """When a lease would stop if an owner called it in as soon as it may."""
    pool = view.policy.pools[view.pool]
    if not pool.reclaim or lease.standing is not Standing.borrowed or lease.called_in is not None:
        return None
    return max(view.snapshot.at, safe_until(view.policy, lease)) + pool.notice


def _announced(view: Scene) -> Iterator[Holder]:
    """Reservations and maintenance of the pool, which take devices without asking."""
    now = view.snapshot.at
    for one in view.reserved:
        if one.lease_id is None:
            since = one.start if one.start > now else None
            queue = queue_of(view.policy, one.team, None, view.pool)
            yield Holder(queue, one.units, _spots(view, one), one.end, since)
    serving = {device.id for device in view.devices}
    for each in view.snapshot.maintenance:
        begins = each.start > now
        covered = [
            device
            for device in (view.devices if begins else view.declared)
            if each.covers(device) and (begins or device.id not in serving)
        ]
        spots = Counter((device.node, device.part) for device in covered)
        yield Holder(NOWHERE, 0, spots, each.end, each.start if begins else None)


def _spots(view: Scene, one: Reserved) -> Counter[Spot]:
    """Devices of a reservation; before its start those of the machine that has most of the kind."""
    if one.devices:
        return Counter((device.node, device.part) for device in one.devices)
    wanted, gpus = (None, int(one.flavor[4:])) if one.flavor.startswith("gpu-") else (one.flavor, 1)
    kinds = Counter(d.node for d in view.devices if d.part == wanted)
    if not kinds:
        return Counter()
    node = max(sorted(kinds), key=lambda name: kinds[name])
    return Counter({(node, wanted): gpus})
