"""What every budget stands at now, for a decision: charges on the books, and what open leases cost.

It reads alone. Sums of the past are the ledger's; what a lease costs is worked out once for as
long as the lease stays the same.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..budget import Period, Spending, Tile, periods, tiles, used_by
from ..lease import LeaseId, LeaseState, OpenLease, ProjectName, TeamName
from ..lease.budgets import ALL, Budgeted, StepTaken, Used
from ..lease.reserving import Reservation
from ..ledger.store import Tx
from ..ledger.tally import Stretch, Sums
from ..metering import share_of
from ..policy.catalogue import lifetime_of
from ..policy.model import Budget, Policy
from ..policy.prices import price_spans
from ..units import instant_us
from .reservedtimes import horizon
from .restcharges import lease_spans, own_part, rest_part

_BEYOND = timedelta(days=1)
"""Prices are looked up for so much longer, for a server that outlives its end."""

_Mark = tuple[object, ...]


@dataclass
class _Account:
    """One budget in one period, while what open leases cost is added up."""

    name: str
    rules: Budget
    period: Period
    period_us: tuple[int, int]
    posted: dict[str, int]
    running: dict[str, Used] = field(default_factory=dict)
    committed: dict[str, int] = field(default_factory=dict)

    def add(self, lease_id: str, one: Spending, now_us: int) -> None:
        """Count what an open lease costs."""
        used = used_by(one, self.period_us, now_us)
        if not any(used):
            return
        holder = one.user if self.rules.each else ALL
        before = self.running.get(holder, Used())
        self.running[holder] = Used(
            before.spent_micro + used.spent_micro, before.committed_micro + used.committed_micro
        )
        if used.committed_micro:
            self.committed[lease_id] = used.committed_micro

    def state(self, currency: str) -> Budgeted:
        """Give it as decisions and pages meet it."""
        return Budgeted.model_construct(
            name=self.name,
            team=None if self.rules.team is None else TeamName(self.rules.team),
            project=None if self.rules.project is None else ProjectName(self.rules.project),
            each=self.rules.each is not None,
            amount_micro=self.rules.amount,
            currency=currency,
            hard=self.rules.hard,
            steps=tuple(StepTaken(at_percent=one.at, act=one.act) for one in self.rules.steps),
            start=self.period.start,
            end=self.period.end,
            posted=self.posted,
            running=self.running,
            committed=self.committed,
        )


class Budgets:
    """Works out what budgets stand at; keeps what each open lease costs until it changes."""

    def __init__(self) -> None:
        self._seen: tuple[_Mark, tuple[Budgeted, ...]] | None = None
        self._costs: dict[LeaseId, tuple[_Mark, Spending]] = {}

    def now(self, tx: Tx, policy: Policy, generation: int, now: datetime) -> tuple[Budgeted, ...]:
        """Give every budget in its present period, and hard ones in those that a start can touch.

        They are in the order of the policy and then of time.
        """
        if not policy.budgets:
            return ()
        mark: _Mark = (tx.head(), generation, now)
        if self._seen is None or self._seen[0] != mark:
            self._seen = (mark, self._look(tx, policy, generation, now))
        return self._seen[1]

    def _look(self, tx: Tx, policy: Policy, generation: int, now: datetime) -> tuple[Budgeted, ...]:
        accounts = tuple(_accounts(tx, policy, now))
        by_team: dict[str, list[_Account]] = {}
        by_project: dict[str, list[_Account]] = {}
        for one in accounts:
            table, holder = (
                (by_team, one.rules.team) if one.rules.team else (by_project, one.rules.project)
            )
            table.setdefault(str(holder), []).append(one)
        now_us = instant_us(now)
        for lease_id, spending in self._open(tx, policy, generation, now):
            for account in by_team.get(spending.team, ()):
                account.add(lease_id, spending, now_us)
            for account in by_project.get(spending.project or "", ()):
                account.add(lease_id, spending, now_us)
        return tuple(one.state(policy.currency) for one in accounts)

    def _open(
        self, tx: Tx, policy: Policy, generation: int, now: datetime
    ) -> Iterator[tuple[str, Spending]]:
        known, self._costs = self._costs, {}
        for lease in tx.leases():
            if lease.pool is None or not lease.holding:
                continue
            if lease.state is LeaseState.held and lease.reservation is not None:
                # What is kept for a reservation is counted with it.
                continue
            mark = _mark(lease, generation, now)
            kept = known.get(lease.id)
            if kept is None or kept[0] != mark:
                kept = (mark, spending_of(policy, lease, now))
            self._costs[lease.id] = kept
            yield lease.id, kept[1]
        for one in tx.reservations():
            unused = _unused(policy, one)
            if unused is not None:
                yield one.id, unused


def _mark(lease: OpenLease, generation: int, now: datetime) -> _Mark:
    """What the cost of a lease depends on; what is held would begin now."""
    return (
        generation,
        lease.state,
        lease.team,
        lease.project,
        lease.key.user,
        lease.flavor,
        lease.assigned_at,
        lease.charged_until,
        lease.ends_at,
        lease.stop_asked_at,
        lease.waived,
        len(lease.rest),
        now if lease.assigned_at is None else None,
    )


def _accounts(tx: Tx, policy: Policy, now: datetime) -> Iterator[_Account]:
    for name, rules in policy.budgets.items():
        until = now + (horizon(policy) if rules.hard else timedelta(0)) + timedelta(seconds=1)
        for period in periods(rules, policy.timezone, now, until):
            there = Stretch(period.start, period.end, policy.currency)
            posted = _posted(rules, tx.charged(there)) if period.start <= now else {}
            borders = (instant_us(period.start), instant_us(period.end))
            yield _Account(name, rules, period, borders, posted)


def _posted(rules: Budget, sums: Sums) -> dict[str, int]:
    """Take a budget's own charges; a copy, for the sums go on while a snapshot is looked at."""
    if rules.team is not None:
        alone, each = sums.of_team.get(rules.team, 0), sums.in_team.get(rules.team, {})
    else:
        project = str(rules.project)
        alone, each = sums.of_project.get(project, 0), sums.in_project.get(project, {})
    return dict(each) if rules.each else {ALL: alone}


