"""Spend explained: against the window before, against other GPU models, against what came of it.

It reads and sums; whose spend may be asked for is for the caller to check.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from ...budget import month_name, months
from ...lease import LeaseId
from ...lease.spend import SpendDimension
from ...lease.worth import ChangeSheet, DearSheet, ModelSheet, OwnerMap, ValueSheet
from ...policy.model import Policy
from ...reports.changes import changes, unpriced_s
from ...reports.dearest import dearest
from ...reports.models import models
from ...reports.spend import rows
from ...reports.worth import by_value, owner_rows, unlabelled_percent, value_row, without_purpose
from ..books.desk import Desk
from .spending import Stretch, gathered, owners_of
from .usage import Scope

BY: tuple[SpendDimension, ...] = ("team", "project")
"""What changes are told apart by where nobody says."""


def changed(
    desk: Desk, scope: Scope, stretch: Stretch, by: tuple[SpendDimension, ...], *, now: datetime
) -> ChangeSheet:
    """Explain what a window cost more or less than the one before."""
    policy = desk.book.policy
    newer, former = against(stretch, policy, now)
    before = gathered(desk, scope, former, monthly="month" in by, now=now)
    after = gathered(desk, scope, newer, monthly="month" in by, now=now)
    made, total = changes(before, after, by, owners_of(policy, scope), policy.currency)
    return ChangeSheet(
        **_frame(policy, scope, newer, now),
        before_start=former.start,
        before_end=former.end,
        rows=made,
        total=total,
        unpriced_s=unpriced_s(before) + unpriced_s(after),
    )


def against(stretch: Stretch, policy: Policy, now: datetime) -> tuple[Stretch, Stretch]:
    """Cut a window to what is over, and give the one before that it is held against.

    A month is held against the month before, as far into it; another one against as much time
    just before.
    """
    whole = next(months(policy.timezone, stretch.start, stretch.end), None)
    end = max(stretch.start, min(stretch.end, now))
    newer = stretch._replace(end=end)
    if whole is None or (whole.start, whole.end) != (stretch.start, stretch.end):
        before = stretch.start - (end - stretch.start)
        return newer, Stretch(stretch.words, before, stretch.start)
    instant = stretch.start.resolution
    former = next(months(policy.timezone, stretch.start - instant, stretch.start))
    last = former.end if end == stretch.end else former.start + (end - stretch.start)
    return newer, Stretch(stretch.words, former.start, min(last, former.end))


def compared(desk: Desk, scope: Scope, stretch: Stretch, *, now: datetime) -> ModelSheet:
    """Compare the GPU models of a window; waits are those of the last days."""
    policy = desk.book.policy
    waited: dict[str, list[int]] = {}
    for one in desk.waits.known:
        mine = scope.user is None and (scope.teams is None or one.team in scope.teams)
        if mine and one.held_s is not None and one.pool in policy.pools:
            waited.setdefault(policy.pools[one.pool].model, []).append(one.held_s)
    found = gathered(desk, scope, stretch, now=now)
    made, total = models(found, waited, owners_of(policy, scope))
    return ModelSheet(**_frame(policy, scope, stretch, now), rows=made, total=total)


def dear(
    desk: Desk, scope: Scope, stretch: Stretch, most: int, *, members: bool, now: datetime
) -> DearSheet:
    """List the dearest leases of a window."""
    policy = desk.book.policy
    with desk.turn(now) as turn:
        open_ids: Collection[LeaseId] = {lease.id for lease in turn.tx.leases()}
    made, count = dearest(
        gathered(desk, scope, stretch, now=now),
        owners_of(policy, scope),
        policy.currency,
        most=most,
        open_ids=frozenset(open_ids),
        members=members,
    )
    return DearSheet(**_frame(policy, scope, stretch, now), rows=made, leases=count)


def valued(desk: Desk, scope: Scope, stretch: Stretch, *, now: datetime) -> ValueSheet:
    """Hold the spend of a window against what came of it."""
    policy = desk.book.policy
    found, owners = gathered(desk, scope, stretch, now=now), owners_of(policy, scope)
    outcomes, total = rows(found, ("outcome",), owners)
    return ValueSheet(
        **_frame(policy, scope, stretch, now),
        classes=by_value(found, "valueClass", owners),
        tasks=by_value(found, "taskType", owners),
        outcomes=outcomes,
        total=value_row(found, total),
        without_purpose=without_purpose(found, owners),
        unlabelled_percent=unlabelled_percent(found),
    )


def owned(desk: Desk, scope: Scope, stretch: Stretch, *, now: datetime) -> OwnerMap:
    """Lay out who answers for which pool in which month."""
    policy, owners = desk.book.policy, owners_of(desk.book.policy, scope)
    found = gathered(desk, scope, stretch, monthly=True, now=now)
    names = (
        month_name(one.start, policy.timezone)
        for one in months(policy.timezone, stretch.start, min(stretch.end, now))
    )
    return OwnerMap(
        **_frame(policy, scope, stretch, now),
        months=tuple(names),
        rows=owner_rows(found, owners),
        total=rows(found, (), owners)[1],
    )


def _frame(policy: Policy, scope: Scope, stretch: Stretch, now: datetime) -> dict[str, Any]:
    return {
        "scope": scope.name,
        "start": stretch.start,
        "end": stretch.end,
        "as_of": now,
        "timezone": policy.timezone,
        "currency": policy.currency,
    }
