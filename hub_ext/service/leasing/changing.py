"""A change of profile as people see it: what there is to choose from, and what waits.

It reads and decides nothing; `switching` makes the change.
"""

from ...admission.decide import Queued
from ...admission.protection import LIVE
from ...i18n import _
from ...lease import (
    Change,
    Choice,
    LeaseState,
    Offer,
    OfferSheet,
    OpenLease,
    RunningServer,
    Standing,
    SwitchOffer,
    SwitchSheet,
    UserName,
    local_text,
)
from ..books import formats
from ..books.desk import Turn
from ..queueing.board import places
from ..queueing.tickets import place_words


def running(turn: Turn, user: UserName) -> tuple[RunningServer, ...]:
    """List servers of a person whose profile can be changed: those that run."""
    return tuple(
        RunningServer(lease_id=lease.id, server=lease.key.server, has=_has(lease))
        for lease in turn.tx.leases()
        if lease.key.user == user and lease.state in LIVE
    )


def _has(lease: OpenLease) -> str:
    return lease.grant.title if lease.grant else lease.profile


def sheet(lease: OpenLease, offers: OfferSheet) -> SwitchSheet:
    """List what a server could have instead; what it has already is left out."""
    return SwitchSheet(
        lease_id=lease.id,
        has=_has(lease),
        offers=tuple(
            _offer(lease, offer)
            for offer in offers.offers
            if offer.standing is not Standing.denied
            and (offer.profile, offer.team) != (lease.profile, lease.team)
        ),
    )


def _offer(lease: OpenLease, offer: Offer) -> SwitchOffer:
    has_task = any(task.name == lease.task_type for task in offer.task_types)
    choice = Choice(
        profile=offer.profile,
        team=offer.team,
        project=lease.project if lease.project in offer.projects else None,
        task_type=lease.task_type if has_task else None,
    )
    starts = offer.forecast.words if offer.forecast is not None else ""
    return SwitchOffer(
        choice=choice,
        title=offer.title,
        flavor_title=offer.flavor_title,
        team=offer.team,
        standing=offer.standing,
        standing_text=formats.standing_words(offer.standing),
        price_text=offer.price_text,
        words=" ".join(filter(None, (offer.reason.message, starts))),
    )


def under_way(turn: Turn, lease: OpenLease) -> Change | None:
    """Tell of the change that a server waits for; None where it waits for none."""
    fresh = next((one for one in turn.tx.leases() if one.replaces == lease.id), None)
    if fresh is None:
        return None
    found = next((one for one in places(turn) if one.lease.id == fresh.id), None)
    queued = fresh.state is LeaseState.queued
    policy = turn.desk.book.known
    profile = policy.profiles.get(fresh.profile) if policy is not None else None
    words = _there(turn, lease)
    if queued and lease.notice is None and found is not None and isinstance(found.decision, Queued):
        words = f"{place_words(found)} {found.decision.why}"
    return Change(
        lease_id=fresh.id,
        title=profile.title if profile is not None else fresh.profile,
        state=fresh.state,
        since=fresh.requested_at,
        position=found.place if queued and found is not None else None,
        words=words,
    )


def _there(turn: Turn, lease: OpenLease) -> str:
    """Say that there is room for it, and when the server changes hands."""
    if lease.notice is None or turn.desk.book.known is None:
        return _("There is room for it: the server is told in a moment when it starts again.")
    at = local_text(lease.notice.stops_at, turn.desk.book.known.timezone)
    return _(
        "There is room for it: the server is stopped at {at} and starts again by itself."
    ).format(at=at)
