"""Rows that several pages have in common: open leases, usage, and the quota of a team.

Each row carries the address of its evidence.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...admission.protection import LIVE
from ...i18n import _
from ...lease import DeviceReading, LeaseView, OpenLease, Usage, UsageRow, UsageSum
from ...lease.reserving import UNUSED
from ...policy.model import Policy
from ..basis.words import cause_words, notice_words
from ..books import formats
from ..books.restcharges import lease_of
from . import starving
from .amounts import column, of_row


@dataclass(frozen=True)
class Tile:
    """One figure at the head of a page, with where it comes from."""

    label: str
    value: str
    note: str
    href: str


@dataclass(frozen=True)
class LeaseRow:
    """An open lease. `href` is its page, `open_href` the server itself.

    `switch_href` is where its profile is changed; empty where it does not run.
    """

    href: str
    owner: str
    server: str
    open_href: str
    switch_href: str
    profile: str
    task: str
    team: str
    project: str
    device: str
    standing: str
    standing_key: str
    state: str
    state_key: str
    started: str
    time_left: str
    rate: str
    so_far: str
    busy: str
    verdict: str
    waits_for: str
    notice: str
    simulated: bool


def lease_row(view: LeaseView, lease: OpenLease, policy: Policy | None, zone: str) -> LeaseRow:
    """Show one open lease."""
    profile = policy.profiles.get(lease.profile) if policy else None
    cost = view.cost if lease.pool is not None else None
    return LeaseRow(
        href=f"leases/{lease.id}",
        owner=lease.key.user,
        server=formats.server_name(lease.key.server),
        open_href=f"{lease.key.user}/{lease.key.server}",
        switch_href=f"switch/{lease.id}" if lease.state in LIVE else "",
        profile=profile.title if profile else lease.profile,
        task=view.task_title,
        team=lease.team,
        project=lease.project or "",
        device=formats.device_words(lease.devices),
        standing=formats.standing_words(lease.standing),
        standing_key=lease.standing.value,
        state=formats.state_words(lease.state),
        state_key=lease.state.value,
        started=formats.instant(lease.started_at or lease.requested_at, zone),
        time_left=_("no end") if view.time_left_s is None else formats.span(view.time_left_s),
        rate=cost.rate_text if cost else _("no GPU"),
        so_far=cost.so_far_text if cost else _("no charge for GPUs"),
        busy=busy_now(view.readings),
        verdict=view.verdict.words if view.verdict else _("Not judged yet."),
        waits_for=starving.line(view.waits_for),
        notice=notice_words(lease.notice, zone) if lease.notice else "",
        simulated=view.simulated,
    )


def busy_now(readings: Sequence[DeviceReading]) -> str:
    """Newest utilisation of each device, or why there is none."""
    words = []
    for reading in readings:
        if reading.util_percent is None:
            words.append(reading.absent or _("unknown"))
        else:
            words.append(formats.percent(reading.util_percent))
    return ", ".join(words) or _("no GPU")


@dataclass(frozen=True)
class UsageLine:
    """One lease or one sum of a usage table; `href` leads to the evidence of its figures."""

    href: str
    cells: tuple[str, ...]
    hours: str
    busy: str
    amount: str
    note: str = ""


def usage_lines(usage: Usage, zone: str, *, people: bool = False) -> tuple[UsageLine, ...]:
    """List the leases of a window, the newest first; amounts foot to `amounts.total`.

    `people` adds whose lease it was.
    """
    rows = sorted(usage.rows, key=lambda row: (row.start, row.lease_id), reverse=True)
    amounts = column([of_row(row) for row in rows])
    return tuple(
        UsageLine(
            href="reservations" if row.flavor == UNUSED else f"leases/{lease_of(row.lease_id)}",
            cells=(
                formats.minute(row.start, zone),
                *((str(row.user),) if people else ()),
                formats.server_name(row.server),
                row.project or _("no project"),
                row.profile,
                formats.line_words(row.flavor) or formats.standing_words(row.standing),
                formats.span(row.held_s),
            ),
            hours=formats.gpu_hours(row.held_s * row.units),
            busy=busy_share(row),
            amount=amount,
            note=_note(row),
        )
        for row, amount in zip(rows, amounts, strict=True)
    )


def _note(row: UsageRow) -> str:
    """How it ended; time that was only kept has no end of its own to tell."""
    if row.flavor == UNUSED and row.cause is None:
        return ""
    return _("open, so far") if row.open else cause_words(row.cause)


def busy_share(row: UsageRow | UsageSum) -> str:
    """How much of the measured time was busy; without readings it is unknown, not 0."""
    if row.utilised_percent is None:
        return _("unknown")
    if isinstance(row, UsageRow):
        return busy_of(row.utilised_percent, row.measured_s * row.units, row.held_s * row.units)
    return busy_of(row.utilised_percent, row.measured_unit_s, row.unit_s)


def busy_of(percent: int, measured_unit_s: int, unit_s: int) -> str:
    """Write a busy share, and of how many GPU-hours it is where not all were measured."""
    share = formats.percent(percent)
    if measured_unit_s >= unit_s:
        return share
    return _("{percent} of {hours} GPU-hours measured").format(
        percent=share, hours=formats.gpu_hours(measured_unit_s)
    )


@dataclass(frozen=True)
class QuotaRow:
    """What a team holds of one pool, against its guarantee."""

    team: str
    pool: str
    guaranteed: str
    held: str
    beyond: str


def quota_rows(policy: Policy, team: str, leases: Sequence[OpenLease]) -> tuple[QuotaRow, ...]:
    """Show each pool that a team has quota in; `leases` are the team's open ones."""
    rules = policy.teams[team]
    return tuple(
        QuotaRow(
            team=team,
            pool=pool,
            guaranteed=formats.gpus(quota.nominal),
            held=formats.gpus(sum(one.units for one in leases if one.holding and one.pool == pool)),
            beyond=_beyond(rules.over_quota, quota.borrowing_limit),
        )
        for pool, quota in rules.quota.items()
    )


def _beyond(over_quota: str, limit: int | None) -> str:
    if over_quota == "deny":
        return _("refused")
    if over_quota == "queue":
        return _("never borrows; has to wait")
    if limit is None:
        return _("may borrow what others leave")
    return _("may borrow up to {limit}").format(limit=formats.gpus(limit))
