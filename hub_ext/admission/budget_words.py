"""What people are told of a budget: whose it is, what it has left, what it is in the way of."""

from datetime import datetime, timedelta

from ..budget import NEVER, Obstacle
from ..i18n import _
from ..lease import local_text
from ..lease.budgets import Budgeted, StepTaken
from ..policy.capacity import gpus_words
from ..policy.model import Policy
from ..units import duration_text, money_text
from .reasons import Figures, minutes_text

_MINUTE = 60


def holder_words(budget: Budgeted, user: str = "") -> str:
    """Name whose budget it is; of one for each person `user` is whose of them."""
    if budget.team is not None:
        of = _("team {name}").format(name=budget.team)
    else:
        of = _("project {name}").format(name=budget.project)
    if not budget.each:
        return of
    if not user:
        return _("each person of {of}").format(of=of)
    return _("{user} in {of}").format(user=user, of=of)


def numbers(found: Obstacle) -> Figures:
    """Name the figures of an answer; money is in micro-units."""
    return {
        "budget": found.budget.name,
        "currency": found.budget.currency,
        "amount_micro": found.budget.amount_micro,
        "spent_micro": found.used.spent_micro,
        "committed_micro": found.used.committed_micro,
        "left_micro": found.left_micro,
        "cost_micro": found.cost_micro,
        "fits_s": found.fits_s,
    }


def obstacle_words(policy: Policy, found: Obstacle, user: str, flavor: str, at: datetime) -> str:
    """Say what a budget is in the way of, and where it helps, what to ask for instead."""
    budget, money = found.budget, found.budget.currency
    name = _("budget {name} of {holder}").format(
        name=budget.name, holder=holder_words(budget, user)
    )
    if budget.start > at:
        start = local_text(budget.start, policy.timezone)
        name = _("{name}, as it begins anew on {start},").format(name=name, start=start)
    figures = {
        "name": name,
        "amount": money_text(budget.amount_micro, money),
        "spent": money_text(found.used.spent_micro, money),
        "committed": money_text(found.used.committed_micro, money),
        "left": money_text(found.left_micro, money),
        "cost": money_text(found.cost_micro, money),
        "lasts": minutes_text(at, at + timedelta(seconds=found.lasts_s)),
        "fits": duration_text(timedelta(seconds=found.fits_s // _MINUTE * _MINUTE)),
        "flavor": flavor,
        "most": gpus_words((found.step.most_units or 0) if found.step else 0),
    }
    text = _text(found).format(**figures)
    text = text[:1].upper() + text[1:]
    if found.fits_s < _MINUTE:
        return text
    return f"{text} {_('It would pay for {fits} of this.').format(**figures)}"


def _text(found: Obstacle) -> str:
    match found.code:
        case "budget-unpriced":
            return _(
                "{name} is hard, and {flavor} has no price, so nobody can say whether it would "
                "pay for this. Choose a profile that has a price, or ask an administrator for one."
            )
        case "budget-too-small":
            return _(
                "This costs {cost} for {lasts}, and {name} is {amount} in all. Choose "
                "a shorter lifetime or a cheaper profile."
            )
        case "budget-no-new":
            return _(
                "{name} is spent so far that nothing new with a GPU starts: {spent} of {amount}."
            )
        case "budget-guaranteed-only":
            return _(
                "{name} is spent so far that nothing new may borrow: {spent} of {amount}. This "
                "lies beyond the guarantee."
            )
        case "budget-small-only":
            return _(
                "{name} is spent so far that nothing new takes more than {most}: {spent} of "
                "{amount}. Choose a smaller profile."
            )
        case "budget-short":
            return _(
                "This costs {cost} for {lasts}, and {name} has {left} left: of "
                "{amount}, {spent} is spent, and what runs may cost {committed} more."
            )


def end_words(policy: Policy, budget: Budgeted, step: StepTaken | None = None) -> str:
    """Say when a period of a budget is over, or a step of it, where that is earlier."""
    if step is not None and step.until is not None and step.until < budget.end:
        until = local_text(step.until, policy.timezone)
        return _("That holds until {at}.").format(at=until)
    at = local_text(budget.end, policy.timezone)
    if policy.budgets[budget.name].period == "month":
        return _("It begins anew on {at}.").format(at=at)
    return _("Its term is over on {at}.").format(at=at)


def is_never(found: Obstacle) -> bool:
    """Whether waiting does not help."""
    return found.code in NEVER
