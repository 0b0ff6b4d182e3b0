"""A request that waits, as its owner, their lead or an admin sees it."""

from typing import Annotated

from pydantic import AwareDatetime, Field

from .asking import Choice, Reason, ServerKey
from .words import (
    LeaseId,
    LeaseState,
    PoolName,
    ProfileName,
    ProjectName,
    TaskTypeName,
    TeamName,
    Value,
    When,
)


class Forecast(Value):
    """When a request starts, for 8 of 10; `latest` is None where that cannot be said.

    `words` say it and what it is read from, or why there is none. `learned` is how many ended
    leases stand behind the lives that it assumes.
    """

    earliest: AwareDatetime | None
    latest: AwareDatetime | None
    words: str
    learned: int = 0


class Ticket(Value):
    """`GET queue`: one waiting request and how it stands now.

    `position` counts from 1 in its pool; None while devices are held for it. `can_start` are the
    choices that its owner could start at once instead; only the owner is told them.
    """

    lease_id: LeaseId
    server: ServerKey
    profile: ProfileName
    team: TeamName
    project: ProjectName | None
    pool: PoolName
    state: LeaseState
    when: When
    requested_at: AwareDatetime
    task_type: TaskTypeName | None = None
    only_guaranteed: bool = False
    """Its owner rather waits for the guarantee than borrows."""
    position: Annotated[int, Field(ge=1)] | None = None
    reason: Reason
    """Why it waits, or what is held; what is short is among its figures."""
    soonest_at: AwareDatetime | None = None
    """When the first lease ends that is in its way, at the latest; None where none declares it."""
    forecast: Forecast | None = None
    """When it will start; None until that has been worked out."""
    held_until: AwareDatetime | None = None
    can_start: tuple[Choice, ...] = ()
