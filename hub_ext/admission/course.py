"""One possible course of a pool: who ends when, and so when each waiting request starts.

Devices are counted by machine and kind, quota by the pool's own tree; it is a forecast's model of
the queue and decides nothing.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from heapq import heappop, heappush

from ..lease import OpenLease
from .quota import ROOT, Quotas, available, count, reach
from .snapshot import Demand

Spot = tuple[str, str | None]
"""Machine and MIG profile; None for whole GPUs."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A request as a course sees it. `lives` is how long it stays once it has started.

    From `late_at` on it has waited too long: nobody younger passes it.
    """

    demand: Demand
    queue: str
    profile: str
    lives: timedelta
    late_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Holder:
    """What one lease, reservation or maintenance takes, and until when; None is for ever.

    `callable_at` is the earliest stop if an owner needs its devices; None where none may call.
    """

    queue: str
    units: int
    spots: Mapping[Spot, int]
    until: datetime | None
    since: datetime | None = None
    callable_at: datetime | None = None


@dataclass
class Course:
    """A pool on its way through time. `quotas` is the tree with what is held now."""

    quotas: Quotas
    free: Counter[Spot]
    enforced: bool
    horizon: datetime
    _events: list[tuple[datetime, int, int, Holder | Wish]] = field(default_factory=list)
    _calls: list[tuple[datetime, int, Holder]] = field(default_factory=list)
    _gone: set[int] = field(default_factory=set)
    _callers: set[str] = field(default_factory=set)
    _reached: dict[tuple[str, int], tuple[str, bool]] = field(default_factory=dict)
    _serial: int = 0

    def __post_init__(self) -> None:
        """Work on a usage of its own."""
        self._usage = dict(self.quotas.usage)
        self.quotas = Quotas(self.quotas.nodes, self._usage, self.quotas.shape)

    def begin(self, holders: Iterable[Holder]) -> None:
        """Take in what holds devices now, or will without asking."""
        for one in holders:
            self._serial += 1
            if one.since is not None:
                heappush(self._events, (one.since, 1, self._serial, one))
            elif one.until is not None:
                self._ends(one, self._serial)

    def _ends(self, one: Holder, serial: int) -> None:
        if one.until is not None:
            heappush(self._events, (one.until, 0, serial, one))
        if one.callable_at is not None and (one.until is None or one.callable_at < one.until):
            heappush(self._calls, (one.callable_at, serial, one))

    def run(
        self,
        waiting: Sequence[Wish],
        now: datetime,
        *,
        asked: Sequence[Wish] = (),
        later: Iterable[tuple[datetime, Wish]] = (),
        comers: Iterable[Wish] = (),
    ) -> dict[str, datetime]:
        """Give the start of each request that starts before the horizon, by its tie.

        `asked` are requests that nobody has made: each is answered as if it alone came last.
        `later` wait as well, but for something else until an instant. `comers` come and take
        their turns like everybody.
        """
        held = list(later)
        for when, one in (*held, *((one.demand.requested_at, one) for one in comers)):
            self._serial += 1
            heappush(self._events, (when, 2, self._serial, one))
        left, open_, started, at = list(waiting), list(asked), dict[str, datetime](), now
        wanted = {one.demand.tie for one in (*waiting, *asked, *(one for _at, one in held))}
        while wanted - started.keys():
            for one in self._start(left, at):
                started[one.demand.tie] = at
                left.remove(one)
            self._call(left, at)
            for one in self._could(open_, left):
                started[one.demand.tie] = at
                open_.remove(one)
            if not self._events or self._events[0][0] > self.horizon:
                break
            at = max(at, self._events[0][0])
            while self._events and self._events[0][0] <= at:
                left += self._happen()
        return {tie: at for tie, at in started.items() if tie in wanted}

    def _could(self, asked: Sequence[Wish], left: Sequence[Wish]) -> list[Wish]:
        """Name those that would find their devices now, after all who wait."""
        owners = [node for one in left if (node := self._owner(one)) is not None]
        return [
            one
            for one in asked
            if self._spot(one.demand) is not None and self._allowed(one, owners)
        ]

    def _happen(self) -> tuple[Wish, ...]:
        """Let the next event happen; return who has come by it."""
        _at, begins, serial, one = heappop(self._events)
        if isinstance(one, Wish):
            return (one,)
        if begins:
            self._take(one.queue, one.units, one.spots)
            self._ends(one, serial)
        elif serial not in self._gone:
            self._gone.add(serial)
            self._take(one.queue, -one.units, {spot: -n for spot, n in one.spots.items()})
        return ()

    def _take(self, queue: str, units: int, spots: Mapping[Spot, int]) -> None:
        if units and queue in self.quotas.nodes:
            count(self.quotas, self._usage, queue, units)
            self._reached = {}
        for spot, n in spots.items():
            self.free[spot] -= n

    def _start(self, left: Sequence[Wish], at: datetime) -> list[Wish]:
        """Start what fits, in the order of the queue: owners keep borrowers out."""
        done: list[Wish] = []
        refused: set[tuple[str, str]] = set()
        owners = [node for one in left if (node := self._owner(one)) is not None]
        late_owner = late_borrower = False
        for one in sorted(left, key=lambda one: self._turn(one, at)):
            kind, node = (one.queue, one.demand.flavor), self._owner(one)
            if kind in refused or late_owner or (late_borrower and node is None):
                continue
            spot = self._spot(one.demand)
            if spot is None or not self._allowed(one, owners):
                refused.add(kind)
                late = self.enforced and one.late_at is not None and one.late_at <= at
                late_owner = late and node is not None
                late_borrower = late_borrower or late
                continue
            if node is not None:
                owners.remove(node)
            self._begins(one, spot, at)
            done.append(one)
        return done

    def _begins(self, one: Wish, spot: Spot, at: datetime) -> None:
        spots = {spot: max(1, one.demand.gpus)}
        self._take(one.queue, one.demand.units, spots)
        self._serial += 1
        self._ends(Holder(one.queue, one.demand.units, spots, at + one.lives), self._serial)

    def _turn(self, one: Wish, at: datetime) -> tuple[bool, int, int, datetime, str]:
        """Who has waited too long comes first, the oldest before; then as Kueue's cycle has it."""
        since, tie = one.demand.requested_at, one.demand.tie
        if one.late_at is not None and one.late_at <= at:
            return (False, 0, 0, since, tie)
        if one.queue not in self.quotas.nodes:
            return (True, 0, 0, since, tie)
        node, covers = self._reach(one)
        height = self.quotas.shape.height[node] + (not covers)
        return (True, height, -one.demand.priority, since, tie)

    def _reach(self, one: Wish) -> tuple[str, bool]:
        """Look a request's reach up; the same kinds come again and again."""
        kind = (one.queue, one.demand.units)
        if kind not in self._reached:
            self._reached[kind] = reach(self.quotas, one.queue, one.demand.units)
        return self._reached[kind]

    def _owner(self, one: Wish) -> str | None:
        """Node below the pool that covers a request; None where it would borrow in the pool."""
        if one.queue not in self.quotas.nodes:
            return None
        at, covers = self._reach(one)
        return at if covers and at != ROOT else None

    def _allowed(self, one: Wish, owners: Sequence[str]) -> bool:
        if not self.enforced:
            return True
        if one.queue not in self.quotas.nodes:
            return False
        if one.demand.units > available(self.quotas, one.queue):
            return False
        at, _covers = self._reach(one)
        if one.demand.only_guaranteed and at == ROOT:
            return False
        path = self.quotas.shape.path
        return not any(node != at and at in path[node] for node in owners)

    def _spot(self, demand: Demand) -> Spot | None:
        """The fullest machine that has the devices; the first by name of equals."""
        wanted = max(1, demand.gpus)
        fits = [
            (n, spot)
            for spot, n in self.free.items()
            if spot[1] == demand.mig_profile and n >= wanted
        ]
        return min(fits)[1] if fits else None

    def _call(self, left: Sequence[Wish], at: datetime) -> None:
        """Let each owner that still waits have one borrowed lease end as soon as it may."""
        for one in left:
            if one.demand.tie in self._callers or self._owner(one) is None:
                continue
            self._callers.add(one.demand.tie)
            wanted = one.demand.units
            for entry in sorted(self._calls):
                stop, serial, holder = entry
                if wanted <= 0:
                    break
                if not any(spot[1] == one.demand.mig_profile for spot in holder.spots):
                    continue
                self._calls.remove(entry)
                if serial not in self._gone:
                    heappush(self._events, (max(at, stop), 0, serial, holder))
                    wanted -= holder.units


def spots_of(lease: OpenLease) -> Counter[Spot]:
    """Count what a lease takes, by machine and kind."""
    return Counter((device.node, device.part) for device in lease.takes)
