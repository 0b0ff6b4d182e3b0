"""Budgets as people are shown them: a row with figures, and a sentence with the rule.

It reads and puts into words. Nobody sees what a colleague has spent, only what is left for all.
"""

from collections.abc import Collection, Iterator, Sequence

from ...admission.budget_words import end_words, holder_words
from ...budget import left, percent, reached
from ...i18n import _
from ...lease import Limit, TeamName, UserName
from ...lease.budgets import ALL, BudgetAct, Budgeted, BudgetRow, Used
from ...policy.capacity import gpus_words
from ...policy.model import Policy
from ...units import money_text
from ..books.budgetrecord import Reached, key_of

LEAST_OTHERS = 3
"""With fewer others in a budget, whoever knows their own share could tell theirs from the sum."""

_TENTHS = 10


def seen_by(budget: Budgeted, user: str) -> Budgeted:
    """Round what a budget has used for somebody who leads nobody, where few others are in it.

    Down to whole tenths of the amount; whoever is alone in it, or has it of their own, sees all.
    """
    others = {one for one in budget.payers if one != user}
    if budget.each or not 0 < len(others) < LEAST_OTHERS:
        return budget
    used, tenth = budget.of(user), max(1, budget.amount_micro // _TENTHS)
    # What is left is rounded down too, so that the parts may be less than the whole.
    spent, committed = used.spent_micro // tenth * tenth, -(-used.committed_micro // tenth) * tenth
    return budget.model_copy(
        update={"posted": {}, "running": {ALL: Used(spent, committed)}, "rounded": True}
    )


def present(budgets: Sequence[Budgeted], policy: Policy) -> Iterator[Budgeted]:
    """Give each budget's first period: the one that is now, as budgets are listed for now."""
    seen: set[str] = set()
    for one in budgets:
        if one.name in policy.budgets and one.name not in seen:
            seen.add(one.name)
            yield one


def row(budget: Budgeted, user: str, policy: Policy, record: Reached | None = None) -> BudgetRow:
    """Show one budget; `user` is whose of one that is for each person."""
    used = budget.of(user)
    stands = reached(budget, used)
    spent = percent(budget, used)
    return BudgetRow(
        budget=budget.name,
        team=budget.team,
        project=budget.project,
        user=UserName(user) if budget.each else None,
        currency=budget.currency,
        amount_micro=budget.amount_micro,
        spent_micro=used.spent_micro,
        committed_micro=used.committed_micro,
        left_micro=left(budget, used),
        percent=spent,
        hard=budget.hard,
        act=None if stands is None else stands.act,
        reached_at=None
        if stands is None or record is None
        else record.at.get(key_of(budget, user, stands)),
        next_step=next((one for one in budget.steps if one.at_percent > spent), None),
        start=budget.start,
        end=budget.end,
        in_force=policy.modes.budget,
        rounded=budget.rounded,
    )


def of_person(
    budgets: Sequence[Budgeted],
    policy: Policy,
    user: str,
    teams: Sequence[str],
    record: Reached | None = None,
) -> tuple[BudgetRow, ...]:
    """Rows of the budgets that bind a person in their teams and those teams' projects."""
    return tuple(
        row(seen_by(one, user), user, policy, record)
        for one in present(budgets, policy)
        if team_of(policy, one) in teams
    )


def of_teams(
    budgets: Sequence[Budgeted],
    policy: Policy,
    teams: Collection[str] | None,
    record: Reached | None = None,
) -> tuple[BudgetRow, ...]:
    """Rows for leads or admins: teams', their projects', and of each person who has used some."""
    return tuple(
        row(one, user, policy, record)
        for one in present(budgets, policy)
        if teams is None or team_of(policy, one) in teams
        for user in one.holders
    )


def team_of(policy: Policy, budget: Budgeted) -> str:
    """The team whose people a budget binds."""
    if budget.team is not None:
        return budget.team
    project = policy.projects.get(budget.project or "")
    return "" if project is None else project.team


def limits(
    budgets: Sequence[Budgeted], policy: Policy, user: str, teams: Sequence[str]
) -> Iterator[Limit]:
    """List the budgets that bind a person, a sentence each."""
    for one in present(budgets, policy):
        team = team_of(policy, one)
        if team in teams:
            yield Limit(
                subject="budgets",
                team=TeamName(team),
                words=sentence(policy, seen_by(one, user), user),
                origin=f"budgets.{one.name}",
                in_force=policy.modes.budget,
            )


def sentence(policy: Policy, budget: Budgeted, user: str) -> str:
    """Say what a budget has left, and what follows as it is spent."""
    found, money = row(budget, user, policy), budget.currency
    head = _(
        "Budget {name} of {holder}: {amount}, of which {spent} is spent ({percent} %), what runs "
        "may cost {committed} more until its end, and {left} is left."
    ).format(
        name=budget.name,
        holder=holder_words(budget, user),
        amount=money_text(found.amount_micro, money),
        spent=money_text(found.spent_micro, money),
        percent=found.percent,
        committed=money_text(found.committed_micro, money),
        left=money_text(found.left_micro, money),
    )
    about = (
        [_("Figures are rounded to tenths, for few people pay from it.")] if found.rounded else []
    )
    return " ".join([head, *about, *_rules(budget), end_words(policy, budget)])


def _rules(budget: Budgeted) -> Iterator[str]:
    if budget.hard:
        yield _("It is hard: what a server may cost is taken from it at the start.")
    for step in budget.steps:
        yield _("From {percent} % on, {act}.").format(
            percent=step.at_percent, act=act_words(step.act, step.most_units)
        )


def act_words(act: BudgetAct, most_units: int | None = None) -> str:
    """Say what a step does, within a sentence."""
    match act:
        case "tell":
            return _("who runs a server with a GPU is told")
        case "guaranteed_only":
            return _("nothing new starts that would borrow")
        case "small_only" if most_units is not None:
            return _("nothing new starts that takes more than {most}").format(
                most=gpus_words(most_units)
            )
        case "small_only":
            return _("only small profiles start")
        case "no_new":
            return _("nothing new with a GPU starts, and nothing is extended")
        case "stop":
            return _("nothing new with a GPU starts, and what runs is stopped with notice")
