"""Why a lease stands as it does: what is ahead of it, what is short, who could be called in.

It reads and decides nothing. Whose a lease is, is told to those who may see it; to all others it
is a lease of their own team, or of another.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from pydantic import ValidationError

from ...admission.contract import of_lease, waiting
from ...admission.decide import Queued
from ...admission.owners import owners
from ...admission.priority import Weight, ranking, weight_of, words
from ...admission.protection import Shield, gives_up_hold, shield
from ...admission.queue import NOBODY, Waiting
from ...admission.snapshot import Snapshot, scene
from ...i18n import _
from ...idle.onrecord import lease_of
from ...lease import (
    Event,
    LeaseId,
    LeaseState,
    OpenLease,
    PoolName,
    ServerKey,
    ServerName,
    UserName,
    Verdict,
    local_text,
)
from ...lease.why import Ahead, Holder, Recorded, Why, WhySheet
from ...ledger.store import Tx
from ...policy.model import Policy
from ..basis.words import cause_words, notice_words
from ..books import formats
from ..books.desk import Desk
from ..hearing.watching import CHANGED
from ..queueing.board import places
from ..queueing.tickets import place_words
from ..reclaim.stops import ACTED_ON
from .dossier import MOST_EVENTS, evidence, judgements, under
from .timeline import decision_in, what_happened

Shown = Callable[[OpenLease], bool]

MOST_RECORDED = 20
"""Things on record that are listed; the lease's page has more."""

_JUDGED = frozenset({CHANGED, ACTED_ON, "notice.given", "notice.withdrawn"})

MOST_AHEAD = 20
"""Requests before this one that are listed; the place tells how many there are."""


@dataclass(frozen=True)
class Look:
    """What all answers of one question are made from."""

    snapshot: Snapshot
    line: tuple[Waiting, ...]
    shown: Shown
    verdicts: Mapping[LeaseId, Verdict]
    """Newest judgements of open leases; empty where no governor lives."""

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self.snapshot.policy


@dataclass(frozen=True)
class About:
    """What is asked about: a lease, a decision, a person, or USER/SERVER, where `-` has no name."""

    of: str

    def __call__(self, lease: OpenLease) -> bool:
        """Whether it is this lease, or one of that person or server."""
        if "/" not in self.of:
            return self.of in {lease.id, lease.key.user} or lease_of(self.of) == lease.id
        return self._server() == (lease.key.user, lease.key.server)

    def ended(self, tx: Tx, hub: str) -> OpenLease | None:
        """Find what ended last of it; of a person, the server without a name."""
        user, server = self._server()
        found = None
        if "/" not in self.of:
            found = tx.lease(LeaseId(self.of)) or tx.lease(lease_of(self.of))
        try:
            key = ServerKey(hub=hub, user=UserName(user), server=ServerName(server))
        except ValidationError:
            return found
        return found or tx.last_ended(key)

    def _server(self) -> tuple[str, str]:
        user, _slash, server = self.of.partition("/")
        return user, "" if server == "-" else server


def about(of: str) -> About:
    """Read what is asked about."""
    return About(of)


def why(desk: Desk, wanted: About, shown: Shown, *, now: datetime) -> WhySheet:
    """Explain every open lease that is wanted and may be seen, or what ended last of it.

    Raises
    ------
    RefusedError
        While no policy is in force.
    """
    with desk.turn(now) as turn:
        look = Look(turn.snapshot(), places(turn), shown, dict(desk.verdicts))
        return explained(look, turn.tx, wanted, desk.settings.hub)


def explained(look: Look, tx: Tx, wanted: About, hub: str, *, live: bool = True) -> WhySheet:
    """Explain what is wanted of one look, from the same transaction."""
    found = [one for one in look.snapshot.leases if wanted(one)]
    if not found and (ended := wanted.ended(tx, hub)) is not None:
        found = [ended]
    return WhySheet(
        as_of=look.snapshot.at,
        timezone=look.policy.timezone,
        live=live,
        found=tuple(_on_record(look, tx, one, wanted.of) for one in found if look.shown(one)),
    )


def _on_record(look: Look, tx: Tx, lease: OpenLease, of: str) -> Why:
    """Add the judgement that it stands by, and what is on record, to how a lease stands.

    Of a decision it is the judgement of that decision.
    """
    events = tx.events(lease_id=lease.id, limit=MOST_EVENTS, newest=True)
    judged = judgements(tx, lease.id)
    told = sorted(
        {seq: event for seq, event in (*judged, *events) if _is_told(event)}.items(), reverse=True
    )
    zone = look.policy.timezone
    return _explain(look, lease).model_copy(
        update={
            "evidence": under(judged, of) or evidence(lease, judged, look.verdicts.get(lease.id)),
            "record": tuple(
                Recorded(
                    at=event.at,
                    by=event.actor.name,
                    words=what_happened(event, zone, look.policy.currency),
                    decision=decision_in(event),
                )
                for _seq, event in told[:MOST_RECORDED]
            ),
        }
    )


def _is_told(event: Event) -> bool:
    return event.kind in _JUDGED or _is_step(event)


def _is_step(event: Event) -> bool:
    return event.kind.startswith("lease.") and event.kind != "lease.updated"


