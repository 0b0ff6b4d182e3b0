"""The page of one team, for its leads and admins: spend by project, GPU and person, over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ...budget import month_name
from ...i18n import _
from ...lease import LeaseView, MoveSheet, OpenLease, Usage, UsageSum
from ...lease.anomalies import Anomaly
from ...lease.keeping import KeepGrantSheet
from ...lease.waits import WaitSheet
from ...lease.waste import WasteSheet
from ...lease.worth import ChangeSheet
from ...policy.model import Policy
from ...reports.figures import HeldBar, held_against_utilised
from ...reports.tables import Dimension
from ..books import formats
from ..core.governor import Governor
from ..money.grounds import Ground
from ..money.outlooks import TeamMoney
from ..money.spending import Stretch
from ..money.usage import Scope
from . import amounts, budgets, changes, keeps, shares, spendviews, teamhead, waits, waste, wasted
from .filters import sheet as filters_sheet
from .filters import words as narrowed_words
from .laid import Laid, lay
from .narrowing import Filters, Offered
from .rows import (
    UsageLine,
    busy_share,
    lease_row,
    quota_rows,
    usage_lines,
)

MOST_WASTE = timedelta(days=62)
"""A longer time is not looked through for what did no work: it takes too long for a page."""

MOST_LINES = 200
"""Leases that are listed; the sums above hold all of them."""


@dataclass(frozen=True)
class TeamFigures:
    """One team's figures at one instant, as the core gave them."""

    team: str
    policy: Policy
    asked: Filters
    ground: Ground
    leases: tuple[OpenLease, ...]
    now: datetime
    moves: MoveSheet
    keeps: KeepGrantSheet
    waits: WaitSheet
    money: TeamMoney
    odd: tuple[Anomaly, ...]
    waste: WasteSheet | None
    """What did no work; None where the time is too long to be looked through at once."""
    changes: ChangeSheet | None
    """What changed against the time before; None where that is not compared either."""
    people: bool
    """Whether the reader sees what each person spent."""
    simulated: bool
    """Whether the GPUs of this hub, and so all readings of them, are simulated."""


def gather(
    governor: Governor, team: str, asked: Filters, now: datetime, *, people: bool
) -> TeamFigures:
    """Read everything of one team, in the core's thread."""
    scope, window = Scope(f"team:{team}", teams=(team,)), asked.window
    short = window.end - window.start <= MOST_WASTE
    return TeamFigures(
        team=team,
        policy=governor.policy,
        asked=asked,
        ground=governor.ground(scope, window, now=now),
        leases=governor.leases(teams=(team,)),
        now=now,
        moves=governor.moves(team, now=now),
        keeps=governor.keep_grants(team, now=now),
        waits=governor.waits((team,), now=now),
        money=governor.team_money(team, now=now),
        odd=governor.anomalies((team,), now=now).open,
        waste=governor.waste(scope, window.start, window.end, now=now)
        if short and not asked.names
        else None,
        changes=governor.changes(
            scope, Stretch(window.name, window.start, window.end), ("project",), now=now
        )
        if short and not asked.names
        else None,
        people=people,
        simulated=any(device.simulated for device in governor.devices(now=now)),
    )


def sheet(figures: TeamFigures, views: Sequence[LeaseView]) -> dict[str, object]:
    """Put it into words, tables, and charts that repeat them; `views` show open leases."""
    policy, people = figures.policy, figures.people
    by: tuple[Dimension, ...] = ("team", "project", "user") if people else ("team", "project")
    ever = {lease.key.user for lease in figures.leases}
    laid = lay(figures.ground, figures.asked, policy, known=known(figures), by=by, ever=ever)
    zone, usage = policy.timezone, laid.usage
    leases: list[tuple[LeaseView, OpenLease]] = [
        (view, view.lease) for view in views if view.lease is not None
    ]
    rows = tuple(lease_row(view, lease, policy, zone) for view, lease in leases)
    newest = sorted(usage.rows, key=lambda row: (row.start, row.lease_id))[-MOST_LINES:]
    return {
        "team": figures.team,
        "people": people,
        "report_month": month_name(figures.ground.window.start, zone),
        **filters_sheet(figures.asked, laid.right, figures.now, zone, people=people),
        **teamhead.sheet(figures.money, laid),
        **spendviews.sheet(laid, people=people),
        **spendviews.compared(laid, figures.waits),
        **_held(figures, laid),
        **waste.sheet(figures.waste),
        **changes.sheet(figures.changes),
        "wasted": wasted.lines(views, figures.odd, figures.now, zone),
        "leases": rows,
        "lines": usage_lines(usage.model_copy(update={"rows": newest}), zone, people=people),
        "hidden_lines": max(0, len(usage.rows) - MOST_LINES),
        "quotas": quota_rows(policy, figures.team, [lease for _view, lease in leases]),
        **keeps.sheet(figures.keeps),
        **shares.sheet(figures.moves, policy),
        **waits.sheet(figures.waits, policy),
        **budgets.sheet([one for one in figures.money.budgets if people or one.user is None], zone),
        "simulated": figures.simulated or any(row.simulated for row in rows),
    }


