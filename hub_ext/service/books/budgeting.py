"""What every budget stands at now, for a decision: charges on the books, and what open leases cost.

It reads alone. Sums of the past are the ledger's. Of each open lease is kept what it adds, until it
changes: most add a steady rate, so that a look costs little however many run.
"""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from heapq import heappop, heappush
from typing import NamedTuple

from ...budget import Period, Spending, cost, periods, steady_rate, used_by
from ...lease import LeaseState, OpenLease, ProjectName, TeamName
from ...lease.budgets import ALL, Budgeted, StepTaken, Used
from ...ledger.store import Tx
from ...ledger.tally import Stretch, Sums
from ...policy.model import Budget, Policy
from ...policy.model.budgets import BudgetStep
from ...policy.prices import day_start
from ...units import SECONDS_PER_HOUR, instant_us
from .budgetcosts import spending_of, unused_of
from .reservedtimes import horizon

_HOUR_US = SECONDS_PER_HOUR * 1_000_000
_Mark = tuple[object, ...]


class _Steady(NamedTuple):
    """What leases of one holder add that run at one price from their start to their end.

    `rate` is their price an hour together, `offset` the sum of price x start, `total` what they
    cost from start to end: spent and committed follow from the time alone.
    """

    rate: int = 0
    offset: int = 0
    total: int = 0

    def plus(self, one: "_Steady", sign: int = 1) -> "_Steady":
        """Add another, or take it away."""
        return _Steady(
            self.rate + sign * one.rate,
            self.offset + sign * one.offset,
            self.total + sign * one.total,
        )

    def used(self, now_us: int) -> Used:
        """What they have used by now."""
        spent = -(-(self.rate * now_us - self.offset) // _HOUR_US)
        return Used(spent, max(0, self.total - spent))


@dataclass
class _Counting:
    """One budget in one period, with what open leases add to it."""

    name: str
    rules: Budget
    period: Period
    period_us: tuple[int, int]
    steps: tuple[StepTaken, ...] = ()
    steady: dict[str, _Steady] = field(default_factory=dict)
    known: dict[str, Spending] = field(default_factory=dict)
    """By lease, what it costs at all."""
    odd: set[str] = field(default_factory=set)
    """Leases that are looked at each time: between prices or months, held, or past their end."""

    def holder(self, one: Spending) -> str:
        return one.user if self.rules.each else ALL

    def add(self, lease_id: str, one: Spending, now_us: int) -> int | None:
        """Count a lease; return until when it can be counted on so, None where it cannot."""
        start, end = self._within(one)
        if max(end, now_us) <= start:
            return None
        self.known[lease_id] = one
        adds = self._steadily(one) if start <= now_us <= end else None
        if adds is None:
            self.odd.add(lease_id)
            return None
        holder = self.holder(one)
        self.steady[holder] = self.steady.get(holder, _Steady()).plus(adds)
        return end

    def drop(self, lease_id: str) -> None:
        """Forget a lease."""
        one = self.known.pop(lease_id, None)
        if one is None or lease_id in self.odd:
            self.odd.discard(lease_id)
            return
        holder, adds = self.holder(one), self._steadily(one)
        if adds is not None:
            left = self.steady.pop(holder).plus(adds, -1)
            if any(left):
                self.steady[holder] = left

    def _within(self, one: Spending) -> tuple[int, int]:
        return max(one.start_us, self.period_us[0]), min(one.end_us, self.period_us[1])

    def _steadily(self, one: Spending) -> _Steady | None:
        start, end = self._within(one)
        rate = steady_rate(one.tiles, start, end)
        return None if rate is None else _Steady(rate, rate * start, cost(one.tiles, start, end))

    def state(self, there: "_Posted", currency: str, now_us: int) -> Budgeted:
        """Give it as decisions and pages meet it."""
        rules = self.rules
        return Budgeted.model_construct(
            name=self.name,
            team=None if rules.team is None else TeamName(rules.team),
            project=None if rules.project is None else ProjectName(rules.project),
            each=rules.each is not None,
            amount_micro=rules.amount,
            currency=currency,
            hard=rules.hard,
            steps=tuple(
                one for one in self.steps if one.until is None or now_us < instant_us(one.until)
            ),
            start=self.period.start,
            end=self.period.end,
            posted=there.by_holder,
            running=self._running(now_us),
            committed=_Committed(self.known, self.period_us, now_us),
            payers=_Payers(there.people, self.known),
        )

    def _running(self, now_us: int) -> Mapping[str, Used]:
        odd: dict[str, Used] = {}
        for lease_id in self.odd:
            one = self.known[lease_id]
            holder, used = self.holder(one), used_by(one, self.period_us, now_us)
            before = odd.get(holder, Used())
            odd[holder] = Used(
                before.spent_micro + used.spent_micro,
                before.committed_micro + used.committed_micro,
            )
        # Copies: others go on with theirs while a snapshot is looked at.
        return _Running(dict(self.steady), odd, now_us)


class _Running(Mapping[str, Used]):
    """What open leases have used now, by holder; reckoned when somebody asks for one."""

    def __init__(self, steady: dict[str, _Steady], odd: dict[str, Used], now_us: int) -> None:
        self._steady, self._odd, self._now_us = steady, odd, now_us

    def __getitem__(self, holder: str) -> Used:
        steady, odd = self._steady.get(holder), self._odd.get(holder)
        if steady is None:
            return self._odd[holder]
        used = steady.used(self._now_us)
        if odd is None:
            return used
        return Used(used.spent_micro + odd.spent_micro, used.committed_micro + odd.committed_micro)

    def __iter__(self) -> Iterator[str]:
        return iter(self._steady.keys() | self._odd.keys())

    def __len__(self) -> int:
        return len(self._steady.keys() | self._odd.keys())


class _Committed(Mapping[str, int]):
    """What each open lease has committed, reckoned when somebody asks: few are asked about."""

    def __init__(
        self, known: Mapping[str, Spending], period_us: tuple[int, int], now_us: int
    ) -> None:
        self._known, self._period_us, self._now_us = known, period_us, now_us

    def __getitem__(self, lease_id: str) -> int:
        return used_by(self._known[lease_id], self._period_us, self._now_us).committed_micro

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._known))

    def __len__(self) -> int:
        return len(self._known)


