"""What the month has cost so far by team and flavor, and what quota stands at: for Prometheus.

The database adds up what is on the books, and only open leases are reckoned; so the price of one
look does not grow with the history.
"""

from datetime import datetime, timedelta

from ...budget import months
from ...lease import OpenLease, Posting
from ...lease.monthspend import BudgetSum, FlavorSpend, QuotaSum, SpendFacts
from ...ledger.tally import FlavorSum, flavor_sum
from ...metering import clip
from ...policy.model import Policy
from ..books.desk import Desk, Turn
from ..leasing.closing import charges
from . import budgetrows
from .reservedcharges import unused_lines

_INSTANT = timedelta(microseconds=1)


def facts(desk: Desk, *, now: datetime) -> SpendFacts:
    """Gather spend of the present month, quota and budgets of all."""
    with desk.turn(now) as turn:
        policy = turn.policy
        month = next(months(policy.timezone, now, now + _INSTANT))
        sums = [*turn.tx.flavor_sums(month.start, month.end), *_running(turn, month.start)]
        leases = [lease for lease in turn.tx.leases() if lease.holding]
        rows = [
            budgetrows.row(one, "", policy, desk.reached)
            for one in budgetrows.present(turn.budgets(policy), policy)
            if not one.each
        ]
    return SpendFacts(
        month_start=month.start,
        currency=policy.currency,
        spend=_spend(sums, leases),
        quota=tuple(_quota(policy, leases)),
        budgets=tuple(
            BudgetSum(
                budget=one.budget,
                currency=one.currency,
                amount_micro=one.amount_micro,
                spent_micro=one.spent_micro,
                committed_micro=one.committed_micro,
            )
            for one in rows
        ),
    )


def _running(turn: Turn, start: datetime) -> list[FlavorSum]:
    """Reckon what is open, as if it ended now."""
    lines: list[Posting] = []
    for lease in turn.tx.leases():
        if lease.holding:
            lines += charges(turn.desk, lease, turn.now)
    for one in turn.tx.reservations():
        lines += unused_lines(turn.desk, one, turn.now)
    cut = (clip(line, start, turn.now) for line in lines)
    return [flavor_sum(line) for line in cut if line is not None]


def _spend(sums: list[FlavorSum], leases: list[OpenLease]) -> tuple[FlavorSpend, ...]:
    found: dict[tuple[str, str, str], FlavorSpend] = {}
    for one in sums:
        _add(
            found,
            (one.team, one.flavor, one.currency),
            amount_micro=one.micro,
            unit_s=one.unit_s,
            unpriced_unit_s=one.unpriced_unit_s,
        )
    for lease in leases:
        if lease.pool is not None and lease.started_at is not None:
            price = lease.price_micro_per_hour
            _add(
                found,
                (lease.team, lease.flavor, lease.currency),
                rate_micro_per_hour=price or 0,
                unpriced_leases=int(price is None),
            )
    return tuple(found[key] for key in sorted(found))


def _add(
    found: dict[tuple[str, str, str], FlavorSpend], key: tuple[str, str, str], **more: int
) -> None:
    team, flavor, currency = key
    known = found.get(key) or FlavorSpend(team=team, flavor=flavor, currency=currency)
    grown = {name: getattr(known, name) + value for name, value in more.items()}
    found[key] = known.model_copy(update=grown)


def _quota(policy: Policy, leases: list[OpenLease]) -> list[QuotaSum]:
    held: dict[tuple[str, str, str], int] = {}
    for lease in leases:
        if lease.pool is not None:
            key = (lease.team, lease.pool, lease.standing.value)
            held[key] = held.get(key, 0) + lease.units
    return [
        QuotaSum(
            team=team,
            pool=pool,
            nominal=quota.nominal,
            guaranteed=held.get((team, pool, "guaranteed"), 0),
            borrowed=held.get((team, pool, "borrowed"), 0),
        )
        for team, rules in policy.teams.items()
        for pool, quota in rules.quota.items()
    ]
