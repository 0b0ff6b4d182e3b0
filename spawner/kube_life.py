"""How the server inside a pod stands, and with what it ended. Pure: reads a pod as JSON.

What a pod proves of a lease is `hub_ext.lease.pod_liveness`, for governor and spawner alike.
"""

from collections.abc import Mapping
from typing import Any

from hub_ext.lease import pod_machine_lost

Pod = Mapping[str, Any]

SERVER = "notebook"
"""KubeSpawner's name of the container that is the server."""


def phase(pod: Pod) -> str:
    """Phase as Kubernetes has it."""
    return str((pod.get("status") or {}).get("phase") or "Pending")


def statuses(pod: Pod) -> tuple[Mapping[str, Any], ...]:
    """What the kubelet says of each container, those that prepare it first."""
    told = pod.get("status") or {}
    return (*(told.get("initContainerStatuses") or ()), *(told.get("containerStatuses") or ()))


def server_status(pod: Pod) -> Mapping[str, Any]:
    """What the kubelet says of the server's own container; empty where it says nothing."""
    return next((one for one in statuses(pod) if one.get("name") == SERVER), {})


def condition(pod: Pod, kind: str) -> Mapping[str, Any]:
    """One condition of a pod; empty where it has none of the kind."""
    found = (pod.get("status") or {}).get("conditions") or ()
    return next((one for one in found if one.get("type") == kind), {})


def deleting(pod: Pod) -> bool:
    """Whether it was asked to end."""
    return bool((pod.get("metadata") or {}).get("deletionTimestamp"))


def scheduled(pod: Pod) -> bool:
    """Whether it has a machine."""
    return bool((pod.get("spec") or {}).get("nodeName"))


def doomed(pod: Pod) -> bool:
    """Whether it will never serve again, though nobody can prove that it has ended."""
    return deleting(pod) and pod_machine_lost(pod)


def exit_code_of(pod: Pod) -> int | None:
    """With what the server's container ended last; None where nobody says."""
    told = server_status(pod)
    for state in (told.get("state") or {}, told.get("lastState") or {}):
        code = (state.get("terminated") or {}).get("exitCode")
        if code is not None:
            return int(code)
    return None


def ended(pod: Pod) -> bool:
    """Whether the server's container has ended for good, or its whole pod has."""
    return phase(pod) in ("Succeeded", "Failed")


def restarts(pod: Pod) -> int:
    """How often the server's container was started again."""
    return int(server_status(pod).get("restartCount") or 0)


def waiting_reason(told: Mapping[str, Any]) -> str:
    """Why a container waits, as the kubelet names it; empty where it does not."""
    return str(((told.get("state") or {}).get("waiting") or {}).get("reason") or "")


def server_over(pod: Pod) -> bool:
    """Whether the server's container has ended and is not started again."""
    if ended(pod):
        return True
    code = ((server_status(pod).get("state") or {}).get("terminated") or {}).get("exitCode")
    return code is not None and (code == 0 or deleting(pod))
