"""An administrator lets one lease live longer than its policy agreed at the start, with a reason.

Rules about lifetimes do not bind an administrator; what is announced for its devices does, and
so do budgets: money that is not there is given by the policy, where everybody sees it.
"""

from datetime import datetime, timedelta

from ...admission.announced import bound_of
from ...errors import RefusedError
from ...i18n import _
from ...lease import Actor, Cause, LeaseId, LeaseState, OpenLease, local_text
from ...units import whole_seconds
from ..basis.refusals import beyond_announced, lease_over
from ..basis.words import prolonged_reason
from ..books.desk import Desk, Turn
from ..money.paying import pay_for
from .stops import withdrawn

_MAY = frozenset({LeaseState.starting, LeaseState.running, LeaseState.noticed})

LONGEST = timedelta(days=366)
"""How far ahead an end may be put; a policy says what shall hold for longer."""


def prolong(
    desk: Desk, lease_id: LeaseId, until: datetime, *, reason: str, actor: Actor, now: datetime
) -> OpenLease:
    """Put the end of a lease to an instant; a notice of the end of its life is taken back.

    Raises
    ------
    RefusedError
        When it is ending, it ends later already, something is announced for its devices, or a
        budget does not pay for it.
    """
    with desk.turn(now, actor) as turn:
        lease = turn.found(lease_id)
        if lease.state not in _MAY:
            raise lease_over(lease)
        _check(turn, lease, until)
        pay_for(turn, lease, until)
        body: dict[str, object] = {
            "v": 1,
            "reason": reason,
            "from": None if lease.ends_at is None else lease.ends_at.isoformat(),
            "to": until.isoformat(),
        }
        turn.note("admin.prolong", lease, body)
        longest = until if lease.longest_end_at is None else max(until, lease.longest_end_at)
        at = local_text(until, desk.book.policy.timezone)
        longer = lease.model_copy(
            update={
                "ends_at": until,
                "longest_end_at": longest,
                "reason": prolonged_reason(actor, at, reason),
            }
        )
        if lease.notice is not None and lease.notice.cause is Cause.expired:
            longer = withdrawn(turn, longer, None)
        return turn.record(longer)


def _check(turn: Turn, lease: OpenLease, until: datetime) -> None:
    # The same end is no fault: who heard no answer asks again.
    if until <= turn.now or until < (lease.ends_at or until) or until > turn.now + LONGEST:
        raise RefusedError(
            "bad-time",
            _("Give an end no earlier than the present one, and within {days} days.").format(
                days=LONGEST.days
            ),
            figures={"lease": lease.id},
            status=400,
        )
    end, why = bound_of(turn.snapshot(), lease)
    if end is not None and until > end:
        raise beyond_announced(lease, whole_seconds(lease.ends_at or turn.now, end), why)
