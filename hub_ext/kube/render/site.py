"""What rendering has to know of a cluster beside the policy: where hub, governor and Kueue are."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from ...policy.model.network import Cidr

__all__ = ["Site", "user_of"]

Label = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]
"""A name of Kubernetes: of a namespace or a service account."""

Size = Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]{0,14}([kMGTPE]|[KMGTPE]i)?$")]
"""A size as Kubernetes writes it, such as `10Gi`."""


class Site(BaseModel):
    """One cluster and the hub on it."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    hub_namespace: Label = "jupyterhub"
    """Namespace of hub, proxy and governor."""
    namespace: Label | None = None
    """The one namespace of all servers; absent means one for each project. It is not made here:
    other things may live in it."""
    hub: Label = "hub"
    """Service account of the hub, in its namespace; the chart calls it `hub`."""
    governor: Label = "gpu-commons-governor"
    """Service account of the governor, in the hub's namespace."""
    kueue_namespace: Label = "kueue-system"
    """Namespace of Kueue."""
    kueue: Label = "kueue-controller-manager"
    """Service account of Kueue, in its namespace."""
    home_size: Size | None = "10Gi"
    """What the claim of each person's home asks for: `singleuser.storage.capacity` of the chart,
    whose default it is. `null` where people have no homes beside the volumes of projects."""
    server_port: Annotated[int, Field(strict=True, ge=1, le=65535)] = 8888
    """Port on which servers listen."""
    dns: tuple[Cidr, ...] = ()
    """Addresses of name servers outside `kube-system`, such as a cache on each node. Default
    none."""
    submitters: tuple[str, ...] = ()
    """Who may submit batch jobs through the projects' queues: users as the API server names them,
    groups as `group:NAME`. Default nobody: whoever may set Kueue's labels uses a project's GPUs."""
    agent_image: Annotated[str, StringConstraints(min_length=1, max_length=500)] | None = None
    """Image of the agent, with its tag or digest; absent means that no agent is rendered."""
    agent_namespace: Label = "gpu-commons-agent"
    """Namespace of the agents: they see every GPU of a node, so nobody else's pods are there."""
    governor_port: Annotated[int, Field(strict=True, ge=1, le=65535)] = 8000
    """Port of the governor's Service, which is called as its service account."""
    governor_image: Annotated[str, StringConstraints(min_length=1, max_length=500)] | None = None
    """Image of the governor, with its tag or digest; absent means that it is not rendered."""
    governor_claim: Label | None = None
    """Claim in the hub's namespace that keeps the readings of GPUs over restarts; absent means that
    they are lost with each. The ledger is in PostgreSQL in any case."""
    engine: Literal["kueue", "embedded"] = "kueue"
    """Who admits leases: Kueue, or the governor by itself on a cluster without it."""
    service_monitor: bool = False
    """Whether a ServiceMonitor of the Prometheus operator is rendered. Default no: the kind is
    lacking where that operator is."""
    device_namespace: Label | None = None
    """Namespace of NVIDIA's operator, for the configurations of mig-parted and of the device plugin
    (`gpu-operator`); absent means that they are only written as files."""


def user_of(namespace: str, name: str) -> str:
    """Name a service account as the API server names its requests."""
    return f"system:serviceaccount:{namespace}:{name}"
