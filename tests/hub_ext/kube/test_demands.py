"""What a Kueue must keep: a cluster as rendered keeps all of it, and each breach is named."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from hub_ext.kube.demands import Breach, Cluster, Weight, breaches, expected
from hub_ext.kube.render import Site, kueue_configuration, rendered
from hub_ext.kube.rights import Roles, writers
from hub_ext.kube.selectors import selects
from tests.support.rendering import site_policy

SITE = Site()
Body = dict[str, Any]


@dataclass
class World:
    """A cluster's objects by kind and name, for a test to spoil."""

    objects: dict[str, dict[str, Body]]
    configuration: Body | None
    writers: frozenset[str] | None = field(default_factory=frozenset)
    limits: tuple[Body, ...] | None = ()
    hides_namespaces: bool = False

    def cluster(self) -> Cluster:
        def of(kind: str) -> tuple[Body, ...]:
            return tuple(self.objects[kind].values())

        return Cluster(
            None if self.hides_namespaces else of("Namespace"),
            of("ResourceFlavor"),
            of("ClusterQueue"),
            of("LocalQueue"),
            self.configuration,
            self.limits,
            self.writers,
        )

    def breaches(self) -> list[Breach]:
        return list(breaches(self.cluster(), expected(site_policy(), SITE)))

    def queue(self) -> Body:
        spec: Body = self.objects["ClusterQueue"]["/gc-vision.cell-atlas"]["spec"]
        return spec

    def flavor(self) -> Body:
        spec: Body = self.objects["ResourceFlavor"]["/gc-cards"]["spec"]
        return spec

    def settings(self) -> Body:
        assert self.configuration is not None
        return self.configuration


def world() -> World:
    objects: dict[str, dict[str, Body]] = {}
    for one in deepcopy(rendered(site_policy(), SITE)):
        name = f"{one['metadata'].get('namespace', '')}/{one['metadata']['name']}"
        objects.setdefault(one["kind"], {})[name] = one
    return World(objects, deepcopy(kueue_configuration(site_policy(), SITE)))


def test_a_cluster_as_rendered_breaks_nothing() -> None:
    assert world().breaches() == []


def spoil_preemption(setting: str, value: object) -> Callable[[World], None]:
    def spoil(one: World) -> None:
        one.queue()["preemption"][setting] = value

    return spoil


def put(where: Callable[[World], Body], **what: Any) -> Callable[[World], None]:
    return lambda one: where(one).update(what)


def drop(kind: str, name: str) -> Callable[[World], None]:
    def spoil(one: World) -> None:
        del one.objects[kind][name]

    return spoil


def add_default(one: World) -> None:
    meta = {"name": "default", "namespace": "gpu-cell-atlas"}
    spec = {"clusterQueue": "gc-vision.cell-atlas"}
    one.objects["LocalQueue"]["x"] = {"metadata": meta, "spec": spec}


def lead_astray(one: World) -> None:
    one.objects["LocalQueue"]["gpu-cell-atlas/gpu-commons"]["spec"]["clusterQueue"] = "other"


def stop_door(one: World) -> None:
    one.objects["LocalQueue"]["gpu-cell-atlas/gpu-commons"]["spec"]["stopPolicy"] = "Hold"


def limit(kind: str, namespace: str = "gpu-cell-atlas", **figures: Any) -> Callable[[World], None]:
    meta = {"name": "usual", "namespace": namespace}
    item = {"type": kind, **figures}

    def spoil(one: World) -> None:
        one.limits = ({"metadata": meta, "spec": {"limits": [item]}},)

    return spoil


TOPOLOGY, CHECK = {"topologyName": "hosts"}, {"admissionChecks": [{"name": "prov"}]}


