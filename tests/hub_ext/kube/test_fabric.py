"""RDMA: who gets a device of the fabric, what it opens, and what is refused."""

from copy import deepcopy
from io import StringIO
from typing import Any

import pytest
from ruamel.yaml import YAML

from hub_ext.errors import PolicyError, RefusedError
from hub_ext.kube.podterms import PodSettings, pod_terms
from hub_ext.kube.render import Site, rendered
from hub_ext.lease import Choice, PodTerms, ProfileName, ProjectName, Toleration
from hub_ext.policy.catalogue import resolve
from hub_ext.policy.checks import check
from hub_ext.policy.checks.network import check_single
from hub_ext.policy.load import loads
from hub_ext.policy.model import Policy
from hub_ext.policy.problems import path_text
from spawner.kube_gate import check_pod
from spawner.kube_traits import Asked, traits
from tests.hub_ext.kube.test_podterms import AT, lease_of
from tests.support.policies import DATA
from tests.support.pools import person
from tests.support.rendering import fabric_policy, of_kind, site_data, site_policy

RDMA = "rdma/hca_shared_devices_a"
GATED = "pod-security.kubernetes.io/enforce"


def terms(policy: Policy, profile: str, project: str) -> PodTerms:
    choice = Choice(profile=ProfileName(profile), project=ProjectName(project))
    resolved = resolve(policy, person("ada", "vision"), choice, AT)
    return pod_terms(policy, resolved, lease_of(resolved), PodSettings())


def test_whole_gpus_of_the_pool_get_one_device_where_the_project_names_the_fabric() -> None:
    made = terms(fabric_policy(), "card", "sky-survey")
    assert (made.fabric_resource, made.capabilities) == (RDMA, ("IPC_LOCK",))
    assert made.node_selector["example.org/fabric"] == "ib-1"
    assert Toleration(key="example.org/fabric") in made.tolerations


@pytest.mark.parametrize(("profile", "project"), [("small", "sky-survey"), ("card", "cell-atlas")])
def test_a_mig_device_and_another_project_get_none(profile: str, project: str) -> None:
    made = terms(fabric_policy(), profile, project)
    assert (made.fabric_resource, made.capabilities) == (None, ())


def test_a_virtual_gpu_gets_none_though_it_is_counted_as_one() -> None:
    policy = fabric_policy()
    cards = policy.pools["cards"].model_copy(update={"vgpu": "H100-20C"})
    virtual = policy.model_copy(update={"pools": {**policy.pools, "cards": cards}})
    made = terms(virtual, "card", "sky-survey")
    assert (made.resource_count, made.fabric_resource, made.capabilities) == (1, None, ())


def test_the_pod_asks_for_the_device_and_the_capability_and_nothing_else() -> None:
    pod = terms(fabric_policy(), "card", "sky-survey")
    asked = Asked(pod, 4000, 2**33, "attempt-1", None)
    values, _notes = traits(asked, {"image": "site"})
    assert values["extra_resource_limits"][RDMA] == "1"
    assert values["extra_resource_guarantees"][RDMA] == "1"
    assert values["container_security_context"]["capabilities"] == {
        "drop": ["ALL"],
        "add": ["IPC_LOCK"],
    }


@pytest.mark.parametrize(
    ("profile", "added", "asked", "words"),
    [
        ("card", ["IPC_LOCK", "SYS_ADMIN"], {RDMA: "1"}, "capabilities SYS_ADMIN"),
        ("card", ["IPC_LOCK"], {RDMA: "2"}, f"2 {RDMA}"),
        ("small", ["IPC_LOCK"], {}, "capabilities IPC_LOCK"),
        ("small", [], {RDMA: "1"}, f"1 {RDMA}"),
    ],
)
def test_a_hook_that_gives_more_of_it_is_refused(
    profile: str, added: list[str], asked: dict[str, str], words: str
) -> None:
    pod = terms(fabric_policy(), profile, "sky-survey")
    with pytest.raises(RefusedError, match=words):
        check_pod(_manifest(pod, added, asked), pod)


def test_what_was_granted_passes_the_last_look() -> None:
    pod = terms(fabric_policy(), "card", "sky-survey")
    check_pod(_manifest(pod, ["IPC_LOCK"], {RDMA: "1"}), pod)


