"""Teams and projects: who holds quota, and what a charge and an environment belong to."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from ..words import Count, Day, Digest, Gpus, Lasting, Name, Part, Word
from .device import DevicePin
from .images import Contents
from .kube import Namespace, ObjectName, Volume
from .needs import Needs
from .network import Network


class Quota(Part):
    """What a team, or a project inside its team, holds of one pool."""

    nominal: Gpus
    """GPUs guaranteed to it."""
    borrowing_limit: Gpus | None = None
    """GPUs it may use above that while others leave them; absent means no limit but the pool."""
    lending_limit: Gpus | None = None
    """GPUs of its guarantee that others may use meanwhile; absent means all."""


class Team(Part):
    """People who hold quota together."""

    groups: Annotated[tuple[Word, ...], Field(min_length=1)]
    """Hub groups whose members belong to the team."""
    leads: tuple[Word, ...] = ()
    """Users who see the team's spend and leases."""
    quota: dict[Name, Quota] = {}
    """By pool. A pool that is not named here cannot be used by the team."""
    over_quota: Literal["borrow", "queue", "deny"] = "queue"
    """Beyond the guarantee: borrow within the limits, else wait; never borrow, wait; or refuse."""
    most_leases: Count | None = None
    """Most GPU leases of the whole team at once; absent means no limit."""
    most_leases_per_person: Count | None = None
    """Most GPU leases of one person in this team at once; absent means no limit."""
    largest_request: Gpus | None = None
    """Most GPUs that one server may hold; absent means no limit."""
    longest_lifetime: Lasting | None = None
    """Longest life of one lease; shortens the profile's own limit."""
    pools_allowed: tuple[Name, ...] | None = None
    """Pools the team may use; absent means every pool it has quota in."""
    preemption: Literal["off", "by_type"] = "off"
    """Whether a request whose task type `may_preempt` may have a lease of a lower weight of its
    own team stopped, with notice and never inside `min_runtime`. Default `off`."""


class EnvironmentPin(Part):
    """A software environment pinned by its digest."""

    prefix: str | None = None
    """Directory of a Python environment on this machine; `gpu-commons env digest` prints its pin.

    A relative path starts at the policy file's directory; `${GPU_COMMONS_STATE}` stands for the
    state directory."""
    image: str | None = None
    """Container image without a tag; the digest is the pin."""
    digest: Digest
    """`sha256:` and 64 hexadecimal digits."""
    tag: Word | None = None
    """Tag of which an image's digest was resolved. Nothing is pulled by it: `gpu-commons image
    list` says when it names another image by now."""
    contents: Contents | None = None
    """What was found in the image when it was pinned."""

    @model_validator(mode="after")
    def _one_place(self) -> "EnvironmentPin":
        if (self.prefix is None) == (self.image is None):
            raise ValueError("an environment lies in one place; give either `prefix` or `image`")
        return self


class Project(Part):
    """What a charge and an environment belong to."""

    team: Name
    """The team whose quota it uses."""
    owner: Word | None = None
    """User who answers for its spend; absent means the leads of its team."""
    purpose: Annotated[str, StringConstraints(max_length=300)] = ""
    """What it is for, in a sentence, for whoever reads of its spend."""
    value_class: Name | None = None
    """One of `value.classes`; a lease keeps the one that it started with."""
    ends: Day | None = None
    """First day, in the policy's time zone, on which no GPU is given out for it any more. What runs
    then goes on to its own end, and servers without a GPU still start, so that people reach their
    files. Absent means no end."""
    environments: dict[Name, EnvironmentPin] = {}
    """By name; the first is the default, and a task type may name another. None means the hub's own
    environment."""
    cost_label: Annotated[str, StringConstraints(max_length=120)] = ""
    """Cost centre or grant number, carried to reports as it stands."""
    quota: dict[Name, Quota] = {}
    """By pool: its share of the team's quota, with the same words. What the team does not share
    out is its own, for projects without a share and for whoever borrows."""
    most_leases: Count | None = None
    """Most GPU leases of the project at once; absent means no limit."""
    device: DevicePin | None = None
    """Devices that are kept for it alone; absent means that it takes what its team may."""
    needs: Needs = Needs()
    """What its GPU servers must get at least."""
    namespace: Namespace | None = None
    """Namespace of its servers on Kubernetes, of no other project; absent means `gpu-` and the
    name of the project."""
    volume: Volume | None = None
    """What its servers work on, on Kubernetes; absent means only what the hub itself mounts."""
    datasets: tuple[ObjectName, ...] = ()
    """Persistent volume claims of the namespace that its servers on Kubernetes read, below `/data`,
    and cannot write. Nothing else is mounted."""
    pull_secrets: tuple[ObjectName, ...] = ()
    """Secrets of the namespace with which Kubernetes pulls its images; empty means none."""
    network: Network = Network()
    """What its servers reach on Kubernetes, and what reaches them."""
