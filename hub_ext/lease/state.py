"""How the governor itself stands: policy in force, load of the pools, agents, health."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from .asking import Reason
from .ticket import Ticket
from .words import PoolName, ProjectName, ShortText, TeamName, Value

Count = Annotated[int, Field(ge=0)]


class PolicyState(Value):
    """The policy in force, and what is wrong with the file where the two differ.

    `generation` is 0 while no policy was ever accepted. `waiting` are the changes of a file that
    waits for an administrator's word, by whose `waiting_sha256` it is accepted.
    """

    generation: Count
    sha256: str
    applied_at: AwareDatetime | None = None
    problem: tuple[str, ...] = ()
    problem_at: AwareDatetime | None = None
    waiting: tuple[str, ...] = ()
    waiting_sha256: str = ""
    waiting_at: AwareDatetime | None = None


class PolicyView(Value):
    """`GET policy`: `text` and the words of `problem` are for admins alone."""

    state: PolicyState
    currency: ShortText
    timezone: ShortText
    modes: dict[str, str]
    text: str | None = None


class PoolLoad(Value):
    """What a pool declares, what of it is usable now, and what leases hold, in units."""

    pool: PoolName
    model: ShortText
    declared: Count
    usable: Count
    held: Count
    leases: Count


class BatchLoad(Value):
    """Work beside the servers that draws on the same quota in Kueue, shown as a job.

    `units` it holds or waits for; it is never charged. `called_in`: Kueue has taken its quota back,
    and waits for its end.
    """

    name: ShortText
    namespace: ShortText
    team: TeamName
    project: ProjectName | None
    pool: PoolName
    units: Count
    holds: bool
    called_in: bool
    since: AwareDatetime


class QueueSheet(Value):
    """`GET queue`: load of the pools, and the waiting requests that the caller may see.

    `drift` names each difference between declared and found devices, for admins alone. `batch` are
    jobs that draw on the same quota: all for admins, else those of teams that the caller leads.
    """

    at: AwareDatetime
    pools: tuple[PoolLoad, ...]
    batch: tuple[BatchLoad, ...] = ()
    drift: tuple[str, ...] = ()
    waiting: tuple[ShortText, ...] = ()
    tickets: tuple[Ticket, ...] = ()


class AgentState(Value):
    """One node's agent: its newest batch, and what it reported missing."""

    node: ShortText
    source: ShortText
    at: AwareDatetime
    silent: bool
    problem: str = ""


class Health(Value):
    """`GET /healthz`: open to everybody, so it holds no name of a person, team or device."""

    status: Literal["ok", "degraded", "failing"]
    at: AwareDatetime
    policy_generation: Count
    open_leases: Count | None
    """None while the ledger cannot be read."""
    problems: tuple[Reason, ...] = ()
