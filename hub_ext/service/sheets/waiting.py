"""The page of what waits: places, reasons and what can be done, in words."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from ...i18n import _, ngettext
from ...lease import LeaseId, LeaseState, OfferSheet, OpenLease, Standing, Ticket, UserName, When
from ...lease.why import Why
from ...policy.catalogue import Person
from ...policy.model import Policy
from ...units import gpus_text
from ..basis.access import Caller
from ..books import formats
from ..core.governor import Governor
from ..leasing.why import about

_UP = frozenset({LeaseState.starting, LeaseState.running, LeaseState.noticed})


@dataclass(frozen=True)
class WaitingFigures:
    """What the page is made of. `came` are servers whose turn has come; `offers` what else is."""

    tickets: tuple[Ticket, ...]
    came: tuple[OpenLease, ...]
    left: tuple[OpenLease, ...]
    offers: OfferSheet | None
    policy: Policy | None
    now: datetime
    whys: Mapping[LeaseId, Why]


def mark(core: Governor, caller: Caller, now: datetime) -> tuple[object, ...]:
    """Name what a reader would see change, at little cost: it is asked for at any news.

    The time alone is no news, nor is what else could start now.
    """
    tickets = core.tickets(lambda lease: lease.key.user == caller.name, now=now)
    leases = core.leases(user=caller.name)
    return (
        tuple(
            (
                one.lease_id,
                one.state,
                one.when,
                one.position,
                one.reason.code,
                one.soonest_at,
                one.forecast.words if one.forecast else "",
                one.held_until,
            )
            for one in tickets
        ),
        tuple((one.id, one.state) for one in leases if one.holds and one.state in _UP),
    )


def gather(core: Governor, caller: Caller, now: datetime) -> WaitingFigures:
    """Read what of the caller's own waits, came up, or has left the queue within a day."""
    policy = core.known_policy
    own = core.tickets(lambda lease: lease.key.user == caller.name, now=now)
    tickets = tuple(
        one.model_copy(update={"can_start": core.can_start(one.lease_id, now=now)}) for one in own
    )
    leases = core.leases(user=caller.name)
    person = Person(user=UserName(caller.name), groups=caller.groups)
    return WaitingFigures(
        tickets=tickets,
        came=tuple(one for one in leases if one.holds and one.state in _UP),
        left=core.left_queue(caller.name, since=now - timedelta(days=1)),
        offers=core.offers(person, now=now) if tickets and policy is not None else None,
        policy=policy,
        now=now,
        whys=_whys(core, caller, now) if own and policy is not None else {},
    )


def _whys(core: Governor, caller: Caller, now: datetime) -> Mapping[LeaseId, Why]:
    policy = core.known_policy
    found = core.why(about(caller.name), lambda lease: caller.sees(lease, policy), now=now).found
    return {one.lease_id: one for one in found}


def sheet(figures: WaitingFigures) -> dict[str, object]:
    """Put it into words."""
    zone = figures.policy.timezone if figures.policy else "UTC"
    hold = figures.policy.notice.hold if figures.policy else timedelta(0)
    return {
        "tickets": [_ticket(one, figures, zone) for one in figures.tickets],
        "came": [
            {
                "name": formats.server_name(one.key.server),
                "state": formats.state_words(one.state),
                "state_key": one.state.value,
                "path": _path(one),
            }
            for one in figures.came
        ],
        "left": [
            {
                "name": formats.server_name(one.key.server),
                "profile": one.profile,
                "words": one.reason.message if one.reason else "",
                "href": f"leases/{one.id}",
            }
            for one in figures.left
        ],
        "whens": ((When.start.value, _("start it for me")), (When.hold.value, _("hold it"))),
        "hold": formats.span(int(hold.total_seconds())),
    }


