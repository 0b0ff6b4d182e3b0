"""The core's part on servers that are kept, or whose owners are advised a smaller profile.

Like the rest of the core: synchronous, in one thread, `now` with each call.
"""

from datetime import datetime

from ...admission.decide import offers
from ...lease import GOVERNOR, Actor, LeaseId, OpenLease, Reason
from ...lease.keeping import KeepGrantSheet
from ...policy.catalogue import Person
from ..books.desk import Desk
from ..reclaim import keepgrants, keeps
from ..reclaim.smaller import Smaller, offered


class KeepCore:
    """Everything of the governor that concerns keeping servers."""

    _desk: Desk

    def keep(self, lease_id: LeaseId, *, actor: Actor, now: datetime) -> OpenLease:
        """Hold off the idle rule once; see `keeps.keep`."""
        return keeps.keep(self._desk, lease_id, actor=actor, now=now)

    def keep_by_use(self, lease_id: LeaseId, reason: Reason, *, now: datetime) -> OpenLease:
        """Take an idle notice back at the cost of the owner's budget; see `keeps.keep`."""
        return keeps.keep(self._desk, lease_id, actor=GOVERNOR, now=now, of="use", reason=reason)

    def can_keep(self, lease: OpenLease, *, now: datetime) -> bool:
        """Whether the owner's budget has a keep left for a server."""
        return keeps.can_keep(self._desk, lease, now=now)

    def smaller_offer(self, lease: OpenLease, *, now: datetime) -> Smaller | None:
        """Choose a smaller profile that a server's owner could have at once; see `smaller`."""
        policy = self._desk.book.known
        if policy is None or not lease.units:
            return None
        person = Person(user=lease.key.user, groups=lease.groups)
        with self._desk.turn(now) as turn:
            made = offers(turn.snapshot(), person)
        return offered(made, policy, lease)

    def keep_grants(self, team: str, *, now: datetime) -> KeepGrantSheet:
        """List what leads of a team grant beyond the policy."""
        return keepgrants.sheet(self._desk, team, now=now)

    def grant_keep(
        self,
        team: str,
        wanted: keepgrants.KeepWish,
        *,
        reason: str,
        actor: Actor,
        now: datetime,
    ) -> KeepGrantSheet:
        """Let somebody of a team keep servers for longer; see `keepgrants.grant`."""
        return keepgrants.grant(self._desk, team, wanted, reason=reason, actor=actor, now=now)
