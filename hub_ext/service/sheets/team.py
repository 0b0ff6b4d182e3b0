"""The page of one team, for its leads and admins: spend by project and person, held and used."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ...i18n import _
from ...lease import LeaseView, MoveSheet, OpenLease, Usage, UsageSum
from ...lease.budgets import BudgetRow
from ...lease.outlook import TeamOutlook
from ...lease.waits import WaitSheet
from ...policy.model import Policy
from ...reports.figures import HeldBar, held_against_utilised
from .. import formats
from ..governor import Governor
from ..usage import Scope
from ..windows import Window, window
from . import amounts, budgets, shares, waits
from .rows import (
    UsageLine,
    busy_share,
    lease_row,
    quota_rows,
    usage_lines,
)

MOST_LINES = 200
"""Leases that are listed; the sums above hold all of them."""


@dataclass(frozen=True)
class TeamFigures:
    """One team's figures at one instant, as the core gave them."""

    team: str
    policy: Policy
    window: Window
    usage: Usage
    leases: tuple[OpenLease, ...]
    now: datetime
    moves: MoveSheet
    waits: WaitSheet
    budgets: tuple[BudgetRow, ...]
    outlook: TeamOutlook
    simulated: bool
    """Whether the GPUs of this hub, and so all readings of them, are simulated."""


def gather(governor: Governor, team: str, name: str, now: datetime) -> TeamFigures:
    """Read everything of one team, in the core's thread."""
    policy = governor.policy
    asked = window(name, now, policy.timezone)
    usage = governor.usage(
        Scope(f"team:{team}", teams=(team,)), asked.start, min(asked.end, now), now=now
    )
    leases = governor.leases(teams=(team,))
    simulated = any(device.simulated for device in governor.devices(now=now))
    moves = governor.moves(team, now=now)
    waited = governor.waits((team,), now=now)
    money = governor.budgets((team,), now=now)
    return TeamFigures(
        team=team,
        policy=policy,
        window=asked,
        usage=usage,
        leases=leases,
        now=now,
        moves=moves,
        waits=waited,
        budgets=money,
        outlook=governor.outlook(team, now=now),
        simulated=simulated,
    )


def sheet(figures: TeamFigures, views: Sequence[LeaseView]) -> dict[str, object]:
    """Put it into words, a table, and the chart that repeats it; `views` show open leases."""
    zone, usage = figures.policy.timezone, figures.usage
    leases: list[tuple[LeaseView, OpenLease]] = [
        (view, view.lease) for view in views if view.lease is not None
    ]
    rows = tuple(lease_row(view, lease, figures.policy, zone) for view, lease in leases)
    bars = [_bar(one) for one in usage.sums if one.unit_s]
    lines = usage_lines(usage, zone, people=True)
    return {
        "team": figures.team,
        "window": figures.window,
        "sums": _sums(usage),
        "total": amounts.total(usage.total),
        "total_hours": formats.gpu_hours(usage.total.unit_s),
        "total_busy": busy_share(usage.total),
        "summary": summary(figures.team, figures.window.title, usage),
        "figure": held_against_utilised(bars) if bars else "",
        "leases": rows,
        "lines": lines[:MOST_LINES],
        "hidden_lines": max(0, len(lines) - MOST_LINES),
        "quotas": quota_rows(figures.policy, figures.team, [lease for _view, lease in leases]),
        **shares.sheet(figures.moves, figures.policy),
        **waits.sheet(figures.waits, figures.policy),
        **budgets.sheet(figures.budgets, zone),
        "outlook": outlook_lines(figures.outlook),
        "outlook_words": figures.outlook.words,
        "month": figures.outlook.month,
        "simulated": figures.simulated or any(row.simulated for row in rows),
    }


def summary(team: str, title: str, usage: Usage) -> str:
    """Say in one sentence what the chart shows, from the same figures."""
    if not usage.total.unit_s:
        return _("Team {team} held no GPU in this time ({window}).").format(team=team, window=title)
    held = _("Team {team} held {hours} GPU-hours ({window})").format(
        team=team, hours=formats.gpu_hours(usage.total.unit_s), window=title
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


def outlook_lines(one: TeamOutlook) -> tuple[tuple[str, str], ...]:
    """Give the figures of a month that goes on, each with its name; what is unknown is so named."""
    if one.point_micro is None:
        likely = _("no forecast yet")
    elif one.low_micro is None:
        likely = formats.money(one.point_micro, one.currency)
    else:
        likely = _("{point}, four times in five between {low} and {high}").format(
            point=formats.money(one.point_micro, one.currency),
            low=formats.money(one.low_micro, one.currency),
            high=formats.money(one.high_micro, one.currency),
        )
    return (
        (_("Spent so far"), formats.money(one.spent_micro, one.currency)),
        (_("Agreed: what runs, until its end"), formats.money(one.committed_micro, one.currency)),
        (_("Likely by the month's end"), likely),
    )


def _sums(usage: Usage) -> tuple[UsageLine, ...]:
    """One line a project and person, the dearest first; amounts foot."""
    order = sorted(
        usage.sums, key=lambda one: (-(one.amount_micro or 0), one.project or "", one.user or "")
    )
    return tuple(
        UsageLine(
            href="#leases-of-window",
            cells=(one.project or _("no project"), one.user or "", str(one.leases)),
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
    return f"{one.project or _('no project')} · {one.user}"
