"""Passes of the culler over a small core, in the order in which the governor's loop makes them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from hub_ext.lease import LeaseId, LeaseState
from hub_ext.service.workers.cull import Culler
from hub_ext.service.workers.steps import Step
from tests.support.small_core import PERIOD_S, SmallCore


@dataclass
class Passes:
    """Makes whole passes while a story's clock runs."""

    core: SmallCore
    culler: Culler = field(default_factory=Culler)

    def turn(self) -> dict[LeaseId, Step]:
        """Make one pass; return what was done in its second sweep."""
        governor, now = self.core.governor, self.core.now
        live = self.culler.live(governor, now)
        idle = [one for one in live if self.culler.survey(governor, one, now)]
        self.culler.weigh(governor, now)
        return {one: self.culler.look(governor, one, now) for one in idle}

    def go_on(self, minutes: float) -> None:
        """Let time pass with a pass each period."""
        end = self.core.now + timedelta(minutes=minutes)
        while self.core.now < end:
            self.core.later(PERIOD_S)
            self.turn()

    def until(self, done: Callable[[], bool], *, minutes: int = 60) -> None:
        """Make a pass each period until something is so."""
        end = self.core.now + timedelta(minutes=minutes)
        while not done():
            assert self.core.now < end, "it never came"
            self.core.later(PERIOD_S)
            self.turn()

    def count(self, state: LeaseState) -> int:
        """How many leases are in a state."""
        return sum(lease.state is state for lease in self.core.governor.leases())
