"""What stands idle or hoarded at this moment, the longest first, with its owner and its money."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from ...i18n import _
from ...lease import LeaseId, LeaseView
from ...lease.anomalies import Anomaly, AnomalyKind
from ...lease.showing import VerdictState
from ..books import formats
from . import anomalies

KINDS: tuple[AnomalyKind, ...] = ("hoarding", "never_used", "forgotten", "gaming")
"""Anomalies that are of one lease and cost somebody money."""


@dataclass(frozen=True)
class WastedLine:
    """One lease that is not used: what is so of it, whose, since when, what it cost so far."""

    href: str
    owner: str
    server: str
    what: str
    since: str
    lasted: str
    money: str
    act_href: str
    """Where something can be done about it; empty where the notice is given by itself."""


def lines(
    views: Sequence[LeaseView], odd: Sequence[Anomaly], now: datetime, zone: str
) -> tuple[WastedLine, ...]:
    """List idle leases, and those that something is odd about, the longest first."""
    told = {lease_id: one for one in odd if one.kind in KINDS for lease_id in one.leases}
    found = [*_idle(views, told, now, zone), *_odd(views, told, now, zone)]
    return tuple(line for _lasts, line in sorted(found, key=lambda one: -one[0]))


def _idle(
    views: Sequence[LeaseView], told: dict[LeaseId, Anomaly], now: datetime, zone: str
) -> Iterator[tuple[float, WastedLine]]:
    for view in views:
        lease, verdict = view.lease, view.verdict
        if lease is None or verdict is None or lease.id in told or lease.pool is None:
            continue
        if verdict.state is not VerdictState.idle or verdict.quiet_since is None:
            continue
        lasts = (now - verdict.quiet_since).total_seconds()
        yield (
            lasts,
            WastedLine(
                href=f"leases/{lease.id}#evidence",
                owner=lease.key.user,
                server=formats.server_name(lease.key.server),
                what=_("idle"),
                since=formats.minute(verdict.quiet_since, zone),
                lasted=formats.span(int(lasts)),
                money=_("{money} for the whole lease").format(
                    money=view.cost.so_far_text if view.cost else formats.money(None, "")
                ),
                act_href="",
            ),
        )


def _odd(
    views: Sequence[LeaseView], told: dict[LeaseId, Anomaly], now: datetime, zone: str
) -> Iterator[tuple[float, WastedLine]]:
    words = anomalies.kinds()
    for view in views:
        lease = view.lease
        if lease is None or lease.id not in told:
            continue
        one = told[lease.id]
        lasts = (now - one.began).total_seconds()
        yield (
            lasts,
            WastedLine(
                href=f"leases/{lease.id}#evidence",
                owner=lease.key.user,
                server=formats.server_name(lease.key.server),
                what=words[one.kind],
                since=formats.minute(one.began, zone),
                lasted=formats.span(int(lasts)),
                money=formats.money(one.money_micro, one.currency),
                act_href=f"anomalies#{one.id}",
            ),
        )
