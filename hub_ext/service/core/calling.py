"""The core's part that concerns calls: what is called in, and for whom.

Like the rest of the core: synchronous, in one thread, `now` with each call.
"""

from collections.abc import Callable
from datetime import datetime

from ...admission.calling import Plan
from ...lease import Actor, Choice, LeaseId, OpenLease, When
from ...lease.why import WhySheet
from ..books.desk import Desk
from ..leasing import switching, why
from ..queueing import again, calling_in


class CallingCore:
    """Everything of the governor that only called-in leases need."""

    _desk: Desk

    def review_calls(self, *, now: datetime) -> int:
        """Bring all calls in line with what is needed now; see `calling_in.review`."""
        return calling_in.review(self._desk, now=now)

    def switch(
        self,
        lease_id: LeaseId,
        choice: Choice,
        *,
        groups: tuple[str, ...],
        actor: Actor,
        now: datetime,
    ) -> OpenLease:
        """Let a server that runs get another profile; see `switching.switch`."""
        return switching.switch(self._desk, lease_id, choice, groups=groups, actor=actor, now=now)

    def look_at_calls(self, *, now: datetime) -> calling_in.Sight | None:
        """Take what a plan is made from; see `calling_in.look`."""
        return calling_in.look(self._desk, now=now)

    def settle_calls(self, sight: calling_in.Sight, planned: Plan, *, now: datetime) -> bool:
        """Carry a plan out; see `calling_in.settle`."""
        return calling_in.settle(self._desk, sight, planned, now=now)

    def why(
        self,
        wanted: why.About,
        shown: Callable[[OpenLease], bool],
        *,
        now: datetime,
    ) -> WhySheet:
        """Explain what is wanted and may be seen; see `why.why`."""
        return why.why(self._desk, wanted, shown, now=now)

    def ask_again(
        self,
        lease_id: LeaseId,
        when: When,
        *,
        groups: tuple[str, ...],
        actor: Actor,
        now: datetime,
    ) -> OpenLease:
        """Let who was called in wait again in the old place; see `again.ask_again`."""
        return again.ask_again(self._desk, lease_id, when, groups=groups, actor=actor, now=now)
