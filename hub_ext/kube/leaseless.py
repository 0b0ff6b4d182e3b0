"""Pods of the hub's servers that hold a GPU though no lease says so: found, and asked to end.

Only pods with the label of a hub's servers are looked at, in the namespaces that are rendered, and
none that another hub was granted. Batch jobs carry no such label, so they are never touched.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..errors import RefusedError
from ..lease import OpenLease
from .answers import MissingError
from .api import Api
from .names import LABEL_HUB, LABEL_LEASE, label_value
from .paging import listed

SERVERS = "component=singleuser-server"
"""Label that KubeSpawner gives every server's pod."""

_USER, _SERVER = "hub.jupyter.org/username", "hub.jupyter.org/servername"
_NVIDIA = "nvidia.com/"
_OVER = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class Holder:
    """A server's pod that holds GPUs: whose, by the hub's annotations, and of which lease."""

    namespace: str
    name: str
    uid: str
    user: str
    server: str
    hub: str
    """Label of the hub that it was granted by; empty where no lease was ever granted for it."""
    lease: str
    """Label of the lease; empty where it has none."""
    resources: tuple[str, ...]


def holder_of(pod: dict[str, Any]) -> Holder | None:
    """Read a pod; None where it holds no GPU, has ended, or is ending already."""
    about, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    if about.get("deletionTimestamp") or (pod.get("status") or {}).get("phase") in _OVER:
        return None
    resources = {
        name
        for container in spec.get("containers") or ()
        for name, amount in ((container.get("resources") or {}).get("limits") or {}).items()
        if name.startswith(_NVIDIA) and str(amount) != "0"
    }
    if not resources:
        return None
    labels = about.get("labels") or {}
    user, server = server_of(pod)
    return Holder(
        namespace=str(about.get("namespace", "")),
        name=str(about["name"]),
        uid=str(about.get("uid", "")),
        user=user,
        server=server,
        hub=str(labels.get(LABEL_HUB, "")),
        lease=str(labels.get(LABEL_LEASE, "")),
        resources=tuple(sorted(resources)),
    )


def server_of(pod: dict[str, Any]) -> tuple[str, str]:
    """Whose server a pod is, and its name, by the hub's annotations; empty where it is none's."""
    notes = (pod.get("metadata") or {}).get("annotations") or {}
    return str(notes.get(_USER, "")), str(notes.get(_SERVER, ""))


def leaseless(
    holders: Iterable[Holder], hub: str, leases: Iterable[OpenLease]
) -> tuple[Holder, ...]:
    """Choose those of which neither the lease is open nor the server has another one with a GPU.

    Parameters
    ----------
    hub
        Ours: what another hub's governor granted is none of our business.
    leases
        The open leases. One that was made by hand has a pod without its label.
    """
    there = tuple(leases)
    known = {label_value(one.id) for one in there}
    servers = {(str(one.key.user), str(one.key.server)) for one in there if one.pool is not None}
    ours = {"", label_value(hub)}
    return tuple(
        one
        for one in holders
        if one.hub in ours and one.lease not in known and (one.user, one.server) not in servers
    )


class Servers:
    """Looks at the pods of servers, and ends one."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def holders(self, namespace: str) -> tuple[Holder, ...]:
        """List the pods of servers that hold GPUs in a namespace; none where there is no such.

        Raises
        ------
        UnreachableError
            When the API server does not answer.
        RefusedError
            When pods may not be listed there.
        """
        pods = await listed(self._api, f"/api/v1/namespaces/{namespace}/pods", SERVERS)
        return tuple(one for pod in pods if (one := holder_of(pod)) is not None)

    async def end(self, one: Holder) -> None:
        """Ask exactly this pod to end: another of the same name, made since, is left alone."""
        path = f"/api/v1/namespaces/{one.namespace}/pods/{one.name}"
        try:
            await self._api.delete(path, {"preconditions": {"uid": one.uid}})
        except MissingError:
            return
        except RefusedError as error:
            if error.status != 409:  # noqa: PLR2004 - another pod has its name by now
                raise

    async def close(self) -> None:
        """Close its connections."""
        await self._api.close()
