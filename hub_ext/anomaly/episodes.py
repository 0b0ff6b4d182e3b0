"""Episodes: one thing that is odd again and again is one anomaly, from its begin to its end."""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..lease import LeaseId
from ..lease.anomalies import Anomaly
from .finding import Finding

Key = tuple[str, str]


@dataclass(frozen=True)
class Change:
    """What a look has changed: `begun` and `over` are news, `going` goes on."""

    begun: tuple[Anomaly, ...] = ()
    going: tuple[Anomaly, ...] = ()
    over: tuple[Anomaly, ...] = ()


def shown(
    finding: Finding,
    present: Anomaly | None,
    now: datetime,
    *,
    money_micro: int | None,
    currency: str,
) -> Anomaly:
    """Make an anomaly of a finding; where it goes on already, its begin and peak stay."""
    began = min(finding.since, now) if present is None else present.began
    return Anomaly(
        id=_name(finding.key, began) if present is None else present.id,
        kind=finding.kind,
        subject=finding.subject,
        words=finding.words,
        began=began,
        seen_at=now,
        figure=finding.figure,
        peak=max(finding.figure, present.peak if present is not None else 0),
        owner=finding.owner,
        teams=finding.teams,
        leases=tuple(lease.id for lease in finding.leases),
        device=finding.device,
        node=finding.node,
        pool=finding.pool,
        money_micro=money_micro,
        currency=currency,
        act=finding.act,
    )


def advance(
    present: Mapping[Key, Anomaly],
    found: Iterable[Anomaly],
    *,
    live: Collection[LeaseId],
    settle: timedelta,
    now: datetime,
) -> Change:
    """Compare what is found now with the episodes that are open.

    Parameters
    ----------
    live
        Leases that are open: what is about others alone is over at once.
    settle
        How long something may be away and still be the same episode.
    """
    fresh = {(one.kind, one.subject): one for one in found}
    away = [one for key, one in present.items() if key not in fresh]
    over = tuple(
        one.model_copy(update={"ended": one.seen_at})
        for one in away
        if now - one.seen_at >= settle or (one.leases and live_of(one, live) == 0)
    )
    return Change(
        begun=tuple(one for key, one in fresh.items() if key not in present),
        going=tuple(one for key, one in fresh.items() if key in present),
        over=over,
    )


def live_of(one: Anomaly, live: Collection[LeaseId]) -> int:
    """How many of its leases are open."""
    return sum(lease in live for lease in one.leases)


def _name(key: Key, began: datetime) -> str:
    """Name an episode: the same begin of the same thing has the same name after a restart."""
    text = "\0".join((*key, began.isoformat()))
    return f"a-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
