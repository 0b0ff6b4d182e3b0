"""Starts that fail again and again: whose they are waits before the next one, and nobody else."""

from datetime import timedelta

from ...errors import RefusedError
from ...i18n import _
from ...units import duration_text
from ..books.desk import Turn


def slowed(turn: Turn, user: str) -> RefusedError | None:
    """Say that somebody has to wait before they start again; None where they need not."""
    desk = turn.desk
    desk.failing.look(turn.tx)
    found = desk.failing.until(user, desk.book.policy.starts, turn.now)
    if found is None:
        return None
    end, failed = found
    seconds = max(1, -int((turn.now - end).total_seconds() // 1))
    return RefusedError(
        "starts-fail",
        _(
            "Your last {n} starts failed, so the next one has to wait for {span}. Look at why they "
            "failed, on the page of the server or in its log, and mend that first; choose another "
            "profile or environment, or ask an administrator. Others are not affected."
        ).format(n=failed, span=duration_text(timedelta(seconds=seconds))),
        figures={"failed": failed, "wait_s": seconds},
        status=429,
        retry_after_s=seconds,
    )
