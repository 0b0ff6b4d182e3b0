"""What is to be done on Kueue now: the difference between what is wanted and what is seen.

It runs in a turn of the core and calls nobody. Making a Workload and deleting it are intents in
the ledger; whatever else follows from the states there is worked out anew each time.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum

from ...admission.priority import BAND, RUNNING
from ...kube.engine import DEACTIVATED, Phase, Seen, Wanted
from ...kube.names import label_value
from ...kube.podterms import place_of
from ...lease import Event, LeaseId, LeaseState, OpenLease
from ...ledger.duties import Intent
from ..books.desk import Turn
from ..books.kueuebook import WRITE, KueueBook, metered
from .intents import DROP, KEEP, MAKE, book_of, submit
from .plan import Wish, asking, wanted, wishes
from .unfit import unfit

ORPHAN = "workload.orphan"
"""Event: a Workload of ours without an open lease was seen twice, and is deleted."""

SECOND_LOOK = timedelta(seconds=30)
"""Time between two looks at a Workload whose lease is not open, before it is deleted."""


class Do(StrEnum):
    """Acts, in the order in which they are begun: room is made before it is asked for."""

    drop = "drop"
    renew = "renew"
    park = "park"
    renumber = "renumber"
    keep = "keep"
    ready = "ready"
    wake = "wake"
    touch = "touch"
    make = "make"


@dataclass(frozen=True, slots=True)
class Act:
    """One act on one lease's Workload; `wanted` is there to make it, `number` to number it."""

    do: Do
    lease_id: LeaseId
    number: int = 0
    wanted: Wanted | None = None
    intent: Intent | None = None
    marks: tuple[str, ...] = ()
    """What the act was chosen by; with other marks it is another act, and not one made again."""


def acts(turn: Turn) -> tuple[Act, ...]:
    """List what is to be done, at most one act a lease; make intents of what is to be recorded."""
    book = turn.desk.kueue
    if book is None or not book.listed or turn.desk.book.known is None:
        return ()
    leases = {lease.id: lease for lease in turn.tx.leases() if metered(lease)}
    intents = {(one.lease_id, one.kind): one for one in turn.tx.intents()}
    wished = wishes(turn.snapshot())
    found = [*_drops(intents), *_orphans(turn, book, leases, intents)]
    for lease in leases.values():
        wish = wished.get(lease.id)
        if wish is not None and lease.state is LeaseState.queued and unfit(turn, lease) is not None:
            # Where promises could not be kept, nothing is asked for.
            wish = replace(wish, active=False)
        act = None if wish is None else _of_lease(turn, lease, wish, intents)
        if act is not None:
            found.append(act if act.marks else replace(act, marks=_marks(book, lease.id)))
    if WRITE in book.trouble:
        found += _probe(book, leases.keys() - {act.lease_id for act in found})
    order = list(Do)
    return tuple(sorted(found, key=lambda act: (order.index(act.do), act.lease_id)))


def _probe(book: KueueBook, leases: Collection[LeaseId]) -> list[Act]:
    """Write what stands already, to learn whether Kueue answers again: other acts may be paused.

    Where there is no Workload, nobody waits for that either: the next start tries.
    """
    known = min((one for one in book.seen if one in leases), default=None)
    if known is None:
        return []
    return [Act(Do.renumber, known, book.seen[known].number, marks=("probe",))]


def _marks(book: KueueBook, lease_id: LeaseId) -> tuple[str, ...]:
    seen = book.seen.get(lease_id)
    return () if seen is None else (seen.uid, seen.version)


_Intents = dict[tuple[LeaseId, str], Intent]


def _drops(intents: _Intents) -> Iterator[Act]:
    for (lease_id, kind), intent in intents.items():
        if kind == DROP:
            yield Act(Do.drop, lease_id, intent=intent)


def _orphans(
    turn: Turn, book: KueueBook, leases: dict[LeaseId, OpenLease], intents: _Intents
) -> Iterator[Act]:
    """Intend the end of Workloads whose lease is not open, when they are seen so again."""
    alone = {one for one in book.seen if one not in leases and (one, DROP) not in intents}
    book.orphans = {one: at for one, at in book.orphans.items() if one in alone}
    for lease_id in sorted(alone):
        since = book.orphans.setdefault(lease_id, turn.now)
        if timedelta(0) <= turn.now - since < SECOND_LOOK:
            continue
        seen = book.seen[lease_id]
        body: dict[str, object] = {"v": 1, "namespace": seen.namespace, "uid": seen.uid}
        turn.tx.append(
            Event(kind=ORPHAN, at=turn.now, lease_id=None, body={**body, "name": seen.name})
        )
        turn.tx.intend(DROP, lease_id, body, at=turn.now)
        del book.orphans[lease_id]
        yield from _drops({(one.lease_id, one.kind): one for one in turn.tx.intents()})


def _of_lease(turn: Turn, lease: OpenLease, wish: Wish, intents: _Intents) -> Act | None:
    book = book_of(turn.desk)
    seen, made = book.seen.get(lease.id), intents.get((lease.id, MAKE))
    if (lease.id, DROP) in intents:
        # What had this id is being deleted: it is made anew when that is over.
        return None
    if seen is None:
        return _make(turn, lease, wish, made)
    if made is not None:
        turn.tx.settle(made.id, "seen", at=turn.now)
    if lease.state is LeaseState.queued:
        return _of_waiting(turn, lease, wish, seen)
    return _of_holding(book, lease, wish, seen, _still_kept(turn, lease, seen, intents))


