"""The core's part that looks at how GPUs are used: what they wait for, and what is odd.

Like the rest of the core: synchronous, in one thread, `now` with each call. It stops nothing.
"""

from collections.abc import Collection
from datetime import datetime

from ...admission.protection import LIVE
from ...anomaly import Change
from ...lease import LeaseId, WaitsFor
from ...lease.anomalies import AnomalySheet
from ..anomalies import acts as anomalyacts
from ..anomalies import facts as anomalyfacts
from ..anomalies import search as anomalies
from ..books.desk import Desk
from ..hearing import starving

MOST_LOOKS = 300
"""Servers that are looked at in one pass; each costs the deciding thread milliseconds."""


class AnomalyCore:
    """Everything of the governor that looks at how GPUs are used."""

    _desk: Desk

    def to_look_at(self, *, now: datetime) -> tuple[LeaseId, ...]:
        """Live leases with GPUs whose turn it is; none while no policy is in force."""
        if self._desk.book.known is None:
            return ()
        with self._desk.turn(now) as turn:
            live = [x.id for x in turn.tx.leases() if x.state in LIVE and x.devices]
        starving.forget(self._desk, frozenset(live))
        looked = self._desk.anomalies.looked
        # Who was never looked at comes first, then who was looked at longest ago.
        live.sort(key=lambda one: (one in looked, looked[one].at if one in looked else now, one))
        return tuple(live[:MOST_LOOKS])

    def look_at_use(self, lease_id: LeaseId, *, now: datetime) -> WaitsFor | None:
        """Look at one server's readings; None where it has ended meanwhile."""
        policy = self._desk.book.known
        with self._desk.turn(now) as turn:
            lease = turn.tx.lease(lease_id)
        if policy is None or lease is None or lease.state not in LIVE:
            return None
        anomalyfacts.look(self._desk, lease, policy, now=now)
        return starving.look(self._desk, lease, policy, now=now)

    def search_anomalies(self, *, now: datetime) -> Change:
        """Look once for all that is odd; see `anomalies.search`."""
        return anomalies.search(self._desk, now=now)

    def anomalies(self, teams: Collection[str] | None = None, *, now: datetime) -> AnomalySheet:
        """Show the anomalies of some teams, or all."""
        return anomalies.sheet(self._desk, teams, now=now)

    def act_on_anomaly(
        self, anomaly_id: str, deed: anomalyacts.Deed, *, now: datetime
    ) -> AnomalySheet:
        """Do something about an anomaly; see `anomalyacts.carry_out`."""
        return anomalyacts.carry_out(self._desk, anomaly_id, deed, now=now)
