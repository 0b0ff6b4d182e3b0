"""An attempt to start a server, from its ask to its report: which lease is it, and what follows.

One ask is one transaction. The same attempt always gets the same answer; two attempts never
share a lease; what the governor never granted leaves a tombstone.
"""

from collections.abc import Mapping
from datetime import datetime

from ...admission.decide import Admitted, Denied, Queued, Request, decide
from ...errors import RefusedError
from ...lease import (
    Actor,
    Ask,
    Cause,
    Environment,
    Grant,
    LeaseState,
    Liveness,
    OpenLease,
    Reason,
    ServerKey,
)
from ...ledger.said import said
from ...policy.catalogue import Person, Resolved, resolve
from ..basis.refusals import attempt_over, denied, still_alive, still_stopping, would_queue
from ..books.desk import Desk, Turn
from ..devices import devicepins
from ..kueue.turn import (
    Answer,
    Awaited,
    answered,
    awaited,
    begin,
    gates,
    lacks_quota,
    not_queued,
    unasked,
)
from ..money.valuing import check_purpose, note_purpose, opened
from ..queueing.slowing import slowed
from ..queueing.tickets import (
    WAITS,
    hold,
    join,
    kept_of,
    pinned,
    release,
    settle_starts,
    still_waiting,
    wants_the_same,
)
from .closing import End, close
from .granting import asked_lease, granted, recorded_late, renewed
from .strangers import adopted_unseen, is_its_ask

Checks = Mapping[Environment, Environment | RefusedError]
"""Environments whose pin was checked before the lock: located, or why they cannot be used."""

SPAWNER = Actor(kind="service", name="gpu-commons-spawner")


class UncheckedError(Exception):
    """The policy names an environment that was not checked yet; check it and ask again."""

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment.name)
        self.environment = environment


class AwaitedError(Exception):
    """Kueue has been asked for the lease's quota; ask again when there is news of its server."""

    def __init__(self, key: ServerKey) -> None:
        super().__init__(str(key))
        self.key = key


def keyed(desk: Desk, key: ServerKey) -> ServerKey:
    """Put this hub's name into a key: who asks does not choose whose ledger line it is."""
    return key.model_copy(update={"hub": desk.settings.hub})


def ask(desk: Desk, asked: Ask, checks: Checks, *, now: datetime, last: bool = True) -> Grant:
    """Answer one ask, and record the answer before it is given.

    Parameters
    ----------
    last
        Whether nobody can wait for Kueue's word any more: then it is an answer that it is missing.

    Raises
    ------
    RefusedError
        With figures and what to do next; recorded where a rule was applied.
    UncheckedError
        When the environment of the choice is not among `checks`; nothing was written.
    AwaitedError
        When Kueue has been asked, and it is not the last ask.
    """
    devicepins.settle(desk, now=now)
    with desk.turn(now, SPAWNER) as turn:
        asked = asked.model_copy(update={"key": keyed(desk, asked.key)})
        answer = _answer(turn, asked, checks, last=last)
    if isinstance(answer, Awaited):
        raise AwaitedError(answer.lease.key)
    if isinstance(answer, RefusedError):
        # Raised only here: inside, it would take back the record of the refusal.
        raise answer
    return answer


def _answer(turn: Turn, asked: Ask, checks: Checks, *, last: bool) -> Answer:
    if turn.tx.buried(asked.attempt_id):
        return attempt_over()
    lease = turn.tx.lease_of(asked.key)
    ours = lease is not None and lease.attempt_id == asked.attempt_id
    if not ours and (lease is None or not adopted_unseen(lease)):
        slow = slowed(turn, asked.key.user)
        if slow is not None:
            return slow
    if lease is not None and lease.state in WAITS:
        return _of_waiting(turn, lease, asked, checks, last=last)
    if lease is not None and ours and not adopted_unseen(lease):
        return _again(lease)
    person = Person(user=asked.key.user, groups=asked.groups)
    resolved = resolve(turn.desk.book.policy, person, asked.choice, turn.now)
    if lease is not None and is_its_ask(lease, asked.attempt_id, resolved):
        environment = _checked(resolved, checks)
        # It runs already, whatever has become of its environment since.
        known = None if isinstance(environment, RefusedError) else environment
        note_purpose(turn, lease, asked.purpose)
        return recorded_late(turn, lease, asked, resolved, known)
    check_purpose(turn, resolved, asked.purpose)
    refusal = None if lease is None else _end_former(turn, lease, asked.former)
    return refusal or _decide(turn, asked, resolved, checks, None, last=last)


def _of_waiting(turn: Turn, lease: OpenLease, asked: Ask, checks: Checks, *, last: bool) -> Answer:
    """Answer an ask whose server waits: the same wish goes on, another one takes its place.

    Somebody who has left the team or project since then hears so, and the request is closed. A
    wish that cannot be at all changes nothing.
    """
    if lease.attempt_id == asked.attempt_id and not gates(turn.desk):
        return still_waiting(turn, lease)
    person = Person(user=asked.key.user, groups=asked.groups)
    policy = turn.desk.book.policy
    if not wants_the_same(lease, asked.choice):
        resolved = resolve(policy, person, asked.choice, turn.now)
        purpose = asked.purpose or said(turn.tx, lease.id)[0].purpose
        check_purpose(turn, resolved, purpose)
        asked = asked.model_copy(update={"purpose": purpose})
        close(turn, lease, End(Cause.replaced))
        return _decide(turn, asked, resolved, checks, kept_of(lease, resolved), last=last)
    try:
        resolved = resolve(policy, person, pinned(lease, asked.choice), turn.now)
    except RefusedError as refusal:
        close(turn, lease, End(Cause.denied, reason=_reason_of(refusal)))
        return refusal
    return _claim(turn, lease, asked, resolved, checks, last=last)


