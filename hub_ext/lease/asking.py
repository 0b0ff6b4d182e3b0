"""What a person chooses, what the spawner asks and reports, and what it is granted."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from .pods import PodTerms
from .value import Sentence
from .words import (
    AttemptId,
    DeviceId,
    Isolation,
    LeaseId,
    Liveness,
    PoolName,
    ProfileName,
    ProjectName,
    ServerName,
    ShortText,
    Standing,
    TaskTypeName,
    TeamName,
    UserName,
    Value,
    When,
)


class Reason(Value):
    """Why an answer is what it is: a stable code, words for people, figures behind the words."""

    code: ShortText
    message: str
    figures: dict[str, int | str] = {}


class Choice(Value):
    """What a person chose on the form or by REST; None means the default of the policy."""

    profile: ProfileName
    team: TeamName | None = None
    project: ProjectName | None = None
    lifetime_s: Annotated[int, Field(gt=0, le=365 * 86400)] | None = None
    task_type: TaskTypeName | None = None
    only_guaranteed: bool = False
    """Rather wait until the guarantee covers it than start on quota that others leave free."""
    alone: Literal["gpu", "node"] | None = None
    """Share the GPU, or the whole machine, with nobody; all of it is paid for."""


class ServerKey(Value):
    """Whose server, on which hub. At most one lease is open for each."""

    hub: ShortText = "hub"
    user: UserName
    server: ServerName = ServerName("")

    def __str__(self) -> str:
        return f"{self.user}/{self.server}"


class Ask(Value):
    """`POST attempts`: one start of one server asks for its grant.

    `former` is what the spawner's own poll says of an earlier process of this server. `when` says
    that the request may wait, and what then; None refuses what cannot start at once.
    """

    attempt_id: Annotated[str, Field(min_length=8, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]
    key: ServerKey
    groups: tuple[ShortText, ...] = ()
    choice: Choice
    former: Liveness = Liveness.gone
    when: When | None = None
    purpose: Sentence = ""
    """What it is for, in a sentence; it stays in the team and is no part of the choice."""


class Wired(Value):
    """Groups of GPUs of one node, by number: those of one group are joined that closely.

    `nvlink` is a set that is joined pair by pair by NVLink; None is a GPU without. The others nest:
    a PCIe switch (or several in a row) below one host bridge, below one socket. `untold` are the
    GPUs of the node of which the driver does not say how they are joined to this one.
    """

    nvlink: int | None = None
    switch: int
    bridge: int
    socket: int
    untold: tuple[int, ...] = ()


class Device(Value):
    """One GPU, MIG device or time-share of a GPU that a lease may hold.

    `start` and `size` are a MIG placement in memory slices (NVIDIA's axis); None on a whole GPU.
    `gpu` is the index on its node. `wired` says how a whole GPU is joined to others of its node, as
    the driver told; None is unknown. `virtual` is a GPU that a hypervisor lets its machine have
    beside others; None is unknown where it was found, and no where it is declared. `shared_by` is
    the number of time-shares of its GPU, of which this is one: its id is the GPU's with a number
    behind.
    """

    id: DeviceId
    pool: PoolName
    node: ShortText
    gpu: int
    model: ShortText
    mig_profile: ShortText | None = None
    start: int | None = None
    size: int | None = None
    shared_by: int | None = None
    simulated: bool = False
    wired: "Wired | None" = None
    virtual: bool | None = None

    @property
    def part(self) -> str | None:
        """Which part of a GPU it is, as flavors name it: `1g.18gb`, `share-4`; None if whole."""
        return share_name(self.shared_by) if self.shared_by else self.mig_profile

    @property
    def driver_id(self) -> DeviceId:
        """Id under which the driver knows what a server sees: a time-share sees the whole GPU."""
        return gpu_of(self.id)


SHARE_MARK = "::"
"""Between a GPU's id and the number of a time-share, as NVIDIA's device plugin writes it."""


def gpu_of(device: DeviceId) -> DeviceId:
    """Take the number of a time-share off an id; another one is itself."""
    return DeviceId(device.partition(SHARE_MARK)[0])


def share_name(shared_by: int) -> str:
    """Name the flavor of one of so many time-shares of a GPU."""
    return f"share-{shared_by}"


class Environment(Value):
    """A pinned software environment: a prefix on one machine, or an image."""

    name: ShortText
    prefix: str | None = None
    image: str | None = None
    digest: ShortText


class Grant(Value):
    """Everything a spawner needs to start one server; nothing is looked up elsewhere."""

    lease_id: LeaseId
    attempt_id: AttemptId
    key: ServerKey
    team: TeamName
    project: ProjectName | None
    profile: ProfileName
    title: str
    standing: Standing
    devices: tuple[Device, ...] = ()
    environment: Environment | None = None
    cpu_millis: int
    memory_bytes: int
    resource_name: str | None = None
    resource_count: int = 0
    node_selector: dict[str, str] = {}
    labels: dict[str, str] = {}
    ends_at: AwareDatetime
    price_micro_per_hour: int | None
    currency: ShortText
    isolation: Isolation
    simulated: bool = False
    pod: PodTerms | None = None
    """What it is made of on Kubernetes; None on one machine."""


class ReportKind(StrEnum):
    """What the spawner tells of an attempt."""

    started = "started"
    ended = "ended"


class ProcessRef(Value):
    """A process on this machine, named so that a reused pid is not mistaken for it."""

    pid: int
    created_us: int
    """Microseconds since 1970 at which the kernel says that it was created."""


class Report(Value):
    """`POST attempts/{id}/reports`: the spawner tells that a start or an end happened.

    It releases nothing by itself: `liveness` is what `poll()` says now.
    """

    kind: ReportKind
    key: ServerKey
    liveness: Liveness
    process: ProcessRef | None = None
    exit_code: int | None = None
    asked: bool = False
    """The hub called `stop()`: somebody or something asked for the end."""
    refused: bool = False
    """The attempt ended in a refusal, before any process was made."""
    reason: Reason | None = None
    """Why it ended, in words for its person, where the spawner knows more than an exit code."""
    namespace: ShortText | None = None
    """Where its pod is, on Kubernetes: of a start without the governor nobody else knows it."""
    hub_started_at: AwareDatetime | None = None
    """When the hub began this start, by its own record: it tells a later start from this one."""
    age_ms: Annotated[int, Field(ge=0, le=10**11)] = 0
    """How long ago it happened: a report may have waited for a governor that was away."""


class Problem(Value):
    """RFC 9457 body of every error of the API, with this product's three members."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: ShortText
    figures: dict[str, int | str] = {}
    retry_after_s: int | None = None
