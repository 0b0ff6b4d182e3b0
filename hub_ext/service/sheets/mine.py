"""The page of one person: what runs, what it cost, and which rules bind them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ...i18n import _, ngettext
from ...lease import LeaseView, OpenLease, Usage, UserName
from ...lease.budgets import BudgetRow
from ...lease.reserving import Reservation
from ...policy.catalogue import Person, teams_of
from ...policy.model import IdleRule, Policy
from ...units import duration_text
from ..basis.access import Caller
from ..books import formats
from ..core.governor import Governor
from ..money.grounds import Ground
from ..money.usage import Scope
from ..queueing.tickets import WAITS
from . import amounts, budgets, spendviews, upkeep
from .filters import sheet as filters_sheet
from .laid import lay, standing
from .narrowing import Filters, Offered
from .reserving import state_words
from .rows import LeaseRow, QuotaRow, Tile, lease_row, quota_rows, usage_lines
from .upkeep import Upkeep

MOST_LINES = 200
"""Leases that are listed; the sums hold all of them."""


@dataclass(frozen=True)
class Mine:
    """One person's figures at one instant, as the core gave them."""

    policy: Policy | None
    asked: Filters
    ground: Ground
    user: str
    leases: tuple[OpenLease, ...]
    teams: tuple[str, ...]
    team_leases: tuple[OpenLease, ...]
    now: datetime
    upkeep: Upkeep
    budgets: tuple[BudgetRow, ...]
    begun: tuple[Reservation, ...]
    """Reservations whose time has come and that no server uses."""
    simulated: bool
    """Whether the GPUs of this hub, and so all readings of them, are simulated."""


def gather(governor: Governor, caller: Caller, asked: Filters, now: datetime) -> Mine:
    """Read everything of one person, in the core's thread."""
    policy = governor.known_policy
    person = Person(user=UserName(caller.name), groups=caller.groups)
    teams = tuple(str(team) for team in teams_of(policy, person)) if policy else ()
    return Mine(
        policy=policy,
        asked=asked,
        ground=governor.ground(Scope("me", user=caller.name), asked.window, now=now),
        user=caller.name,
        # What waits has a page of its own.
        leases=tuple(one for one in governor.leases(user=caller.name) if one.state not in WAITS),
        teams=teams,
        team_leases=governor.leases(teams=teams) if teams else (),
        now=now,
        upkeep=upkeep.gather(governor, now),
        budgets=governor.limits(person, now=now).budgets if policy else (),
        begun=tuple(
            one
            for one in governor.reserved(now, now)[0]
            if one.key.user == caller.name and one.current is not None and not one.current.used
        ),
        simulated=any(device.simulated for device in governor.devices(now=now)),
    )


def sheet(mine: Mine, views: Sequence[LeaseView]) -> dict[str, object]:
    """Put it into words; `views` show the person's open leases."""
    zone = mine.policy.timezone if mine.policy else "UTC"
    rows = _rows(mine, views, zone)
    laid = lay(mine.ground, mine.asked, mine.policy, known=_known(mine), ever=(mine.user,))
    usage = laid.usage
    key, words = standing(laid)
    newest = sorted(usage.rows, key=lambda row: (row.start, row.lease_id))[-MOST_LINES:]
    return {
        **filters_sheet(mine.asked, laid.right, mine.now, zone, people=False),
        "books_key": key,
        "books": words,
        "tiles": _tiles(mine, usage, views),
        **spendviews.sheet(laid, people=False),
        "leases": rows,
        "lines": usage_lines(usage.model_copy(update={"rows": newest}), zone),
        "hidden_lines": max(0, len(usage.rows) - MOST_LINES),
        "total_hours": formats.gpu_hours(usage.total.unit_s),
        "total": amounts.total(usage.total),
        "teams": mine.teams,
        "quotas": _quotas(mine),
        "rules": _rules(mine),
        **budgets.sheet(mine.budgets, zone),
        "announced": upkeep.sentences(mine.upkeep, mine.user, mine.teams),
        "reserved": [state_words(one, zone) for one in mine.begun],
        "simulated": mine.simulated or any(row.simulated for row in rows),
    }


def _known(mine: Mine) -> Offered:
    """Names that the policy knows for this person's teams."""
    if mine.policy is None:
        return Offered((), (), (), ())
    pools = {pool for team in mine.teams for pool in mine.policy.teams[team].quota}
    return Offered(
        project=tuple(name for name, one in mine.policy.projects.items() if one.team in mine.teams),
        person=(),
        profile=tuple(
            name
            for name, one in mine.policy.profiles.items()
            if one.pool is None or one.pool in pools
        ),
        model=tuple(mine.policy.pools[name].model for name in pools),
    )


