"""What follows in the ledger from what is seen on Kueue: quota came, or was taken without a call.

Nothing that runs is lost in an instant: whoever loses quota that nobody announced gets a notice.
"""

from collections.abc import Collection
from datetime import datetime, timedelta

from ...i18n import _
from ...kube.engine import (
    CLUSTER_QUEUE_STOPPED,
    LOCAL_QUEUE_STOPPED,
    PODS_READY_TIMEOUT,
    Phase,
    Seen,
)
from ...lease import Cause, LeaseId, LeaseState, Notice, OpenLease, Reason, local_text
from ..basis.refusals import RETRY_S
from ..basis.words import server_words
from ..books.desk import Desk, Turn
from ..books.kueuebook import metered
from ..leasing.closing import End, close
from ..queueing.tickets import WAITS, release, settle_starts
from ..reclaim.stops import stop, withdrawn
from .intents import DROP, KEEP, book_of
from .unfit import why

TAKEN = "workload.taken"
"""Event: Kueue or somebody else took a lease's quota, with the words that were seen."""

NO_QUOTA = "no-quota"
"""Code of the notice of a lease whose quota was taken without a call."""

UNANSWERED = timedelta(seconds=10)
"""A request that nobody said may wait is given up after so long: whoever asked has left."""

WITHOUT = timedelta(seconds=60)
"""For so long a lease may be without quota while its Workload is made anew."""

_UP = frozenset({LeaseState.starting, LeaseState.running, LeaseState.noticed})
_LIVE = frozenset({LeaseState.running, LeaseState.noticed})


def look_over(turn: Turn, only: Collection[LeaseId] | None = None) -> None:
    """Compare leases with their Workloads, all or `only` some, and record what follows."""
    book = book_of(turn.desk)
    if not book.listed or turn.desk.book.known is None:
        return
    dropped = {one.lease_id for one in turn.tx.intents() if one.kind == DROP}
    for lease in turn.tx.leases():
        if not metered(lease) or lease.id in dropped:
            continue
        if only is not None and lease.id not in only:
            continue
        seen = book.seen.get(lease.id)
        if lease.state in WAITS:
            _waiting(turn, lease, seen)
        elif lease.state in _UP:
            _up(turn, lease, seen)
    if only is not None:
        return
    known = {lease.id for lease in turn.tx.leases()}
    book.forget(known | dropped)


def _waiting(turn: Turn, lease: OpenLease, seen: Seen | None) -> None:
    """Give up what nobody waits for; let what was taken before it was handed over wait again."""
    asked_for = lease.when is not None or lease.reservation is not None
    if not asked_for and not timedelta(0) <= turn.now - lease.state_since < UNANSWERED:
        close(turn, lease, End(Cause.not_queued, reason=why(turn, lease)))
        return
    if seen is None or seen.phase in {Phase.admitted, Phase.pending}:
        return
    if lease.state is LeaseState.queued:
        # Where it was parked, this is the governor's own doing.
        if seen.phase is not Phase.deactivated:
            _note_once(turn, lease, seen)
        return
    _note_once(turn, lease, seen)
    if lease.reservation is not None or lease.replaces is not None:
        # What is held for it was promised: its Workload is made anew meanwhile.
        return
    settle_starts(turn, lease)
    back = release(turn, lease, _before_start())
    turn.record(back.model_copy(update={"holds": lease.holds - 1}))


def _up(turn: Turn, lease: OpenLease, seen: Seen | None) -> None:
    """Tell whoever runs without quota that this ends; take it back where quota is there again."""
    book = book_of(turn.desk)
    if seen is not None and seen.phase is Phase.admitted:
        book.missing.pop(lease.id, None)
        _take_back(turn, lease)
        return
    if seen is None or seen.phase is Phase.pending:
        since = book.missing.setdefault(lease.id, turn.now)
        if turn.now - since >= WITHOUT and book.away is None:
            _warn(turn, lease, seen)
        return
    _note_once(turn, lease, seen)
    if seen.phase is Phase.evicted and (lease.called_in is not None or _kept(turn, lease.id)):
        return
    if seen.phase is Phase.evicted and seen.evicted_for == PODS_READY_TIMEOUT:
        # The server is up; only the governor was late in saying so.
        turn.tx.intend(KEEP, lease.id, {"v": 1, "uid": seen.uid}, at=turn.now)
        return
    _warn(turn, lease, seen)


def _kept(turn: Turn, lease_id: LeaseId) -> bool:
    return any(one.lease_id == lease_id and one.kind == KEEP for one in turn.tx.intents())


