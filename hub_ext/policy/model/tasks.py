"""Task types: what somebody wants a server for, and what follows from it."""

from typing import Annotated

from pydantic import Field

from ..words import Count, Flag, FlavorKind, Lasting, Name, Part, Title, Word
from .network import Bandwidth


class TaskType(Part):
    """What a server is for. Who names none has an unlabelled lease of weight 0."""

    title: Title
    """Shown on the form."""
    weight: Annotated[int, Field(strict=True, ge=0, le=999)] = 0
    """Place in the queue: the higher number waits in front. Ageing and recent use move a request
    inside the gap to the next type, never past it. Default 0, as without a type."""
    groups: tuple[Word, ...] | None = None
    """Hub groups whose members may choose it. Without `groups` and `teams` everybody may; with
    both, one of them is enough."""
    teams: tuple[Name, ...] | None = None
    """Teams whose members may choose it for a lease of that team."""
    flavors: tuple[FlavorKind, ...] | None = None
    """Kinds of flavor it may be chosen with: `gpu`, `mig`, `share`, `none`; absent means all."""
    longest_lifetime: Lasting | None = None
    """Longest life of such a lease; shortens the limits of profile and team."""
    idle: Name | None = None
    """Idle rule for such leases in place of the one for their kind of flavor."""
    environment: Name | None = None
    """Environment of the project that such a lease gets; a project that has none of this name
    gives its first."""
    most_leases: Count | None = None
    """Most GPU leases of this type at once, of all teams together; absent means no limit."""
    may_preempt: Flag = False
    """Whether such a request may stop a lease of a lower weight in its own team, where the team
    has `preemption: by_type`."""
    bandwidth: Bandwidth | None = None
    """How fast such a server may talk to the network on Kubernetes; absent means no limit. It is
    asked of the cluster's network plugin, and promised by nobody."""
    long_running: Flag = False
    """Whether a pool's `normal_lifetime` does not bind it: a service has no end."""
