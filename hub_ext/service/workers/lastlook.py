"""Whether a stop for idleness still stands, right before the hub is asked for it.

Between the decision and its turn others may be stopped first. Who works again by then is not
stopped: nobody was asked for anything yet, so the stop is taken back.
"""

from datetime import datetime

from ...i18n import _
from ...idle import rule_of
from ...lease import Cause, OpenLease, Reason, VerdictState
from ..core.governor import Governor
from ..reclaim.stops import kind_of
from .verdicts import Reader, judged_again


def still_stands(governor: Governor, lease: OpenLease, now: datetime) -> bool:
    """Whether a stop that is about to be asked for still holds; one that does not is taken back."""
    if lease.cause is not Cause.culled:
        return True
    reason = _no_more(governor, lease, now)
    if reason is None:
        return True
    governor.take_back(lease.id, reason, now=now)
    return False


def _no_more(governor: Governor, lease: OpenLease, now: datetime) -> Reason | None:
    """Why it is not stopped after all; None where it is."""
    policy, former = governor.known_policy, governor.evidence_of(lease, now=now)
    if policy is None or former is None:
        # What cannot be looked at again is as it was decided.
        return None
    if governor.idle_held is not None:
        return governor.idle_held
    found = rule_of(policy, lease, kind_of(lease))
    words = _("No idle rule is for this server any more.")
    if found is not None and policy.modes.idle == "enforce":
        rule = found[1]
        verdict = governor.unchanged(lease, rule, now=now) or governor.judged(
            lease.id, judged_again(Reader(governor, lease, now), found, former), rule=rule, now=now
        )
        if verdict.state is VerdictState.idle:
            return None
        words = verdict.words
    return Reason(
        code="not-idle",
        message=_("The server is not stopped after all. {words}").format(words=words),
    )