def _rows(mine: Mine, views: Sequence[LeaseView], zone: str) -> tuple[LeaseRow, ...]:
    return tuple(
        lease_row(view, view.lease, mine.policy, zone) for view in views if view.lease is not None
    )


def _tiles(mine: Mine, usage: Usage, views: Sequence[LeaseView]) -> tuple[Tile, ...]:
    total, title = usage.total, mine.asked.window.title
    holding = [view for view in views if view.lease and view.lease.pool]
    rates = [view.cost.price_micro_per_hour for view in holding if view.cost]
    priced = [rate for rate in rates if rate is not None]
    if not holding:
        now_value, now_note = _("nothing"), _("No GPU held. Nothing is being charged.")
    else:
        now_value = _("{amount} / h").format(
            amount=formats.money(sum(priced) if priced else None, usage.currency)
        )
        if not priced:
            now_value = _("not priced")
        n = len(holding)
        now_note = ngettext("{n} server with a GPU", "{n} servers with GPUs", n).format(n=n)
        if priced and len(priced) < len(rates):
            now_note += _(", not all priced")
    n = total.leases
    count = ngettext("{n} lease", "{n} leases", n).format(n=n)
    return (
        Tile(_("Running now"), now_value, now_note, "#leases"),
        Tile(
            _("Charged, {window}").format(window=title),
            amounts.total(total),
            count,
            "#leases-of-window",
        ),
        Tile(
            _("GPU-hours held, {window}").format(window=title),
            formats.gpu_hours(total.unit_s),
            count,
            "#leases-of-window",
        ),
        Tile(
            _("Really used, {window}").format(window=title),
            formats.percent(total.utilised_percent),
            _measured(usage),
            "#leases-of-window",
        ),
    )


def _measured(usage: Usage) -> str:
    total = usage.total
    if not total.measured_s:
        return _("No reading yet: unknown, not idle.")
    return _("measured {measured} of {held} held").format(
        measured=formats.span(total.measured_s), held=formats.span(total.held_s)
    )


def _quotas(mine: Mine) -> tuple[QuotaRow, ...]:
    if mine.policy is None:
        return ()
    return tuple(
        row
        for team in mine.teams
        for row in quota_rows(
            mine.policy, team, [lease for lease in mine.team_leases if lease.team == team]
        )
    )


def _rules(mine: Mine) -> tuple[str, ...]:
    """Every limit and rule that holds for this person, a sentence each."""
    if mine.policy is None:
        return ()
    limits = [line for team in mine.teams for line in _team_limits(mine.policy, team)]
    idle = [
        _idle(name, rule, mine.policy)
        for name, rule in mine.policy.idle.items()
        if not rule.teams or set(rule.teams) & set(mine.teams)
    ]
    return (_mode(mine.policy), *limits, *idle)


def _mode(policy: Policy) -> str:
    return {
        "observe": _("Quota is only observed here: nothing free is refused for it."),
        "advise": _("Quota is advised here: you are told, and nothing free is refused for it."),
        "enforce": _("Quota is enforced."),
    }[policy.modes.quota]


def _team_limits(policy: Policy, team: str) -> list[str]:
    rules, lines = policy.teams[team], []
    if rules.most_leases_per_person is not None:
        lines.append(
            _("Team {team}: a person may have {n} servers with GPUs at once.").format(
                team=team, n=rules.most_leases_per_person
            )
        )
    if rules.most_leases is not None:
        lines.append(
            _("Team {team}: the whole team may have {n} servers with GPUs at once.").format(
                team=team, n=rules.most_leases
            )
        )
    if rules.largest_request is not None:
        lines.append(
            _("Team {team}: one server may hold at most {size}.").format(
                team=team, size=formats.gpus(rules.largest_request)
            )
        )
    if rules.longest_lifetime is not None:
        lines.append(
            _("Team {team}: a server lives {span} at most.").format(
                team=team, span=duration_text(rules.longest_lifetime)
            )
        )
    return lines


def _idle(name: str, rule: IdleRule, policy: Policy) -> str:
    kinds = {
        "gpu": _("whole GPUs"),
        "mig": _("MIG devices"),
        "share": _("time-shares of a GPU"),
        "none": _("servers without a GPU"),
    }
    acts = {
        "observe": _("only recorded here"),
        "advise": _("told to you, not stopped"),
        "enforce": _("stopped after a notice of {notice}").format(
            notice=duration_text(rule.notice)
        ),
    }[policy.modes.idle]
    return _("Idle rule {name}, for {kinds}: quiet for {limit} is idle and {acts}.").format(
        name=name,
        kinds=", ".join(kinds[kind] for kind in rule.applies),
        limit=duration_text(rule.limit),
        acts=acts,
    )
