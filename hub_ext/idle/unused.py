"""A GPU that does nothing beside other work is taken back only while somebody waits for it."""

from ..i18n import _
from ..lease import Verdict, VerdictState
from ..policy.model import FlavorKind, IdleRule
from ..policy.model.idle import gpu_unused
from ..units import duration_text


def may_be_taken(verdict: Verdict, rule: IdleRule) -> bool:
    """Whether the rule lets its GPU be taken while somebody waits: nothing holds that off."""
    unused = verdict.ground == "gpu_unused" and verdict.gpu_quiet_since is not None
    return unused and rule.gpu_unused_stop and not verdict.held_by


def taken(verdict: Verdict, rule: IdleRule, kind: FlavorKind) -> Verdict:
    """Count a server whose GPU may be taken, and is wanted, as idle: the same steps follow."""
    if verdict.gpu_quiet_since is None:
        return verdict
    limit = gpu_unused(rule, kind)
    words = _(
        "Idle: its GPU was not used for {quiet}, although something else works, and somebody waits "
        "for it; the limit is {limit}. A profile without a GPU would do."
    )
    return verdict.model_copy(
        update={
            "state": VerdictState.idle,
            "quiet_since": verdict.gpu_quiet_since,
            "limit_s": int(limit.total_seconds()),
            "words": words.format(
                quiet=duration_text(verdict.at - verdict.gpu_quiet_since),
                limit=duration_text(limit),
            ),
        }
    )
