"""What people are shown: offers before a start, and the lease, its cost and its verdict after."""

from enum import StrEnum
from typing import Literal

from pydantic import AwareDatetime

from .asking import Environment, Reason, ServerKey
from .estimating import MemoryUse
from .keeping import KeepSheet
from .pods import PodTerms
from .record import OpenLease
from .smaller import Smaller
from .starving import WaitsFor
from .switching import Change, EndedServer, RunningServer
from .ticket import Forecast
from .words import (
    DeviceId,
    Isolation,
    PoolName,
    ProfileName,
    ProjectName,
    ShortText,
    Standing,
    TaskTypeName,
    TeamName,
    UserName,
    Value,
)


class TaskChoice(Value):
    """A task type that somebody may choose, as the form names it."""

    name: TaskTypeName
    title: str
    lifetime_longest_s: int = 0
    """Longest life with it, where it is longer than without; 0 where it is not."""


class Contract(Value):
    """What somebody can count on: until when a lease is safe, and what may come after that.

    `called_in` says whether it may be called in at all, with how long a notice.
    """

    called_in: bool
    safe_until: AwareDatetime | None = None
    notice_s: int = 0
    words: str


class ShareOffer(Value):
    """How an offer stands for one project, where projects have shares of the team's quota."""

    project: ProjectName
    standing: Standing
    reason: Reason


class Offer(Value):
    """A profile resolved for one person now, as the form and `GET offers` show it.

    `standing`, `reason` and `free` come from the function that decides at spawn.
    """

    profile: ProfileName
    title: str
    description: str = ""
    team: TeamName
    project: ProjectName | None
    projects: tuple[ProjectName, ...] = ()
    """Projects it may be started for; `project` is the one where none is named."""
    task_types: tuple[TaskChoice, ...] = ()
    """Task types that this person may choose with it; `task_type` is the one where none is."""
    task_type: TaskTypeName | None = None
    shared_out: bool = False
    """Whether projects of the team have shares of this pool: `standing` is then `project`'s own."""
    shares: tuple[ShareOffer, ...] = ()
    """Where that is so and there is a choice: how it stands for each of `projects`."""
    may_borrow: bool = False
    """Whether the team may go beyond its guarantee here, so that waiting for it is a choice."""
    needs_purpose: bool = False
    """Whether a purpose has to be said, because of its price."""
    alone: tuple[Literal["gpu", "node"], ...] = ()
    """What its project may have without sharing it: the whole GPU, the whole machine."""
    pool: PoolName | None
    pool_model: str | None
    flavor: ShortText
    flavor_title: str
    """In people's words: "1 x H200 141 GB", "MIG 1g.18gb on H200", "no GPU"."""
    standing: Standing
    reason: Reason
    free: int | None
    """How many leases of this profile would find a device now; None without a GPU."""
    isolation: Isolation
    found: bool = False
    """Whether GPUs of this kind were found on a machine, and not declared alone."""
    environment: Environment | None
    cpu_millis: int
    memory_bytes: int
    gpu_memory_bytes: int | None = None
    """Of all its GPUs together, about; None without a GPU, or where its model's name tells none."""
    lifetime_default_s: int
    lifetime_longest_s: int
    price_micro_per_hour: int | None
    price_micro_default: int | None
    """For the default lifetime."""
    price_text: str
    """ "EUR 4.20 an hour" or "not priced"."""
    currency: ShortText
    simulated: bool
    forecast: Forecast | None = None
    """When it would start if it has to wait; None until that has been worked out."""
    contract: Contract | None = None
    """What would hold if it started now; None where it cannot, or without a GPU."""
    smaller: Smaller | None = None
    """A cheaper profile that this person's past leases of `project` would have fitted in; None
    where none is, or too little was measured."""
    kube: PodTerms | None = None
    """Without a GPU, on Kubernetes, told to spawners alone: of what its pod is made where it starts
    while the governor is away. It names no lease."""


class OfferSheet(Value):
    """`GET offers`: all offers of one person, and the choices they may make."""

    user: UserName
    at: AwareDatetime
    teams: tuple[TeamName, ...]
    projects: tuple[ProjectName, ...]
    offers: tuple[Offer, ...]
    simulated: bool
    policy_generation: int
    message: Reason | None = None
    """Why there is nothing to choose, where there is nothing."""
    timezone: str = "UTC"
    """Zone in which people read instants."""
    takes_purpose: bool = False
    """Whether this site wants to hear what servers are for."""
    memory_uses: tuple[MemoryUse, ...] = ()
    """Ways to use a model, for the estimate of the GPU memory that it takes."""
    running: tuple[RunningServer, ...] = ()
    """Servers of this person that run, whose profile can be changed instead."""
    ended: tuple[EndedServer, ...] = ()
    """Servers of this person that ended lately, and why, the newest first."""


