"""`adopt`: queues that a site has become a policy; what would break promises is left out."""

from typing import Any

import pytest

from hub_ext.commands.adoptdraft import draft
from hub_ext.kube.adopting import Found, found
from hub_ext.policy.load import loads
from hub_ext.units import UNITS_PER_GPU

RIGHT = {"reclaimWithinCohort": "LowerPriority", "withinClusterQueue": "Never"}


def flavor(name: str, **labels: str) -> dict[str, Any]:
    named = {key.replace("_", "/"): value for key, value in labels.items()}
    return {"metadata": {"name": name}, "spec": {"nodeLabels": named}}


def queue(name: str, resources: dict[str, dict[str, str]], **spec: Any) -> dict[str, Any]:
    """One ClusterQueue with quota of resources by `flavor/resource`."""
    flavors: dict[str, list[dict[str, str]]] = {}
    for place, quota in resources.items():
        owner, _slash, resource = place.partition("/")
        flavors.setdefault(owner, []).append({"name": resource, **quota})
    groups = [{"flavors": [{"name": n, "resources": r} for n, r in flavors.items()]}]
    made = {"cohortName": "site", "preemption": RIGHT, "resourceGroups": groups}
    return {"metadata": {"name": name}, "spec": made | spec}


def door(namespace: str, to: str) -> dict[str, Any]:
    return {"metadata": {"name": "q", "namespace": namespace}, "spec": {"clusterQueue": to}}


def node(name: str, allocatable: dict[str, str], **labels: str) -> dict[str, Any]:
    named = {key.replace("_", "/"): value for key, value in labels.items()}
    return {"metadata": {"name": name, "labels": named}, "status": {"allocatable": allocatable}}


GPU, MIG = "nvidia.com/gpu", "nvidia.com/mig-1g.18gb"
H200 = {"nvidia.com_gpu.product": "NVIDIA-H200"}
FLAVORS = [flavor("h200", kind="whole"), flavor("slices", kind="mig"), flavor("cpu")]
NODES = [
    node("n1", {GPU: "4", "cpu": "64"}, kind="whole", **H200),
    node("n2", {MIG: "14", "cpu": "64"}, kind="mig", **H200, **{"nvidia.com_gpu.count": "2"}),
    node("n3", {"cpu": "64"}, kind="whole"),
]


def site(*queues: dict[str, Any]) -> Found:
    doors = [door("maps", "vision"), door("birds", "vision"), door("talks", "speech")]
    return found(FLAVORS, queues, doors, NODES)


VISION = queue("vision", {f"h200/{GPU}": {"nominalQuota": "2", "borrowingLimit": "1"}})
SPEECH = queue(
    "speech", {f"slices/{MIG}": {"nominalQuota": "6"}, f"h200/{GPU}": {"nominalQuota": "1"}}
)


def test_queues_become_teams_flavors_pools_and_namespaces_projects() -> None:
    policy = loads(draft(site(VISION, SPEECH))).policy
    assert policy.pools["h200"].model == "h200-141gb"
    assert policy.pools["h200"].selector == {"kind": "whole"}
    assert [(one.name, one.gpus) for one in policy.pools["h200"].nodes] == [("n1", 4)]
    (mig,) = policy.pools["slices"].nodes
    assert mig.gpus == 2
    assert mig.geometry == (("1g.18gb",) * 7,) * 2
    vision, speech = policy.teams["vision"], policy.teams["speech"]
    assert vision.quota["h200"].nominal == 2 * UNITS_PER_GPU
    assert vision.quota["h200"].borrowing_limit == UNITS_PER_GPU
    assert vision.over_quota == "borrow"
    assert speech.quota["slices"].nominal == 6 * UNITS_PER_GPU // 8
    assert speech.quota["slices"].borrowing_limit is None
    projects = {name: (one.team, one.namespace) for name, one in policy.projects.items()}
    assert projects == {
        "birds": ("vision", "birds"),
        "maps": ("vision", "maps"),
        "talks": ("speech", "talks"),
    }
    assert {"one-h200", "cpu-only"} <= set(policy.profiles)
    assert any(name.startswith("1g.18gb") for name in policy.profiles)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"preemption": {"withinClusterQueue": "LowerPriority"}}, "set it to Never"),
        ({"queueingStrategy": "StrictFIFO"}, "set queueingStrategy to BestEffortFIFO"),
        ({"admissionChecksStrategy": {"admissionChecks": [{"name": "x"}]}}, "AdmissionCheck"),
        ({"stopPolicy": "Hold"}, "it is stopped"),
        ({"fairSharing": {"weight": "2"}}, "fair sharing"),
    ],
)
def test_a_queue_that_would_break_promises_is_left_out_with_its_remedy(
    change: dict[str, Any], words: str
) -> None:
    wrong = queue("wrong", {f"h200/{GPU}": {"nominalQuota": "1"}}, **change)
    there = site(VISION, wrong)
    (bad,) = [one for one in there.queues if one.name == "wrong"]
    assert not bad.usable
    assert any(words in f"{one.words}; {one.remedy}" for one in bad.breaches)
    assert set(loads(draft(there)).policy.teams) == {"vision"}


def test_a_queue_without_gpus_is_no_concern() -> None:
    assert site(queue("batch", {"cpu/cpu": {"nominalQuota": "100"}})).queues == ()


def test_a_queue_without_a_cohort_never_borrows() -> None:
    single = queue("single", {f"h200/{GPU}": {"nominalQuota": "1"}}, cohortName="")
    assert loads(draft(site(single))).policy.teams["single"].over_quota == "queue"


def test_what_cannot_be_told_is_marked() -> None:
    odd = found(
        [flavor("odd", kind="odd")],
        [queue("q", {"odd/nvidia.com/mig-9g.999gb": {"nominalQuota": "3"}})],
        [door("a", "q"), door("a", "q")],
        [node("n", {"nvidia.com/mig-9g.999gb": "3"}, kind="odd")],
    )
    text = draft(odd)
    assert "# CHECK: how its GPUs are cut is not clear from 3 x 9g.999gb." in text
    assert "# CHECK: what nvidia.com/mig-9g.999gb is of a GPU is not known here; add it." in text
    nowhere = draft(
        found([flavor("x", kind="x")], [queue("q", {f"x/{GPU}": {"nominalQuota": "1"}})], [], [])
    )
    assert "no machine with GPUs has the labels of this flavor" in nowhere
    loads(nowhere)
