"""A server is kept from being stopped as idle: by its owner's word, or by its use after a notice.

What that takes from their budget is an event in the same transaction. A repeated ask is the same
ask, so that who heard no answer may ask again.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from ...errors import RefusedError
from ...i18n import _
from ...idle import rule_of
from ...idle.keeping import Keepable, Kept, free_at, keepable
from ...lease import Actor, Cause, Event, LeaseId, LeaseState, OpenLease, Reason, local_text
from ...lease.keeping import KeepGrant, KeepSheet
from ...policy.catalogue import price_at
from ...units import accrue, duration_text, money_text, settle
from ..basis.refusals import lease_over, nothing_to_keep
from ..books.desk import Desk, Turn
from ..books.keepbook import KEPT
from .stops import kind_of, withdrawn

REPEATED = timedelta(minutes=1)
"""A second ask within it is the first one again: a double click, or an answer that was lost."""

_LIVE = frozenset({LeaseState.running, LeaseState.noticed})

Of = Literal["asked", "use"]


class _Stand(NamedTuple):
    """How a server stands to the keep: what one more would do, on what ground."""

    can: Keepable
    kept: Sequence[Kept]
    grant: KeepGrant | None


def keep(
    desk: Desk,
    lease_id: LeaseId,
    *,
    actor: Actor,
    now: datetime,
    of: Of = "asked",
    reason: Reason | None = None,
) -> OpenLease:
    """Hold off the idle rule for as long as the policy and what is left of the budget let it.

    Parameters
    ----------
    of
        Whether a person asked, or the use of a server did that its owner could forge.
    reason
        Why an announced stop is called off, where it was not asked for.

    Raises
    ------
    RefusedError
        When it is ending, no idle rule watches it, or its budget is spent; figures say how far.
    """
    with desk.turn(now, actor) as turn:
        lease = turn.found(lease_id)
        if lease.state not in _LIVE:
            raise lease_over(lease)
        stand = _stand(turn, lease)
        if stand is None:
            raise nothing_to_keep()
        last = desk.keeps.last(lease)
        kept = lease.kept_until is not None and now < lease.kept_until
        repeated = kept and last is not None and timedelta(0) <= now - last < REPEATED
        told = lease.notice is not None and lease.notice.cause is Cause.culled
        if repeated and not told:
            return lease
        if not stand.can.adds:
            if not stand.can.ends_by:
                # It is kept for as long as one keep lasts already.
                return lease
            raise _spent(turn, lease, stand)
        event, longer = _kept(turn, lease, stand.can, of)
        turn.tx.append(event)
        if told:
            longer = withdrawn(turn, longer, reason)
        recorded = turn.record(longer)
    # Only what is on the record counts.
    desk.keeps.take(event)
    return recorded


def can_keep(desk: Desk, lease: OpenLease, *, now: datetime) -> bool:
    """Whether the budget of a server's owner has a keep left for it."""
    with desk.turn(now) as turn:
        stand = _stand(turn, lease)
    return stand is not None and bool(stand.can.adds)


def sheet(turn: Turn, lease: OpenLease) -> KeepSheet | None:
    """Show what one more keep would do; None where no idle rule watches the server."""
    stand = _stand(turn, lease)
    if stand is None or lease.state not in _LIVE:
        return None
    can, grant = stand.can, stand.grant
    price = _price(turn, lease, can.adds)
    return KeepSheet(
        each_s=_whole(can.each),
        adds_s=_whole(can.adds),
        until=can.until if can.adds else None,
        ends_by=can.ends_by,
        server_kept_s=lease.kept_s,
        server_limit_s=_whole(can.server_limit),
        week_kept_s=_whole(can.week_kept),
        week_limit_s=_whole(can.week_limit),
        free_at=free_at(stand.kept, can.week_limit, turn.now) if can.ends_by == "week" else None,
        granted_s=0 if grant is None else grant.more_s,
        granted_until=None if grant is None else grant.until,
        price_micro=price,
        price_text=_price_text(lease, price),
        words=_words(lease, can),
    )