class Cost(Value):
    """What a lease has cost until `as_of`; `so_far_micro` is None where no price is in force."""

    as_of: AwareDatetime
    price_micro_per_hour: int | None
    so_far_micro: int | None
    currency: ShortText
    rate_text: str
    """ "EUR 4.20 / h" or "not priced"."""
    so_far_text: str


class Signal(Value):
    """One witness of an idle judgement.

    `state` is active, quiet or unknown; `value` is text with its unit; `age_s` is how old the
    newest reading was; `source` says who measured it (nvml, simulated, process, cgroup, server).
    `trust` says who could have forged it: what the agent reads nobody but who runs the machine,
    what the server tells of itself its owner.
    """

    name: ShortText
    state: Literal["active", "quiet", "unknown"]
    value: ShortText
    window_s: int
    age_s: int | None
    source: ShortText
    trust: Literal["agent", "user"] = "agent"


Ground = Literal["", "quiet", "never_used", "no_progress", "gpu_unused"]
"""Which limit was reached; `gpu_unused` is a ground to stop only where somebody waits for it."""

HeldBy = Literal[
    "", "not_started", "start_grace", "keep", "exemption", "power", "kernel", "input", "cell"
]
"""What alone holds idleness off."""


class VerdictState(StrEnum):
    """Result of an idle judgement."""

    active = "active"
    quiet = "quiet"
    idle = "idle"
    unknown = "unknown"


class Verdict(Value):
    """Whether a lease is idle, and the evidence. `unknown` is never a ground to stop.

    `quiet_since` is when the last activity was seen; `limit_s` the rule's limit.
    """

    state: VerdictState
    rule: ShortText | None
    at: AwareDatetime
    quiet_since: AwareDatetime | None
    limit_s: int | None
    signals: tuple[Signal, ...] = ()
    words: str = ""
    ground: Ground = ""
    held_by: HeldBy = ""
    gpu_quiet_since: AwareDatetime | None = None
    """Since when nothing works on its GPUs; None while something does, or that is unknown."""
    agent_quiet_since: AwareDatetime | None = None
    """The same of all that the agent sees, whatever the server says of itself."""
    decision: ShortText = ""
    """Leads to this judgement on record: `gpu-commons why DECISION`; empty while it is on none."""


class DeviceReading(Value):
    """Newest figures of one device of a lease; None is unknown, never 0."""

    device: DeviceId
    title: str
    at: AwareDatetime | None
    util_percent: int | None
    memory_used_bytes: int | None
    memory_total_bytes: int | None
    source: ShortText
    absent: str = ""
    """Why figures are missing, where they are."""


class LeaseView(Value):
    """A lease as its owner, lead or an admin sees it: `GET leases/{id}` and the Lab's long poll.

    `seq` is the number of the lease's newest event; `lease` is None where none is open, and
    `ended` then tells how the last one ended.
    """

    seq: int
    now: AwareDatetime
    server: ServerKey
    lease: OpenLease | None
    ended: OpenLease | None = None
    cost: Cost | None = None
    time_left_s: int | None = None
    extend_max_s: int = 0
    can_stop: bool = False
    readings: tuple[DeviceReading, ...] = ()
    verdict: Verdict | None = None
    simulated: bool = False
    isolation: Isolation = Isolation.none
    found_on: str = ""
    """The machine whose agent found all its devices, as they are; empty where none has told."""
    joined: str = ""
    """How its GPUs are joined to each other, in words; empty for one alone."""
    contract: Contract | None = None
    """What its owner can count on; None without a GPU and before it starts."""
    task_title: str = ""
    """What it is for, in the policy's words; empty is unlabelled."""
    environment_now: Environment | None = None
    """What its next start would get, where the project has pinned another since; else None."""
    change: Change | None = None
    """The change of profile that was asked for and waits; None where none does."""
    waits_for: WaitsFor | None = None
    """What keeps its GPU waiting; None without a GPU, and before the first look."""
    keep: KeepSheet | None = None
    """What one more "keep" would do and cost, and what is left; None where nothing judges it."""
