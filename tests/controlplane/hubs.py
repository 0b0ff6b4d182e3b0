"""A real JupyterHub whose servers are pods of a process node."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.support.hub import RealHub

from .api import Manifest
from .kubelets import Kubelet
from .plane import ControlPlane

ACCOUNT = "hub"
RULES = [
    {
        "apiGroups": [""],
        "resources": ["pods", "persistentvolumeclaims"],
        "verbs": ["get", "list", "watch", "create", "delete"],
    },
    {"apiGroups": [""], "resources": ["events"], "verbs": ["get", "list", "watch"]},
]
"""What KubeSpawner needs in the namespace of its pods."""

SPAWNER = """
c.JupyterHub.spawner_class = {spawner!r}
c.KubeSpawner.namespace = {namespace!r}
c.KubeSpawner.node_selector = {{"kubernetes.io/hostname": {node!r}}}
# No image brings a command here, and each pod listens at its own address of loopback alone.
c.KubeSpawner.cmd = ["jupyterhub-singleuser"]
c.KubeSpawner.ip = "$(POD_IP)"
c.KubeSpawner.environment = {{
    "POD_IP": {{"name": "POD_IP", "valueFrom": {{"fieldRef": {{"fieldPath": "status.podIP"}}}}}}
}}
"""


@contextmanager
def kube_hub(
    node: Kubelet,
    folder: Path,
    namespace: str,
    *,
    spawner: str = "kubespawner.KubeSpawner",
    extra: str = "",
    groups: Mapping[str, list[str]] | None = None,
) -> Iterator[RealHub]:
    """Run a hub with an account of its own in a namespace.

    Parameters
    ----------
    spawner
        Name or entry point of its spawner.
    extra
        Python that ends the hub's configuration.
    groups
        Members of the hub's groups, by group.
    """
    user = node.plane.service_account(namespace, ACCOUNT)
    node.plane.api.apply(granted(namespace, user))
    config = SPAWNER.format(spawner=spawner, namespace=namespace, node=node.name)
    kubeconfig = node.plane.user_kubeconfig(namespace, ACCOUNT)
    environment = {"KUBECONFIG": str(kubeconfig)}
    with RealHub.running(
        folder, extra=config + extra, groups=groups, environment=environment
    ) as hub:
        yield hub


def granted(namespace: str, user: str) -> list[Manifest]:
    """Describe the role of a hub's account, and that it has it."""
    kinds = "rbac.authorization.k8s.io"
    meta = {"name": ACCOUNT, "namespace": namespace}
    reference = {"apiGroup": kinds, "kind": "Role", "name": ACCOUNT}
    subject = {"apiGroup": kinds, "kind": "User", "name": user}
    version = f"{kinds}/v1"
    binding = {"apiVersion": version, "kind": "RoleBinding", "metadata": meta}
    return [
        {"apiVersion": version, "kind": "Role", "metadata": meta, "rules": RULES},
        {**binding, "roleRef": reference, "subjects": [subject]},
    ]


def server_pods(plane: ControlPlane, namespace: str) -> list[Manifest]:
    """Pods of a hub's servers."""
    path = f"/api/v1/namespaces/{namespace}/pods"
    return plane.api.items(path, labelSelector="component=singleuser-server")