def spending_of(policy: Policy, lease: OpenLease, now: datetime) -> Spending:
    """What an open lease costs from what is on the books until its end.

    What is held for somebody costs as if it started now. A server that stops costs its team
    until the limit for that at most.
    """
    start = lease.charged_until or lease.assigned_at or now
    end = max(start, _end(policy, lease, now))
    until = end + _BEYOND
    parts = [own_part(lease), *([] if (rest := rest_part(lease)) is None else [rest])]
    priced = tuple(
        tile for part in parts for tile in tiles(lease_spans(policy, part, start, until))
    )
    last = _paid_until(policy, lease)
    return Spending(
        team=lease.team,
        project=lease.project,
        user=lease.key.user,
        start_us=instant_us(start),
        end_us=instant_us(end),
        tiles=_paid(lease, priced, None if last is None else instant_us(last)),
    )


def _end(policy: Policy, lease: OpenLease, now: datetime) -> datetime:
    paid = _paid_until(policy, lease)
    if paid is not None:
        return paid
    return lease.ends_at or now + lifetime_of(
        policy, lease.team, lease.profile, lease.choice.lifetime_s, lease.task_type
    )


def _paid_until(policy: Policy, lease: OpenLease) -> datetime | None:
    """When its team stops paying for a server that does not stop."""
    if lease.state is not LeaseState.stopping or lease.stop_asked_at is None:
        return None
    return lease.stop_asked_at + policy.notice.stop_limit


def _paid(lease: OpenLease, priced: Iterable[Tile], last_us: int | None) -> tuple[Tile, ...]:
    """Leave out what its team does not pay: faults of a device, a stop that takes too long."""
    found = tuple(priced)
    gaps = [
        (instant_us(one.start), None if one.end is None else instant_us(one.end))
        for one in lease.waived
    ]
    if last_us is not None:
        gaps.append((last_us, None))
    for start, end in gaps:
        found = tuple(part for tile in found for part in _around(tile, start, end))
    return found


def _around(tile: Tile, start: int, end: int | None) -> Iterator[Tile]:
    if tile.start_us < start:
        yield tile._replace(end_us=min(tile.end_us, start))
    if end is not None and end < tile.end_us:
        yield tile._replace(start_us=max(tile.start_us, end))


def _unused(policy: Policy, one: Reservation) -> Spending | None:
    """What a reservation costs until its end while no server uses it."""
    current = one.current
    if current is None or current.kept_since is None or one.pool not in policy.pools:
        return None
    spans = price_spans(policy, one.pool, one.flavor, current.kept_since, current.end)
    return Spending(
        team=one.team,
        project=one.project,
        user=one.key.user,
        start_us=instant_us(current.kept_since),
        end_us=instant_us(current.end),
        tiles=tiles(share_of(spans, one.unused_percent)),
    )
