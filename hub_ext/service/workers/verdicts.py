"""Judges leases by idle rules, one after the other, and remembers where each one's witnesses stood.

Two of them look at the same lease where a rule is on trial; the readings are then read once.
"""

import logging
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import NamedTuple

from ...errors import LedgerError
from ...i18n import _
from ...idle import (
    STALE_PERIODS,
    Clocks,
    Readings,
    exempted,
    judge,
    judge_on,
    lookback,
    looking_again,
)
from ...idle.unused import may_be_taken, taken
from ...lease import LeaseId, OpenLease, Verdict, VerdictState
from ...policy.model import IdleRule
from ...policy.model.idle import LOOKS_A_LIMIT, window_of
from ..core.governor import Governor
from ..reclaim.stops import kind_of

_LOG = logging.getLogger(__name__)

LONGEST_PERIOD_S = 60.0
"""Slowest agent whose readings are still looked for."""


class _Last(NamedTuple):
    """When a lease was last judged, by which rule, and where its witnesses stood then.

    `behind` is how far back all lies that an idle verdict stood on.
    """

    at: datetime
    rule: IdleRule
    clocks: Clocks
    behind: timedelta | None = None


class Reader:
    """Readings of one lease at one instant, read once for all who ask."""

    def __init__(self, governor: Governor, lease: OpenLease, now: datetime) -> None:
        self.governor = governor
        self.lease = lease
        self.now = now
        self._since: datetime | None = None
        self._read: Readings | None = None

    def since(self, at: datetime) -> Readings:
        """Readings since an instant, or longer."""
        if self._read is None or self._since is None or at < self._since:
            self._since = at
            self._read = self.governor.readings_of(self.lease, at, now=self.now)
        return self._read


class Judge:
    """Judges leases, going on from where it last judged each. `faults` are of one lease alone."""

    def __init__(self) -> None:
        self._last: dict[LeaseId, _Last] = {}
        self._unused: dict[LeaseId, datetime] = {}
        self._wanted: frozenset[LeaseId] = frozenset()
        self.faults: list[str] = []

    def begin(self, governor: Governor, live: Collection[LeaseId], now: datetime) -> None:
        """Begin a pass over so many leases; what is known of others is let go."""
        self._last = {one: last for one, last in self._last.items() if one in live}
        self._unused = {one: since for one, since in self._unused.items() if one in live}
        self._wanted = governor.wanted_gpus(self._unused, now=now)
        self.faults = []

    def due(self, lease: OpenLease, rule: IdleRule, now: datetime) -> bool:
        """Whether it is time for another judgement of a lease that nothing hurries."""
        last = self._last.get(lease.id)
        # A clock that was set back must not keep a lease from being judged.
        return last is None or not timedelta(0) <= now - last.at < rule.limit / LOOKS_A_LIMIT

    def judged(self, reader: Reader, found: tuple[str, IdleRule]) -> Verdict:
        """Judge one lease; a fault there is unknown, and of this lease alone."""
        lease = reader.lease
        try:
            verdict = self._taken(lease, found[1], self._judge(reader, found))
            exemption = reader.governor.exemption(lease, now=reader.now)
            return exempted(verdict, exemption, reader.now)
        except LedgerError:
            raise
        except Exception as error:  # noqa: BLE001 - one lease must not keep the others unjudged
            self._last.pop(lease.id, None)
            _LOG.exception("%s could not be judged", lease.key)
            self.faults.append(str(error) or type(error).__name__)
            return _faulty(found[0], reader.now)

    def _judge(self, reader: Reader, found: tuple[str, IdleRule]) -> Verdict:
        name, rule = found
        governor, lease, now = reader.governor, reader.lease, reader.now
        kind, devices = kind_of(lease), governor.held_devices(lease, now=now)
        last = self._last.get(lease.id)
        # Another rule, or a clock that was set back, begins anew.
        goes_on = last is not None and last.rule == rule and last.at <= now
        former = last.clocks if last is not None and goes_on else Clocks()
        since = now - lookback(rule, LONGEST_PERIOD_S)
        if last is not None and goes_on:
            gap = timedelta(seconds=STALE_PERIODS * LONGEST_PERIOD_S)
            since = max(since, last.at - window_of(rule) - gap)
            if last.behind is not None:
                # Idle then, so likely idle now: all that is looked at once more is read at once.
                since = min(since, now - last.behind)
        readings = reader.since(since)
        verdict, clocks = judge_on(
            former, name, rule, lease, readings, now, required_devices=devices, kind=kind
        )
        behind = None
        if verdict.state is VerdictState.idle:
            behind = looking_again(rule, verdict, LONGEST_PERIOD_S)
        if behind is not None and goes_on:
            # Before anything follows from it, everything is looked at once more.
            whole = reader.since(now - behind)
            anew = judge(name, rule, lease, whole, now, required_devices=devices, kind=kind)
            verdict = anew if anew.state is not VerdictState.idle else verdict
        self._last[lease.id] = _Last(now, rule, clocks, behind)
        return verdict

    def _taken(self, lease: OpenLease, rule: IdleRule, verdict: Verdict) -> Verdict:
        """Note whose GPU lies unused; where somebody waits for it, the server counts as idle."""
        self._unused.pop(lease.id, None)
        if not may_be_taken(verdict, rule) or verdict.gpu_quiet_since is None:
            return verdict
        self._unused[lease.id] = verdict.gpu_quiet_since
        return taken(verdict, rule, kind_of(lease)) if lease.id in self._wanted else verdict


def judged_again(reader: Reader, found: tuple[str, IdleRule], former: Verdict) -> Verdict:
    """Judge a lease once more from all that its former verdict stands on, and nothing remembered.

    A fault there is unknown.
    """
    name, rule = found
    lease, now = reader.lease, reader.now
    try:
        verdict = judge(
            name,
            rule,
            lease,
            reader.since(now - looking_again(rule, former, LONGEST_PERIOD_S)),
            now,
            required_devices=reader.governor.held_devices(lease, now=now),
            kind=kind_of(lease),
        )
        if former.ground == "gpu_unused" and may_be_taken(verdict, rule):
            verdict = taken(verdict, rule, kind_of(lease))
    except LedgerError:
        raise
    except Exception:  # noqa: BLE001 - whom nobody can judge is not stopped for idleness
        _LOG.exception("%s could not be judged once more", lease.key)
        verdict = _faulty(name, now)
    return exempted(verdict, reader.governor.exemption(lease, now=now), now)


def _faulty(rule: str, now: datetime) -> Verdict:
    return Verdict(
        state=VerdictState.unknown,
        rule=rule,
        at=now,
        quiet_since=None,
        limit_s=None,
        words=_(
            "Its readings could not be judged; the governor's log says why. Unknown is never idle."
        ),
    )
