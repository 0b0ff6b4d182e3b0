"""What the pods of leases prove: whether their servers live, are gone, or nobody can tell.

It reads only namespaces that leases are in, as the governor may see no others.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import RefusedError, UnreachableError
from ..lease import LeaseId, Liveness, OpenLease, pod_liveness
from .api import Api
from .leaseless import SERVERS, server_of
from .names import ATTEMPT_ANNOTATION, LABEL_LEASE, label_value
from .paging import listed

_LOG = logging.getLogger(__name__)

_STRONGEST = (Liveness.alive, Liveness.unknown, Liveness.gone)

Places = Mapping[LeaseId, str]
"""Namespace of each lease that was granted no pod: adopted from before, or made by hand."""

Pod = dict[str, Any]


class Standing:
    """Looks at the pods of leases.

    Parameters
    ----------
    api
        The API server, under an account that may list pods where leases are.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self._names: dict[str, dict[str, str]] = {}
        self._machines: dict[LeaseId, str] = {}

    def machines(self, leases: Iterable[OpenLease]) -> dict[LeaseId, str]:
        """Tell on which machine the server of each lease runs, as last read."""
        return {one.id: self._machines[one.id] for one in leases if one.id in self._machines}

    def servers(self, leases: Iterable[OpenLease]) -> dict[tuple[str, str], LeaseId]:
        """Tell by namespace and name which lease each pod is of, as last read."""
        known = {label_value(one.id): one.id for one in leases}
        return {
            (namespace, name): known[label]
            for namespace, names in self._names.items()
            for name, label in names.items()
            if label in known
        }

    async def of(
        self, leases: Iterable[OpenLease], places: Places | None = None
    ) -> dict[LeaseId, Liveness]:
        """Tell of each lease that has a pod; what cannot be read is unknown, and never gone.

        A lease that was granted no pod is known by whose server it is. Where no pod of that server
        is in its place, nothing is told of it: it may run elsewhere.
        """
        homes: dict[str, list[OpenLease]] = {}
        for lease in leases:
            place = _granted(lease) or (places or {}).get(lease.id)
            if place is not None:
                homes.setdefault(place, []).append(lease)
        found: dict[LeaseId, Liveness] = {}
        self._machines = {}
        for namespace, own in homes.items():
            try:
                found |= await self._within(namespace, own)
            except (UnreachableError, RefusedError) as error:
                _LOG.warning("Cannot tell which pods of %s live: %s", namespace, error)
                found.update((lease.id, Liveness.unknown) for lease in own)
        return found

    async def end(self, lease: OpenLease, places: Places | None = None) -> None:
        """Ask the pods of a lease to end, which the hub has forgotten; it may be asked again."""
        place = _granted(lease) or (places or {}).get(lease.id)
        if place is None:
            return
        try:
            for pod in await self._pods(place, lease):
                meta = pod["metadata"]
                # The name may be the next server's by now.
                seen = {"preconditions": {"uid": meta["uid"]}}
                path = f"/api/v1/namespaces/{place}/pods/{meta['name']}"
                await self._api.delete(path, seen)
        except (UnreachableError, RefusedError) as error:
            _LOG.warning("The forgotten server of %s is not ended: %s", lease.key, error)

    async def close(self) -> None:
        """Close its connections."""
        await self._api.close()

    async def _within(self, namespace: str, own: Iterable[OpenLease]) -> dict[LeaseId, Liveness]:
        granted = [lease for lease in own if _granted(lease) is not None]
        others = [lease for lease in own if _granted(lease) is None]
        found: dict[LeaseId, Liveness] = {}
        if granted:
            seen = await self._by_lease(namespace, granted)
            found = {one.id: seen.get(label_value(one.id), Liveness.gone) for one in granted}
            others += [one for one in granted if label_value(one.id) not in seen]
        if others:
            servers = await listed(self._api, f"/api/v1/namespaces/{namespace}/pods", SERVERS)
            for lease in others:
                theirs = [pod for pod in servers if _is_of(pod, lease)]
                for pod in theirs:
                    self._note_machine(lease.id, pod)
                if theirs:
                    found[lease.id] = min(map(pod_liveness, theirs), key=_STRONGEST.index)
        return found

    def _note_machine(self, lease_id: LeaseId, pod: Pod) -> None:
        node = (pod.get("spec") or {}).get("nodeName")
        if node and pod_liveness(pod) is not Liveness.gone:
            self._machines[lease_id] = str(node)

    async def _by_lease(self, namespace: str, granted: Iterable[OpenLease]) -> dict[str, Liveness]:
        """Tell by lease; of several pods of one lease the one counts that proves least."""
        known = {label_value(one.id): one.id for one in granted}
        seen: dict[str, Liveness] = {}
        names = self._names[namespace] = dict[str, str]()
        for pod in await listed(self._api, f"/api/v1/namespaces/{namespace}/pods", LABEL_LEASE):
            lease = _lease_of(pod)
            names[str(pod["metadata"]["name"])] = lease
            if lease in known:
                self._note_machine(known[lease], pod)
            both = (pod_liveness(pod), seen.get(lease, Liveness.gone))
            seen[lease] = min(both, key=_STRONGEST.index)
        return seen

    async def _pods(self, namespace: str, lease: OpenLease) -> list[Pod]:
        path = f"/api/v1/namespaces/{namespace}/pods"
        label = f"{LABEL_LEASE}={label_value(lease.id)}"
        labelled = [] if _granted(lease) is None else list(await listed(self._api, path, label))
        if labelled:
            return labelled
        return [pod for pod in await listed(self._api, path, SERVERS) if _is_of(pod, lease)]


def _granted(lease: OpenLease) -> str | None:
    return None if lease.grant is None or lease.grant.pod is None else lease.grant.pod.namespace


def _is_of(pod: Pod, lease: OpenLease) -> bool:
    """Whether a pod is the server of a lease, and of no other lease.

    A server that started while the governor was away has a lease that was recorded afterwards: its
    pod carries no label of it, but the attempt that both are of.
    """
    if _lease_of(pod) or server_of(pod) != (lease.key.user, lease.key.server):
        return False
    return _granted(lease) is None or _attempt_of(pod) == lease.attempt_id


def _attempt_of(pod: Pod) -> str:
    notes = (pod.get("metadata") or {}).get("annotations") or {}
    return str(notes.get(ATTEMPT_ANNOTATION) or "")


def _lease_of(pod: Pod) -> str:
    return str(((pod.get("metadata") or {}).get("labels") or {}).get(LABEL_LEASE) or "")
