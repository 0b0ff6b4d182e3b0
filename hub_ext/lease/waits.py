"""How long people waited: from the request to a device, and from there to a server that runs."""

from typing import Annotated

from pydantic import AwareDatetime, Field

from .words import PoolName, ProfileName, TaskTypeName, TeamName, Value

_Seconds = Annotated[int, Field(ge=0)]


class Quantiles(Value):
    """Of `count` waits half were no longer than `p50_s`, 90 % than `p90_s`, 99 % than `p99_s`."""

    count: int
    p50_s: _Seconds
    p90_s: _Seconds
    p99_s: _Seconds


class WaitRow(Value):
    """Requests of one kind. Nothing is known of what is None; profile is None where all count."""

    team: TeamName
    pool: PoolName
    profile: ProfileName | None = None
    task_type: TaskTypeName | None = None
    held: Quantiles | None = None
    """From the request to the first devices, held or assigned."""
    ready: Quantiles | None = None
    """From there to a server that runs."""
    owed: int = 0
    """Requests that waited inside a guarantee, and had devices or waited longer than the bound."""
    kept_percent: Annotated[int, Field(ge=0, le=100)] | None = None
    """Share of them that had devices within the bound, rounded down."""


class WaitSheet(Value):
    """`GET waits`: waits that ended in [start, at), and those inside a guarantee past the bound."""

    start: AwareDatetime
    at: AwareDatetime
    rows: tuple[WaitRow, ...] = ()
