"""When waiting requests will start: a range, from many possible courses of their pool.

It reads what is declared (ends, notices, reservations, maintenance) and how long leases of that
profile lived before; what nobody can know, an end that comes early above all, makes it wide.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ..i18n import _, ngettext
from ..lease import Forecast, LeaseId, LeaseState, OpenLease, PoolName, Standing, minute_text
from ..lease.reserving import Reserved
from .course import Course, Holder, Spot, Wish, spots_of
from .decision import Denied
from .gates import access, caps
from .levels import queue_of
from .lives import WHOLE, Lives, Past, chance, end_of
from .newcomers import Newcomer, comers, newcomers
from .placing import in_service
from .protection import safe_until
from .snapshot import NOBODY, Demand, Scene, Snapshot, scene
from .starving import limit_of
from .unforeseen import (
    Capped,
    Kind,
    alone_from,
    behind,
    empty_at,
    far_behind,
    kind_of,
    none,
)

MOST = 40
"""Requests of one pool whose courses are run, in the order of their turn."""

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


@dataclass
class _Line:
    """The waiting requests of a pool by how their start can be told, in the order of their turn."""

    view: Scene
    capped: Capped
    wishes: list[Wish] = field(default_factory=list)
    held_up: list[Wish] = field(default_factory=list)
    """Those that a limit on leases holds; they join the others once it has room."""
    alone: list[Demand] = field(default_factory=list)
    far: list[Demand] = field(default_factory=list)
    said: dict[str, Forecast] = field(default_factory=dict)

    def add(self, demand: Demand, lease: OpenLease) -> None:
        """Put a request where it belongs."""
        if len(self.wishes) + len(self.held_up) >= MOST:
            self.far.append(demand)
        elif (why := _stuck(self.view, demand)) is not None:
            self.said[demand.tie] = none(why)
        elif demand.alone is not None:
            self.alone.append(demand)
        elif _caps(self.view, demand) is None:
            self.wishes.append(_wish(self.view, demand, lease))
        elif self.capped.add(demand):
            self.held_up.append(_wish(self.view, demand, lease))
        else:
            self.said[demand.tie] = none(
                _("No forecast: too many wait for the same limit on leases before it.")
            )


def _of_pool(view: Scene, known: Known) -> tuple[dict[LeaseId, Forecast], dict[Newcomer, Forecast]]:
    leases = {str(one.id): one for one in view.others}
    line = _Line(view, Capped(view))
    for demand in sorted(view.waiting, key=lambda one: (-one.priority, one.requested_at, one.tie)):
        line.add(demand, leases[demand.tie])
    found, asked = line.said, list[Wish]()
    kinds = newcomers(view.policy, view.pool, view.snapshot.at)
    for one in kinds.values():
        if (why := _stuck(view, one.demand) or _caps(view, one.demand)) is not None:
            found[one.demand.tie] = none(why)
        else:
            asked.append(one)
    found |= _courses(view, known, line, asked)
    followed = (one.demand for one in line.wishes)
    last = behind((demand, found[demand.tie]) for demand in followed)
    found |= far_behind(line.far, last, view.policy.timezone)
    return (
        {LeaseId(tie): one for tie, one in found.items() if tie in leases},
        {who: found[one.demand.tie] for who, one in kinds.items()},
    )


def _courses(view: Scene, known: Known, line: _Line, asked: Sequence[Wish]) -> dict[str, Forecast]:
    """Run the courses and read the range of each request from them."""
    waiting = (*line.wishes, *line.held_up)
    starts: dict[str, list[datetime]] = {one.demand.tie: [] for one in (*waiting, *asked)}
    empty: dict[str, list[datetime]] = {one.tie: [] for one in line.alone}
    for number in range(COURSES if starts or empty else 0):
        ends = _ends(view, known, number) if line.held_up or empty else {}
        later = [
            (at, _lived(one, known, number))
            for one in line.held_up
            if (at := line.capped.room_at(one.demand.tie, ends)) is not None
        ]
        for tie, at in _course(view, known, number, line.wishes, asked, later).items():
            starts[tie].append(at)
        known_at: dict[Kind, datetime | None] = {}
        for one in line.alone:
            kind = kind_of(one)
            if kind not in known_at:
                known_at[kind] = empty_at(view, one, ends)
            if (at := known_at[kind]) is not None:
                empty[one.tie].append(at)
    zone, learned = view.policy.timezone, known.lives.known
    found = {tie: _range(sorted(times), known, zone) for tie, times in starts.items()}
    return found | {one.tie: alone_from(empty[one.tie], learned, one, zone) for one in line.alone}


def _ends(view: Scene, known: Known, number: int) -> dict[LeaseId, datetime | None]:
    """When each lease of any pool ends in one course."""
    at = view.snapshot.at
    return {
        one.id: end_of(one, at, known.lives, known.idle_at, number)
        for one in view.others
        if one.holding
    }


def _stuck(view: Scene, demand: Demand) -> str | None:
    """Say why no end of another's lease lets it start; None where one does."""
    refused = access(view, demand) or in_service(view, demand)
    if refused is None and view.policy.modes.quota == "enforce":
        capped = caps(view, demand)
        refused = capped if isinstance(capped, Denied) else None
    if refused is None:
        return None
    return _("No forecast: {why}").format(why=refused.reason.message)


def _caps(view: Scene, demand: Demand) -> str | None:
    """Say which limit on leases holds a request; None where none does."""
    if view.policy.modes.quota != "enforce":
        return None
    held_up = caps(view, demand)
    return None if held_up is None else _("No forecast: {why}").format(why=held_up.reason.message)


def _range(times: list[datetime], known: Known, zone: str) -> Forecast:
    """Read the range from the starts in all courses; where one has none, no end is told."""
    if not times:
        return none(
            _("No forecast: nothing that is declared makes room for it within three weeks.")
        )
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
    view: Scene,
    known: Known,
    number: int,
    wishes: Iterable[Wish],
    asked: Sequence[Wish],
    later: Iterable[tuple[datetime, Wish]],
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
        later=later,
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
    if lease.state is LeaseState.held and lease.reservation is None:
        return view.snapshot.at
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
