"""Idle stops that are held: weighed after each pass, begun and ended by events, told to admins.

Ends of lifetimes and every other cause are never held by it.
"""

from collections.abc import Mapping
from datetime import datetime

from ...errors import RefusedError
from ...i18n import _
from ...lease import Actor, Event, LeaseId, Reason
from ...lease.idling import IdleHold, IdleSheet
from ...ledger.store import Ledger, Tx
from ..books import breaker
from ..books.breaker import Breaker, Sight
from ..books.desk import Desk

HELD = "idle.held"
RELEASED = "idle.released"
BY_HAND = "admin.idle_release"

_KINDS = (HELD, RELEASED, BY_HAND)

NOT_STOPPED = Reason(
    code="idle-held",
    message=_(
        "The server is not stopped. Many servers or agents fell silent together, so idleness is "
        "not relied upon now; if it stays idle afterwards, you are told again."
    ),
)
"""Why an announced idle stop is taken back while they are held."""


def weigh(
    desk: Desk, live: frozenset[LeaseId], idle: Mapping[LeaseId, datetime], *, now: datetime
) -> Breaker:
    """Weigh one pass over all live servers; record where a hold begins or ends.

    Parameters
    ----------
    live
        Servers with a GPU.
    idle
        Since when those that a rule would stop count as idle.
    """
    away = _away(desk, now)
    agents = [one for one in desk.floor.agents(now=now) if one.node not in away]
    sight = Sight(
        live=live,
        idle={one: at for one, at in idle.items() if one in live},
        agents=frozenset(one.node for one in agents),
        silent=frozenset(one.node for one in agents if one.silent),
    )
    former = desk.breaker
    weighed = breaker.weigh(former, sight, now, desk.book.policy.idle_stops)
    if weighed.held and not former.held:
        _record(desk, Event(kind=HELD, at=now, body=_body(weighed)))
    elif former.held and not weighed.held:
        _record(desk, Event(kind=RELEASED, at=now, body={"v": 1}))
    # Only what is on the record holds.
    desk.breaker = weighed
    return weighed


def release(desk: Desk, *, reason: str, actor: Actor, now: datetime) -> IdleSheet:
    """Let idle stops go on by an administrator's word.

    Raises
    ------
    RefusedError
        When they are not held.
    """
    if not desk.breaker.held:
        raise RefusedError("not-held", _("Idle stops are not held; nothing is to be released."))
    body = {**_body(desk.breaker), "reason": reason}
    _record(desk, Event(kind=BY_HAND, at=now, actor=actor, body=body))
    desk.breaker = breaker.release(desk.breaker)
    return sheet(desk, now=now)


def sheet(desk: Desk, *, now: datetime) -> IdleSheet:
    """Show whether they are held, and why."""
    policy, present = desk.book.known, desk.breaker
    held = None
    if present.since is not None:
        held = IdleHold(
            since=present.since,
            grounds=breaker.words(present),
            servers=len(present.together),
            agents=tuple(sorted(present.silent)),
        )
    return IdleSheet(at=now, timezone=policy.timezone if policy else "UTC", held=held)


def health_words(desk: Desk) -> Reason | None:
    """Say that they are held, without a name; None while they are not."""
    present = desk.breaker
    if not present.held:
        return None
    return Reason(
        code="idle-held",
        message=_(
            "Nobody is stopped as idle: many servers or agents fell silent together. The admin "
            "page says which; it ends by itself, or by an administrator's word there."
        ),
        figures={"servers": len(present.together), "agents": len(present.silent)},
    )


def read(ledger: Ledger) -> Breaker:
    """Make the present state of the newest event."""
    with ledger.transaction() as tx:
        return of_ledger(tx)


def of_ledger(tx: Tx) -> Breaker:
    """Make it in a transaction, be it one that only reads."""
    events = tx.events(kinds=_KINDS, limit=1, newest=True)
    if not events:
        return Breaker()
    _seq, event = events[0]
    then = _breaker(event)
    match event.kind:
        case "idle.held":
            return then
        case "admin.idle_release":
            return breaker.release(then)
        case _:
            return Breaker()


def _breaker(event: Event) -> Breaker:
    body = event.body
    if event.kind == RELEASED:
        return Breaker()
    servers, agents = body["servers"], body["silent"]
    return Breaker(
        since=event.at,
        together=frozenset(LeaseId(str(one)) for one in _listed(servers)),
        silent=frozenset(str(one) for one in _listed(agents)),
        live=int(str(body["live"])),
        agents=int(str(body["agents"])),
    )


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _body(present: Breaker) -> dict[str, object]:
    return {
        "v": 1,
        "servers": sorted(present.together),
        "silent": sorted(present.silent),
        "live": present.live,
        "agents": present.agents,
        "words": list(breaker.words(present)),
    }


def _away(desk: Desk, now: datetime) -> frozenset[str]:
    """Machines that may be silent: drained ones, and those under maintenance."""
    drained = {name for place, name in desk.outages.drains if place == "node"}
    planned = {
        one.name for one in desk.outages.announced(now) if one.place == "node" and one.closes(now)
    }
    return frozenset(drained | planned)


def _record(desk: Desk, event: Event) -> None:
    with desk.turn(event.at, event.actor) as turn:
        turn.tx.append(event)
