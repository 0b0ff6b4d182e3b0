"""A namespace opened for locked memory: the API server refuses all else that `restricted` does."""

from collections.abc import Iterator
from typing import Any

import pytest

from hub_ext.kube.render import Site, rendered
from hub_ext.kube.render.kinds import KINDS, Manifest
from tests.controlplane.api import Api, ApiError
from tests.controlplane.plane import ControlPlane
from tests.support.rendering import fabric_policy

pytestmark = pytest.mark.kube

SPACE = "gpu-sky-survey"
HUB = "system:serviceaccount:jupyterhub:hub"
PODS = f"/api/v1/namespaces/{SPACE}/pods"
LEASE = {"gpu-commons.dev/lease": "l-1"}
SAFE = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
LOCK = {"drop": ["ALL"], "add": ["IPC_LOCK"]}


@pytest.fixture(scope="module")
def api(control_plane: ControlPlane) -> Iterator[Api]:
    made = rendered(fabric_policy(), Site())
    mine = [one for one in made if one["metadata"]["name"] in {SPACE, "gpu-commons-fabric"}]
    assert sorted(one["kind"] for one in mine) == [
        "Namespace",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    ]
    control_plane.api.apply(mine)
    control_plane.service_account(SPACE, "default")
    group = "rbac.authorization.k8s.io"
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "fabric-everybody"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": HUB}],
    }
    control_plane.api.apply([binding])
    hub = control_plane.api.acting_as(HUB)
    control_plane.api.wait(
        "/api/v1/namespaces/default", lambda _one: refused(hub, pod(hostNetwork=True)), seconds=30
    )
    yield control_plane.api
    control_plane.api.delete(f"/apis/{group}/v1/clusterrolebindings/fabric-everybody")
    for one in reversed(mine):
        if one["kind"] != "Namespace":
            control_plane.api.delete(KINDS[one["kind"]].path(None, one["metadata"]["name"]))


def pod(
    labels: dict[str, str] | None = None, *, rights: dict[str, Any] | None = None, **spec: Any
) -> Manifest:
    container = {
        "name": "main",
        "image": "none",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            **(rights or {}),
        },
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "tried", "labels": labels or {}},
        "spec": {"securityContext": SAFE, "containers": [container], **spec},
    }


def probed(**call: Any) -> Manifest:
    one = pod(LEASE)
    one["spec"]["containers"][0]["livenessProbe"] = call
    return one


def refused(api: Api, one: Manifest) -> str:
    """Try it without making it; give the words of the refusal, or nothing."""
    try:
        api.create(PODS, one, dryRun="All")
    except ApiError as error:
        return str(error)
    return ""


def test_a_leased_server_locks_memory_and_a_plain_pod_passes(api: Api) -> None:
    hub = api.acting_as(HUB)
    assert refused(hub, pod(LEASE, rights={"capabilities": LOCK})) == ""
    assert refused(api, pod()) == ""
    confined = {"appArmorProfile": {"type": "RuntimeDefault"}, "seLinuxOptions": {"level": "s0:c1"}}
    assert refused(api, pod(rights=confined)) == ""
    own = probed(httpGet={"port": 8888, "path": "/"})
    assert refused(hub, own) == ""


@pytest.mark.parametrize(
    ("tried", "words"),
    [
        (pod(rights={"capabilities": LOCK}), "only a server that holds a lease"),
        (
            pod(LEASE, rights={"capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN"]}}),
            "only a server that holds a lease",
        ),
        (
            pod(LEASE, rights={"privileged": True, "allowPrivilegeEscalation": True}),
            "nothing else beyond",
        ),
        (pod(LEASE, rights={"allowPrivilegeEscalation": True}), "nothing else beyond"),
        (pod(LEASE, rights={"capabilities": {}}), "nothing else beyond"),
        (pod(LEASE, hostNetwork=True), "keeps out of its machine"),
        (pod(LEASE, hostPID=True), "keeps out of its machine"),
        (pod(LEASE, hostIPC=True), "keeps out of its machine"),
        (
            pod(LEASE, volumes=[{"name": "host", "hostPath": {"path": "/"}}]),
            "nothing of its machine",
        ),
        (pod(LEASE, rights={"runAsUser": 0}), "runs as root"),
        (pod(LEASE, securityContext={"runAsNonRoot": False}), "runs as root"),
        (
            pod(LEASE, rights={"seccompProfile": {"type": "Unconfined"}}),
            "filter of system calls",
        ),
        (pod(LEASE, rights={"appArmorProfile": {"type": "Unconfined"}}), "SELinux confinement"),
        (pod(LEASE, rights={"seLinuxOptions": {"type": "spc_t"}}), "SELinux confinement"),
        (pod(LEASE, rights={"seLinuxOptions": {"user": "system_u"}}), "SELinux confinement"),
        (pod(LEASE, rights={"procMount": "Unmasked"}, hostUsers=False), "kernel as it is"),
        (
            pod(
                LEASE,
                securityContext={**SAFE, "sysctls": [{"name": "kernel.msgmax", "value": "1"}]},
            ),
            "kernel as it is",
        ),
        (probed(httpGet={"port": 80, "host": "10.0.0.1"}), "call their own pod"),
        (probed(tcpSocket={"port": 80, "host": "10.0.0.1"}), "call their own pod"),
    ],
)
def test_what_restricted_refuses_is_refused_here_too(api: Api, tried: Manifest, words: str) -> None:
    assert words in refused(api.acting_as(HUB), tried)


def test_somebody_else_gets_no_locked_memory_by_a_label(api: Api) -> None:
    assert "only a server that holds a lease" in refused(
        api, pod(LEASE, rights={"capabilities": LOCK})
    )
