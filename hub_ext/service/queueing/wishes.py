"""What a person does with a request that waits: leave the queue, or wait for something else.

The same rules hold as at a start; a smaller wish keeps its place and its time of waiting.
"""

from datetime import datetime

from ...admission.decide import Denied, Request, decide
from ...errors import RefusedError
from ...i18n import _
from ...lease import Actor, Ask, Cause, Choice, LeaseId, OpenLease, Reason, When
from ...ledger.said import said
from ...policy.catalogue import Person, resolve
from ..basis.refusals import denied
from ..books.desk import Desk, Turn
from ..leasing.closing import End, close
from ..leasing.granting import asked_lease
from ..money.valuing import check_purpose, opened
from .tickets import WAITS, join, kept_of, pinned, release, settle_starts, wants_the_same


def cancel(desk: Desk, lease_id: LeaseId, *, actor: Actor, now: datetime) -> OpenLease:
    """Take a request out of the queue; what was held for it is free at once.

    Raises
    ------
    RefusedError
        When it does not wait (any more).
    """
    with desk.turn(now, actor) as turn:
        lease = _waiting(turn, lease_id)
        reason = Reason(
            code="cancelled",
            message=_("{name} took this request out of the queue.").format(name=actor.name),
        )
        return close(turn, lease, End(Cause.cancelled, reason=reason))


def change(
    desk: Desk, lease_id: LeaseId, choice: Choice, when: When, *, actor: Actor, now: datetime
) -> OpenLease:
    """Let somebody wait for something else, or be told in another way; return what waits now.

    Raises
    ------
    RefusedError
        When it does not wait, or the new wish can never be: then the former one goes on waiting.
    """
    with desk.turn(now, actor) as turn:
        lease = _waiting(turn, lease_id)
        if wants_the_same(lease, choice):
            return _told_otherwise(turn, lease, choice, when)
        if lease.replaces is not None and wants_the_same(turn.found(lease.replaces), choice):
            raise _runs_so()
        person = Person(user=lease.key.user, groups=lease.groups)
        resolved = resolve(desk.book.policy, person, choice, now)
        kept = kept_of(lease, resolved)
        since = now if kept is None else kept.requested_at
        if resolved.pool is None:
            raise _needs_no_queue()
        request = Request(
            key=lease.key,
            resolved=resolved,
            requested_at=since,
            asked_at=None if kept is None else kept.asked_at,
            priority=turn.arriving(resolved, since),
            lease_id=lease.id,
            replaces=lease.replaces,
        )
        decision = decide(turn.snapshot(), request)
        if isinstance(decision, Denied):
            raise denied(decision.reason)
        purpose = said(turn.tx, lease.id)[0].purpose
        check_purpose(turn, resolved, purpose)
        asked = Ask(
            attempt_id=lease.attempt_id,
            key=lease.key,
            groups=lease.groups,
            choice=choice,
            when=when,
        )
        close(turn, lease, End(Cause.replaced))
        made = asked_lease(turn, asked, resolved).model_copy(update={"replaces": lease.replaces})
        fresh = opened(turn, made, purpose)
        return join(turn, fresh, asked, decision.reason, since, kept=kept)


def _told_otherwise(turn: Turn, lease: OpenLease, choice: Choice, when: When) -> OpenLease:
    """Keep the request and what is held for it; only what then happens is another."""
    wished = {"choice": pinned(lease, choice), "when": when}
    if lease.held_until is not None and when is not lease.when:
        settle_starts(turn, lease)
        if when is When.start:
            # Back to its place: the queue's next turn holds a device again and starts it.
            lease = release(turn, lease, _back()).model_copy(update={"holds": lease.holds - 1})
    return turn.record(lease.model_copy(update=wished))


def _waiting(turn: Turn, lease_id: LeaseId) -> OpenLease:
    lease = turn.found(lease_id)
    if lease.state in WAITS:
        return lease
    raise RefusedError(
        "not-waiting",
        _(
            "This request does not wait any more: its server has been started, or it was taken "
            "out of the queue. Reload the page to see what became of it."
        ),
        figures={"lease": lease.id, "state": lease.state},
    )


def _needs_no_queue() -> RefusedError:
    return RefusedError(
        "needs-no-queue",
        _(
            "A server without a GPU never has to wait. Start it on the hub's page; what waits is "
            "then taken out of the queue."
        ),
    )


def _runs_so() -> RefusedError:
    return RefusedError(
        "same-profile",
        _("The server runs so already: take this request out of the queue, and nothing changes."),
    )


def _back() -> Reason:
    return Reason(
        code="start-wanted",
        message=_("Your server is to be started for you; it is your turn again at once."),
    )