def _make(turn: Turn, lease: OpenLease, wish: Wish, made: Intent | None) -> Act | None:
    """Let a Workload be made, unless an owner comes first."""
    if not wish.active or lease.state is LeaseState.stopping:
        return None
    settings, hub = turn.desk.settings, book_of(turn.desk).hub
    single = settings.kube_namespace or None
    what = wanted(turn.policy, lease, wish.number, hub=hub, single=single)
    if what is None:
        return None
    if made is None:
        made = submit(turn, lease)
    return Act(Do.make, lease.id, asking(wish.number), what, made, (str(made.id),))


def _of_waiting(turn: Turn, lease: OpenLease, wish: Wish, seen: Seen) -> Act | None:
    """Bring the Workload of a request that waits in line with what is wanted."""
    book = book_of(turn.desk)
    lost = seen.phase in {Phase.evicted, Phase.finished} or (
        seen.phase is Phase.deactivated and not _parked(book, lease, seen)
    )
    other = _asks_for_other(turn, lease, seen)
    # One that has quota and may not start, for a cap or for want of room, gives it back.
    in_vain = seen.phase is Phase.admitted and not wish.active
    if lost or other or in_vain or book.leaving.get(lease.id) == seen.uid:
        # From here on it is not believed to have quota: its server must not start meanwhile.
        book.leaving[lease.id] = seen.uid
        return Act(Do.renew, lease.id, marks=(seen.uid,))
    if seen.phase is Phase.admitted:
        if lease.id in book.parked:
            # Kueue was first, and who is admitted is never taken out: its quota counts again.
            book.parked.discard(lease.id)
            turn.desk.changed.add(lease.key)
        return None if seen.pods_ready else Act(Do.ready, lease.id)
    if seen.phase is Phase.deactivated or (wish.active and lease.id in book.parked):
        return Act(Do.wake, lease.id) if wish.active else None
    if not wish.active:
        book.parked.add(lease.id)
        return Act(Do.park, lease.id)
    return _numbered(book, lease, wish, seen)


def _asks_for_other(turn: Turn, lease: OpenLease, seen: Seen) -> bool:
    """Whether a Workload asks for other units, or at another place, than its request wants now."""
    if seen.units not in {0, lease.units}:
        return True
    if seen.pool not in {None, label_value(lease.pool or "")}:
        return True
    policy, project = turn.policy, lease.project
    if project is not None and project not in policy.projects:
        # It is closed, or goes on as it is: it has no other place.
        return False
    place = place_of(policy, lease.team, project, turn.desk.settings.kube_namespace or None)
    return (seen.namespace, seen.queue) != (place.namespace, place.local_queue)


def _numbered(book: KueueBook, lease: OpenLease, wish: Wish, seen: Seen) -> Act | None:
    """Write the number of a request that waits, after those of whom it has called in."""
    victims = [book.seen[one] for one in wish.before if one in book.seen]
    if any(one.number >= asking(0) and one.phase is Phase.admitted for one in victims):
        return None
    if seen.number != wish.number:
        return Act(Do.renumber, lease.id, wish.number)
    waits_for = tuple(sorted(one.uid for one in victims if one.phase is Phase.admitted))
    # A lowered number of somebody else wakes nobody: Kueue looks again when its own is written.
    return Act(Do.touch, lease.id, wish.number, marks=waits_for) if waits_for else None


def _parked(book: KueueBook, lease: OpenLease, seen: Seen) -> bool:
    """Whether it was taken out by the governor; after a restart, whether it can have been."""
    known = lease.id in book.parked
    return known or (lease.held_at is None and seen.evicted_for in {None, DEACTIVATED})


def _still_kept(turn: Turn, lease: OpenLease, seen: Seen, intents: _Intents) -> Intent | None:
    """Give the intent to let a lease go on, while it is one; settle it when that is done."""
    kept = intents.get((lease.id, KEEP))
    done = seen.phase is Phase.admitted and seen.number >= RUNNING * BAND
    if kept is None or not (done or lease.called_in is not None):
        return kept
    turn.tx.settle(kept.id, "kept" if done else "called in again", at=turn.now)
    return None


def _of_holding(
    book: KueueBook, lease: OpenLease, wish: Wish, seen: Seen, kept: Intent | None
) -> Act | None:
    """Bring the Workload of a lease with devices in line: its number, its readiness."""
    book.parked.discard(lease.id)
    if lease.state is LeaseState.held and seen.phase in {
        Phase.evicted,
        Phase.deactivated,
        Phase.finished,
    }:
        return Act(Do.renew, lease.id, marks=(seen.uid,))
    if seen.phase is Phase.admitted or kept is not None:
        if seen.number != wish.number:
            return Act(Do.renumber, lease.id, wish.number)
        if kept is not None and seen.phase is Phase.evicted:
            return Act(Do.keep, lease.id, intent=kept)
        return None if seen.pods_ready else Act(Do.ready, lease.id)
    if seen.phase is Phase.pending and seen.number != asking(wish.number):
        return Act(Do.renumber, lease.id, asking(wish.number))
    return None
