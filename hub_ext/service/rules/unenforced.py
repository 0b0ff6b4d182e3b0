"""What the rules would have done where they are only observed or advised: told and summed.

It reads the ledger's own events, found by their kind; it decides nothing.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from ...i18n import _
from ...lease import Event, OpenLease, Reason, Standing, Verdict
from ...units import duration_text
from ..books.desk import Desk, Turn
from ..money.paying import UNENFORCED

WOULD_STOP = "verdict.unenforced"
"""Kind of the event: idleness was found that nothing acts on."""

DAYS = 14
"""How far back is summed up."""

_UNPAID, _SPENT = "unpaid", "spent"
_KINDS = ("lease.starting", WOULD_STOP, UNENFORCED)

_MOST = 10_000
"""Events that are read at most for it, the newest."""


@dataclass(frozen=True)
class DayRow:
    """One day and team: starts that would have waited or been denied, servers stopped as idle.

    `unpaid` are starts and extensions that a budget would have refused, `spent` servers that it
    would have stopped.
    """

    day: str
    team: str
    queued: int
    denied: int
    idle: int
    unpaid: int = 0
    spent: int = 0


def told(reason: Reason, standing: Standing) -> Reason:
    """Add to a grant's reason what enforced quota would have said."""
    wait_s = reason.figures.get("would_have_wait_s")
    if standing is Standing.denied:
        words = _("If quota were enforced, this would have been denied.")
    elif isinstance(wait_s, int) and wait_s > 0:
        words = _("If quota were enforced, this would have queued about {span}.").format(
            span=duration_text(timedelta(seconds=max(60, wait_s // 60 * 60)))
        )
    else:
        words = _("If quota were enforced, this would have queued.")
    return reason.model_copy(update={"message": f"{reason.message} {words}"})


def unpaid(reason: Reason) -> Reason:
    """Add to a grant's reason what an enforced budget would have said."""
    name = reason.figures["budget"]
    if reason.figures["budget_would_have"] == Standing.denied.value:
        words = _("If budgets were enforced, budget {name} would have refused this.")
    else:
        words = _("If budgets were enforced, this would have waited for budget {name}.")
    message = f"{reason.message} {words.format(name=name)}"
    return reason.model_copy(update={"message": message})


def note_idle(turn: Turn, lease: OpenLease, verdict: Verdict) -> None:
    """Record that an idle server stays, because idleness is not enforced."""
    policy = turn.desk.book.known
    if policy is None or policy.modes.idle == "enforce":
        return
    body: dict[str, object] = {
        "v": 1,
        "team": lease.team,
        "mode": policy.modes.idle,
        "words": verdict.words,
    }
    turn.note(WOULD_STOP, lease, body)


def table(desk: Desk, *, now: datetime) -> tuple[DayRow, ...]:
    """Sum it up by day and team, newest day first."""
    policy = desk.book.known
    zone = ZoneInfo(policy.timezone if policy is not None else "UTC")
    with desk.turn(now) as turn:
        events = turn.tx.events(kinds=_KINDS, limit=_MOST, newest=True)
    counts: Counter[tuple[str, str, str]] = Counter()
    for _seq, event in events:
        for team, what in _would(event) if event.at > now - timedelta(days=DAYS) else ():
            counts[event.at.astimezone(zone).date().isoformat(), team, what] += 1
    days = sorted({(day, team) for day, team, _what in counts}, key=lambda one: one[1])
    return tuple(
        DayRow(
            day=day,
            team=team,
            queued=counts[day, team, Standing.would_queue.value],
            denied=counts[day, team, Standing.denied.value],
            idle=counts[day, team, WOULD_STOP],
            unpaid=counts[day, team, _UNPAID],
            spent=counts[day, team, _SPENT],
        )
        for day, team in sorted(days, key=lambda one: one[0], reverse=True)
    )


def _would(event: Event) -> Iterator[tuple[str, str]]:
    """Team, and what would have happened; nothing where nothing would."""
    if event.kind == WOULD_STOP:
        yield str(event.body["team"]), WOULD_STOP
    elif event.kind == UNENFORCED:
        yield str(event.body["team"]), _SPENT if event.body["what"] == "stop" else _UNPAID
    lease = event.body.get("lease")
    reason = lease.get("reason") if isinstance(lease, dict) else None
    figures = reason.get("figures") if isinstance(reason, dict) else None
    if isinstance(lease, dict) and isinstance(figures, dict):
        if would := figures.get("would_have"):
            yield str(lease["team"]), str(would)
        if figures.get("budget_would_have"):
            yield str(lease["team"]), _UNPAID
