"""What was kept in the last week, and what leads granted: made of the ledger's own events.

It is held in memory and decides nothing. Only what is on the record is in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ...idle.keeping import WEEK, Kept
from ...lease import Event, LeaseId, OpenLease, TeamName, UserName
from ...lease.keeping import KeepGrant
from ...ledger.store import Tx

KEPT = "keep.given"
"""Event: a server is kept by its owner, from when to when, asked for or by use of it."""
GRANTED = "keep.granted"
"""Event: a lead lets a person keep servers for longer."""

_PAGE = 500
_BACK = WEEK + timedelta(days=1)
"""So far back is read: a clock that is set by less changes nothing."""


@dataclass
class _Of:
    """A stretch with the lease that it is of; `over` once that has closed and it was cut."""

    lease_id: LeaseId
    kept: Kept
    over: bool = False


@dataclass
class KeepBook:
    """Stretches by person, and the newest grant of each team for a person."""

    grants: dict[tuple[TeamName, UserName], KeepGrant] = field(default_factory=dict)
    _kept: dict[UserName, list[_Of]] = field(default_factory=dict)
    _read: bool = False

    def load(self, tx: Tx, now: datetime) -> None:
        """Read the record once; what comes later is taken as it comes."""
        if self._read:
            return
        for event in tx.every((GRANTED,)):
            self.take(event)
        before, since = None, now - _BACK
        while page := tx.events(kinds=(KEPT,), before=before, limit=_PAGE, newest=True):
            for _seq, event in page:
                self.take(event)
            before = page[-1][0]
            if page[-1][1].at < since:
                break
        self._read = True

    def take(self, event: Event) -> None:
        """Take one event."""
        if event.kind == GRANTED:
            grant = KeepGrant.model_validate(event.body["grant"])
            self.grants[grant.team, grant.user] = grant
        elif event.kind == KEPT and event.lease_id is not None:
            start, end = (datetime.fromisoformat(str(event.body[x])) for x in ("from", "until"))
            of = _Of(event.lease_id, Kept(start, end, event.at))
            self._kept.setdefault(UserName(str(event.body["user"])), []).append(of)

    def kept(self, tx: Tx, user: UserName, now: datetime) -> Sequence[Kept]:
        """What was kept of a person's servers; what lies after a server's end does not count."""
        self.load(tx, now)
        known = [one for one in self._kept.get(user, ()) if one.kept.end > now - _BACK]
        self._kept[user] = known
        for one in known:
            if not one.over:
                _cut(tx, one)
        return [one.kept for one in known]

    def last(self, lease: OpenLease) -> datetime | None:
        """When a server was last kept."""
        known = self._kept.get(lease.key.user, ())
        return max((one.kept.at for one in known if one.lease_id == lease.id), default=None)

    def grant(self, tx: Tx, lease: OpenLease, now: datetime) -> KeepGrant | None:
        """What the lead of a lease's team grants its owner now."""
        self.load(tx, now)
        found = self.grants.get((lease.team, lease.key.user))
        return found if found is not None and found.more_s and now < found.until else None

    def holding(self, tx: Tx, team: TeamName, now: datetime) -> tuple[KeepGrant, ...]:
        """Grants of a team that hold, the first to end first."""
        self.load(tx, now)
        found = [
            one
            for (of, _user), one in self.grants.items()
            if of == team and one.more_s and now < one.until
        ]
        return tuple(sorted(found, key=lambda one: (one.until, one.id)))


def _cut(tx: Tx, one: _Of) -> None:
    """Give back what lies after the end of a lease that has closed."""
    lease = tx.lease(one.lease_id)
    if lease is None or lease.closed_at is None:
        return
    end = min(one.kept.end, max(one.kept.start, lease.closed_at))
    one.kept, one.over = one.kept._replace(end=end), True
