"""Judges live servers by the idle rules on trial beside those that act; it stops nobody.

Part of the culler's pass: what the rule would do is recorded as it would be done, after its notice.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from ...lease import LeaseId, LeaseState, OpenLease, Verdict, VerdictState
from ...policy.model import IdleRule
from ..core.governor import Governor
from .verdicts import Judge, Reader

_LIVE = frozenset({LeaseState.running, LeaseState.noticed})

_BACK = frozenset({"input", "cell"})
"""What a server says of itself that shows somebody at work in it."""


class _Notice(NamedTuple):
    """A notice that a rule on trial would have given."""

    rule: IdleRule
    at: datetime


class TrialWatch:
    """Looks at one lease after the other, as the culler does, by the rule that is declared."""

    def __init__(self) -> None:
        self._judge = Judge()
        self._notices: dict[LeaseId, _Notice] = {}

    @property
    def faults(self) -> list[str]:
        """What went wrong in this pass, each of one lease alone."""
        return self._judge.faults

    def begin(self, governor: Governor, live: Mapping[LeaseId, OpenLease], now: datetime) -> None:
        """Begin a pass."""
        self._judge.begin(governor, live, now)
        self._notices = {one: told for one, told in self._notices.items() if one in live}
        governor.tick_trials(live, now=now)

    def look(self, reader: Reader, lease: OpenLease, now: datetime) -> None:
        """Judge one lease by its rule on trial, if it has one; record what that would do."""
        found = reader.governor.on_trial(lease)
        if found is None or lease.state not in _LIVE:
            self._notices.pop(lease.id, None)
            return
        rule = found[1]
        told = self._notices.get(lease.id)
        if told is None and not self._judge.due(lease, rule, now):
            return
        self._follow(reader, found, self._judge.judged(reader, found), told)

    def stopped(self, governor: Governor, lease: OpenLease, now: datetime) -> None:
        """The rule in force stops a server as idle: note where the one on trial would not yet."""
        found = governor.on_trial(lease)
        if found is not None:
            governor.would_keep(lease, found[0], now=now)

    def _follow(
        self, reader: Reader, found: tuple[str, IdleRule], verdict: Verdict, told: _Notice | None
    ) -> None:
        governor, lease, now = reader.governor, reader.lease, reader.now
        name, rule = found
        if verdict.state is not VerdictState.idle or governor.idle_held is not None:
            self._notices.pop(lease.id, None)
            if verdict.state is VerdictState.active or verdict.held_by in _BACK:
                governor.would_work(lease, name, verdict, now=now)
        elif governor.would_be_stopped(lease, name):
            self._notices.pop(lease.id, None)
        elif told is None or told.rule != rule or now < told.at:
            # Also where a clock was set back: the whole notice passes.
            self._notices[lease.id] = _Notice(rule, now)
        elif now - told.at >= rule.notice:
            self._notices.pop(lease.id)
            governor.would_stop(lease, name, verdict, now=now)
