"""What administrators say ahead: maintenance that comes, and who is exempt from the idle rule."""

from datetime import datetime, timedelta
from typing import Literal

from pydantic import AwareDatetime

from .asking import Device
from .record import OpenLease
from .serving import Place
from .words import ShortText, Value


class Maintenance(Value):
    """From `start` to `end` no lease has devices there; announced at `at`.

    Nothing begins or ends it: whether it is on is read from the clock alone, so that it holds
    whoever slept meanwhile.
    """

    id: ShortText
    place: Place
    name: ShortText
    start: AwareDatetime
    end: AwareDatetime
    reason: str
    at: AwareDatetime
    by: ShortText

    def covers(self, device: Device) -> bool:
        """Whether a device is part of it."""
        names = {"pool": device.pool, "node": device.node, "device": device.id}
        return names[self.place] == self.name

    def closes(self, at: datetime, ahead: timedelta = timedelta(0)) -> bool:
        """Whether it is on at an instant, or begins within `ahead` after it."""
        return self.start - ahead <= at < self.end


class MaintenanceSheet(Value):
    """`GET maintenance`: what is announced and not over, the next first."""

    at: AwareDatetime
    timezone: ShortText
    announced: tuple[Maintenance, ...]


Subject = Literal["lease", "person", "team", "project"]


class Exemption(Value):
    """Until `until` no idle rule stops what it covers; it ends by the clock alone."""

    id: ShortText
    subject: Subject
    name: ShortText
    until: AwareDatetime
    reason: str
    at: AwareDatetime
    by: ShortText

    def covers(self, lease: OpenLease) -> bool:
        """Whether a lease is exempt by it."""
        names = {
            "lease": lease.id,
            "person": lease.key.user,
            "team": lease.team,
            "project": lease.project,
        }
        return names[self.subject] == self.name


class ExemptionSheet(Value):
    """`GET exemptions`: those that hold, the first to end first."""

    at: AwareDatetime
    timezone: ShortText
    exemptions: tuple[Exemption, ...]