def _manifest(pod: PodTerms, added: list[str], asked: dict[str, str]) -> dict[str, Any]:
    gpu = {str(pod.resource_name): str(pod.resource_count)}
    container = {
        "name": "notebook",
        "image": pod.image or "site",
        "resources": {"limits": gpu | asked},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"], "add": added},
        },
    }
    return {
        "metadata": {"labels": pod.labels},
        "spec": {"automountServiceAccountToken": False, "containers": [container]},
    }


def test_only_the_namespace_of_that_project_is_opened_and_the_rest_is_refused_there() -> None:
    made = rendered(fabric_policy(), Site())
    spaces = of_kind(made, "Namespace")
    assert spaces["gpu-sky-survey"]["metadata"]["labels"][GATED] == "privileged"
    others = {
        one["metadata"]["labels"][GATED]
        for name, one in spaces.items()
        if name.startswith("gpu-") and name != "gpu-sky-survey" and "agent" not in name
    }
    assert others == {"restricted"}
    bound = of_kind(made, "ValidatingAdmissionPolicyBinding")["gpu-commons-fabric"]
    (where,) = bound["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"]
    assert where["values"] == ["gpu-sky-survey"]
    assert "gpu-commons-fabric" not in of_kind(
        rendered(site_policy(), Site()), "ValidatingAdmissionPolicy"
    )


@pytest.mark.parametrize(
    ("network", "pool", "where", "words"),
    [
        ({"fabric": "rdma"}, True, "fabric", "IPC_LOCK"),
        (
            {"fabric": "rdma", "security_exception": "IPC_LOCK"},
            False,
            "fabric",
            "no pool is on such a fabric",
        ),
        (
            {"security_exception": "IPC_LOCK"},
            True,
            "security_exception",
            "nothing here needs it",
        ),
    ],
)
def test_half_a_fabric_is_refused_with_what_is_missing(
    network: dict[str, str], pool: bool, where: str, words: str
) -> None:
    data = site_data()
    if pool:
        data["pools"]["cards"]["rdma"] = {"resource": RDMA}
    data["projects"]["sky-survey"]["network"] = network
    found = [
        (path_text(one.path), one.message)
        for one in check(Policy.model_validate(data))
        if one.severity == "error"
    ]
    assert any(
        path == f"projects.sky-survey.network.{where}" and words in said for path, said in found
    ), found


@pytest.mark.parametrize(
    ("pool", "exclusive", "warned"),
    [("cards", [], False), ("slices", [], True), ("slices", ["gpu"], False)],
)
def test_a_fabric_that_nobody_may_use_is_said(
    pool: str, exclusive: list[str], *, warned: bool
) -> None:
    """What shares a GPU gets no device of the fabric, so it takes a profile of whole ones."""
    data = deepcopy(DATA)
    data["pools"][pool]["rdma"] = {"resource": RDMA}
    data["pools"][pool]["exclusive"] = exclusive
    found = [
        one
        for one in check(Policy.model_validate(data))
        if path_text(one.path) == f"pools.{pool}.rdma"
    ]
    assert [one.severity for one in found] == ["warning"] * warned
    assert all("offer a profile of whole GPUs" in one.remedy for one in found)


def test_in_the_one_namespace_of_a_site_nothing_is_excepted() -> None:
    data = site_data()
    data["pools"]["cards"]["rdma"] = {"resource": RDMA}
    data["projects"]["sky-survey"]["network"] = {
        "fabric": "rdma",
        "security_exception": "IPC_LOCK",
    }
    data["projects"]["sky-survey"]["namespace"] = "survey"
    policy = Policy.model_validate(data)
    found = {path_text(one.path): one for one in check_single(policy, "research")}
    refused = found["projects.sky-survey.network.security_exception"]
    assert refused.severity == "error"
    assert "cannot be opened for one project alone" in refused.message
    assert found["projects.sky-survey.namespace"].severity == "warning"

    stream = StringIO()
    YAML().dump(data, stream)
    text = stream.getvalue()
    assert loads(text).policy == policy
    with pytest.raises(PolicyError, match="give each project a namespace of its own"):
        loads(text, single="research")
