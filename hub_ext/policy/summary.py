"""What a policy says, on one screen, for whoever is about to apply it."""

from ..i18n import _
from ..units import Units, duration_text, gpus_text, money_text, quota_text
from .bounds import large_words, notes, owner_words
from .capacity import capacities
from .columns import Rows, table
from .model import Policy, Team, Term, flavor_name


def summary(policy: Policy) -> str:
    """Write modes, pools, teams and profiles as aligned columns."""
    head = _(
        "quota: {quota}   idle: {idle}   budget: {budget}   currency: {currency}   "
        "time zone: {zone}"
    ).format(
        quota=policy.modes.quota,
        idle=policy.modes.idle,
        budget=policy.modes.budget,
        currency=policy.currency,
        zone=policy.timezone,
    )
    blocks = [
        "\n".join(filter(None, (head, _trials(policy)))),
        _pools(policy),
        _teams(policy),
        _projects(policy),
        _profiles(policy),
        _tasks(policy),
        _budgets(policy),
    ]
    return "\n\n".join(block for block in blocks if block)


def _pools(policy: Policy) -> str:
    there = capacities(policy)
    rows = [
        (
            name,
            pool.model,
            _("all") if pool.for_ == "shared" else pool.for_.team,
            gpus_text(there[name].units),
            there[name].words(),
        )
        for name, pool in policy.pools.items()
    ]
    return table((_("POOL"), _("MODEL"), _("FOR"), _("GPUS"), _("DEVICES")), rows)


def _teams(policy: Policy) -> str:
    """Quota by team and pool, and how long who waits inside it or beyond it waits at most."""
    rows = [row for name in policy.teams for row in _quota_rows(policy, name)]
    head = (
        _("TEAM"),
        _("POOL"),
        _("GUARANTEED"),
        _("MAY BORROW"),
        _("LENDS"),
        _("INSIDE WAITS AT MOST"),
        _("LARGE WAITS AT MOST"),
    )
    return "\n".join([table(head, rows), *notes(policy)])


def _quota_rows(policy: Policy, name: str) -> Rows:
    team = policy.teams[name]
    if not team.quota:
        return [(name, "-", _("no GPU"), "", "", "", "")]
    return [
        (
            name if first else "",
            pool,
            quota_text(Units(quota.nominal)),
            _borrows(team, quota.borrowing_limit),
            _("all") if quota.lending_limit is None else quota_text(Units(quota.lending_limit)),
            owner_words(policy, pool, quota.nominal),
            large_words(policy, pool),
        )
        for first, (pool, quota) in zip(
            [True, *[False] * len(team.quota)], team.quota.items(), strict=False
        )
    ]


def _borrows(team: Team, limit: int | None) -> str:
    if team.over_quota == "queue":
        return _("no, waits")
    if team.over_quota == "deny":
        return _("no")
    return _("what is free") if limit is None else quota_text(Units(limit))


def _projects(policy: Policy) -> str:
    rows = [
        (name, project.team, pool, quota_text(Units(share.nominal)))
        for name, project in policy.projects.items()
        for pool, share in project.quota.items()
    ]
    return table((_("PROJECT"), _("TEAM"), _("POOL"), _("SHARE")), rows) if rows else ""


def _tasks(policy: Policy) -> str:
    rows = [
        (
            name,
            str(task.weight),
            _("everybody")
            if task.groups is None and task.teams is None
            else ", ".join((*(task.teams or ()), *(task.groups or ()))),
            _("all") if task.flavors is None else ", ".join(task.flavors),
            "-" if task.longest_lifetime is None else duration_text(task.longest_lifetime),
            task.idle or "-",
        )
        for name, task in policy.task_types.items()
    ]
    head = (_("TASK TYPE"), _("WEIGHT"), _("OPEN TO"), _("FLAVORS"), _("LONGEST"), _("IDLE RULE"))
    return table(head, rows) if rows else ""


def _budgets(policy: Policy) -> str:
    rows = [
        (
            name,
            f"{budget.team or budget.project}{' / ' + _('person') if budget.each else ''}",
            money_text(budget.amount, policy.currency),
            _("month") if isinstance(budget.period, str) else _days(budget.period),
            _("yes") if budget.hard else _("no"),
            ", ".join(f"{step.at}% {step.act}" for step in budget.steps) or "-",
        )
        for name, budget in policy.budgets.items()
    ]
    head = (_("BUDGET"), _("OF"), _("AMOUNT"), _("PERIOD"), _("HARD"), _("STEPS"))
    return table(head, rows) if rows else ""


def _trials(policy: Policy) -> str:
    """Say what becomes of an idle rule that is new or changed when the policy is applied."""
    spans: dict[str, list[str]] = {}
    for name, rule in policy.idle.items():
        spans.setdefault(duration_text(rule.trial), []).append(name)
    tried = [f"{', '.join(names)} {span}" for span, names in spans.items() if span != "0s"]
    parts = [
        _("tried first, then switched on by hand: {rules}").format(rules="; ".join(tried)),
        _("acts at once: {rules}").format(rules=", ".join(spans.get("0s", ()))),
    ]
    said = [part for part, any_ in zip(parts, (tried, "0s" in spans), strict=True) if any_]
    return _("new or changed idle rules: {said}").format(said=". ".join(said)) if said else ""


def _days(term: Term) -> str:
    return f"{term.from_} - {term.until}"


def _profiles(policy: Policy) -> str:
    rows = [
        (
            name,
            profile.pool or "-",
            flavor_name(profile.flavor),
            duration_text(profile.lifetime.default),
            duration_text(profile.lifetime.longest),
            _("all") if profile.teams is None else ", ".join(profile.teams),
        )
        for name, profile in policy.profiles.items()
    ]
    head = (_("PROFILE"), _("POOL"), _("FLAVOR"), _("LIFETIME"), _("LONGEST"), _("TEAMS"))
    return table(head, rows)
