"""What the rules would have done where they are only observed or advised: told and summed.

It reads the ledger's own events, found by their kind; it decides nothing.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from ..i18n import _
from ..lease import Event, OpenLease, Reason, Standing, Verdict
from ..units import duration_text
from .desk import Desk, Turn

WOULD_STOP = "verdict.unenforced"
"""Kind of the event: idleness was found that nothing acts on."""

DAYS = 14
"""How far back is summed up."""

_MOST = 10_000
"""Events that are read at most for it, the newest."""


@dataclass(frozen=True)
class DayRow:
    """One day and team: starts that would have waited or been denied, servers stopped as idle."""

    day: str
    team: str
    queued: int
    denied: int
    idle: int


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
        events = turn.tx.events(kinds=("lease.starting", WOULD_STOP), limit=_MOST, newest=True)
    counts: Counter[tuple[str, str, str]] = Counter()
    for _seq, event in events:
        found = _would(event) if event.at > now - timedelta(days=DAYS) else None
        if found is not None:
            team, what = found
            counts[event.at.astimezone(zone).date().isoformat(), team, what] += 1
    days = sorted({(day, team) for day, team, _what in counts}, key=lambda one: one[1])
    return tuple(
        DayRow(
            day=day,
            team=team,
            queued=counts[day, team, Standing.would_queue.value],
            denied=counts[day, team, Standing.denied.value],
            idle=counts[day, team, WOULD_STOP],
        )
        for day, team in sorted(days, key=lambda one: one[0], reverse=True)
    )


def _would(event: Event) -> tuple[str, str] | None:
    """Team, and what would have happened; None where nothing would."""
    if event.kind == WOULD_STOP:
        return str(event.body["team"]), WOULD_STOP
    lease = event.body.get("lease")
    reason = lease.get("reason") if isinstance(lease, dict) else None
    figures = reason.get("figures") if isinstance(reason, dict) else None
    would = figures.get("would_have") if isinstance(figures, dict) else None
    return (str(lease["team"]), str(would)) if isinstance(lease, dict) and would else None
