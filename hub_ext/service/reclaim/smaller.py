"""Advice to change to a smaller profile, or one without a GPU: by name, with its price, no stop.

Pure but for `offered`, which asks for the owner's offers as the form does.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from ...i18n import _
from ...lease import Cause, Notice, OfferSheet, OpenLease, Reason, Standing, Verdict, VerdictState
from ...policy.catalogue import profile_size
from ...policy.model import IdleRule, Policy
from ...units import duration_text

SMALLER = "smaller-advice"
"""Code of a notice that advises another profile and stops nothing."""

_THERE = frozenset({Standing.guaranteed, Standing.borrowed, Standing.unmetered})

_FAR = timedelta(days=3650)


class Smaller(NamedTuple):
    """A profile that its owner could have at once, with less of a GPU."""

    profile: str
    title: str
    price_text: str


def is_told(lease: OpenLease) -> bool:
    """Whether its owner is advised now."""
    return lease.notice is not None and lease.notice.reason.code == SMALLER


def is_due(verdict: Verdict, rule: IdleRule, now: datetime) -> bool:
    """Whether its owner is to be advised: its GPU does nothing beside other work, or all is quiet.

    What holds idleness off holds this off too.
    """
    if verdict.held_by:
        return False
    if verdict.state is VerdictState.active:
        return verdict.ground == "gpu_unused"
    quiet = verdict.quiet_since
    asked = rule.advise is not None and verdict.state is VerdictState.quiet
    return asked and quiet is not None and rule.advise is not None and now - quiet >= rule.advise


def offered(offers: OfferSheet, policy: Policy, lease: OpenLease) -> Smaller | None:
    """Choose the least that its owner could have at once for the same team and project.

    Of several with the same share of a GPU the first of the policy is named.
    """
    fits = [
        (profile_size(policy, policy.profiles[one.profile]), order, one)
        for order, one in enumerate(offers.offers)
        if one.team == lease.team
        and one.standing in _THERE
        and one.profile in policy.profiles
        and (lease.project is None or one.pool is None or lease.project in one.projects)
    ]
    less = [one for one in fits if one[0] < lease.units]
    if not less:
        return None
    offer = min(less, key=lambda one: one[:2])[2]
    return Smaller(offer.profile, offer.title, offer.price_text)


def notice(lease: OpenLease, verdict: Verdict, smaller: Smaller, now: datetime) -> Notice:
    """Write the advice."""
    since = verdict.gpu_quiet_since or verdict.quiet_since or now
    words = _(
        "{words} Its GPU did nothing for {span}. The profile {title} ({price}) would do: choose "
        "“Change profile…” in the GPU panel, files stay. Nothing is stopped for this."
    )
    return Notice(
        cause=Cause.culled,
        given_at=now,
        stops_at=lease.ends_at or now + _FAR,
        decision=verdict.decision,
        reason=Reason(
            code=SMALLER,
            message=words.format(
                words=verdict.words,
                span=duration_text(now - since),
                title=smaller.title,
                price=smaller.price_text,
            ),
            figures={"profile": smaller.profile, "price_text": smaller.price_text},
        ),
    )


def of_notice(told: Notice) -> Smaller:
    """Give what was advised."""
    figures = told.reason.figures
    return Smaller(str(figures["profile"]), str(figures["profile"]), str(figures["price_text"]))


OVER = Reason(
    code="smaller-over",
    message=_("The advice on a smaller profile is over: the GPU is used, or is judged anew."),
)
