"""A request that waits: how it joins the queue, keeps its place, is held for, and hears so.

The order and the answers are admission's; here they become a lease's states and words.
"""

from datetime import datetime, timedelta

from ...admission.decide import Admitted, Queued
from ...admission.queue import Waiting, line
from ...errors import RefusedError
from ...i18n import _
from ...lease import Ask, Choice, LeaseState, OpenLease, Reason, Standing, When, local_text
from ...policy.catalogue import Resolved
from ...units import duration_text
from ..books.desk import Turn
from ..leasing.granting import given

START = "start"
"""Kind of the intent to start a server through the hub."""

WAITS = frozenset({LeaseState.queued, LeaseState.held})
"""States in which a request waits, for a device or for its owner."""


def wants_the_same(lease: OpenLease, choice: Choice) -> bool:
    """Whether a choice is the one that waits; what it leaves open is as it was."""
    return (
        choice.profile == lease.profile
        and choice.team in (None, lease.team)
        and choice.project in (None, lease.project)
        and choice.alone in (None, lease.alone)
        and choice.task_type in (None, lease.task_type)
    )


def pinned(lease: OpenLease, choice: Choice) -> Choice:
    """Keep team and project of the request, whatever the policy takes by default now.

    The task type is kept where it was named; a default follows the policy.
    """
    return choice.model_copy(
        update={
            "team": lease.team,
            "project": lease.project,
            "task_type": choice.task_type or lease.choice.task_type,
            "alone": choice.alone or lease.alone,
        }
    )


def kept_of(lease: OpenLease, resolved: Resolved) -> OpenLease | None:
    """Request whose place a smaller wish keeps: fewer units of the same pool, for the same team."""
    same = lease.pool == resolved.pool and lease.team == resolved.team
    return lease if same and 0 < resolved.units < lease.units else None


def join(
    turn: Turn,
    lease: OpenLease,
    asked: Ask,
    reason: Reason,
    since: datetime,
    *,
    kept: OpenLease | None = None,
) -> OpenLease:
    """Let a request wait that was just recorded; all clocks of `kept` go on for it."""
    clocks = {"asked_at": None if since == turn.now else turn.now}
    if kept is not None:
        names = ("asked_at", "owed_since", "owed_bound_s", "caller_since")
        clocks = {name: getattr(kept, name) for name in names}
        if kept.state is LeaseState.queued:
            clocks["state_since"] = kept.state_since
    return turn.record(
        lease.model_copy(
            update={
                **clocks,
                "state": LeaseState.queued,
                "requested_at": since,
                "when": asked.when,
                "groups": asked.groups,
                "reason": reason,
            }
        )
    )


def hold(turn: Turn, lease: OpenLease, admitted: Admitted) -> OpenLease:
    """Hold devices for a request whose turn has come; nothing is charged for it."""
    until = turn.now + turn.desk.book.policy.notice.hold
    return turn.record(
        lease.model_copy(
            update={
                "state": LeaseState.held,
                "state_since": turn.now,
                **given(lease, admitted.devices),
                "standing": admitted.standing,
                "held_until": until,
                "holds": lease.holds + 1,
                "held_at": lease.held_at or turn.now,
                "reason": _held_reason(
                    turn, lease.model_copy(update={"standing": admitted.standing}), until
                ),
            }
        )
    )


def release(turn: Turn, lease: OpenLease, reason: Reason) -> OpenLease:
    """Give up what was held for a request; it is back at its old place."""
    return turn.record(
        lease.model_copy(
            update={
                "state": LeaseState.queued,
                "state_since": turn.now,
                "devices": (),
                "rest": (),
                "standing": Standing.would_queue,
                "held_until": None,
                "reason": reason,
            }
        )
    )


def start_body(lease: OpenLease) -> dict[str, object]:
    """Say which server is to be started, and with what: never read from anybody's options."""
    return {
        "v": 1,
        "key": lease.key.model_dump(mode="json"),
        "choice": pinned(lease, lease.choice).model_dump(mode="json"),
    }


def settle_starts(turn: Turn, lease: OpenLease) -> bool:
    """Settle the intent to start a lease's server; whether the hub was asked for it."""
    asked = False
    for intent in turn.tx.intents():
        if intent.lease_id == lease.id and intent.kind == START:
            asked = asked or intent.tried_at is not None
            turn.tx.settle(intent.id, "claimed", at=turn.now)
    return asked


def still_waiting(turn: Turn, lease: OpenLease) -> RefusedError:
    """Tell somebody who asks where their request stands, as the answer to a start."""
    if lease.state is LeaseState.held:
        reason = lease.reason or _held_reason(turn, lease, lease.held_until or turn.now)
        return RefusedError("held", reason.message, figures=reason.figures, retry_after_s=5)
    found = next((one for one in line(turn.snapshot()) if one.lease.id == lease.id), None)
    if found is None or not isinstance(found.decision, Queued):
        # A place is free and nobody is before it: the queue's next turn holds it.
        words = " ".join((_("A device is free for it just now."), _then(turn, lease)))
        return RefusedError("queued", words, figures={"position": 1}, retry_after_s=5)
    return RefusedError(
        "queued",
        " ".join((place_words(found), found.decision.why, _then(turn, lease))),
        figures={
            "position": found.place,
            "ahead": found.place - 1,
            "why": found.decision.reason.code,
            **found.decision.reason.figures,
        },
        retry_after_s=found.decision.retry_after_s,
    )


def place_words(waiting: Waiting) -> str:
    """Say which place a request has."""
    return _("Your request waits as number {n} for pool {pool}.").format(
        n=waiting.place, pool=waiting.lease.pool
    )


def _then(turn: Turn, lease: OpenLease) -> str:
    """Say what happens when a device comes."""
    if lease.when is When.start:
        return _("The server starts by itself when its turn comes; nothing is charged until then.")
    return _(
        "A device is held for you for {span} when its turn comes: start the server then. Nothing "
        "is charged until then."
    ).format(span=_span(turn))


def _held_reason(turn: Turn, lease: OpenLease, until: datetime) -> Reason:
    policy = turn.desk.book.policy
    at = local_text(until, policy.timezone)
    if lease.when is When.start:
        words = _("A device is held for you until {at}, and your server is being started on it.")
    else:
        words = _("A device is held for you until {at}. Start the server until then to have it.")
    return Reason(
        code="held",
        message=" ".join(filter(None, (words.format(at=at), _may_be_given_up(turn, lease)))),
        figures={"held_s": int(policy.notice.hold.total_seconds())},
    )


def _may_be_given_up(turn: Turn, lease: OpenLease) -> str:
    pool = turn.desk.book.policy.pools.get(str(lease.pool))
    if pool is None or not pool.reclaim or lease.standing is not Standing.borrowed:
        return ""
    return _("It is borrowed: if its owner needs it before you start, you are back at your place.")


def _span(turn: Turn) -> str:
    hold_for: timedelta = turn.desk.book.policy.notice.hold
    return duration_text(hold_for)
