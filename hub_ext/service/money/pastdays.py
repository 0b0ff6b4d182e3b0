"""What teams were charged on each day of the months that are over, read once and a few at a time.

From it comes how wrong forecasts were. A day is read when everything that ran on it is charged.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from ...budget import months
from ...ledger.tally import Stretch
from ...policy.model import Policy
from ...policy.prices import day_start, local_day
from ...reports.outlook import BACK, errors_at
from ..books.desk import Turn

BACK_DAYS = 366 + BACK
"""A year of months, and what the first of them was foretold from."""

AT_ONCE = 10
"""Days that are read in one turn: decisions wait meanwhile."""

_DAY = timedelta(days=1)


@dataclass
class PastDays:
    """Charges by day and team in one currency and zone; another one of either begins anew."""

    _of: tuple[str, str] = ("", "")
    _days: dict[date, Mapping[str, int]] = field(default_factory=dict)
    _first: date | None = None
    _made: tuple[int, date, list[int]] | None = None

    def read(self, turn: Turn) -> bool:
        """Read some days that are missing, the newest first; whether there are more."""
        policy = turn.policy
        zone, found = policy.timezone, turn.tx.first_charge()
        if (zone, policy.currency) != self._of:
            self._of, self._days, self._made = (zone, policy.currency), {}, None
        if found is None:
            return False
        today = local_day(turn.now, zone)
        self._first = max(local_day(found, zone), today - BACK_DAYS * _DAY)
        settled = _settled(turn)
        missing = [
            day
            for back in range(1, (today - self._first).days + 1)
            if (day := today - back * _DAY) not in self._days
            and day_start(day + _DAY, zone) <= settled
        ]
        for day in missing[:AT_ONCE]:
            stretch = Stretch(day_start(day, zone), day_start(day + _DAY, zone), policy.currency)
            self._days[day] = turn.tx.team_sums(stretch)
        for day in [one for one in self._days if one < self._first]:
            del self._days[day]
        return len(missing) > AT_ONCE

    def of_team(self, team: str) -> dict[date, int]:
        """Give the days of a team that were read."""
        return {day: sums[team] for day, sums in self._days.items() if team in sums}

    def errors(self, policy: Policy, now: datetime) -> list[int]:
        """Tell how wrong forecasts were on this day of the months that are over."""
        today = local_day(now, policy.timezone)
        if self._made is None or self._made[:2] != (len(self._days), today):
            known = self._months(policy, now)
            teams = [self.of_team(team) for team in policy.teams]
            made = errors_at(teams, known, today.day)
            self._made = (len(self._days), today, made)
        return self._made[2]

    def _months(self, policy: Policy, now: datetime) -> list[tuple[date, date]]:
        """List months that are over and of which every day was read."""
        if self._first is None:
            return []
        zone = policy.timezone
        spans = [
            (local_day(one.start, zone), local_day(one.end, zone) - _DAY)
            for one in months(zone, day_start(self._first, zone), now)
            if one.end <= now
        ]
        return [
            (first, last)
            for first, last in spans
            if all(
                max(first, self._first) + n * _DAY in self._days
                for n in range((last - max(first, self._first)).days + 1)
            )
        ]


def _settled(turn: Turn) -> datetime:
    """Until when everything is on the books: what runs is charged up to some time."""
    open_ = [
        lease.charged_until or lease.assigned_at or turn.now
        for lease in turn.tx.leases()
        if lease.holding
    ]
    kept = [
        one.current.kept_since
        for one in turn.tx.reservations()
        if one.current is not None and one.current.kept_since is not None
    ]
    return min([turn.now, *open_, *kept])
