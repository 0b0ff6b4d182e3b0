"""What leads let people keep servers for beyond the policy, in words for the team's page."""

from datetime import timedelta

from ...i18n import _
from ...lease.keeping import KeepGrantSheet
from ...units import duration_text
from ..books import formats


def sheet(grants: KeepGrantSheet) -> dict[str, object]:
    """Put the grants that hold into rows."""
    return {
        "keep_grants": [
            {
                "user": one.user,
                "more": _("{more} more").format(more=duration_text(timedelta(seconds=one.more_s))),
                "until": formats.instant(one.until, grants.timezone),
                "by": one.by,
                "reason": one.reason,
            }
            for one in grants.grants
        ]
    }
