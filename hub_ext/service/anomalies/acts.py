"""What leads and admins do about an anomaly, each by a verb that is there already.

Leads may tell and ask the owners of servers of their teams; all else is for administrators.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from ...admission.protection import LIVE
from ...errors import RefusedError
from ...i18n import _
from ...lease import Actor, Cause, Event, Notice, OpenLease, Reason, Spot
from ...lease.anomalies import Anomaly, AnomalyAct, AnomalySheet
from ..books.desk import Desk
from ..devices import upkeep
from ..devices.closures import BY_HAND
from ..leasing import hands
from ..reclaim import stops
from .search import ADVICE, sheet

ACTED = "admin.anomaly"
"""Kind of the event: who did what about which anomaly, and why."""

OF_LEADS: tuple[AnomalyAct, ...] = ("notice", "ask")

_LONG = timedelta(days=3650)

_UNTIL_LIFTED = timedelta(days=366)
"""A quarantine stops nobody: who is on the machine goes on, and nobody comes."""


def can(one: Anomaly, *, admin: bool) -> tuple[AnomalyAct, ...]:
    """Say what may be done about an anomaly, what is proposed first."""
    possible: list[AnomalyAct] = []
    if one.device is not None:
        possible.append("quarantine")
    elif one.leases:
        possible += ["close"] if one.kind == "forgotten" else ["notice", "ask", "stop"]
    allowed = [act for act in possible if admin or act in OF_LEADS]
    return tuple(sorted(allowed, key=lambda act: act != one.act))


@dataclass(frozen=True)
class Deed:
    """What somebody wants done. `teams` are those that they lead; None for an administrator."""

    act: AnomalyAct
    reason: str
    actor: Actor
    teams: Collection[str] | None


def carry_out(desk: Desk, anomaly_id: str, deed: Deed, *, now: datetime) -> AnomalySheet:
    """Do one thing about one anomaly, and show what is odd then.

    Raises
    ------
    RefusedError
        When there is none of that id, it is over, or this may not be done about it.
    """
    one, teams = desk.anomalies.found(anomaly_id), deed.teams
    if one is None or (teams is not None and set(teams).isdisjoint(one.teams)):
        raise _none()
    allowed = can(one, admin=teams is None)
    if deed.act not in allowed:
        raise _not_so(deed.act, allowed)
    _do(desk, one, deed, now)
    body: dict[str, object] = {"v": 1, "anomaly": one.id, "act": deed.act, "reason": deed.reason}
    with desk.turn(now, deed.actor) as turn:
        turn.tx.append(Event(kind=ACTED, at=now, actor=deed.actor, body=body))
    return sheet(desk, teams, now=now)


def _do(desk: Desk, one: Anomaly, deed: Deed, now: datetime) -> None:
    match deed.act:
        case "notice" | "ask" | "stop":
            _tell(desk, one, deed, now)
        case "close":
            for lease_id in one.leases:
                hands.close_by_hand(desk, lease_id, reason=deed.reason, actor=deed.actor, now=now)
        case "quarantine":
            _quarantine(desk, one, deed, now)


def _tell(desk: Desk, one: Anomaly, deed: Deed, now: datetime) -> None:
    """Give each owner the notice; refused where nobody was told anything by it."""
    told = 0
    for lease in _leases(desk, one, deed.teams, now):
        stopping = deed.act == "stop"
        made = _stop(desk, one, deed, now) if stopping else _advice(one, lease, deed, now)
        told += stops.give_notice(desk, lease.id, made, evidence=None, now=now).notice == made
    if not told:
        raise RefusedError(
            "nobody-told",
            _(
                "Nobody was told: the server does not run any more, or its stop is announced "
                "already. Its page says which."
            ),
        )


def _quarantine(desk: Desk, one: Anomaly, deed: Deed, now: datetime) -> None:
    """Let nobody have a device; where a device plugin chooses the GPU, nobody its machine."""
    if one.device is None:
        return
    if desk.settings.on_kubernetes:
        spot = Spot(place="node", name=one.node)
        upkeep.drain(desk, spot, after=_UNTIL_LIFTED, reason=deed.reason, actor=deed.actor, now=now)
    else:
        upkeep.take_out(desk, one.device, reason=deed.reason, actor=deed.actor, now=now)


def _leases(
    desk: Desk, one: Anomaly, teams: Collection[str] | None, now: datetime
) -> tuple[OpenLease, ...]:
    """Its live leases, of these teams alone."""
    with desk.turn(now) as turn:
        every = [turn.tx.lease(lease_id) for lease_id in one.leases]
    return tuple(
        lease
        for lease in every
        if lease is not None and lease.state in LIVE and (teams is None or lease.team in teams)
    )


def _advice(one: Anomaly, lease: OpenLease, deed: Deed, now: datetime) -> Notice:
    words = (
        _("{by} asks you: {reason} {what} Nothing is stopped for this.")
        if deed.act == "ask"
        else _("{by} tells you: {reason} {what} Nothing is stopped for this.")
    )
    return Notice(
        cause=Cause.admin,
        given_at=now,
        stops_at=lease.ends_at or now + _LONG,
        reason=Reason(
            code=ADVICE,
            message=words.format(by=deed.actor.name, reason=_sentence(deed.reason), what=one.words),
            figures={"anomaly": one.id, "act": deed.act},
        ),
    )


def _stop(desk: Desk, one: Anomaly, deed: Deed, now: datetime) -> Notice:
    by, why = deed.actor.name, _sentence(deed.reason)
    return Notice(
        cause=Cause.admin,
        given_at=now,
        stops_at=now + desk.book.policy.notice.lifetime,
        reason=Reason(
            code=BY_HAND,
            message=_("Administrator {by} stops this server: {why} Save your work.").format(
                by=by, why=why
            ),
            figures={"anomaly": one.id, "by": by, "why": why},
        ),
    )


def _sentence(reason: str) -> str:
    return reason if reason.endswith((".", "?", "!")) else f"{reason}."


def _none() -> RefusedError:
    return RefusedError(
        "no-such-anomaly",
        _("There is no such anomaly now; it may be over. Look at the list again."),
        status=404,
    )


def _not_so(act: str, allowed: Collection[str]) -> RefusedError:
    return RefusedError(
        "not-for-this",
        _("{act} cannot be done about this by you. Possible: {acts}.").format(
            act=act, acts=", ".join(allowed) or _("nothing here; ask an administrator")
        ),
        status=403,
    )