class _Posted(NamedTuple):
    """Charges of a budget by holder, and by person; the latter go on with the ledger."""

    by_holder: dict[str, int]
    people: Mapping[str, int]


class _Payers(AbstractSet[str]):
    """Who is in a budget, looked up when somebody asks."""

    def __init__(self, posted: Mapping[str, int], known: Mapping[str, Spending]) -> None:
        self._posted, self._known = posted, known

    def _people(self) -> set[str]:
        there = {user for user, micro in self._posted.items() if micro}
        return there | {one.user for one in self._known.values()}

    def __contains__(self, user: object) -> bool:
        return user in self._people()

    def __iter__(self) -> Iterator[str]:
        return iter(self._people())

    def __len__(self) -> int:
        return len(self._people())


@dataclass
class _Entry:
    """An open lease as it was counted: its value, what its cost depends on, by which look."""

    lease: OpenLease | None
    mark: _Mark
    look: int


class Budgets:
    """Works out what budgets stand at, from look to look."""

    def __init__(self) -> None:
        self._seen: tuple[_Mark, tuple[Budgeted, ...]] | None = None
        self._basis: _Mark = ()
        self._now_us = 0
        self._look = 0
        self._countings: tuple[_Counting, ...] = ()
        self._of_team: dict[str, list[_Counting]] = {}
        self._of_project: dict[str, list[_Counting]] = {}
        self._entries: dict[str, _Entry] = {}
        self._ends: list[tuple[int, str]] = []

    def now(self, tx: Tx, policy: Policy, generation: int, now: datetime) -> tuple[Budgeted, ...]:
        """Give every budget in its present period, and hard ones in those that a start can touch.

        They are in the order of the policy and then of time.
        """
        if not policy.budgets:
            return ()
        mark: _Mark = (tx.head(), generation, now)
        if self._seen is None or self._seen[0] != mark:
            self._seen = (mark, self._reckon(tx, policy, generation, now))
        return self._seen[1]

    def _reckon(
        self, tx: Tx, policy: Policy, generation: int, now: datetime
    ) -> tuple[Budgeted, ...]:
        every = tuple(_periods(policy, now))
        now_us = instant_us(now)
        basis: _Mark = (generation, *((name, period) for name, period in every))
        if basis != self._basis or now_us < self._now_us:
            self._begin(policy, every, basis)
        self._now_us = now_us
        self._follow(tx, policy, now)
        return tuple(
            one.state(_posted(tx, one, policy.currency, now), policy.currency, now_us)
            for one in self._countings
        )

    def _begin(self, policy: Policy, every: Iterable[tuple[str, Period]], basis: _Mark) -> None:
        """Count anew: other rules, another month, or a clock that was set back."""
        self._basis, self._entries, self._ends = basis, {}, []
        self._countings = tuple(
            _Counting(
                name,
                policy.budgets[name],
                period,
                (instant_us(period.start), instant_us(period.end)),
                tuple(_step(one, policy.timezone) for one in policy.budgets[name].steps),
            )
            for name, period in every
        )
        self._of_team, self._of_project = {}, {}
        for one in self._countings:
            team, project = one.rules.team, one.rules.project
            table = self._of_project if team is None else self._of_team
            table.setdefault(str(project if team is None else team), []).append(one)

    def _follow(self, tx: Tx, policy: Policy, now: datetime) -> None:
        """Bring what is counted in line with the leases that are open now."""
        self._look += 1
        self._outlived()
        for lease in tx.leases():
            if lease.pool is None or not lease.holding:
                continue
            entry = self._entries.get(lease.id)
            if entry is not None and entry.lease is lease:
                entry.look = self._look
            elif lease.state is not LeaseState.held or lease.reservation is None:
                # What is kept for a reservation is counted with it.
                self._take(lease, entry, policy, now)
        for one in tx.reservations():
            unused = unused_of(policy, one)
            if unused is not None:
                self._put(one.id, _Entry(None, (unused,), self._look), unused)
        gone = [name for name, one in self._entries.items() if one.look != self._look]
        for name in gone:
            self._drop(name)

    def _take(self, lease: OpenLease, entry: _Entry | None, policy: Policy, now: datetime) -> None:
        mark = _mark(lease, now)
        # What is held would begin now, at each look.
        kept = None if lease.assigned_at is None else lease
        if entry is not None and entry.mark == mark:
            entry.lease, entry.look = kept, self._look
            return
        self._put(lease.id, _Entry(kept, mark, self._look), spending_of(policy, lease, now))

    def _put(self, name: str, entry: _Entry, one: Spending) -> None:
        if name in self._entries:
            if self._entries[name].mark == entry.mark:
                self._entries[name] = entry
                return
            self._drop(name)
        self._entries[name] = entry
        for counting in self._that_pay(one):
            until = counting.add(name, one, self._now_us)
            if until is not None:
                heappush(self._ends, (until, name))

    def _that_pay(self, one: Spending) -> Iterator[_Counting]:
        yield from self._of_team.get(one.team, ())
        yield from self._of_project.get(one.project or "", ())

    def _drop(self, name: str) -> None:
        del self._entries[name]
        for counting in self._countings:
            counting.drop(name)

    def _outlived(self) -> None:
        """Count those anew whose end has passed: from then on each costs by the minute."""
        while self._ends and self._ends[0][0] < self._now_us:
            _end, name = heappop(self._ends)
            if name in self._entries:
                self._drop(name)


