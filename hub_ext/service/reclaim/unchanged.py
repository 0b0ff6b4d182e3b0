"""Whether judging a lease again could find anything else than it did a moment ago.

A verdict follows from what was heard. While nothing was, a look costs nothing.
"""

from datetime import datetime, timedelta

from ...lease import OpenLease, Verdict
from ...policy.model import IdleRule
from ..books.desk import Desk

SAME_FOR = timedelta(seconds=20)
"""So long a verdict stays what it is while nothing is heard: then readings begin to grow old."""


def unchanged(desk: Desk, lease: OpenLease, rule: IdleRule, *, now: datetime) -> Verdict | None:
    """Give the newest verdict where judging again by a rule would find the same; else None.

    That is so for some seconds, while no agent of its machines and no server told anything since,
    and nobody keeps or exempts it. Whether somebody waits for an unused GPU is always asked anew.
    """
    verdict = desk.verdicts.get(lease.id)
    if verdict is None or verdict.ground == "gpu_unused" or desk.judged_by.get(lease.id) != rule:
        return None
    kept = lease.kept_until is not None and lease.kept_until > verdict.at
    if kept or desk.exemptions.of(lease, now) is not None or verdict.held_by == "exemption":
        return None
    fresh = timedelta(0) <= now - verdict.at <= SAME_FOR
    return verdict if fresh and not _heard_since(desk, lease, verdict.at, now) else None


def _heard_since(desk: Desk, lease: OpenLease, at: datetime, now: datetime) -> bool:
    """Whether anything was heard of a lease since; taken for true where nobody can tell."""
    nodes = {device.node for device in desk.held_for.devices(lease, now)}
    told = [desk.floor.told_at(node) for node in nodes]
    said = desk.activity.of(lease, now)
    return (
        not told
        or any(one is None or one >= at for one in told)
        or (said is not None and said.at >= at)
    )
