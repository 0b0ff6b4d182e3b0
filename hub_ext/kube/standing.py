"""What the pods of leases prove: whether their servers live, are gone, or nobody can tell.

It reads only namespaces that leases are in, as the governor may see no others.
"""

import logging
from collections.abc import Iterable
from typing import Any

from ..errors import RefusedError, UnreachableError
from ..lease import LeaseId, Liveness, OpenLease, pod_liveness
from .api import Api
from .names import LABEL_LEASE, label_value
from .paging import listed

_LOG = logging.getLogger(__name__)

_STRONGEST = (Liveness.alive, Liveness.unknown, Liveness.gone)


class Standing:
    """Looks at the pods of leases.

    Parameters
    ----------
    api
        The API server, under an account that may list pods where leases are.
    """

    def __init__(self, api: Api) -> None:
        self._api = api

    async def of(self, leases: Iterable[OpenLease]) -> dict[LeaseId, Liveness]:
        """Tell of each lease that has a pod; what cannot be read is unknown, and never gone."""
        homes: dict[str, list[OpenLease]] = {}
        for lease in leases:
            if lease.grant is not None and lease.grant.pod is not None:
                homes.setdefault(lease.grant.pod.namespace, []).append(lease)
        found: dict[LeaseId, Liveness] = {}
        for namespace, own in homes.items():
            try:
                seen = await self._seen(namespace)
            except (UnreachableError, RefusedError) as error:
                _LOG.warning("Cannot tell which pods of %s live: %s", namespace, error)
                found.update((lease.id, Liveness.unknown) for lease in own)
            else:
                found.update(
                    (lease.id, seen.get(label_value(lease.id), Liveness.gone)) for lease in own
                )
        return found

    async def end(self, lease: OpenLease) -> None:
        """Ask the pods of a lease to end, which the hub has forgotten; it may be asked again."""
        if lease.grant is None or lease.grant.pod is None:
            return
        path = f"/api/v1/namespaces/{lease.grant.pod.namespace}/pods"
        try:
            found = await self._api.get(
                path, {"labelSelector": f"{LABEL_LEASE}={label_value(lease.id)}"}
            )
            for pod in found.get("items") or ():
                meta = pod["metadata"]
                # The name may be the next server's by now.
                seen = {"preconditions": {"uid": meta["uid"]}}
                await self._api.delete(f"{path}/{meta['name']}", seen)
        except (UnreachableError, RefusedError) as error:
            _LOG.warning("The forgotten server of %s is not ended: %s", lease.key, error)

    async def close(self) -> None:
        """Close its connections."""
        await self._api.close()

    async def _seen(self, namespace: str) -> dict[str, Liveness]:
        """Tell by lease; of several pods of one lease the one counts that proves least."""
        seen: dict[str, Liveness] = {}
        for pod in await listed(self._api, f"/api/v1/namespaces/{namespace}/pods", LABEL_LEASE):
            lease = _lease_of(pod)
            both = (pod_liveness(pod), seen.get(lease, Liveness.gone))
            seen[lease] = min(both, key=_STRONGEST.index)
        return seen


def _lease_of(pod: dict[str, Any]) -> str:
    return str(((pod.get("metadata") or {}).get("labels") or {}).get(LABEL_LEASE) or "")