def _step(one: BudgetStep, zone: str) -> StepTaken:
    return StepTaken(
        at_percent=one.at,
        act=one.act,
        most_units=one.gpus,
        until=None if one.until is None else day_start(one.until, zone),
    )


def _mark(lease: OpenLease, now: datetime) -> _Mark:
    """What the cost of a lease depends on; what is held would begin now."""
    return (
        lease.state,
        lease.team,
        lease.project,
        lease.key.user,
        lease.flavor,
        lease.standing,
        lease.stood,
        lease.assigned_at,
        lease.charged_until,
        lease.ends_at,
        lease.stop_asked_at,
        lease.waived,
        len(lease.rest),
        now if lease.assigned_at is None else None,
    )


def _periods(policy: Policy, now: datetime) -> Iterator[tuple[str, Period]]:
    # A server may live as long as it is reserved for.
    reserved = [pool.reservable.longest for pool in policy.pools.values() if pool.reservable]
    longest = max((horizon(policy), *reserved))
    for name, rules in policy.budgets.items():
        until = now + (longest if rules.hard else timedelta(0)) + timedelta(seconds=1)
        for period in periods(rules, policy.timezone, now, until):
            yield name, period


def _posted(tx: Tx, one: _Counting, currency: str, now: datetime) -> _Posted:
    """Take a budget's own charges; a copy, for the sums go on while a snapshot is looked at."""
    if one.period.start > now:
        return _Posted({}, {})
    sums: Sums = tx.charged(Stretch(one.period.start, one.period.end, currency))
    rules = one.rules
    if rules.team is not None:
        alone, each = sums.of_team.get(rules.team, 0), sums.in_team.get(rules.team, {})
    else:
        project = str(rules.project)
        alone, each = sums.of_project.get(project, 0), sums.in_project.get(project, {})
    return _Posted(dict(each) if rules.each else {ALL: alone}, each)
