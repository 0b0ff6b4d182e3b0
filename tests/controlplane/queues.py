"""Small Kueue objects for stories: a flavor, a cohort, queues, and a bare Workload in units.

The product's own come from `hub_ext/kube`; these are for what a test sets up by hand.
"""

from collections.abc import Iterable, Mapping

from .api import Api, Manifest

VERSION = "kueue.x-k8s.io/v1beta2"
GROUP = f"/apis/{VERSION}"
UNIT = "gpu-commons.dev/unit"


def flavor(name: str, **node_labels: str) -> Manifest:
    """Describe a flavor; a Workload chooses it by its node labels."""
    return _object("ResourceFlavor", name, {"nodeLabels": node_labels} if node_labels else {})


def quota(flavors: Mapping[str, int], *, borrowing: int | None = None) -> list[Manifest]:
    """Nominal units of each flavor, and at most how many more may be borrowed of each."""
    limit = {} if borrowing is None else {"borrowingLimit": str(borrowing)}
    named = [
        {"name": name, "resources": [{"name": UNIT, "nominalQuota": str(units), **limit}]}
        for name, units in flavors.items()
    ]
    return [{"coveredResources": [UNIT], "flavors": named}]


def cohort(name: str, *, parent: str = "", groups: list[Manifest] | None = None) -> Manifest:
    """Describe a cohort, with quota of its own or none."""
    spec: Manifest = {"resourceGroups": groups} if groups else {}
    return _object("Cohort", name, {**spec, "parentName": parent} if parent else spec)


def cluster_queue(name: str, groups: list[Manifest], *, cohort: str = "") -> Manifest:
    """Describe a queue with quota; it reclaims what is its own from lower numbers, and no more."""
    spec: Manifest = {
        "namespaceSelector": {},
        "resourceGroups": groups,
        "preemption": {
            "reclaimWithinCohort": "LowerPriority",
            "withinClusterQueue": "Never",
            "borrowWithinCohort": {"policy": "Never"},
        },
    }
    return _object("ClusterQueue", name, {**spec, "cohortName": cohort} if cohort else spec)


def local_queue(name: str, namespace: str, queue: str) -> Manifest:
    """Describe the door of one namespace to a queue."""
    return _object("LocalQueue", name, {"clusterQueue": queue}, namespace=namespace)


def workload(
    name: str,
    namespace: str,
    queue: str,
    *,
    units: int,
    number: int = 0,
    selector: Mapping[str, str] | None = None,
) -> Manifest:
    """Describe a bare Workload: no pod and no controller comes of it."""
    container = {"name": "c", "image": "none", "resources": {"requests": {UNIT: str(units)}}}
    template: Manifest = {"restartPolicy": "Never", "containers": [container]}
    if selector:
        template["nodeSelector"] = dict(selector)
    spec = {
        "queueName": queue,
        "priority": number,
        "podSets": [{"name": "main", "count": 1, "template": {"spec": template}}],
    }
    return _object("Workload", name, spec, namespace=namespace)


def workloads_path(namespace: str, name: str = "") -> str:
    """Address of a namespace's Workloads, or of one of them."""
    collection = f"{GROUP}/namespaces/{namespace}/workloads"
    return f"{collection}/{name}" if name else collection


def holds(workload: Manifest, condition: str) -> bool:
    """Whether a condition of an object is true now."""
    found = workload.get("status", {}).get("conditions", [])
    return any(one["type"] == condition and one["status"] == "True" for one in found)


KINDS = ("workloads", "localqueues", "clusterqueues", "cohorts", "resourceflavors")


def clear(api: Api, *, only: Iterable[str] = KINDS) -> None:
    """Delete all Workloads, queues, cohorts and flavors of the cluster, and see them gone.

    Kueue keeps a queue while it has Workloads and a flavor while a queue names it, so the order
    is theirs.
    """
    for plural in only:
        paths = [_path(plural, one) for one in api.items(f"{GROUP}/{plural}")]
        for path in paths:
            api.delete(path)
        for path in paths:
            api.wait_gone(path)


def _path(plural: str, found: Manifest) -> str:
    meta = found["metadata"]
    inside = f"/namespaces/{meta['namespace']}" if "namespace" in meta else ""
    return f"{GROUP}{inside}/{plural}/{meta['name']}"


def _object(kind: str, name: str, spec: Manifest, *, namespace: str = "") -> Manifest:
    meta = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": VERSION, "kind": kind, "metadata": meta, "spec": spec}
