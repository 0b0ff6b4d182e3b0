"""The core's part that says whether idleness is acted on at all.

Like the rest of the core: synchronous, in one thread, `now` with each call.
"""

from collections.abc import Mapping
from datetime import datetime

from ..lease import Actor, LeaseId, Reason
from ..lease.idling import IdleSheet
from . import idleholds
from .breaker import Breaker
from .desk import Desk


class IdleCore:
    """Everything of the governor that stands between a verdict and what follows from it."""

    _desk: Desk

    @property
    def idle_held(self) -> Reason | None:
        """Why nobody is stopped as idle now; None while idleness is acted on."""
        return idleholds.NOT_STOPPED if self._desk.breaker.held else None

    def weigh_idleness(
        self, live: frozenset[LeaseId], idle: Mapping[LeaseId, datetime], *, now: datetime
    ) -> Breaker:
        """Weigh one pass over all live servers; see `idleholds.weigh`."""
        return idleholds.weigh(self._desk, live, idle, now=now)

    def release_idle(self, *, reason: str, actor: Actor, now: datetime) -> IdleSheet:
        """Let idle stops go on; see `idleholds.release`."""
        return idleholds.release(self._desk, reason=reason, actor=actor, now=now)

    def idleness(self, *, now: datetime) -> IdleSheet:
        """Show whether idle stops are held."""
        return idleholds.sheet(self._desk, now=now)
