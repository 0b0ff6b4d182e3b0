"""A lease as a bare Workload of Kueue, and each change of one as the body of its patch. Pure."""

from datetime import UTC, datetime
from typing import Any

from ..lease import LeaseId
from . import names
from .engine import Wanted

Body = dict[str, Any]
"""JSON of an object of the API, as it is sent and read."""

GROUP = "kueue.x-k8s.io"
VERSION = "v1beta2"
API_VERSION = f"{GROUP}/{VERSION}"
KIND = "Workload"
PLURAL = "workloads"


def workload(wanted: Wanted) -> Body:
    """Build the Workload of a lease, named by its id.

    Its one container never runs: Kueue counts what it requests, and looks for the flavor that
    its node selector names.
    """
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {
            "name": wanted.lease_id,
            "namespace": wanted.namespace,
            "labels": {
                **wanted.labels,
                names.LABEL_MANAGED_BY: names.MANAGED_BY,
                names.LABEL_LEASE: wanted.lease_id,
                names.LABEL_POOL: names.label_value(wanted.pool),
            },
        },
        "spec": {
            "queueName": wanted.queue,
            "priority": wanted.number,
            "podSets": [{"name": "main", "count": 1, "template": {"spec": _container(wanted)}}],
        },
    }


def _container(wanted: Wanted) -> Body:
    return {
        "restartPolicy": "Never",
        "nodeSelector": {
            **wanted.node_selector,
            names.FLAVOR_LABEL: names.label_value(wanted.pool),
        },
        "containers": [
            {
                "name": "server",
                "image": "none",
                # Quantities are strings: the API would take a number, its clients do not.
                "resources": {"requests": {names.UNIT: str(wanted.units)}},
            }
        ],
    }


def same(workload_body: Body, wanted: Wanted) -> bool:
    """Whether a Workload that is there already is the one that is wanted.

    Its number may differ: it is renumbered while it lives.
    """
    spec, labels = workload_body.get("spec") or {}, _labels(workload_body)
    sets = spec.get("podSets") or [{}]
    requests = [
        one.get("resources", {}).get("requests", {})
        for one in sets[0].get("template", {}).get("spec", {}).get("containers", [])
    ]
    return (
        labels.get(names.LABEL_LEASE) == wanted.lease_id
        and labels.get(names.LABEL_POOL) == names.label_value(wanted.pool)
        and spec.get("queueName") == wanted.queue
        and requests == [{names.UNIT: str(wanted.units)}]
    )


def _labels(body: Body) -> dict[str, str]:
    return (body.get("metadata") or {}).get("labels") or {}


def priority(number: int) -> Body:
    """Give a Workload another number; Kueue lets one that is admitted be changed too."""
    return {"spec": {"priority": number}}


def active(*, on: bool) -> Body:
    """Take a waiting Workload out of its queue, or put it back to its old place.

    Never for one that was ever admitted: its quota would be free at once, while its server runs.
    """
    return {"spec": {"active": on}}


def pods_ready(lease_id: LeaseId, namespace: str, now: datetime) -> Body:
    """Say that the server is up, so that Kueue neither blocks others for it nor evicts it."""
    ready = _condition("PodsReady", "True", "Started", "the lease's server runs", now)
    return _status(lease_id, namespace, ready)


def kept(lease_id: LeaseId, namespace: str, now: datetime) -> Body:
    """Take back an eviction whose cause is gone; nobody else does.

    Only for one that still holds its quota, and after it has a number above all that wait.
    """
    words = "the notice was withdrawn; the lease goes on"
    return _status(
        lease_id,
        namespace,
        _condition("Evicted", "False", "NoticeWithdrawn", words, now),
        _condition("Preempted", "False", "NoticeWithdrawn", words, now),
    )


def _status(lease_id: LeaseId, namespace: str, *conditions: Body) -> Body:
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": lease_id, "namespace": namespace},
        "status": {"conditions": list(conditions)},
    }


def _condition(kind: str, status: str, reason: str, message: str, now: datetime) -> Body:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": f"{now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
    }
