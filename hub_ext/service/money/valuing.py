"""What people say of their leases: a purpose at the start, what came of it at the end or later.

Each word is an event, and none is taken back. It concerns no decision but the one at the start:
whether a purpose is missing.
"""

from datetime import datetime

from ...errors import RefusedError
from ...i18n import _
from ...lease import Actor, Event, LeaseId, OpenLease
from ...lease.value import MOST_PURPOSE, SAID, LeaseValue, Said, ValueWish
from ...ledger.said import said
from ...ledger.store import Tx
from ...policy.catalogue import Resolved
from ...policy.purposes import needs_purpose
from ...units import money_text
from ..books.desk import Desk, Turn

HOW_TO_SAY = _(
    "Fill in the purpose on the form, or send `purpose` with at most {most} characters; of a "
    "server that runs or waits, say it on its own page."
)
HOW_TO_SAY_OF_RESERVED = _(
    "Fill in “For what” on the page, or give `--reason` or `reason` with at most {most} characters."
)


def value_of(tx: Tx, lease: OpenLease, *, in_team: bool) -> LeaseValue:
    """Tell what was said of a lease; its free text to whoever is of the team alone."""
    told, at = said(tx, lease.id)
    return LeaseValue(
        lease_id=lease.id,
        has_purpose=bool(told.purpose),
        outcome=told.outcome,
        has_link=bool(told.link),
        value_class=lease.value_class,
        purpose=told.purpose if in_team else None,
        link=told.link if in_team else None,
        said_at=at,
    )


def say(
    desk: Desk, lease_id: LeaseId, wish: ValueWish, *, actor: Actor, now: datetime
) -> OpenLease:
    """Record what the owner says of a lease, open or closed.

    Raises
    ------
    RefusedError
        When there is none of that id, or it never started and so nothing came of it.
    """
    with desk.turn(now, actor) as turn:
        lease = turn.found(lease_id)
        if wish.outcome is not None and lease.started_at is None:
            raise RefusedError(
                "never-ran",
                _(
                    "This server never ran, so nothing came of it. Say what comes of one once it "
                    "runs, or after it has ended."
                ),
                figures={"lease": lease.id, "state": lease.state},
            )
        before, _at = said(turn.tx, lease.id)
        given = {name: one for name, one in wish.model_dump().items() if one is not None}
        _note(turn, lease, before.model_copy(update=given))
    # Only what is on the record holds.
    desk.facts.forget(lease_id)
    return lease


def note_purpose(turn: Turn, lease: OpenLease, purpose: str) -> None:
    """Record the purpose that came with an ask; none leaves what was said before."""
    if purpose:
        before, _at = said(turn.tx, lease.id)
        _note(turn, lease, before.model_copy(update={"purpose": purpose}))


def opened(turn: Turn, lease: OpenLease, purpose: str) -> OpenLease:
    """Record a new lease, with the purpose that its ask said."""
    lease = turn.record(lease)
    note_purpose(turn, lease, purpose)
    return lease


def check_purpose(turn: Turn, resolved: Resolved, purpose: str, how: str = HOW_TO_SAY) -> None:
    """See to it that a lease that has to say what it is for does; `how` is said where not.

    Raises
    ------
    RefusedError
        400 where a purpose is missing.
    """
    policy = turn.desk.book.policy
    if purpose or not needs_purpose(policy, resolved.pool, resolved.price_micro_per_hour):
        return
    price = resolved.price_micro_per_hour
    costs = (
        _("no price is set for it")
        if price is None
        else _("it costs {price} an hour").format(price=money_text(price, policy.currency))
    )
    raise RefusedError(
        "no-purpose",
        _(
            "Say in a sentence what this server is for: {costs}, and a purpose is asked for above "
            "{least} an hour. {how} It stays in your team."
        ).format(
            costs=costs,
            least=money_text(policy.value.purpose_above or 0, policy.currency),
            how=how.format(most=MOST_PURPOSE),
        ),
        figures={"profile": resolved.profile, "most_characters": MOST_PURPOSE},
        status=400,
    )


def _note(turn: Turn, lease: OpenLease, now_said: Said) -> None:
    if said(turn.tx, lease.id)[0] == now_said:
        return
    body: dict[str, object] = {"v": 1, "said": now_said.model_dump(mode="json")}
    event = Event(kind=SAID, at=turn.now, lease_id=lease.id, actor=turn.actor, body=body)
    turn.tx.append(event)
