"""The core's part that concerns devices: which are in service, and what administrators do to them.

Like the rest of the core: synchronous, in one thread, `now` with each call.
"""

from datetime import datetime, timedelta

from ...lease import (
    Actor,
    DeviceId,
    DeviceSheet,
    Exemption,
    ExemptionSheet,
    LeaseId,
    MaintenanceSheet,
    OpenLease,
    ServerKey,
    Spot,
)
from ..books.desk import Desk
from ..devices import closures, maintaining, upkeep
from ..leasing import renaming
from ..reclaim import exempting, prolonging
from ..rules import unenforced


class ServingCore:
    """Everything of the governor that concerns devices in and out of service."""

    _desk: Desk

    def device_sheet(self, *, now: datetime) -> DeviceSheet:
        """Show all devices, and what is out or drained."""
        return upkeep.sheet(self._desk, now=now)

    def take_out(
        self, device: DeviceId, *, reason: str, actor: Actor, now: datetime
    ) -> DeviceSheet:
        """Take a device out of service; see `upkeep.take_out`."""
        return upkeep.take_out(self._desk, device, reason=reason, actor=actor, now=now)

    def bring_back(
        self, device: DeviceId, *, reason: str, actor: Actor, now: datetime
    ) -> DeviceSheet:
        """Bring a device back into service; see `upkeep.bring_back`."""
        return upkeep.bring_back(self._desk, device, reason=reason, actor=actor, now=now)

    def drain(
        self,
        spot: Spot,
        *,
        after: timedelta | None,
        reason: str,
        actor: Actor,
        now: datetime,
    ) -> DeviceSheet:
        """Give no new lease there, and end those that are; see `upkeep.drain`."""
        return upkeep.drain(self._desk, spot, after=after, reason=reason, actor=actor, now=now)

    def lift(self, spot: Spot, *, reason: str, actor: Actor, now: datetime) -> DeviceSheet:
        """End a drain; see `upkeep.lift`."""
        return upkeep.lift(self._desk, spot, reason=reason, actor=actor, now=now)

    def maintenance(self, *, now: datetime) -> MaintenanceSheet:
        """List maintenance that is announced and not over."""
        return maintaining.sheet(self._desk, now=now)

    def announce(
        self, wanted: maintaining.Announcement, *, reason: str, actor: Actor, now: datetime
    ) -> MaintenanceSheet:
        """Announce maintenance; see `maintaining.announce`."""
        return maintaining.announce(self._desk, wanted, reason=reason, actor=actor, now=now)

    def call_off(
        self, maintenance_id: str, *, reason: str, actor: Actor, now: datetime
    ) -> MaintenanceSheet:
        """Call maintenance off, or end it early; see `maintaining.call_off`."""
        return maintaining.call_off(self._desk, maintenance_id, reason=reason, actor=actor, now=now)

    def exemption(self, lease: OpenLease, *, now: datetime) -> Exemption | None:
        """The exemption from the idle rules that holds for a lease and lasts longest."""
        return self._desk.exemptions.of(lease, now)

    def exemptions(self, *, now: datetime) -> ExemptionSheet:
        """List exemptions that hold."""
        return exempting.sheet(self._desk, now=now)

    def exempt(
        self, wanted: exempting.ExemptionWish, *, reason: str, actor: Actor, now: datetime
    ) -> ExemptionSheet:
        """Exempt somebody or something from the idle rules; see `exempting.exempt`."""
        return exempting.exempt(self._desk, wanted, reason=reason, actor=actor, now=now)

    def end_exemption(
        self, exemption_id: str, *, reason: str, actor: Actor, now: datetime
    ) -> ExemptionSheet:
        """End an exemption before its time; see `exempting.end`."""
        return exempting.end(self._desk, exemption_id, reason=reason, actor=actor, now=now)

    def prolong(
        self, lease_id: LeaseId, until: datetime, *, reason: str, actor: Actor, now: datetime
    ) -> OpenLease:
        """Let a lease live longer than agreed; see `prolonging.prolong`."""
        return prolonging.prolong(self._desk, lease_id, until, reason=reason, actor=actor, now=now)

    def follow(self, lease_id: LeaseId, key: ServerKey, *, now: datetime) -> bool:
        """Let a lease follow its owner's new name; see `renaming.follow`."""
        return renaming.follow(self._desk, lease_id, key, now=now)

    def unenforced(self, *, now: datetime) -> tuple[unenforced.DayRow, ...]:
        """Sum up what rules would have done that are not enforced; see `unenforced.table`."""
        return unenforced.table(self._desk, now=now)

    def closure(self, lease: OpenLease, *, now: datetime) -> closures.Closure | None:
        """Why a lease's devices are to be given up, and until when; None where they are not."""
        return closures.of(self._desk, lease, now=now)