@pytest.mark.parametrize(
    ("spoil", "code", "words", "remedy"),
    [
        (
            spoil_preemption("reclaimWithinCohort", "Any"),
            "preemption",
            "gc-vision.cell-atlas: reclaimWithinCohort is Any",
            "set it to LowerPriority",
        ),
        (
            spoil_preemption("withinClusterQueue", "LowerPriority"),
            "preemption",
            "members' leases in a loop",
            "set it to Never",
        ),
        (
            spoil_preemption("borrowWithinCohort", {"policy": "LowerPriority"}),
            "preemption",
            "borrowWithinCohort is LowerPriority",
            "set it to Never",
        ),
        (
            put(World.queue, admissionChecksStrategy=CHECK),
            "admission-check",
            "AdmissionCheck",
            "remove",
        ),
        (put(World.queue, stopPolicy="Hold"), "stopped", "stopped", "stopPolicy to None"),
        (put(World.queue, queueingStrategy="StrictFIFO"), "strict", "StrictFIFO", "BestEffort"),
        (put(World.queue, fairSharing={"weight": 1}), "fair-sharing", "fair sharing", "remove"),
        (put(World.queue, resourceGroups=[]), "uncovered", "no quota of gpu-commons", "render"),
        (
            put(World.queue, namespaceSelector={"matchLabels": {"a": "b"}}),
            "namespace",
            "takes nothing from namespace gpu-cell-atlas",
            "namespaceSelector",
        ),
        (put(World.flavor, **TOPOLOGY), "topology", "a lease never fits", "remove topologyName"),
        (put(World.flavor, nodeLabels={}), "unlabelled", "gpu-commons.dev/pool", "render"),
        (
            put(World.flavor, nodeTaints=[{"key": "gpu"}]),
            "taints",
            "taints that no lease tolerates",
            "tolerations",
        ),
        (add_default, "default-queue", "LocalQueue called default", "managedJobsNamespaceSelector"),
        (lead_astray, "door", "leads to other, not to gc-vision.cell-atlas", "render --apply"),
        (stop_door, "stopped", "is stopped", "None"),
        (drop("ClusterQueue", "/gc-robotics"), "missing", "ClusterQueue gc-robotics", "render"),
        (drop("ResourceFlavor", "/gc-cards"), "missing", "flavor gc-cards", "render --apply"),
        (drop("Namespace", "/gpu-cell-atlas"), "missing", "namespace gpu-cell-atlas", "render"),
        (
            drop("LocalQueue", "gpu-cell-atlas/gpu-commons"),
            "missing",
            "gpu-cell-atlas/gpu-commons",
            "render",
        ),
        (
            limit("Container", default={"example.com/fpga": "1", "cpu": "1"}),
            "limit-range",
            "gpu-cell-atlas/usual adds example.com/fpga to each lease",
            "exclude those resources",
        ),
        (
            limit("Pod", min={"cpu": "100m"}),
            "limit-range",
            "at least some cpu of a pod",
            "least figures",
        ),
        (
            put(World.settings, fairSharing={"preemptionStrategies": []}),
            "fair-sharing",
            "Fair Sharing is on",
            "remove fairSharing",
        ),
        (
            put(World.settings, waitForPodsReady={"blockAdmission": True, "timeout": "5m"}),
            "block-admission",
            "stops all admission",
            "blockAdmission to false",
        ),
        (
            put(World.settings, waitForPodsReady={"timeout": "10s"}),
            "ready-timeout",
            "evicts a lease after 10 s",
            "5m or more",
        ),
        (
            put(World.settings, manageJobsWithoutQueueName=True),
            "manage-all",
            "Kueue holds every pod",
            "manageJobsWithoutQueueName to false",
        ),
        (
            put(World.settings, resources={"excludeResourcePrefixes": ["gpu-commons.dev"]}),
            "excluded",
            "everything fits",
            "excludeResourcePrefixes",
        ),
    ],
)
def test_each_breach_is_named_with_its_remedy(
    spoil: Callable[[World], None], code: str, words: str, remedy: str
) -> None:
    spoiled = world()
    spoil(spoiled)
    found = [one for one in spoiled.breaches() if one.code == code]
    assert found, spoiled.breaches()
    assert all(one.weight is Weight.wrong for one in found)
    assert any(words in one.words and remedy in one.remedy for one in found)


def test_what_may_be_harmless_or_cannot_be_read_is_a_doubt() -> None:
    unread = World(world().objects, None, None, None)
    unread.hides_namespaces = True
    assert {one.code for one in unread.breaches()} == {
        "unread",
        "namespaces-unread",
        "writers-unread",
        "limits-unread",
    }
    limit("Container", defaultRequest={"cpu": "1"})(unread)
    (breach,) = (one for one in unread.breaches() if one.code == "limit-range")
    assert breach.weight is Weight.doubt
    without = world()
    without.settings()["resources"] = {}
    without.queue()["preemption"]["reclaimWithinCohort"] = "Never"
    assert {(one.code, one.weight) for one in without.breaches()} == {
        ("two-quotas", Weight.doubt),
        ("no-reclaim", Weight.doubt),
    }


def test_switched_off_parts_of_an_old_configuration_are_no_breach() -> None:
    off = world()
    off.settings().update(
        fairSharing={"enable": False}, waitForPodsReady={"enable": False, "timeout": "1s"}
    )
    assert off.breaches() == []


