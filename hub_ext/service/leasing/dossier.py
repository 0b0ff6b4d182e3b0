"""Everything that is on record about one lease: for the page that says why, with its evidence.

It reads; who may read is for the caller to check.
"""

from datetime import datetime

from ...lease import Cause, Event, LeaseId, LeaseView, OpenLease, Posting, Value, Verdict
from ...ledger.charges import CHARGE_POSTED
from ...ledger.store import Tx
from ..books.desk import Desk
from ..books.restcharges import rest_id
from ..hearing.watching import CHANGED
from ..queueing.again import may_ask_again
from ..reclaim.stops import ACTED_ON
from .closing import charges
from .views import view_of

_JUDGEMENTS = {"notice.given": "evidence", ACTED_ON: "verdict", CHANGED: "verdict"}
"""Events with a judgement, and where in their body it is."""

MOST_EVENTS = 200
"""Events of one lease that are shown; older ones stay in the ledger."""


class Dossier(Value):
    """One lease as its page shows it.

    `events` are the newest, newest first. `lines` are its charges, open ones until now.
    `evidence` is the judgement behind the newest announced stop, else the newest judgement.
    """

    view: LeaseView
    events: tuple[tuple[int, Event], ...]
    lines: tuple[Posting, ...]
    evidence: Verdict | None
    may_ask_again: bool = False
    """It was called in, and can wait again in its old place."""

    @property
    def lease(self) -> OpenLease:
        """The lease itself, open or closed."""
        lease = self.view.lease or self.view.ended
        if lease is None:
            raise LookupError("a dossier without a lease")
        return lease


def dossier(desk: Desk, lease_id: LeaseId, *, now: datetime) -> Dossier:
    """Gather what is known of one lease, open or closed.

    Raises
    ------
    RefusedError
        When there is none of that id.
    """
    view = view_of(desk, lease_id, now=now)
    with desk.turn(now) as turn:
        lease = turn.found(lease_id)
        events = turn.tx.events(lease_id=lease_id, limit=MOST_EVENTS, newest=True)
        judged = judgements(turn.tx, lease_id)
        may = may_ask_again(turn, lease)
        posted = turn.tx.events(lease_id=lease_id, kinds=(CHARGE_POSTED,), limit=MOST_EVENTS)
        if lease.rest:
            beside = rest_id(lease_id)
            posted += turn.tx.events(lease_id=beside, kinds=(CHARGE_POSTED,), limit=MOST_EVENTS)
    lines = charges(desk, lease, now) if lease.open else _posted(posted)
    return Dossier(
        view=view,
        events=events,
        lines=lines,
        evidence=evidence(lease, judged, view.verdict),
        may_ask_again=may,
    )


def _posted(events: tuple[tuple[int, Event], ...]) -> tuple[Posting, ...]:
    found = []
    for _seq, event in events:
        lines = event.body.get("postings")
        if isinstance(lines, list):
            found += [Posting.model_validate(line) for line in lines]
    return tuple(found)


def judgements(tx: Tx, lease_id: LeaseId) -> tuple[tuple[int, Event], ...]:
    """Find what is on record of a lease's idleness, newest first, whatever else happened to it."""
    return tx.events(lease_id=lease_id, kinds=tuple(_JUDGEMENTS), limit=MOST_EVENTS, newest=True)


def judged_in(event: Event) -> Verdict | None:
    """Give the judgement in an event; None where it has none."""
    body = event.body.get(_JUDGEMENTS.get(event.kind, ""))
    return Verdict.model_validate(body) if body else None


def under(events: tuple[tuple[int, Event], ...], decision: str) -> Verdict | None:
    """Give the newest judgement on record under a decision."""
    found = (judged_in(event) for _seq, event in events)
    return next((one for one in found if one is not None and one.decision == decision), None)


def evidence(
    lease: OpenLease, events: tuple[tuple[int, Event], ...], newest: Verdict | None
) -> Verdict | None:
    """Give the judgement that an announced stop rests on, else the newest one.

    Where no stop for idleness stands the newest counts: an older notice was withdrawn, and what it
    rested on is no reason for anything.
    """
    announced = Cause.culled in {lease.cause, lease.notice.cause if lease.notice else None}
    if lease.open and not announced and newest is not None:
        return newest
    found = [
        (event.kind, verdict) for _seq, event in events if (verdict := judged_in(event)) is not None
    ]
    told = [verdict for kind, verdict in found if kind != CHANGED]
    behind = told if announced and told else [verdict for _kind, verdict in found]
    return behind[0] if behind else newest