def known(figures: TeamFigures) -> Offered:
    """Names that the policy knows for this team, whether something was charged to them or not."""
    policy, team = figures.policy, figures.team
    pools = policy.teams[team].quota
    return Offered(
        project=tuple(name for name, one in policy.projects.items() if one.team == team),
        person=(),
        profile=tuple(
            name for name, one in policy.profiles.items() if one.pool is None or one.pool in pools
        ),
        model=tuple(policy.pools[name].model for name in pools),
    )


def _held(figures: TeamFigures, laid: Laid) -> dict[str, object]:
    usage = laid.usage
    bars = [_bar(one) for one in usage.sums if one.unit_s]
    return {
        "sums": _sums(usage, people=figures.people),
        "total": amounts.total(usage.total),
        "total_hours": formats.gpu_hours(usage.total.unit_s),
        "total_busy": busy_share(usage.total),
        "summary": summary(figures, usage),
        "figure": held_against_utilised(bars) if bars else "",
    }


def summary(figures: TeamFigures, usage: Usage) -> str:
    """Say in one sentence what the chart shows, from the same figures."""
    title = figures.asked.window.title
    if narrowed := narrowed_words(figures.asked):
        title = f"{title}; {narrowed}"
    if not usage.total.unit_s:
        return _("Team {team} held no GPU in this time ({window}).").format(
            team=figures.team, window=title
        )
    held = _("Team {team} held {hours} GPU-hours ({window})").format(
        team=figures.team, hours=formats.gpu_hours(usage.total.unit_s), window=title
    )
    first = min(usage.sums, key=lambda one: (-one.unit_s, one.user or "", one.project or ""))
    most = _("{name} held most, {hours}").format(
        name=_label(first), hours=formats.gpu_hours(first.unit_s)
    )
    if usage.total.utilised_percent is None:
        busy = _("how much of it was busy is not measured")
    else:
        busy = _("{percent} of the measured time was busy").format(
            percent=formats.percent(usage.total.utilised_percent)
        )
    return f"{held}; {busy}; {most}."


def _sums(usage: Usage, *, people: bool) -> tuple[UsageLine, ...]:
    """One line a project and person, the dearest first; amounts foot."""
    order = sorted(
        usage.sums, key=lambda one: (-(one.amount_micro or 0), one.project or "", one.user or "")
    )
    return tuple(
        UsageLine(
            href="#leases-of-window",
            cells=(
                one.project or _("no project"),
                *((one.user or "",) if people else ()),
                str(one.leases),
            ),
            hours=formats.gpu_hours(one.unit_s),
            busy=busy_share(one),
            amount=amount,
        )
        for one, amount in zip(order, amounts.column([one.amounts for one in order]), strict=True)
    )


def _bar(one: UsageSum) -> HeldBar:
    """Split what was held by what was measured; readings never add to what was held."""
    measured = one.unit_s * min(one.measured_s, one.held_s) // one.held_s if one.held_s else 0
    busy = measured * (one.utilised_percent or 0) // 100
    return HeldBar(
        label=_label(one), busy=busy, idle=measured - busy, unmeasured=one.unit_s - measured
    )


def _label(one: UsageSum) -> str:
    project = one.project or _("no project")
    return project if one.user is None else f"{project} · {one.user}"