def _ticket(one: Ticket, figures: WaitingFigures, zone: str) -> dict[str, object]:
    titles = {
        (offer.profile, offer.team): offer.title
        for offer in (figures.offers.offers if figures.offers else ())
    }
    why = figures.whys.get(one.lease_id)
    return {
        "id": one.lease_id,
        "name": formats.server_name(one.server.server),
        "state": formats.state_words(one.state),
        "state_key": one.state.value,
        "place": _place(one),
        "why": one.reason.message,
        "profile": titles.get((one.profile, one.team), one.profile),
        "team": one.team,
        "project": one.project or _("no project"),
        "pool": one.pool,
        "short": _short(one),
        "priority": why.priority if why is not None else "",
        "number": why.number if why is not None else "",
        "promise": why.promise if why is not None else "",
        "ahead": why.ahead if why is not None else (),
        "holders": why.holders if why is not None else (),
        "soonest": formats.instant(one.soonest_at, zone) if one.soonest_at else _("not known"),
        "starts": _starts(one),
        "asked": formats.instant(one.requested_at, zone),
        "held_until": formats.instant(one.held_until, zone) if one.held_until else "",
        "when": one.when.value,
        "then": _then(one),
        "path": _path_of(one.server.user, one.server.server),
        "can_start": [
            titles.get((choice.profile, choice.team or one.team), choice.profile)
            for choice in one.can_start
        ],
        "wishes": _wishes(one, figures.offers),
        "task": _task(one, figures.policy),
        "tasks": _tasks(one, figures.offers),
        "borrows": _borrows(one, figures.offers),
    }


def _place(one: Ticket) -> str:
    if one.state is LeaseState.held:
        return _("It is your turn: a device is held for you.")
    ahead = (one.position or 1) - 1
    if not ahead:
        return _("Number 1 for pool {pool}: nobody is before you.").format(pool=one.pool)
    return ngettext(
        "Number {place} for pool {pool}: {n} request is before yours.",
        "Number {place} for pool {pool}: {n} requests are before yours.",
        ahead,
    ).format(place=ahead + 1, pool=one.pool, n=ahead)


def _starts(one: Ticket) -> str:
    if one.state is not LeaseState.queued:
        return ""
    return one.forecast.words if one.forecast else _("When it starts is being worked out.")


def _short(one: Ticket) -> str:
    units = one.reason.figures.get("short_units")
    if isinstance(units, int) and units:
        return _("{gpus} of quota").format(gpus=formats.gpus(units))
    wants = one.reason.figures.get("wants_gpus", gpus_text(0))
    if one.state is LeaseState.held:
        return _("nothing")
    return _("a free device ({gpus} GPU)").format(gpus=wants)


def _then(one: Ticket) -> str:
    if one.when is When.start:
        return _("The server starts by itself when its turn comes.")
    return _("A device is held when its turn comes; you start the server.")


def _wishes(one: Ticket, offers: OfferSheet | None) -> list[tuple[str, str, bool]]:
    """What may be waited for instead: value, words, and whether it is what waits now."""
    found = []
    for offer in offers.offers if offers else ():
        if offer.pool is None or offer.standing is Standing.denied:
            continue
        now = (offer.profile, offer.team) == (one.profile, one.team)
        words = _("{title} for team {team}").format(title=offer.title, team=offer.team)
        found.append((f"{offer.profile}/{offer.team}", words, now))
    return found


def _task(one: Ticket, policy: Policy | None) -> str:
    known = policy.task_types.get(one.task_type or "") if policy is not None else None
    return known.title if known is not None else one.task_type or ""


def _tasks(one: Ticket, offers: OfferSheet | None) -> list[tuple[str, str, bool]]:
    """Task types that may be named instead: value, words, and whether it is named now."""
    known = {
        task.name: task.title
        for offer in (offers.offers if offers else ())
        for task in offer.task_types
    }
    return [(name, title, name == one.task_type) for name, title in known.items()]


def _borrows(one: Ticket, offers: OfferSheet | None) -> list[tuple[str, str, bool]]:
    """Whether to borrow or to wait for the guarantee, where that is a choice."""
    if not any(offer.may_borrow for offer in (offers.offers if offers else ())):
        return []
    return [
        ("yes", _("on GPUs that others leave free too"), not one.only_guaranteed),
        ("no", _("only when the guarantee covers it"), one.only_guaranteed),
    ]


def _path(lease: OpenLease) -> str:
    return _path_of(lease.key.user, lease.key.server)


def _path_of(user: str, server: str) -> str:
    return f"{user}/{server}" if server else user
