"""One turn of the queue: what ran out is given up, what may start now is held and intended.

One transaction; the order and the answers are admission's. Nothing outside is touched.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from ...admission.decide import Admitted, Denied
from ...admission.owed import owed_changes
from ...admission.queue import Waiting
from ...admission.snapshot import Views
from ...errors import RefusedError
from ...i18n import _
from ...lease import Cause, LeaseId, LeaseState, OpenLease, Reason, When
from ...policy.bounds import owner_bound
from ...policy.catalogue import Person, resolve
from ..books.desk import Desk, Turn
from ..devices import devicepins
from ..kueue.turn import turns
from ..leasing import switching
from ..leasing.closing import End, close, promote
from .tickets import START, WAITS, hold, pinned, release, settle_starts, start_body

MOST_HOLDS = 2
"""How often devices are held for one request: once, and once more from its old place."""

_MOST_ROUNDS = 8
"""A request that gets its devices may let another through; the rest waits for the next turn."""


def serve(desk: Desk, *, now: datetime) -> int:
    """Turn the queue once; return for how many requests devices are held since."""
    if desk.book.known is None:
        return 0
    desk.ranks.look(desk.ledger, desk.book.known, now)
    devicepins.settle(desk, now=now)
    with desk.turn(now) as turn:
        waiting = [lease for lease in turn.tx.leases() if lease.state in WAITS]
        if not waiting:
            switching.carry_on(turn)
            return 0
        _follow_policy(turn, waiting)
        _give_up(turn, waiting)
        held = 0
        for _round in range(_MOST_ROUNDS):
            snapshot, views = turn.snapshot(), Views()
            apart = any(one.hard for one in snapshot.budgets)
            starts, ends = _call(turn, turns(turn, snapshot, views), apart=apart)
            held += starts
            if not starts:
                break
        if starts or ends:
            snapshot, views = turn.snapshot(), Views()
        _note_owed(turn, owed_changes(snapshot, views))
        switching.carry_on(turn)
        return held


def _follow_policy(turn: Turn, waiting: Iterable[OpenLease]) -> None:
    """Bring requests in line with a policy that changed since; close those it no longer has."""
    generation = turn.desk.book.state.generation
    policy = turn.desk.book.policy
    for lease in waiting:
        if lease.state is not LeaseState.queued or lease.policy_generation == generation:
            continue
        person = Person(user=lease.key.user, groups=lease.groups)
        try:
            resolved = resolve(policy, person, pinned(lease, lease.choice), turn.now)
        except RefusedError as refusal:
            why = Reason(code=refusal.code, message=refusal.message, figures=refusal.figures)
            close(turn, lease, End(Cause.denied, reason=why))
            continue
        turn.record(
            lease.model_copy(
                update={
                    "pool": resolved.pool,
                    "flavor": resolved.flavor,
                    "units": resolved.units,
                    "price_micro_per_hour": resolved.price_micro_per_hour,
                    "currency": resolved.currency,
                    "policy_generation": generation,
                    "task_type": resolved.task_type,
                }
            )
        )


def _give_up(turn: Turn, waiting: Iterable[OpenLease]) -> None:
    """Take back what was held too long: to its old place once, then for good."""
    for lease in waiting:
        if lease.state is not LeaseState.held or lease.held_until is None or lease.reservation:
            continue
        if lease.replaces is not None:
            # Its own server is still being stopped for it.
            continue
        # A clock that was set back must not hold devices for longer than was said.
        if lease.state_since <= turn.now < lease.held_until:
            continue
        settle_starts(turn, lease)
        if lease.holds < MOST_HOLDS:
            release(turn, lease, _ran_out())
            promote(turn)
        else:
            close(turn, lease, End(Cause.never_used, reason=_held_in_vain()))


def _call(turn: Turn, waiting: Iterable[Waiting], *, apart: bool) -> tuple[int, int]:
    """Hold devices for all whose turn has come, close what can never be; count both.

    `apart` leaves other pools for the next round once devices are held in one: they draw on the
    same hard budgets, and what is held counts there.
    """
    held, closed, pool = 0, 0, None
    for one in waiting:
        if apart and held and one.lease.pool != pool:
            break
        match one.decision:
            case Admitted():
                lease = hold(turn, one.lease, one.decision)
                held, pool = held + 1, lease.pool
                if lease.when is When.start and lease.replaces is None:
                    turn.tx.intend(START, lease.id, start_body(lease), at=turn.now)
            case Denied(reason=reason):
                close(turn, one.lease, End(Cause.denied, reason=reason))
                closed += 1
            case _:
                pass
    return held, closed


def _note_owed(turn: Turn, changes: Mapping[LeaseId, datetime | None]) -> None:
    """Record since when a request is owed a start, or that it is no more."""
    for lease_id, since in changes.items():
        lease = turn.found(lease_id)
        # What was promised then is what it is held against, whatever the policy says later.
        bound = owner_bound(turn.desk.book.policy, str(lease.pool)) or timedelta(0)
        promised = None if since is None else int(bound.total_seconds())
        turn.record(lease.model_copy(update={"owed_since": since, "owed_bound_s": promised}))


def _ran_out() -> Reason:
    return Reason(
        code="hold-ran-out",
        message=_(
            "A device was held for you and nobody came in time. Your request is back at its old "
            "place, once; leave the queue if you do not need it any more."
        ),
    )


def _held_in_vain() -> Reason:
    return Reason(
        code="held-in-vain",
        message=_(
            "A device was held for you twice and nobody came in time, so your request has left "
            "the queue. Ask again when you need it."
        ),
    )
