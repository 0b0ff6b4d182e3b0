"""How the governor itself stands: policy in force, load of the pools, agents, health."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from .asking import Reason
from .ticket import Ticket
from .words import PoolName, ShortText, Value

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


class QueueSheet(Value):
    """`GET queue`: load of the pools, and the waiting requests that the caller may see.

    `drift` names each difference between declared and found devices, for admins alone.
    """

    at: AwareDatetime
    pools: tuple[PoolLoad, ...]
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
