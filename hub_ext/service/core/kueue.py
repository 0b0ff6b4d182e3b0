"""The core's part that concerns Kueue: what is to be done there, and what is seen of it.

Like the rest of the core: synchronous, in one thread, `now` with each call.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from ...kube.engine import Gone, Seen
from ...kube.leaseless import Holder
from ...kube.nodes import NodeOffer
from ...kube.queuedemands import Breach
from ...lease import Ask, Event, Grant, LeaseId
from ..books.desk import Desk
from ..books.kueuebook import WATCH, WRITE
from ..books.slots import SlotFloor
from ..devices import gpuholders
from ..kueue import unfit as kueueunfit
from ..kueue.acts import Act, Do, acts
from ..kueue.intents import book_of
from ..kueue.seen import look_over
from ..leasing import attempts

LOOK_AGAIN_S = 5
"""Where there is no news and nothing is to be done, all is compared again after so long."""

AWAY, BACK = "kueue.away", "kueue.back"
"""Events: Kueue or the API does not answer, and does again."""


class KueueCore:
    """Everything of the governor that only admission by Kueue needs."""

    _desk: Desk

    def ask_for_quota(
        self, asked: Ask, checks: attempts.Checks, *, last: bool, now: datetime
    ) -> Grant:
        """Answer one attempt, where the answer may have to wait for Kueue's; see `attempts.ask`."""
        return attempts.ask(self._desk, asked, checks, now=now, last=last)

    @property
    def kueue_away(self) -> bool:
        """Whether Kueue admits here, and does not answer."""
        return self._desk.kueue is not None and self._desk.kueue.away is not None

    @property
    def kueue_foreign(self) -> tuple[Seen, ...]:
        """Workloads that are seen and are no leases of this governor."""
        book = self._desk.kueue
        return () if book is None else tuple(book.foreign.values())

    def take_offers(self, offers: Iterable[NodeOffer]) -> None:
        """Take what the machines of the cluster offer."""
        if isinstance(self._desk.floor, SlotFloor):
            self._desk.floor.take_offers(offers)

    def unplaced(self) -> Mapping[LeaseId, str]:
        """Namespaces in which the pods of leases are that were granted none: adopted, by hand."""
        return gpuholders.unplaced(self._desk)

    def note_leaseless(self, one: Holder, *, now: datetime) -> bool:
        """Record that a server without a lease is ended; see `gpuholders.note`."""
        return gpuholders.note(self._desk, one, now=now)

    def look_at_holders(
        self, holders: Iterable[Holder], *, whole: bool, now: datetime
    ) -> tuple[Holder, ...]:
        """Choose the servers to be ended of those that hold GPUs; see `gpuholders.look`."""
        return gpuholders.look(self._desk, tuple(holders), whole=whole, now=now)

    def kueue_saw(self, news: Seen | Gone, *, now: datetime) -> None:
        """Take one piece of news, and record what follows."""
        lease_id = book_of(self._desk).take(news)
        if lease_id is not None:
            self._look_over({lease_id}, now)

    def kueue_inspected(self, found: Iterable[Breach], *, now: datetime) -> None:
        """Take what a look at Kueue found; see `kueueunfit.note`."""
        with self._desk.turn(now) as turn:
            kueueunfit.note(turn, found)

    def kueue_stamp(self) -> int:
        """Stamp a list that is about to be asked for."""
        return book_of(self._desk).begin_list()

    def kueue_listed(self, every: Iterable[Seen], since: int, *, now: datetime) -> None:
        """Take the list of all Workloads as of a stamp, and record what follows."""
        book = book_of(self._desk)
        changed = book.take_all(every, since)
        self._works(WATCH, now)
        self._look_over(None, now)
        self._wake(changed)

    def kueue_acts(self, *, now: datetime) -> tuple[Act, ...]:
        """List what is to be done there now; see `kueueacts.acts`."""
        book = self._desk.kueue
        if book is None or self._desk.book.known is None:
            return ()
        with self._desk.turn(now) as turn:
            head, generation = turn.tx.head(), self._desk.book.state.generation
            mark = (head, book.stamp, generation, int(now.timestamp()) // LOOK_AGAIN_S)
            if mark == book.idle_at:
                return ()
            look_over(turn)
            found = acts(turn)
            book.idle_at = None if found or turn.tx.head() != head else mark
        if not found and WRITE in book.trouble and not book.blocked(now):
            # Nothing is there to try it with; whoever starts next does.
            self._works(WRITE, now)
        return found

    def kueue_done(self, act: Act, *, now: datetime) -> None:
        """Take that an act was made; deleting and keeping are over with it."""
        book = book_of(self._desk)
        if act.do not in {Do.drop, Do.renew}:
            # Deleting works without Kueue, so it proves nothing of it.
            self._works(WRITE, now)
        book.refused.pop(act.lease_id, None)
        if act.do is Do.park:
            book.parked.add(act.lease_id)
        if act.do is Do.wake:
            book.parked.discard(act.lease_id)
        if act.do is Do.drop and act.intent is not None:
            with self._desk.turn(now) as turn:
                turn.tx.settle(act.intent.id, "done", at=now)
            book.seen.pop(act.lease_id, None)

    def kueue_refused(self, act: Act, words: str, *, now: datetime) -> None:
        """Take that the API does not accept an act; whoever waits for it hears so."""
        book = book_of(self._desk)
        # One that was admitted before it could be taken out is given back by the next look.
        if act.do is Do.park or book.refused.get(act.lease_id) == words:
            return
        book.refused[act.lease_id] = words
        with self._desk.turn(now) as turn:
            lease = turn.tx.lease(act.lease_id)
            if lease is not None and lease.open:
                body: dict[str, object] = {"v": 1, "act": act.do.value, "words": words}
                turn.note("workload.refused", lease, body)

    def kueue_failed(self, what: str, words: str, *, now: datetime) -> None:
        """Take that Kueue or the API does not answer; recorded once."""
        if book_of(self._desk).failed(what, words, now):
            self._note(AWAY, {"v": 1, "what": what, "words": words}, now)

    def _works(self, what: str, now: datetime) -> None:
        wrong = book_of(self._desk).works(what)
        if wrong is not None:
            self._note(BACK, {"v": 1, "what": what, "since": wrong.since.isoformat()}, now)

    def _note(self, kind: str, body: dict[str, object], now: datetime) -> None:
        with self._desk.turn(now) as turn:
            turn.tx.append(Event(kind=kind, at=now, actor=turn.actor, body=body))

    def _look_over(self, only: set[LeaseId] | None, now: datetime) -> None:
        if self._desk.book.known is None:
            return
        with self._desk.turn(now) as turn:
            look_over(turn, only)
        self._wake(only or ())

    def _wake(self, changed: Iterable[LeaseId]) -> None:
        """Let whoever waits for quota ask again, whether or not a record was made."""
        with self._desk.ledger.transaction() as tx:
            found = [tx.lease(one) for one in changed]
        self._desk.changed |= {one.key for one in found if one is not None}
