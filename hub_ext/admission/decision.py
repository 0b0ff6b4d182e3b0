"""A request and the three answers to it. Each answer says why, with figures."""

from datetime import datetime
from typing import Annotated, Self

from pydantic import AwareDatetime, Field

from ..lease import Device, LeaseId, Reason, ServerKey, Standing, Value
from ..policy.catalogue import Resolved
from ..units import whole_seconds


class Request(Value):
    """One server wants what `resolved` says; leases of this key or id do not count against it."""

    key: ServerKey
    resolved: Resolved
    requested_at: AwareDatetime
    asked_at: AwareDatetime | None = None
    """When it was asked for, where it keeps an older place than that."""
    priority: int = 0
    lease_id: LeaseId | None = None
    until: AwareDatetime | None = None
    """When it ends, where that is the end of a reservation."""
    replaces: LeaseId | None = None
    """Lease of the same server that runs on until this can start."""


class Admitted(Value):
    """It may start now, on these devices.

    `would_have` is what the rules would have said where they only observe or advise, and
    `budget_would_have` what budgets would.
    """

    standing: Standing
    devices: tuple[Device, ...]
    reason: Reason
    would_have: Standing | None = None
    budget_would_have: Standing | None = None
    ends_by: AwareDatetime | None = None
    """Latest end, where what is announced takes these devices: maintenance, a reservation."""
    ends_why: str = ""
    """What is announced for then, a sentence."""

    def until(self, at: datetime, why: str) -> Self:
        """Let it end at an instant at the latest; of two the earlier holds."""
        if self.ends_by is not None and self.ends_by <= at:
            return self
        return self.model_copy(update={"ends_by": at, "ends_why": why})


class Queued(Value):
    """It has to wait. Asking again may help after `retry_after_s` seconds.

    `why` are the words of the reason without the advice for those who do not wait.
    """

    reason: Reason
    why: str = ""
    soonest_at: AwareDatetime | None = None
    """When the first lease ends that is in the way, at the latest, as far as it is declared."""
    retry_after_s: Annotated[int, Field(gt=0)] = 60

    def again_at(self, end: datetime, at: datetime) -> Self:
        """Say that room comes at an instant at the earliest, and to ask again then."""
        wait_s = max(1, whole_seconds(at, end))
        reason = self.reason.model_copy(
            update={"figures": {**self.reason.figures, "retry_after_s": wait_s}}
        )
        return self.model_copy(
            update={"reason": reason, "soonest_at": end, "retry_after_s": wait_s}
        )


class Denied(Value):
    """It will never start as asked."""

    reason: Reason


Decision = Admitted | Queued | Denied


def standing_of(decision: Decision) -> Standing:
    """Name in one word how a decision stands to the quota."""
    match decision:
        case Admitted():
            return decision.standing
        case Queued():
            return Standing.would_queue
        case Denied():
            return Standing.denied
