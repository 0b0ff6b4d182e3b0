"""Recorded waits as a table of the admin's and the team's page."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...i18n import _
from ...lease.waits import Quantiles, WaitRow, WaitSheet
from ...policy.model import Policy
from ..books import formats


@dataclass(frozen=True)
class WaitLine:
    """One kind of request; each stage has its 50, 90 and 99 percent."""

    names: tuple[str, ...]
    count: str
    held: tuple[str, ...]
    ready: tuple[str, ...]
    kept: str


def sheet(waits: WaitSheet | None, policy: Policy | None) -> dict[str, object]:
    """Put waits into words; the longest come first."""
    rows = () if waits is None else waits.rows
    zone = policy.timezone if policy else "UTC"
    return {
        "waits": tuple(_line(one, policy) for one in _ordered(rows)),
        "waits_since": "" if waits is None else formats.local_date(waits.start, zone),
    }


def _ordered(rows: Sequence[WaitRow]) -> list[WaitRow]:
    return sorted(rows, key=lambda one: -(one.held.p90_s if one.held else 0))


def _line(row: WaitRow, policy: Policy | None) -> WaitLine:
    profile = policy.profiles.get(row.profile) if policy and row.profile else None
    task = policy.task_types.get(row.task_type) if policy and row.task_type else None
    return WaitLine(
        names=(
            row.team,
            row.pool,
            profile.title if profile else row.profile or "",
            task.title if task else row.task_type or _("unlabelled"),
        ),
        count=str(row.held.count if row.held else 0),
        held=_spans(row.held),
        ready=_spans(row.ready),
        kept=_kept(row),
    )


def _spans(of: Quantiles | None) -> tuple[str, ...]:
    if of is None:
        return (formats.span(None),) * 3
    return tuple(formats.span(one) for one in (of.p50_s, of.p90_s, of.p99_s))


def _kept(row: WaitRow) -> str:
    if row.kept_percent is None:
        return _("not put to the test")
    return _("{percent} % of {n}").format(percent=row.kept_percent, n=row.owed)