def _stand(turn: Turn, lease: OpenLease) -> _Stand | None:
    policy = turn.desk.book.known
    found = None if policy is None else rule_of(policy, lease, kind_of(lease))
    if found is None:
        return None
    book = turn.desk.keeps
    kept, grant = book.kept(turn.tx, lease.key.user, turn.now), book.grant(turn.tx, lease, turn.now)
    more = timedelta(seconds=0 if grant is None else grant.more_s)
    return _Stand(keepable(found[1], kind_of(lease), lease, kept, turn.now, more=more), kept, grant)


def _kept(turn: Turn, lease: OpenLease, can: Keepable, of: Of) -> tuple[Event, OpenLease]:
    """Make the event of a keep, and the lease with it."""
    body: dict[str, object] = {
        "v": 1,
        "user": lease.key.user,
        "from": (can.until - can.adds).isoformat(),
        "until": can.until.isoformat(),
        "of": of,
        "server_kept_s": lease.kept_s + _whole(can.adds),
        "week_kept_s": _whole(can.week_kept + can.adds),
    }
    event = Event(kind=KEPT, at=turn.now, lease_id=lease.id, actor=turn.actor, body=body)
    update = {"kept_until": can.until, "kept_s": lease.kept_s + _whole(can.adds)}
    return event, lease.model_copy(update=update)


def _spent(turn: Turn, lease: OpenLease, stand: _Stand) -> RefusedError:
    can = stand.can
    free = free_at(stand.kept, can.week_limit, turn.now) if can.ends_by == "week" else None
    figures: dict[str, int | str] = {
        "lease": lease.id,
        "server_kept_s": lease.kept_s,
        "server_limit_s": _whole(can.server_limit),
        "week_kept_s": _whole(can.week_kept),
        "week_limit_s": _whole(can.week_limit),
        "free_at": "" if free is None else free.isoformat(),
    }
    zone = turn.desk.book.policy.timezone
    code = "keep-off" if can.ends_by == "none" else "keep-spent"
    words = _why_not(can, lease, None if free is None else local_text(free, zone))
    return RefusedError(code, words, figures=figures)


def _why_not(can: Keepable, lease: OpenLease, free: str | None) -> str:
    kept = duration_text(timedelta(seconds=lease.kept_s))
    match can.ends_by:
        case "none":
            return _(
                "The policy lets nobody keep a server of this kind. Use it, or save your work and "
                "start it again when you need it."
            )
        case "server":
            return _(
                "This server was kept for {kept} of the {limit} that one server may be. Use it, "
                "ask a lead of your team for more, or save your work and start it again later."
            ).format(kept=kept, limit=duration_text(can.server_limit))
        case "week":
            words = _(
                "You kept servers for {kept} of the {limit} that there are within seven days."
            ).format(kept=duration_text(can.week_kept), limit=duration_text(can.week_limit))
            then = "" if free is None else _("There is some again from {at} on.").format(at=free)
            what_next = _(
                "Use the server, ask a lead of your team for more, or save your work and start it "
                "again later."
            )
            return " ".join(one for one in (words, then, what_next) if one)
        case "lifetime" | "":
            return _("The lifetime of this server is nearly over: extend it instead.")


def _words(lease: OpenLease, can: Keepable) -> str:
    if can.ends_by == "none":
        return _why_not(can, lease, None)
    return _(
        "Kept for {server} of {server_limit} on this server, and {week} of {week_limit} within "
        "seven days."
    ).format(
        server=duration_text(timedelta(seconds=lease.kept_s)),
        server_limit=duration_text(can.server_limit),
        week=duration_text(can.week_kept),
        week_limit=duration_text(can.week_limit),
    )


def _price(turn: Turn, lease: OpenLease, span: timedelta) -> int | None:
    """What the time costs at the price of now; holding is charged whether it is used or not."""
    policy = turn.desk.book.known
    price = None
    if policy is not None and lease.pool is not None:
        price = price_at(policy, lease.pool, lease.flavor, turn.now)
    return None if price is None else settle(accrue(price, _whole(span)))


def _price_text(lease: OpenLease, price: int | None) -> str:
    if lease.pool is None:
        return _("no GPU, no charge")
    return _("not priced") if price is None else money_text(price, lease.currency)


def _whole(span: timedelta) -> int:
    return span // timedelta(seconds=1)