def _warn(turn: Turn, lease: OpenLease, seen: Seen | None) -> None:
    """Give the notice of the pool, or stop what it is over for; a start is waited for."""
    if lease.state not in _LIVE:
        return
    notice = lease.notice
    if notice is not None and notice.reason.code == NO_QUOTA and notice.stops_at <= turn.now:
        stop(turn, lease, cause=Cause.preempted, reason=_ended(notice.reason))
        return
    pool = turn.policy.pools.get(str(lease.pool))
    until = turn.now + (turn.policy.notice.lifetime if pool is None else pool.notice)
    if notice is not None and (notice.reason.code == NO_QUOTA or notice.stops_at <= until):
        return
    why = Reason(code=NO_QUOTA, message=_why(seen), figures={"retry_after_s": RETRY_S})
    given = Notice(cause=Cause.preempted, given_at=turn.now, stops_at=until, reason=why)
    body: dict[str, object] = {"v": 1, "notice": given.model_dump(mode="json"), "evidence": None}
    turn.note("notice.given", lease, body)
    since = lease.state_since if lease.state is LeaseState.noticed else turn.now
    told = {"state": LeaseState.noticed, "state_since": since, "notice": given}
    turn.record(lease.model_copy(update=told))


def _take_back(turn: Turn, lease: OpenLease) -> None:
    notice = lease.notice
    if lease.state is not LeaseState.noticed or notice is None or notice.reason.code != NO_QUOTA:
        return
    turn.record(withdrawn(turn, lease, _again()))


def _note_once(turn: Turn, lease: OpenLease, seen: Seen) -> None:
    """Record that quota was taken: once for each Workload and reason, also after a restart."""
    what = {"uid": seen.uid, "phase": seen.phase.value, "for": seen.evicted_for or ""}
    newest = turn.tx.events(lease_id=lease.id, kinds=[TAKEN], newest=True, limit=1)
    if any(all(event.body.get(key) == text for key, text in what.items()) for _n, event in newest):
        return
    body: dict[str, object] = {
        "v": 1,
        **what,
        "words": seen.message or seen.reason,
        "called_in": lease.called_in is not None,
    }
    turn.note(TAKEN, lease, body)


def faults(desk: Desk, *, now: datetime) -> tuple[str, ...]:
    """Say for administrators what is wrong on Kueue, a sentence each."""
    book = desk.kueue
    if book is None or desk.book.known is None:
        return ()
    zone = desk.book.policy.timezone
    words = [
        _("since {at}: {words}").format(at=local_text(one.since, zone), words=one.words)
        for _what, one in sorted(book.trouble.items())
    ]
    words += [f"{one.words}; {one.remedy}" for one in book.unfit]
    if not book.listed and not words:
        words.append(_("the Workloads have not been listed yet, so nothing is admitted"))
    with desk.turn(now) as turn:
        for lease in turn.tx.leases():
            seen = book.seen.get(lease.id)
            if lease.id in book.refused:
                words.append(f"{server_words(lease.key)}: {book.refused[lease.id]}")
            elif lease.pool is not None and _is_fault(turn, lease, seen):
                words.append(f"{server_words(lease.key)}: {_why(seen)}")
        words += [
            _("the Workload of lease {lease}, which is over, is not deleted: {words}").format(
                lease=one.lease_id, words=book.refused[one.lease_id]
            )
            for one in turn.tx.intents()
            if one.kind == DROP and one.lease_id in book.refused
        ]
    return tuple(words)


def _is_fault(turn: Turn, lease: OpenLease, seen: Seen | None) -> bool:
    if lease.state not in _UP or lease.called_in is not None:
        return False
    if seen is None or seen.phase is Phase.pending:
        since = book_of(turn.desk).missing.get(lease.id)
        return since is not None and turn.now - since >= WITHOUT
    return seen.phase is not Phase.admitted


def _why(seen: Seen | None) -> str:
    """Say in words for its owner why a server has to give its GPU back."""
    save = _("Save your work: the server is stopped when this notice is over.")
    if seen is None or seen.phase is Phase.pending:
        words = _("This server has lost its place in Kueue, and has none again yet.")
    elif seen.phase is Phase.evicted and seen.evicted_for in {
        CLUSTER_QUEUE_STOPPED,
        LOCAL_QUEUE_STOPPED,
    }:
        words = _("An administrator has stopped this server's queue in Kueue.")
    elif seen.phase is Phase.evicted:
        words = _("Kueue takes this server's GPU back for a request that comes first.")
    else:
        words = _("Somebody has taken this server's quota away in Kueue.")
    return f"{words} {save}"


def _before_start() -> Reason:
    return Reason(
        code="kueue-took-it-back",
        message=_(
            "Kueue took the quota back before the server was started. The request is back at its "
            "old place, and its turn comes by itself."
        ),
    )


def _ended(reason: Reason) -> Reason:
    return Reason(
        code="no-quota-any-more",
        message=_(
            "The server was stopped because its quota in Kueue had been taken, as it was told "
            "before. Its files are kept: start it again, and it waits where it must."
        ),
        figures=reason.figures,
    )


def _again() -> Reason:
    return Reason(
        code="quota-again", message=_("The server is not stopped: it has its quota again.")
    )