def test_a_default_queue_where_kueue_gates_nothing_is_fine() -> None:
    apart = world()
    add_default(apart)
    apart.settings()["managedJobsNamespaceSelector"] = {"matchLabels": {"batch": "yes"}}
    assert apart.breaches() == []


@pytest.mark.parametrize(
    "harmless",
    [
        limit("Container", default={"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi"}),
        limit("Container", namespace="elsewhere", default={"example.com/fpga": "1"}),
        limit("PersistentVolumeClaim", max={"storage": "1Ti"}),
        limit("Pod", max={"cpu": "8"}),
    ],
)
def test_a_limit_range_that_adds_nothing_that_counts_is_fine(
    harmless: Callable[[World], None],
) -> None:
    limited = world()
    harmless(limited)
    assert limited.breaches() == []


@pytest.mark.parametrize(
    ("most", "size", "named"),
    [("5Gi", "10Gi", True), ("10Gi", "10Gi", False), ("1Ti", "10Gi", False), ("1Gi", None, False)],
)
def test_a_claim_of_a_home_that_is_refused_where_servers_live_is_named(
    most: str, size: str | None, *, named: bool
) -> None:
    limited = world()
    limit("PersistentVolumeClaim", max={"storage": most})(limited)
    needs = expected(site_policy(), SITE.model_copy(update={"home_size": size}))
    found = list(breaches(limited.cluster(), needs))
    assert [(one.code, one.weight) for one in found] == [("home-claims", Weight.doubt)] * named
    assert all("home_size: 10Gi" in one.remedy for one in found)


def test_whoever_else_may_write_workloads_is_named() -> None:
    shared = world()
    shared.writers = expected(site_policy(), SITE).own_writers | {
        "eve",
        "system:serviceaccount:kube-system:generic-garbage-collector",
    }
    (breach,) = shared.breaches()
    assert (breach.code, breach.weight) == ("writers", Weight.doubt)
    assert breach.words == "these may write our Workloads too: eve"


def role(name: str, resource: str, *verbs: str, namespace: str = "") -> Body:
    rule = {"apiGroups": ["kueue.x-k8s.io"], "resources": [resource], "verbs": list(verbs)}
    return {"metadata": {"name": name, "namespace": namespace}, "rules": [rule]}


def binding(name: str, kind: str, *subjects: Body, namespace: str = "") -> Body:
    return {
        "metadata": {"name": f"{name}-{namespace}", "namespace": namespace},
        "roleRef": {"kind": kind, "name": name},
        "subjects": list(subjects),
    }


def user(name: str) -> Body:
    return {"kind": "User", "name": name}


def test_rights_are_read_from_roles_and_bindings() -> None:
    roles = Roles(
        cluster_roles=(
            role("writes", "workloads", "create"),
            role("status", "workloads/status", "patch"),
            role("reads", "workloads", "get", "list"),
            role("queues", "localqueues", "create"),
            {"metadata": {"name": "none"}, "rules": None},
            {
                "metadata": {"name": "all"},
                "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
            },
        ),
        roles=(role("own", "workloads", "delete", namespace="gpu-a"),),
        cluster_bindings=(
            binding("writes", "ClusterRole", user("ann")),
            binding("reads", "ClusterRole", user("bob")),
            binding("queues", "ClusterRole", user("cid")),
            binding("all", "ClusterRole", {"kind": "Group", "name": "system:masters"}),
        ),
        bindings=(
            binding("status", "ClusterRole", user("dan"), namespace="gpu-a"),
            binding("status", "ClusterRole", user("eve"), namespace="elsewhere"),
            binding(
                "own", "Role", {"kind": "ServiceAccount", "name": "default"}, namespace="gpu-a"
            ),
            binding("own", "Role", user("fay"), namespace="gpu-b"),
        ),
    )
    assert writers(roles, frozenset({"gpu-a", "gpu-b"})) == {
        "ann",
        "dan",
        "system:serviceaccount:gpu-a:default",
    }
    assert writers(replace(roles, cluster_bindings=()), frozenset()) == set()


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"a": "1"}}, True),
        ({"matchLabels": {"a": "2"}}, False),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, False),
        ({"matchExpressions": [{"key": "b", "operator": "NotIn", "values": ["1"]}]}, True),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, False),
        ({"matchExpressions": [{"key": "a", "operator": "Near"}]}, False),
    ],
)
def test_selectors_mean_what_kubernetes_means(selector: Body | None, selected: bool) -> None:
    assert selects(selector, {"a": "1"}) is selected