def _explain(look: Look, lease: OpenLease) -> Why:
    if lease.state is LeaseState.queued and lease.pool in look.policy.pools:
        return _waits(look, lease, PoolName(str(lease.pool)))
    return Why(
        lease_id=lease.id,
        server=lease.key,
        state=lease.state,
        pool=lease.pool,
        answer=_answer(look, lease),
        priority=_frozen(lease),
        number=lease.priority,
        contract=of_lease(look.policy, lease, look.snapshot.at),
    )


def _answer(look: Look, lease: OpenLease) -> str:
    """Say in a sentence why it is as it is: the stop that is announced, else how it came."""
    if lease.notice is not None and lease.state is LeaseState.noticed:
        return notice_words(lease.notice, look.policy.timezone)
    if lease.reason is not None:
        return lease.reason.message
    if lease.cause is not None:
        return cause_words(lease.cause)
    return formats.standing_words(lease.standing)


def _frozen(lease: OpenLease) -> str:
    if not lease.assigned_at:
        return ""
    return _("weight {weight}, frozen at the start").format(weight=lease.weight)


def _waits(look: Look, lease: OpenLease, pool: PoolName) -> Why:
    at, policy = look.snapshot.at, look.policy
    view = scene(look.snapshot, pool, without=NOBODY, lease_id=None)
    owns = any(one.demand.tie == lease.id for one in owners(view))
    mine = next((one for one in look.line if one.lease.id == lease.id), None)
    queued = mine.decision if mine and isinstance(mine.decision, Queued) else None
    mates = [one for one in look.line if one.lease.pool == pool]
    reason = queued.why if queued else (lease.reason.message if lease.reason else "")
    return Why(
        lease_id=lease.id,
        server=lease.key,
        state=lease.state,
        pool=pool,
        answer=" ".join(filter(None, (place_words(mine) if mine else "", reason))),
        priority=words(_weight(look, lease), _task(policy, lease)),
        number=_weight(look, lease).number,
        promise=waiting(policy, pool, lease.team, borrows=not owns),
        place=mine.place if mine else None,
        short=_short(queued),
        ahead=tuple(
            _ahead(look, one, lease)
            for one in mates[:MOST_AHEAD]
            if mine is not None and one.place < mine.place
        ),
        holders=tuple(_holder(look, one, lease, at, owns=owns) for one in view.holding),
    )


def _weight(look: Look, lease: OpenLease) -> Weight:
    return weight_of(
        look.policy, ranking(look.policy), lease, look.snapshot.recent, look.snapshot.at
    )


def _task(policy: Policy, lease: OpenLease) -> str:
    task = policy.task_types.get(lease.task_type) if lease.task_type is not None else None
    return task.title if task is not None else ""


def _short(queued: Queued | None) -> str:
    figures: Mapping[str, int | str] = queued.reason.figures if queued else {}
    units = figures.get("short_units")
    if isinstance(units, int) and units > 0:
        return _("{gpus} of quota").format(gpus=formats.gpus(units))
    if "wants_gpus" in figures:
        return _("a free device ({gpus} GPU)").format(gpus=figures["wants_gpus"])
    return ""


def _whose(look: Look, lease: OpenLease, reader: OpenLease) -> str:
    if lease.key.user == reader.key.user:
        return _("the same person ({server})").format(server=formats.server_name(lease.key.server))
    if look.shown(lease):
        return _("{server}, team {team}").format(server=lease.key, team=lease.team)
    return _("your own team") if lease.team == reader.team else _("another team")


def _ahead(look: Look, one: Waiting, reader: OpenLease) -> Ahead:
    weight = _weight(look, one.lease)
    return Ahead(
        place=one.place,
        whose=_whose(look, one.lease, reader),
        wants=formats.gpus(one.lease.units),
        # Its parts would tell what somebody else had lately.
        priority=str(weight.number),
    )


def _holder(
    look: Look, lease: OpenLease, request: OpenLease, at: datetime, *, owns: bool
) -> Holder:
    found = shield(look.policy, lease, request, at)
    code, until = (found.code, found.until) if found else ("open", None)
    if lease.called_in is not None:
        code, until = "called-in", lease.called_in.stops_at
    elif owns and gives_up_hold(look.policy, lease, request):
        code, found = "held", None
    elif found is None and not owns:
        code = "borrows"
    return Holder(
        whose=_whose(look, lease, request),
        holds=", ".join(sorted({one.part or "GPU" for one in lease.devices})),
        code=code,
        words=_shield_words(look.policy, code, found, until),
        until=until,
    )


def _shield_words(policy: Policy, code: str, found: Shield | None, until: datetime | None) -> str:
    at = local_text(until, policy.timezone) if until is not None else ""
    known = {
        "guaranteed": _("inside its own guarantee: it is not called in"),
        "protected": _("borrowed, and protected until {at}").format(at=at),
        "reclaim-off": _("borrowed; in this pool nothing is called in"),
        "same-team": _("of the same team: no request of a higher task type may stop it"),
        "not-up": _("not running yet"),
        "stops-already": _("stopping already"),
        "called-in": _("called in; it stops at {at}").format(at=at),
        "borrows": _("not called in: the request would borrow itself"),
        "held": _("held for somebody who borrows and has not started: it is given up first"),
        "open": _("it may be called in now"),
    }
    return known[code if found is None or code == "called-in" else found.code]
