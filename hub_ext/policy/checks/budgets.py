"""Budgets: for somebody who is there, one amount for a day, steps that rise and can be reached."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ...i18n import _
from ...lease.budgets import ACTS
from ..catalogue import may_choose
from ..model import Policy, flavor_name
from ..model.budgets import Budget, Term
from ..prices import entries_for, priced_as
from ..problems import Path, Problem, error, listed, nearest, quoted, warning

_ALL_OF_IT = 100
"""Percent beyond which a hard budget never comes."""


def check_budgets(policy: Policy) -> Iterator[Problem]:
    """Check every budget by itself, and those of one holder against each other."""
    held: dict[tuple[str | None, ...], list[str]] = defaultdict(list)
    for name, budget in policy.budgets.items():
        path: Path = ("budgets", name)
        yield from _holder(policy, path, budget)
        yield from _amount(policy, path, budget)
        yield from _steps(path, budget)
        held[budget.team, budget.project, budget.each].append(name)
    for names in held.values():
        yield from _same_days(policy, names)


def check_budget_prices(policy: Policy) -> Iterator[Problem]:
    """Name the profiles that a hard budget keeps from starting, because they have no price."""
    for name, budget in policy.budgets.items():
        unpriced = _unpriced(policy, budget) if budget.hard else ()
        if unpriced:
            yield warning(
                ("budgets", name),
                _(
                    "{profiles} have no price, so with this hard budget they cannot start once "
                    "budgets are enforced"
                ).format(profiles=listed(unpriced)),
                _("add them to `prices`, or take `hard` away"),
            )


def _holder(policy: Policy, path: Path, budget: Budget) -> Iterator[Problem]:
    if budget.team is not None and budget.team not in policy.teams:
        yield error(
            (*path, "team"),
            _("there is no team {team}").format(team=quoted(budget.team)),
            nearest(budget.team, list(policy.teams)),
        )
    if budget.project is not None and budget.project not in policy.projects:
        yield error(
            (*path, "project"),
            _("there is no project {project}").format(project=quoted(budget.project)),
            nearest(budget.project, list(policy.projects)),
        )


def _amount(policy: Policy, path: Path, budget: Budget) -> Iterator[Problem]:
    if not budget.amount:
        yield error(
            (*path, "amount"),
            _("an amount of nothing is spent before anybody starts"),
            _("write more than 0; to keep a team from a pool, take its quota there away"),
        )
    if budget.currency is not None and budget.currency != policy.currency:
        yield error(
            (*path, "currency"),
            _("the amount is in {one}, and all prices are in {other}").format(
                one=quoted(budget.currency), other=quoted(policy.currency)
            ),
            _("write the amount in {other}; currencies are never converted").format(
                other=policy.currency
            ),
        )
    if isinstance(budget.period, Term) and budget.period.until <= budget.period.from_:
        yield error(
            (*path, "period", "until"),
            _("the term ends on {until}, before it begins on {begin}").format(
                until=budget.period.until, begin=budget.period.from_
            ),
            _("write the first day on which it is over"),
        )


def _steps(path: Path, budget: Budget) -> Iterator[Problem]:
    if not budget.steps and not budget.hard:
        yield warning(
            path,
            _("it has no step and is not hard, so it only counts"),
            _("add `steps`, or `hard: true`"),
        )
    for index, step in enumerate(budget.steps):
        if budget.hard and step.at > _ALL_OF_IT:
            yield error(
                (*path, "steps", index, "at"),
                _("a hard budget is never spent to {at} percent").format(at=step.at),
                _("write at most {most}").format(most=_ALL_OF_IT),
            )
        if (step.act == "small_only") != (step.gpus is not None):
            yield error(
                (*path, "steps", index, "gpus"),
                _("`gpus` says what `small_only` lets start, and says nothing elsewhere"),
                _('write both, for example gpus: "0.25"'),
            )
        if step.until is not None and isinstance(budget.period, Term):
            term = budget.period
            if not term.from_ < step.until <= term.until:
                yield error(
                    (*path, "steps", index, "until"),
                    _("{day} is not within the term").format(day=step.until),
                    _("write a day of the term, or leave it out"),
                )
    for index, (one, after) in enumerate(pairwise(budget.steps), start=1):
        here: Path = (*path, "steps", index)
        if after.at <= one.at:
            yield error(
                (*here, "at"),
                _("the step at {after} percent comes after the one at {one}").format(
                    after=after.at, one=one.at
                ),
                _("write steps in rising order, each percent once"),
            )
        elif ACTS.index(after.act) < ACTS.index(one.act):
            yield error(
                (*here, "act"),
                _("{after} at {at} percent is milder than {one} before it").format(
                    after=quoted(after.act), at=after.at, one=quoted(one.act)
                ),
                _("what a budget does gets stricter as it is spent"),
            )


def _same_days(policy: Policy, names: Sequence[str]) -> Iterator[Problem]:
    months = [name for name in names if policy.budgets[name].period == "month"]
    for name in months[1:]:
        yield error(
            ("budgets", name),
            _("{other} is the same holder's budget of a month").format(other=quoted(months[0])),
            _("keep one, or give one a term"),
        )
    terms = sorted(
        (term.from_, term.until, name)
        for name in names
        if isinstance(term := policy.budgets[name].period, Term)
    )
    for (_from, until, first), (begin, _until, name) in pairwise(terms):
        if begin < until:
            yield error(
                ("budgets", name, "period", "from"),
                _("{other} of the same holder still holds on {day}").format(
                    other=quoted(first), day=begin
                ),
                _("let a term begin when the one before is over"),
            )


def _unpriced(policy: Policy, budget: Budget) -> tuple[str, ...]:
    project = policy.projects.get(budget.project or "")
    team = budget.team if project is None else project.team
    if team not in policy.teams:
        return ()
    return tuple(
        name
        for name, profile in policy.profiles.items()
        if profile.pool is not None
        and may_choose(policy, str(team), name)
        and not entries_for(policy, profile.pool, priced_as(flavor_name(profile.flavor))[0])
    )
