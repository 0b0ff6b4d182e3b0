"""Another profile for a server that runs: new capacity first, then one stop and one start.

The new request waits beside the lease that it replaces. That lease ends only once devices are held
for the new one, or its own are enough for it; until then nothing is lost, and one lease is charged.
"""

from datetime import datetime

from ...admission.decide import Denied, decide
from ...admission.protection import LIVE
from ...admission.snapshot import NOBODY
from ...errors import RefusedError
from ...i18n import _
from ...lease import (
    Actor,
    Ask,
    Cause,
    Choice,
    LeaseId,
    LeaseState,
    Notice,
    OpenLease,
    Reason,
    Standing,
    When,
)
from ...lease.switching import CHANGE_NOTICE
from ...ledger.said import said
from ...policy.catalogue import Person, resolve
from ..basis.refusals import denied
from ..books.desk import Desk, Turn
from ..money.valuing import check_purpose, opened
from ..queueing.tickets import join, wants_the_same
from ..reclaim.stops import stop
from .following import answer_now, request_of
from .granting import asked_lease


def switch(
    desk: Desk,
    lease_id: LeaseId,
    choice: Choice,
    *,
    groups: tuple[str, ...],
    actor: Actor,
    now: datetime,
) -> OpenLease:
    """Let a server that runs get another profile; return the request that waits for it.

    Raises
    ------
    RefusedError
        When it does not run, has that profile, is being changed already, or the wish can never be.
    """
    with desk.turn(now, actor) as turn:
        lease = turn.found(lease_id)
        if lease.state not in LIVE:
            raise _not_up(lease)
        if wants_the_same(lease, choice):
            raise _has_it(lease)
        if any(one.replaces == lease.id for one in turn.tx.leases()):
            raise _under_way()
        person = Person(user=lease.key.user, groups=groups)
        resolved = resolve(desk.book.policy, person, choice, now)
        # Decided as for somebody else: what the server has now is still taken.
        decision = decide(turn.snapshot(), request_of(turn, resolved, NOBODY, now, None))
        if isinstance(decision, Denied):
            raise denied(decision.reason)
        purpose = said(turn.tx, lease.id)[0].purpose
        check_purpose(turn, resolved, purpose)
        asked = Ask(
            attempt_id=f"switch-{desk.new_id()}",
            key=lease.key,
            groups=groups,
            choice=choice,
            when=When.start,
        )
        fresh = asked_lease(turn, asked, resolved).model_copy(update={"replaces": lease.id})
        return join(turn, opened(turn, fresh, purpose), asked, decision.reason, now)


def carry_on(turn: Turn) -> None:
    """Take each change a step further: announce the stop, make it, or take the notice back."""
    leases = turn.tx.leases()
    changes = {one.replaces: one for one in leases if one.replaces is not None}
    for lease in leases:
        if lease.id not in changes and _announced(lease):
            _take_back(turn, lease)
    for lease_id, fresh in changes.items():
        lease = turn.found(LeaseId(str(lease_id)))
        if lease.state in LIVE:
            _step(turn, lease, turn.found(fresh.id))


def _step(turn: Turn, lease: OpenLease, fresh: OpenLease) -> None:
    # Its own devices may be enough; who is before it in the queue still is.
    if fresh.state is LeaseState.queued and answer_now(turn, fresh, lease.key) is None:
        if _announced(lease):
            _take_back(turn, lease)
        return
    notice = lease.notice
    if notice is None or notice.stops_at > turn.now + CHANGE_NOTICE:
        _announce(turn, lease, fresh)
    elif _announced(lease) and not notice.given_at <= turn.now < notice.stops_at:
        # Or the clock was set back: nobody waits longer than was said.
        if fresh.state is LeaseState.queued:
            turn.record(fresh.model_copy(update={"caller_since": turn.now}))
        stop(turn, lease, cause=Cause.replaced, reason=_why(fresh))


def _announced(lease: OpenLease) -> bool:
    return (
        lease.state is LeaseState.noticed
        and lease.notice is not None
        and lease.notice.cause is Cause.replaced
    )


def _announce(turn: Turn, lease: OpenLease, fresh: OpenLease) -> None:
    notice = Notice(
        cause=Cause.replaced,
        given_at=turn.now,
        stops_at=turn.now + CHANGE_NOTICE,
        reason=_why(fresh),
    )
    body: dict[str, object] = {"v": 1, "notice": notice.model_dump(mode="json"), "evidence": None}
    turn.note("notice.given", lease, body)
    since = lease.state_since if lease.state is LeaseState.noticed else turn.now
    told = {"state": LeaseState.noticed, "state_since": since, "notice": notice}
    turn.record(lease.model_copy(update=told))


def _take_back(turn: Turn, lease: OpenLease) -> None:
    reason = Reason(
        code="not-changed",
        message=_("The server is not stopped: its change of profile has to wait, or was left."),
    )
    body: dict[str, object] = {
        "v": 1,
        "notice": lease.notice.model_dump(mode="json") if lease.notice else None,
        "reason": reason.model_dump(mode="json"),
    }
    turn.note("notice.withdrawn", lease, body)
    back = {"state": LeaseState.running, "state_since": turn.now, "notice": None}
    turn.record(lease.model_copy(update=back))


def _why(fresh: OpenLease) -> Reason:
    gpus = "" if fresh.standing is Standing.unmetered else str(fresh.flavor)
    return Reason(
        code="replaced",
        message=_(
            "You asked for the profile {profile} here, and it can start now: the server is stopped "
            "and starts again with it. Its files stay."
        ).format(profile=fresh.profile),
        figures={"profile": fresh.profile, "flavor": gpus, "lease": fresh.id},
    )


def _not_up(lease: OpenLease) -> RefusedError:
    return RefusedError(
        "not-up",
        _("Only a server that runs can be changed; start this one with the profile you want."),
        figures={"lease": lease.id, "state": lease.state},
    )


def _has_it(lease: OpenLease) -> RefusedError:
    return RefusedError(
        "same-profile",
        _("The server has the profile {profile} already; choose another one.").format(
            profile=lease.profile
        ),
    )


def _under_way() -> RefusedError:
    return RefusedError(
        "change-under-way",
        _("A change of this server waits already. Change or leave it on the page of what waits."),
    )
