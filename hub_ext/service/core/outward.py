"""The core's part in telling outside: messages become duties, and what came of them is settled.

Like the rest of the core: synchronous, in one thread, `now` with each call. Nothing is sent here.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta

from ...lease import Event, LeaseId
from ...lease.outward import OutwardDuty, OutwardTotals
from ...ledger.duties import Intent
from ...ledger.store import Tx
from ...policy.model import Policy
from ...policy.model.notices import OutwardNotice
from ..books.desk import Desk
from ..books.outwardbook import OUTWARD, SENT, TAKEN
from ..outward import messages as outward

A_LOOK = 200
"""Lines that are looked at in one turn; the rest come in the next."""

TOO_OLD = timedelta(hours=24)
"""What is older is news to nobody: after a governor that was away, or ways that are new."""

FIRST_PAUSE = timedelta(seconds=30)
LONGEST_PAUSE = timedelta(hours=1)


class OutwardCore:
    """Everything of the governor that concerns telling outside."""

    _desk: Desk

    def take_outward(self, *, now: datetime) -> None:
        """Make duties of what was recorded since the last look, each exactly once.

        The duties and the line up to which they reach are written in one transaction.
        """
        desk, policy = self._desk, self._desk.book.known
        if policy is None:
            return
        book = desk.outward
        if not policy.notices:
            book.idle = True
            return
        with desk.turn(now) as turn:
            tx = turn.tx
            after = book.through if book.through is not None else _taken(tx)
            if after is None or book.idle:
                # Ways are new here: what was before them is not told.
                after = tx.head()
                tx.append(_line(after, now))
            page = tx.events(kinds=outward.KINDS, after=after, limit=A_LOOK)
            for seq, event in page:
                _intend(tx, policy, seq, event, desk.settings.hub, now)
            through = page[-1][0] if page else after
            if page:
                tx.append(_line(through, now))
        book.through, book.idle = through, False

    def outward_due(self, *, now: datetime) -> tuple[Intent, ...]:
        """Duties that are to be tried now, the oldest first."""
        with self._desk.turn(now) as turn:
            waiting = [one for one in turn.tx.intents() if one.kind == OUTWARD]
        return tuple(one for one in waiting if _due(one, now))

    def outward_route(self, name: str) -> OutwardNotice | None:
        """Give a way of the policy in force."""
        policy = self._desk.book.known
        return None if policy is None else policy.notices.get(name)

    def outward_zone(self) -> str:
        """Time zone in which mails write instants."""
        policy = self._desk.book.known
        return "UTC" if policy is None else policy.timezone

    def outward_over(
        self,
        intent: Intent,
        duty: OutwardDuty,
        result: str,
        *,
        stale: bool = False,
        now: datetime,
    ) -> None:
        """Settle a duty: it was sent or never will be; what is `stale` is no fault of its way."""
        with self._desk.turn(now) as turn:
            turn.tx.settle(intent.id, result, at=now)
        book = self._desk.outward
        book.counts[_way(duty), SENT if result == SENT else "dropped"] += 1
        if result == SENT:
            book.trouble.pop(duty.route, None)
        elif not stale:
            book.trouble[duty.route] = result

    def outward_failed(
        self, intent: Intent, duty: OutwardDuty, words: str, *, now: datetime
    ) -> None:
        """Note a try that failed; it is tried again, until it is too old."""
        if now - intent.created_at >= TOO_OLD:
            self.outward_over(intent, duty, words, now=now)
            return
        book = self._desk.outward
        book.counts[_way(duty), "failed"] += 1
        book.trouble[duty.route] = words

    def outward_totals(self, *, now: datetime) -> OutwardTotals:
        """Count what went out, and what waits."""
        counts: Mapping[tuple[str, str], int] = Counter(self._desk.outward.counts)
        with self._desk.turn(now) as turn:
            waiting = sum(one.kind == OUTWARD for one in turn.tx.intents())
        return OutwardTotals(
            counts=tuple((way, result, n) for (way, result), n in sorted(counts.items())),
            waiting=waiting,
        )


def _way(duty: OutwardDuty) -> str:
    return "mail" if duty.to else "webhook"


def _taken(tx: Tx) -> int | None:
    newest = tx.events(kinds=(TAKEN,), limit=1, newest=True)
    return int(str(newest[0][1].body["through"])) if newest else None


def _line(through: int, now: datetime) -> Event:
    return Event(kind=TAKEN, at=now, body={"v": 1, "through": through})


def _intend(tx: Tx, policy: Policy, seq: int, event: Event, hub: str, now: datetime) -> None:
    """Write down the duties of one event."""
    if now - event.at > TOO_OLD:
        return
    lease = None if event.lease_id is None else tx.lease(event.lease_id)
    told = outward.message(event, seq, lease, hub=hub)
    for duty in () if told is None else outward.duties(told, policy):
        # Named by receiver: of one name and kind there is one open duty, so none is made twice.
        name = LeaseId(f"{duty.message.id}-{duty.route}-{duty.to}")
        tx.intend(OUTWARD, name, duty.model_dump(mode="json"), at=now)


def _due(intent: Intent, now: datetime) -> bool:
    if intent.tried_at is None:
        return True
    pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(10, max(0, intent.tries - 1)))
    # A clock that was set back must not keep a message from being tried.
    return not timedelta(0) <= now - intent.tried_at < pause
