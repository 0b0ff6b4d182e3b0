"""Names and closed lists of words: ids, states, causes, standings."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, NewType
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field

LeaseId = NewType("LeaseId", str)
AttemptId = NewType("AttemptId", str)
TeamName = NewType("TeamName", str)
ProjectName = NewType("ProjectName", str)
PoolName = NewType("PoolName", str)
ProfileName = NewType("ProfileName", str)
TaskTypeName = NewType("TaskTypeName", str)
UserName = NewType("UserName", str)
ServerName = NewType("ServerName", str)
DeviceId = NewType("DeviceId", str)
"""UUID as NVML writes it (`GPU-…`, `MIG-…`), or `SIM-GPU-…` / `SIM-MIG-…` where simulated."""


ShortText = Annotated[str, Field(max_length=255)]


class Value(BaseModel):
    """Base of all values: frozen, and a field that is not known is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class LeaseState(StrEnum):
    """Where a lease stands; `closed` is the only end."""

    requested = "requested"
    queued = "queued"
    held = "held"
    starting = "starting"
    running = "running"
    noticed = "noticed"
    stopping = "stopping"
    closed = "closed"


HOLDING = frozenset(
    {
        LeaseState.held,
        LeaseState.starting,
        LeaseState.running,
        LeaseState.noticed,
        LeaseState.stopping,
    }
)
"""States in which the lease counts against quota and keeps its devices."""


NEEDS_PROOF = frozenset(
    {LeaseState.starting, LeaseState.running, LeaseState.noticed, LeaseState.stopping}
)
"""States that close only when the server is proved gone."""


EDGES: dict[LeaseState, frozenset[LeaseState]] = {
    LeaseState.requested: frozenset({LeaseState.queued, LeaseState.starting, LeaseState.closed}),
    LeaseState.queued: frozenset({LeaseState.held, LeaseState.closed}),
    LeaseState.held: frozenset({LeaseState.starting, LeaseState.queued, LeaseState.closed}),
    LeaseState.starting: frozenset({LeaseState.running, LeaseState.stopping, LeaseState.closed}),
    LeaseState.running: frozenset({LeaseState.noticed, LeaseState.stopping, LeaseState.closed}),
    LeaseState.noticed: frozenset({LeaseState.running, LeaseState.stopping, LeaseState.closed}),
    LeaseState.stopping: frozenset({LeaseState.running, LeaseState.closed}),
    LeaseState.closed: frozenset(),
}
"""Which state may follow which. starting, running and noticed close directly only with proof.

A stop for idleness that nobody was asked for yet may be taken back, where the server works again.
"""


class Cause(StrEnum):
    """Why a lease ended."""

    user = "user"
    culled = "culled"
    preempted = "preempted"
    expired = "expired"
    budget = "budget"
    admin = "admin"
    failed = "failed"
    lost = "lost"
    denied = "denied"
    cancelled = "cancelled"
    replaced = "replaced"
    refused_by_hub = "refused_by_hub"
    never_used = "never_used"
    not_queued = "not_queued"


class When(StrEnum):
    """What a person wants of a request that has to wait."""

    start = "start"
    """Start the server as soon as a device is held for it."""
    hold = "hold"
    """Hold a device for a while; the person starts the server."""


class Standing(StrEnum):
    """How a lease, or an offer, stands to the team's quota."""

    guaranteed = "guaranteed"
    borrowed = "borrowed"
    would_queue = "would_queue"
    denied = "denied"
    unmetered = "unmetered"
    """A profile without a GPU: no quota applies."""


class Liveness(StrEnum):
    """What is known of the process behind a server."""

    alive = "alive"
    gone = "gone"
    unknown = "unknown"


class Isolation(StrEnum):
    """What separates two leases of a pool, weakest first; `vgpu` stands apart.

    A virtual GPU has memory of its own and computes in turns with others of its GPU, or is backed
    by a MIG device; which of the two only its host knows.
    """

    none = "none"
    time_slice = "time-slice"
    vgpu = "vgpu"
    mig = "mig"
    gpu = "gpu"
    node = "node"

    @property
    def rank(self) -> int:
        """Place among all: the higher keeps more apart. `vgpu` promises no more than turns."""
        ranks = [one for one in Isolation if one is not Isolation.vgpu]
        return ranks.index(Isolation.time_slice if self is Isolation.vgpu else self)


def utc_text(instant: datetime) -> str:
    """Write an instant for files and figures, to the second ("2026-11-30 14:05:09 UTC")."""
    return f"{instant:%Y-%m-%d %H:%M:%S} UTC"


def local_text(instant: datetime, zone: str) -> str:
    """Write an instant for people on the clock of a zone ("2026-11-30 15:05:09 CET")."""
    return f"{instant.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M:%S %Z}"


def minute_text(instant: datetime, zone: str) -> str:
    """Write an instant that is no more exact than a minute ("2026-11-30 15:05 CET")."""
    return f"{instant.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M %Z}"
