"""What a governor asks of Kueue: each call may be made again without harm."""

from collections.abc import AsyncGenerator
from typing import Protocol

from ..lease import LeaseId
from .engine import Gone, Seen, Wanted


class Calls(Protocol):
    """Everything that is asked of Workloads; `workloads.Workloads` answers it."""

    away: str
    """Why changes cannot be followed just now; empty while they are."""

    async def create(self, wanted: Wanted) -> object:
        """Make a Workload; one of the same lease that is there is as good."""

    async def renumber(self, lease_id: LeaseId, number: int) -> object:
        """Write its priority."""

    async def set_active(self, lease_id: LeaseId, on: bool) -> object:  # noqa: FBT001 - the state that it names
        """Take out one that was never admitted, or let it ask again."""

    async def pods_ready(self, lease_id: LeaseId) -> object:
        """Write that its server is no reason to wait."""

    async def keep(self, lease_id: LeaseId) -> object:
        """Take an eviction back."""

    async def delete(self, lease_id: LeaseId) -> object:
        """Delete it; none is as good."""

    async def all(self) -> tuple[Seen, ...]:
        """List all Workloads."""

    def watch(self) -> AsyncGenerator[Seen | Gone]:
        """Tell each change, whatever breaks off meanwhile."""

    async def close(self) -> None:
        """Close the connections."""