def _claim(
    turn: Turn, lease: OpenLease, asked: Ask, resolved: Resolved, checks: Checks, *, last: bool
) -> Answer:
    """Decide on a waiting request again, with the rules as they are now."""
    environment = _checked(resolved, checks)
    if isinstance(environment, RefusedError):
        close(turn, lease, End(Cause.denied, reason=_reason_of(environment)))
        return environment
    note_purpose(turn, lease, asked.purpose)
    request = Request(
        key=asked.key,
        resolved=resolved,
        requested_at=lease.requested_at,
        asked_at=lease.asked_at,
        priority=turn.number(lease),
        lease_id=lease.id,
        until=lease.reserved_until,
        replaces=lease.replaces,
    )
    held = lease.state is LeaseState.held
    match answered(turn, request, lease):
        case Admitted() if lacks_quota(turn, lease):
            return awaited(turn, lease, last=last)
        case Admitted() as decision:
            auto = settle_starts(turn, lease)
            lease = renewed(turn, lease if held else hold(turn, lease, decision), asked, resolved)
            lease = lease.model_copy(update={"autostarted": auto})
            return granted(turn, lease, resolved, decision, environment)
        case Queued(reason=reason) if unasked(turn, lease, asked):
            return not_queued(turn, lease, reason)
        case Queued(reason=reason):
            lease = release(turn, lease, reason) if held else lease
            wished = {"choice": resolved.choice, "when": asked.when or lease.when}
            if lease.model_copy(update=wished) != lease:
                lease = turn.record(lease.model_copy(update=wished))
            return still_waiting(turn, lease)
        case Denied(reason=reason):
            close(turn, lease, End(Cause.denied, reason=reason))
            return denied(reason)


def _again(lease: OpenLease) -> Grant | RefusedError:
    """Repeat the answer that the hub lost."""
    if lease.state is LeaseState.stopping or lease.grant is None:
        return still_stopping(lease)
    return lease.grant


def _end_former(turn: Turn, lease: OpenLease, former: Liveness) -> RefusedError | None:
    """Close the lease of an earlier attempt where its process is gone; else say why not.

    The spawner's own poll is believed when it says that a process lives, and when this machine
    cannot tell. Where this machine sees the process, nobody's "gone" counts.
    """
    match lease.state:
        case LeaseState.requested:
            close(turn, lease, End(Cause.replaced))
            return None
        case LeaseState.stopping:
            # Only what this machine saw itself is proof: `stop()` may have raised, and the poll
            # that the hub then believes may be the one that failed.
            if former is Liveness.gone and turn.desk.alive(lease) is Liveness.gone:
                close(turn, lease, End(lease.cause or Cause.failed))
                return None
            return still_stopping(lease)
        case _:
            if former is not Liveness.gone or turn.desk.alive(lease) is Liveness.alive:
                return still_alive(lease)
            starting = lease.state is LeaseState.starting
            cause = Cause.failed if starting else Cause.lost
            close(turn, lease, End(cause, at=lease.last_seen_at, bounded=True))
            return None


def _decide(
    turn: Turn,
    asked: Ask,
    resolved: Resolved,
    checks: Checks,
    kept: OpenLease | None,
    *,
    last: bool,
) -> Answer:
    """Answer a wish that has no lease yet; it has the place of `kept`, a larger one before it."""
    since = turn.now if kept is None else kept.requested_at
    environment = _checked(resolved, checks)
    if isinstance(environment, RefusedError):
        _record_refusal(turn, asked, resolved, _reason_of(environment), Cause.denied)
        return environment
    request = Request(
        key=asked.key,
        resolved=resolved,
        requested_at=since,
        asked_at=None if kept is None else kept.asked_at,
        priority=turn.arriving(resolved, since),
    )
    match decide(turn.snapshot(), request):
        case Admitted() if resolved.pool is not None and gates(turn.desk):
            return begin(turn, asked, request, kept, last=last)
        case Admitted() as decision:
            lease = opened(turn, asked_lease(turn, asked, resolved), asked.purpose)
            return granted(turn, lease, resolved, decision, environment)
        case Queued(reason=reason) if asked.when is not None:
            lease = opened(turn, asked_lease(turn, asked, resolved), asked.purpose)
            return still_waiting(turn, join(turn, lease, asked, reason, since, kept=kept))
        case Queued(reason=reason, retry_after_s=retry_after_s):
            _record_refusal(turn, asked, resolved, reason, Cause.not_queued)
            return would_queue(reason, retry_after_s)
        case Denied(reason=reason):
            _record_refusal(turn, asked, resolved, reason, Cause.denied)
            return denied(reason)


def _checked(resolved: Resolved, checks: Checks) -> Environment | RefusedError | None:
    """Take the environment as it was checked before the lock.

    Raises
    ------
    UncheckedError
        When it was not; nothing was written.
    """
    if resolved.environment is None:
        return None
    if resolved.environment not in checks:
        raise UncheckedError(resolved.environment)
    return checks[resolved.environment]


def _reason_of(refusal: RefusedError) -> Reason:
    return Reason(code=refusal.code, message=refusal.message, figures=refusal.figures)


def _record_refusal(
    turn: Turn, asked: Ask, resolved: Resolved, reason: Reason, cause: Cause
) -> None:
    lease = turn.record(asked_lease(turn, asked, resolved))
    close(turn, lease, End(cause, reason=reason))
