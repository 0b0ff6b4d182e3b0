"""What follows as a budget is spent: each step once a period on the record, told, and acted on.

A step that stands is read from the figures of now; what was reached is only recorded, so that it
is told once, also after a restart.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ...admission.budget_words import end_words, holder_words
from ...budget import binds, percent, reached
from ...i18n import _
from ...lease import Cause, Event, LeaseId, LeaseState, Notice, OpenLease, Reason
from ...lease.budgets import ACTS, BudgetAct, Budgeted, StepTaken
from ...policy.model import Policy
from ...units import money_text
from ..books.budgetclosure import SpentClosure
from ..books.budgetrecord import REACHED, Key, key_of
from ..books.desk import Desk, Turn
from ..reclaim import stops
from . import paying

BUDGET_ADVICE = "budget-advice"
"""Code of a notice that tells of a budget and stops nothing."""

_LIVE = frozenset({LeaseState.running, LeaseState.noticed})


@dataclass(frozen=True)
class _Stand:
    """A step that stands for somebody."""

    budget: Budgeted
    holder: str
    step: StepTaken

    @property
    def key(self) -> Key:
        """Its name on the record."""
        return key_of(self.budget, self.holder, self.step)


def tend(desk: Desk, *, now: datetime) -> None:
    """Record steps that are reached anew, tell of them, and say which servers are to stop."""
    policy = desk.book.known
    if policy is None:
        return
    with desk.turn(now) as turn:
        budgets = [one for one in turn.budgets(turn.policy) if one.start <= now < one.end]
        if budgets:
            desk.reached.load(turn.tx, min(one.start for one in budgets))
        fresh = [one for one in _reached(budgets) if one.key not in desk.reached.at]
        live = [one for one in turn.tx.leases() if one.pool is not None and one.state in _LIVE]
        for one in fresh:
            turn.tx.append(_event(one, policy, now))
            _note_stops(turn, policy, one, live)
        stands = {lease.id: found for lease in live if (found := _of(budgets, lease)) is not None}
    # Only what is on the record was reached.
    desk.reached.at.update({one.key: now for one in fresh})
    desk.spent = ends = _closures(desk, policy, stands)
    told_here = [one for one in live if one.id not in ends]
    _tell(desk, policy, told_here, fresh, stands, now)


def _reached(budgets: Iterable[Budgeted]) -> Iterator[_Stand]:
    for budget in budgets:
        for holder in budget.holders:
            used = budget.of(holder)
            for step in budget.steps:
                if used.spent_micro * 100 >= step.at_percent * budget.amount_micro:
                    yield _Stand(budget, holder if budget.each else "", step)


def _of(budgets: Iterable[Budgeted], lease: OpenLease) -> _Stand | None:
    """The strictest step that stands for a lease."""
    return _strictest(
        _Stand(budget, lease.key.user if budget.each else "", step)
        for budget in budgets
        if binds(budget, lease.team, lease.project)
        and (step := reached(budget, budget.of(lease.key.user))) is not None
    )


def _strictest(steps: Iterable[_Stand]) -> _Stand | None:
    return max(steps, key=lambda one: (ACTS.index(one.step.act), one.step.at_percent), default=None)


def _event(one: _Stand, policy: Policy, now: datetime) -> Event:
    budget = one.budget
    body: dict[str, object] = {
        "v": 1,
        "budget": budget.name,
        "team": budget.team,
        "project": budget.project,
        "user": one.holder or None,
        "period_start": budget.start.isoformat(),
        "period_end": budget.end.isoformat(),
        "at_percent": one.step.at_percent,
        "act": one.step.act,
        "spent_micro": budget.of(one.holder).spent_micro,
        "amount_micro": budget.amount_micro,
        "currency": budget.currency,
        "mode": policy.modes.budget,
    }
    return Event(kind=REACHED, at=now, body=body)


def _note_stops(turn: Turn, policy: Policy, one: _Stand, live: Iterable[OpenLease]) -> None:
    """Record servers that would be stopped, where budgets are not enforced."""
    if policy.modes.budget == "enforce" or one.step.act != "stop":
        return
    for lease in live:
        if _concerns(one, lease):
            words = told(policy, one.budget, one.holder)
            paying.note(turn, lease, one.budget.name, "stop", words)


def _concerns(one: _Stand, lease: OpenLease) -> bool:
    mine = not one.budget.each or one.holder == lease.key.user
    return mine and binds(one.budget, lease.team, lease.project)


def _closures(
    desk: Desk, policy: Policy, stands: dict[LeaseId, _Stand]
) -> dict[LeaseId, SpentClosure]:
    """Say for each server that is to stop when and why."""
    if policy.modes.budget != "enforce":
        return {}
    return {
        lease_id: SpentClosure(
            ends_at=desk.reached.at[one.key] + policy.budgets[one.budget.name].notice,
            least=policy.budgets[one.budget.name].notice,
            words=told(policy, one.budget, one.holder, one.step),
            figures=_figures(one),
        )
        for lease_id, one in stands.items()
        if one.step.act == "stop"
    }


def _tell(
    desk: Desk,
    policy: Policy,
    live: Sequence[OpenLease],
    fresh: Sequence[_Stand],
    stands: dict[LeaseId, _Stand],
    now: datetime,
) -> None:
    """Tell who runs a server of a step that was reached just now; take back what no longer is."""
    mode = policy.modes.budget
    for lease in live:
        told_of = lease.notice is not None and lease.notice.reason.code == BUDGET_ADVICE
        if told_of and (lease.id not in stands or mode == "observe"):
            stops.withdraw_notice(desk, lease.id, _OVER, now=now)
        # Each is told, also where a stricter one of another budget stands already.
        one = _strictest(step for step in fresh if _concerns(step, lease))
        if one is None or mode == "observe":
            continue
        notice = Notice(
            cause=Cause.budget,
            given_at=now,
            stops_at=lease.ends_at or now + timedelta(days=3650),
            reason=Reason(
                code=BUDGET_ADVICE,
                message=_advice(policy, one),
                figures=_figures(one),
            ),
        )
        stops.give_notice(desk, lease.id, notice, evidence=None, now=now)


_OVER = Reason(
    code="budget-anew",
    message=_("The budget is no longer spent so far: it began anew, or was changed."),
)


def _figures(one: _Stand) -> dict[str, int | str]:
    return {
        "budget": one.budget.name,
        "at_percent": one.step.at_percent,
        "spent_micro": one.budget.of(one.holder).spent_micro,
        "amount_micro": one.budget.amount_micro,
        "currency": one.budget.currency,
    }


def told(policy: Policy, budget: Budgeted, holder: str, step: StepTaken | None = None) -> str:
    """Say in sentences how far a budget is spent, and until when it, or a step of it, holds."""
    used = budget.of(holder)
    words = _("Budget {name} of {holder}: {spent} of {amount} is spent ({percent} %).").format(
        name=budget.name,
        holder=holder_words(budget, holder),
        spent=money_text(used.spent_micro, budget.currency),
        amount=money_text(budget.amount_micro, budget.currency),
        percent=percent(budget, used),
    )
    return f"{words} {end_words(policy, budget, step)}"


def _advice(policy: Policy, one: _Stand) -> str:
    said = told(policy, one.budget, one.holder, one.step)
    follows = _follows(one.step.act)
    if policy.modes.budget == "advise" and follows:
        follows = _("Once budgets are enforced: {what}").format(what=follows)
    return f"{said} {follows}".rstrip()


def _follows(act: BudgetAct) -> str:
    match act:
        case "tell":
            return ""
        case "guaranteed_only":
            return _("Until then nothing new starts that would borrow, or is extended there.")
        case "small_only":
            return _("Until then only small profiles start, or are extended.")
        case "no_new":
            return _("Until then nothing new with a GPU starts, and nothing is extended.")
        case "stop":
            return _("Servers with GPUs that it pays for are stopped, with notice.")
