"""The search for anomalies: what begins and what is over is an event, what goes on is kept.

It tells; nothing is stopped by it. Advice that was given for an anomaly goes with it.
"""

from collections.abc import Collection, Iterable
from datetime import datetime

from ...anomaly import Change, advance, find, shown
from ...i18n import _
from ...lease import Event, Notice, Reason
from ...lease.anomalies import Anomaly, AnomalySheet
from ..books.anomalybook import BEGAN, ENDED
from ..books.desk import Desk
from ..queueing.learning import read_on
from ..reclaim import stops
from .facts import gather, money

ADVICE = "anomaly-advice"
"""Code of a notice that an anomaly is told with; it stops nothing."""

OVER = Reason(code="anomaly-over", message=_("What you were told of is over."))


def search(desk: Desk, *, now: datetime) -> Change:
    """Look once at everything, record what is new and what is over."""
    policy = desk.book.known
    if policy is None:
        return Change()
    book = desk.anomalies
    with desk.turn(now) as turn:
        read_on(turn)
        facts = gather(turn, policy)
        live = {one.id for one in turn.tx.leases()}
        found = []
        for finding in find(facts, policy.anomalies):
            present = book.open.get(finding.key)
            began = finding.since if present is None else present.began
            amount = money(desk, finding, began, now)
            found.append(shown(finding, present, now, money_micro=amount, currency=policy.currency))
        change = advance(book.open, found, live=live, settle=policy.anomalies.settle, now=now)
        events = [
            *(_event(BEGAN, one, now) for one in change.begun),
            *(_event(ENDED, one, now) for one in change.over),
        ]
        for event in events:
            turn.tx.append(event)
    # Only what is on the record is told.
    for event in events:
        book.apply(event)
    for one in change.going:
        book.open[one.kind, one.subject] = one
    book.forget(now)
    _take_back(desk, change.over, now)
    return change


def _event(kind: str, one: Anomaly, now: datetime) -> Event:
    return Event(kind=kind, at=now, body={"v": 1, "anomaly": one.model_dump(mode="json")})


def _take_back(desk: Desk, over: Iterable[Anomaly], now: datetime) -> None:
    """Take back advice that was given for what is over."""
    for one in over:
        for lease_id in one.leases:
            with desk.turn(now) as turn:
                lease = turn.tx.lease(lease_id)
            if lease is not None and lease.notice is not None and _told(lease.notice, one):
                stops.withdraw_notice(desk, lease_id, OVER, now=now)


def _told(notice: Notice, one: Anomaly) -> bool:
    return notice.is_advice and notice.reason.figures.get("anomaly") == one.id


def sheet(desk: Desk, teams: Collection[str] | None, *, now: datetime) -> AnomalySheet:
    """Show what is open, the dearest first, and what was over lately.

    Parameters
    ----------
    teams
        Whose alone; None for all, the site's own among them.
    """
    book = desk.anomalies
    book.forget(now)
    return AnomalySheet(
        at=now,
        open=tuple(sorted(_seen(book.open.values(), teams), key=_dearest)),
        ended=tuple(
            sorted(_seen(book.ended, teams), key=lambda x: (x.ended or x.began, x.id), reverse=True)
        ),
    )


def _seen(every: Iterable[Anomaly], teams: Collection[str] | None) -> list[Anomaly]:
    return [one for one in every if teams is None or not set(teams).isdisjoint(one.teams)]


def _dearest(one: Anomaly) -> tuple[int, datetime, str]:
    return (-(one.money_micro or 0), one.began, one.id)
