"""The governor as a Deployment of its own, and the Service that the hub's proxy leads to.

One at a time (Recreate): a second one would only wait for the lock of the ledger. What is secret
comes from Secrets that a person makes; none is rendered.
"""

from collections.abc import Iterator
from typing import Any

from .kinds import Manifest
from .marks import manifest
from .site import Site

__all__ = ["LEDGER_SECRET", "POLICY_MAP", "TOKENS_SECRET", "governor"]

TOKENS_SECRET = "gpu-commons-tokens"  # noqa: S105 - a name
"""Secret with the tokens that hub and governor share, by name: governor, spawner, agent, cli."""

LEDGER_SECRET = "gpu-commons-ledger"  # noqa: S105 - a name
"""Secret with the address of the PostgreSQL that holds the ledger (key `url`)."""

POLICY_MAP = "gpu-commons-policy"
"""ConfigMap with the policy (key `policy.yaml`), made from the file that people keep."""

_APP = "app.kubernetes.io/name"
_STATE, _POLICY = "/var/lib/gpu-commons", "/etc/gpu-commons"
_PREFIX = "/services/gpu-commons/"
_HUB_PORT = 8081
_USER = 1000


def governor(site: Site) -> Iterator[Manifest]:
    """Render Deployment and Service, where the governor's image is named."""
    if site.governor_image is None:
        return
    labels = {_APP: site.governor}
    port = {"name": "http", "port": site.governor_port, "targetPort": "http"}
    service = {"spec": {"selector": labels, "ports": [port]}}
    yield manifest("Service", site.governor, service, namespace=site.hub_namespace, labels=labels)
    reach = {**labels, "hub.jupyter.org/network-access-hub": "true"}
    reach["hub.jupyter.org/network-access-proxy-http"] = "true"
    spec = {
        "replicas": 1,
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": reach},
            "spec": _inside(site, site.governor_image),
        },
    }
    yield manifest(
        "Deployment", site.governor, {"spec": spec}, namespace=site.hub_namespace, labels=labels
    )


def _inside(site: Site, image: str) -> dict[str, Any]:
    kept: dict[str, Any] = {"emptyDir": {}}
    if site.governor_claim is not None:
        kept = {"persistentVolumeClaim": {"claimName": site.governor_claim}}
    return {
        "serviceAccountName": site.governor,
        "terminationGracePeriodSeconds": 15,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "fsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(site, image)],
        "volumes": [
            {"name": "state", **kept},
            {"name": "policy", "configMap": {"name": POLICY_MAP}},
        ],
    }


def _container(site: Site, image: str) -> dict[str, Any]:
    probe = {"httpGet": {"path": f"{_PREFIX}healthz", "port": "http"}}
    return {
        "name": "governor",
        "image": image,
        "command": ["gpu-commons", "governor"],
        "env": [*_told(site), *_secret()],
        "ports": [{"name": "http", "containerPort": site.governor_port}],
        "resources": {
            "requests": {"cpu": "100m", "memory": "256Mi"},
            "limits": {"memory": "1Gi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "startupProbe": {**probe, "periodSeconds": 2, "failureThreshold": 60},
        # Slow is not dead: a governor that is killed under load comes back to the same load.
        "livenessProbe": {
            "tcpSocket": {"port": "http"},
            "periodSeconds": 20,
            "failureThreshold": 6,
        },
        "readinessProbe": {**probe, "periodSeconds": 10, "timeoutSeconds": 5},
        "volumeMounts": [
            {"name": "state", "mountPath": _STATE},
            {"name": "policy", "mountPath": _POLICY, "readOnly": True},
        ],
    }


def _told(site: Site) -> Iterator[dict[str, str]]:
    """Give what a hub tells a service that it starts itself, and the governor's own settings."""
    own = {
        "STATE": _STATE,
        "POLICY": f"{_POLICY}/policy.yaml",
        "ENGINE": "kueue" if site.engine == "kueue" else "embedded",
        "SERVERS": "pods",
        "KUBE_NAMESPACE": site.namespace or "",
        "KUBE_HUB_NAMESPACE": site.hub_namespace,
    }
    told = {
        "JUPYTERHUB_SERVICE_NAME": "gpu-commons",
        "JUPYTERHUB_SERVICE_PREFIX": _PREFIX,
        "JUPYTERHUB_SERVICE_URL": f"http://0.0.0.0:{site.governor_port}",
        "JUPYTERHUB_CLIENT_ID": "service-gpu-commons",
        "JUPYTERHUB_BASE_URL": "/",
        "JUPYTERHUB_API_URL": f"http://hub.{site.hub_namespace}.svc:{_HUB_PORT}/hub/api",
        **{f"GPU_COMMONS_{name}": value for name, value in own.items() if value},
    }
    return ({"name": name, "value": value} for name, value in told.items())


def _secret() -> Iterator[dict[str, Any]]:
    for name, secret, key in (
        ("JUPYTERHUB_API_TOKEN", TOKENS_SECRET, "governor"),
        ("GPU_COMMONS_LEDGER_URL", LEDGER_SECRET, "url"),
    ):
        yield {"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}
