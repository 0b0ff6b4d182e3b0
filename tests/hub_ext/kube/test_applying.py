"""A cluster is made as the policy says, and what people changed there is told before."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from hub_ext.errors import GpuCommonsError
from hub_ext.kube.applying import Difference, apply, differences
from hub_ext.kube.render import Manifest, Site, rendered
from hub_ext.kube.render.kinds import place_of
from hub_ext.policy.model import Policy
from tests.support.fake_cluster import FakeCluster, path_of
from tests.support.rendering import of_kind, quotas, site_data, site_policy, without_project

SITE = Site()
KUEUES = ("ResourceFlavor", "WorkloadPriorityClass", "Cohort", "ClusterQueue", "LocalQueue")


def look(cluster: FakeCluster, made: Sequence[Manifest]) -> tuple[Difference, ...]:
    return asyncio.run(differences(cluster, made))


def settle(cluster: FakeCluster, made: Sequence[Manifest]) -> tuple[Difference, ...]:
    async def both() -> tuple[Difference, ...]:
        found = await differences(cluster, made)
        await apply(cluster, made, found)
        return found

    return asyncio.run(both())


def made_of(policy: Policy | None = None) -> tuple[Manifest, ...]:
    return rendered(policy or site_policy(), SITE)


def test_on_an_empty_cluster_everything_is_made_in_order() -> None:
    cluster, made = FakeCluster(), made_of()

    found = settle(cluster, made)

    assert {one.act for one in found} == {"create"}
    assert cluster.writes == [f"apply {kind} {name}" for kind, _ns, name in map(place_of, made)]
    assert look(cluster, made) == ()


def test_looking_changes_nothing() -> None:
    cluster = FakeCluster()

    look(cluster, made_of())

    assert cluster.writes == []


def test_what_somebody_changed_is_told_and_mended() -> None:
    cluster, made = FakeCluster(), made_of()
    settle(cluster, made)
    queue = of_kind(made, "ClusterQueue")["gc-robotics"]
    cluster.objects[path_of(queue)]["spec"]["preemption"]["withinClusterQueue"] = "LowerPriority"

    (found,) = settle(cluster, made)

    assert (found.act, found.spot) == ("mend", ("ClusterQueue", "", "gc-robotics"))
    assert "-    withinClusterQueue: LowerPriority" in found.lines
    assert "+    withinClusterQueue: Never" in found.lines
    assert "mend ClusterQueue gc-robotics: was changed in the cluster" in found.text()
    assert look(cluster, made) == ()


def test_who_changed_it_last_is_named() -> None:
    cluster, made = FakeCluster(), made_of()
    settle(cluster, made)
    queue = queue_of(cluster, "gc-robotics")
    queue["spec"]["queueingStrategy"] = "StrictFIFO"
    queue["metadata"]["managedFields"] = [
        {"manager": "gpu-commons", "operation": "Apply", "time": "2026-12-01T10:00:00Z"},
        {"manager": "kubectl-edit", "operation": "Update", "time": "2026-12-01T11:00:00Z"},
        {"manager": "kueue", "subresource": "status", "time": "2026-12-01T12:00:00Z"},
    ]

    (found,) = look(cluster, made)

    assert "was changed in the cluster, last by kubectl-edit" in found.text()


def test_fields_of_others_are_left_to_them() -> None:
    cluster, made = FakeCluster(), made_of()
    settle(cluster, made)
    queue = of_kind(made, "ClusterQueue")["gc-robotics"]
    cluster.objects[path_of(queue)]["spec"]["stopPolicy"] = "Hold"
    cluster.objects[path_of(queue)]["status"] = {"pendingWorkloads": 3}

    assert look(cluster, made) == ()


def test_a_changed_policy_is_told_as_such() -> None:
    cluster = FakeCluster()
    settle(cluster, made_of())
    policy = site_policy("teams", "speech", "over_quota", to="borrow")

    found = settle(cluster, made_of(policy))

    changed = [one for one in found if one.spot[0] == "Cohort"]
    assert [(one.act, one.spot[2]) for one in changed] == [("change", "gc-speech")]
    assert look(cluster, made_of(policy)) == ()


def test_what_is_rendered_no_more_goes_and_peoples_files_stay() -> None:
    cluster = FakeCluster()
    settle(cluster, made_of())
    fewer = made_of(without_project("sky-survey"))

    found = settle(cluster, fewer)

    assert {(one.act, one.spot) for one in found if one.act in ("remove", "release")} == {
        ("release", ("Namespace", "", "gpu-sky-survey")),
        ("remove", ("ClusterQueue", "", "gc-vision.sky-survey")),
        *(
            ("remove", place_of(one))
            for one in made_of()
            if one["metadata"].get("namespace") == "gpu-sky-survey"
        ),
    }
    kept: dict[str, Any] = cluster.objects["/api/v1/namespaces/gpu-sky-survey"]
    assert "gpu-commons.dev/rendered" not in kept["metadata"]["labels"]
    assert kept["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    assert look(cluster, fewer) == ()


def test_queues_go_before_what_they_name() -> None:
    cluster = FakeCluster()
    settle(cluster, made_of())
    cluster.writes.clear()

    settle(cluster, made_of(without_project("sky-survey")))

    gone = [line for line in cluster.writes if line.startswith("delete")]
    assert gone[:2] == ["delete gpu-commons", "delete gc-vision.sky-survey"]


def test_what_is_not_ours_is_never_taken_away() -> None:
    cluster = FakeCluster()
    theirs: Manifest = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {
            "name": "their-own",
            "labels": {"app.kubernetes.io/managed-by": "gpu-commons"},
        },
        "spec": {},
    }
    cluster.put(theirs)

    settle(cluster, made_of())

    assert path_of(theirs) in cluster.objects


def test_what_is_being_deleted_already_is_no_difference() -> None:
    cluster, fewer = FakeCluster(), made_of(without_project("sky-survey"))
    settle(cluster, fewer)
    queue = of_kind(made_of(), "ClusterQueue")["gc-vision.sky-survey"]
    # Kueue keeps a queue until its last Workload is gone.
    since = {"deletionTimestamp": "2026-12-01T00:00:00Z"}
    cluster.put({**queue, "metadata": {**queue["metadata"], **since}})

    assert look(cluster, fewer) == ()


def test_an_object_that_somebody_made_before_is_taken_over() -> None:
    cluster, made = FakeCluster(), made_of()
    queue = of_kind(made, "ClusterQueue")["gc-robotics"]
    cluster.put({**queue, "metadata": {"name": "gc-robotics"}, "spec": {"cohortName": "old"}})

    found = {one.spot: one for one in settle(cluster, made)}

    assert found["ClusterQueue", "", "gc-robotics"].act == "change"
    assert look(cluster, made) == ()


def test_a_cluster_without_kueue_is_said() -> None:
    with pytest.raises(GpuCommonsError, match="install Kueue"):
        look(FakeCluster(unserved=("ClusterQueue",)), made_of())


def test_a_kind_that_nobody_asked_for_may_be_lacking() -> None:
    cluster = FakeCluster(unserved=("ServiceMonitor",))

    assert settle(cluster, made_of())


def test_a_refusal_names_the_object() -> None:
    with pytest.raises(GpuCommonsError, match="ClusterQueue gc-robotics: gc-robotics is not"):
        look(FakeCluster(refusing=("gc-robotics",)), made_of())


def test_a_missing_namespace_that_is_not_ours_to_make_is_said() -> None:
    one_place = rendered(site_policy(), Site(namespace="research"))

    with pytest.raises(GpuCommonsError, match="its namespace research is not there"):
        look(FakeCluster(), one_place)


def queue_of(cluster: FakeCluster, name: str = "gc-vision.sky-survey") -> dict[str, Any]:
    return cluster.objects[f"/apis/kueue.x-k8s.io/v1beta2/clusterqueues/{name}"]


def test_a_queue_with_leases_is_drained_first_and_goes_when_they_have_ended() -> None:
    cluster, fewer = FakeCluster(), made_of(without_project("sky-survey"))
    settle(cluster, made_of())
    queue_of(cluster)["status"] = {"reservingWorkloads": 2}

    acts = {one.spot: one.act for one in settle(cluster, fewer)}

    assert acts["ClusterQueue", "", "gc-vision.sky-survey"] == "drain"
    assert acts["Namespace", "", "gpu-sky-survey"] == "wait"
    assert "remove" not in acts.values()
    spec = queue_of(cluster)["spec"]
    assert (spec["stopPolicy"], spec["cohortName"]) == ("Hold", "gc-vision")
    assert set(quotas(queue_of(cluster)).popitem()[1].items()) == {("nominalQuota", 0)}
    assert [one.act for one in look(cluster, fewer)] == ["wait"]

    queue_of(cluster)["status"] = {"reservingWorkloads": 0}
    assert {one.act for one in settle(cluster, fewer)} == {"change", "remove", "release"}
    assert look(cluster, fewer) == ()


def test_the_queue_of_a_team_that_gets_projects_is_counted_in_its_cohort() -> None:
    cluster = FakeCluster()
    settle(cluster, made_of())
    queue_of(cluster, "gc-robotics")["status"] = {"reservingWorkloads": 1}
    data = site_data()
    data["projects"]["arm"] = {"team": "robotics"}

    settle(cluster, made_of(Policy.model_validate(data)))

    assert queue_of(cluster, "gc-robotics")["spec"]["cohortName"] == "gc-robotics"


def test_leases_of_a_team_that_is_no_more_count_at_the_root() -> None:
    cluster = FakeCluster()
    settle(cluster, made_of())
    queue_of(cluster, "gc-speech-voices-two-0c7d1b36")["status"] = {"reservingWorkloads": 1}
    data = site_data()
    del data["projects"]["voices.two"], data["teams"]["speech"]
    fewer = made_of(Policy.model_validate(data))

    settle(cluster, fewer)

    kept = queue_of(cluster, "gc-speech-voices-two-0c7d1b36")
    assert kept["spec"]["cohortName"] == "gc-site"
    assert "/apis/kueue.x-k8s.io/v1beta2/cohorts/gc-speech" not in cluster.objects


def fenced_in(cluster: FakeCluster) -> set[str]:
    path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
    binding = cluster.objects[f"{path}/gpu-commons-servers"]
    where = binding["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"]
    return set(where[0]["values"])


def test_what_a_namespace_is_fenced_by_holds_until_its_last_server_has_ended() -> None:
    cluster, data = FakeCluster(), site_data()
    settle(cluster, made_of())
    data["projects"]["sky-survey"]["namespace"] = "survey"
    moved = made_of(Policy.model_validate(data))
    cluster.pods = ["gpu-sky-survey"]

    settle(cluster, moved)
    assert {"survey", "gpu-sky-survey"} <= fenced_in(cluster)
    assert [one.act for one in look(cluster, moved)] == ["wait"], "it stays so"

    cluster.pods = []
    settle(cluster, moved)
    assert "survey" in fenced_in(cluster)
    assert "gpu-sky-survey" not in fenced_in(cluster)
    assert look(cluster, moved) == ()


def test_a_binding_that_somebody_widened_is_narrowed_again() -> None:
    cluster = FakeCluster()
    settle(cluster, made_of())
    before = fenced_in(cluster)
    path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
    binding = cluster.objects[f"{path}/gpu-commons-servers"]
    where = binding["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"]
    where[0]["values"] = [*where[0]["values"], "kube-system"]

    assert [one.act for one in settle(cluster, made_of())] == ["mend"]
    assert fenced_in(cluster) == before


def test_rights_stay_where_servers_run_that_hold_no_gpu() -> None:
    cluster, fewer = FakeCluster(), made_of(without_project("sky-survey"))
    settle(cluster, made_of())
    cluster.pods = ["gpu-sky-survey"]

    acts = {one.spot: one.act for one in settle(cluster, fewer)}

    assert acts["Namespace", "", "gpu-sky-survey"] == "wait"
    assert "/apis/rbac.authorization.k8s.io/v1/namespaces/gpu-sky-survey/roles/gpu-commons-hub" in (
        cluster.objects
    )


def test_the_old_home_of_a_project_that_moved_stays_while_a_lease_is_counted_there() -> None:
    """Its ClusterQueue is the same at both doors, so it is not drained, and no door is shut."""
    cluster, data = FakeCluster(), site_data()
    settle(cluster, made_of())
    data["projects"]["sky-survey"]["namespace"] = "survey"
    moved = made_of(Policy.model_validate(data))
    doors = "/apis/kueue.x-k8s.io/v1beta2/namespaces/gpu-sky-survey/localqueues"
    door = cluster.objects[f"{doors}/gpu-commons"]
    door["status"] = {"admittedWorkloads": 1}

    acts = {one.spot: one.act for one in settle(cluster, moved)}

    assert acts["Namespace", "", "survey"] == "create"
    assert acts["Namespace", "", "gpu-sky-survey"] == "wait"
    assert "drain" not in acts.values()
    assert f"{doors}/gpu-commons" in cluster.objects
    assert queue_of(cluster)["spec"].get("stopPolicy") in (None, "None")
    assert [one.act for one in look(cluster, moved)] == ["wait"]

    door["status"] = {"admittedWorkloads": 0}
    cluster.pods = ["gpu-sky-survey"]
    assert [one.act for one in settle(cluster, moved)] == ["wait"], "a server without a GPU"

    cluster.pods = []
    acts = {one.spot: one.act for one in settle(cluster, moved)}
    assert acts["Namespace", "", "gpu-sky-survey"] == "release", "people's files stay"
    assert f"{doors}/gpu-commons" not in cluster.objects
    assert look(cluster, moved) == ()


def test_a_cluster_without_kueue_can_have_everything_else() -> None:
    cluster = FakeCluster(unserved=KUEUES)
    alone = rendered(site_policy(), Site(engine="embedded"))

    settle(cluster, alone)

    assert look(cluster, alone) == ()
    assert of_kind(alone, "NetworkPolicy")


def test_who_leaves_kueue_takes_its_queues_away() -> None:
    cluster = FakeCluster()
    settle(cluster, made_of())

    found = settle(cluster, rendered(site_policy(), Site(engine="embedded")))

    assert {one.spot[0] for one in found if one.act == "remove"} == set(KUEUES)
