"""A server that was called in: its owner waits again, in the old place, by one press."""

from datetime import datetime

from ...admission.decide import Denied, Request, decide
from ...errors import RefusedError
from ...i18n import _
from ...lease import Actor, Ask, Cause, LeaseId, LeaseState, OpenLease, When
from ...ledger.said import said
from ...policy.catalogue import Person, resolve
from ..basis.refusals import denied
from ..books.desk import Desk, Turn
from ..leasing.granting import asked_lease
from ..money.valuing import check_purpose, opened
from .tickets import join, pinned


def may_ask_again(turn: Turn, lease: OpenLease) -> bool:
    """Whether a lease was called in and its server has had no other since."""
    if lease.state is not LeaseState.closed or lease.cause is not Cause.preempted:
        return False
    newest = turn.tx.last_ended(lease.key)
    return turn.tx.lease_of(lease.key) is None and newest is not None and newest.id == lease.id


def ask_again(
    desk: Desk,
    lease_id: LeaseId,
    when: When,
    *,
    groups: tuple[str, ...],
    actor: Actor,
    now: datetime,
) -> OpenLease:
    """Let the owner of a lease that was called in wait for the same, as long as they ever did.

    Parameters
    ----------
    groups
        Hub groups of the owner now.

    Raises
    ------
    RefusedError
        When it was not called in, the server has been asked for since, or the wish can never be.
    """
    with desk.turn(now, actor) as turn:
        lease = turn.found(lease_id)
        if not may_ask_again(turn, lease):
            raise _not_again(lease)
        person = Person(user=lease.key.user, groups=groups)
        choice = pinned(lease, lease.choice)
        resolved = resolve(desk.book.policy, person, choice, now)
        since = lease.requested_at
        request = Request(
            key=lease.key,
            resolved=resolved,
            requested_at=since,
            priority=turn.arriving(resolved, since),
        )
        decision = decide(turn.snapshot(), request)
        if isinstance(decision, Denied):
            raise denied(decision.reason)
        asked = Ask(
            attempt_id=f"again-{desk.new_id()}",
            key=lease.key,
            groups=groups,
            choice=choice,
            when=when,
        )
        purpose = said(turn.tx, lease.id)[0].purpose
        check_purpose(turn, resolved, purpose)
        fresh = opened(turn, asked_lease(turn, asked, resolved), purpose)
        return join(turn, fresh, asked, decision.reason, since)


def _not_again(lease: OpenLease) -> RefusedError:
    return RefusedError(
        "not-again",
        _(
            "Only a server that was called in, and that nobody has asked for since, can wait again "
            "in its old place. Start it on the hub's page instead."
        ),
        figures={"lease": lease.id, "state": lease.state, "cause": lease.cause or ""},
    )
