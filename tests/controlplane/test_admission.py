"""What the API server itself refuses where servers run: each attempt, by whom, and its words.

Everybody here has every right by roles, so that nothing but the rendered policies says no.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from hub_ext.kube.render import Site, rendered
from hub_ext.kube.render.kinds import KINDS, Manifest
from tests.controlplane.api import APPLY, Api, ApiError
from tests.controlplane.plane import ControlPlane
from tests.controlplane.queues import local_queue, workload, workloads_path
from tests.spawner.kube.conftest import KubeHub, hub  # noqa: F401 - a fixture
from tests.support.rendering import of_kind, site_policy

pytestmark = [pytest.mark.kube, pytest.mark.smoke]

SPACE = "gpu-cell-atlas"
SITE = Site(submitters=("trusted",))
HUB = "system:serviceaccount:jupyterhub:hub"
GOVERNOR = "system:serviceaccount:jupyterhub:gpu-commons-governor"
WORKLOADS = workloads_path(SPACE)
DOORS = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{SPACE}/localqueues"
KUEUE = "system:serviceaccount:kueue-system:kueue-controller-manager"
CONTROLLER = "system:serviceaccount:kube-system:job-controller"
PERSON, TRUSTED = "person", "trusted"
PODS = f"/api/v1/namespaces/{SPACE}/pods"
JOBS = f"/apis/batch/v1/namespaces/{SPACE}/jobs"
SETS = f"/apis/apps/v1/namespaces/{SPACE}/deployments"
REPLICAS = f"/api/v1/namespaces/{SPACE}/replicationcontrollers"
CRONS = f"/apis/batch/v1/namespaces/{SPACE}/cronjobs"
LEASE = {"gpu-commons.dev/lease": "l-1"}
QUEUE = {"kueue.x-k8s.io/queue-name": "gpu-commons"}
GATE = {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}


@pytest.fixture(scope="module")
def api(control_plane: ControlPlane) -> Iterator[Api]:
    """Apply the policies to the namespaces of projects; everybody is a cluster's administrator."""
    made = rendered(site_policy(), SITE)
    kinds = ("Namespace", "PriorityClass", "ValidatingAdmissionPolicy")
    mine = [
        one
        for one in made
        if one["kind"] in (*kinds, "ValidatingAdmissionPolicyBinding", "LocalQueue")
    ]
    control_plane.api.apply(mine)
    control_plane.service_account(SPACE, "default")
    group = "rbac.authorization.k8s.io"
    users = [HUB, GOVERNOR, KUEUE, CONTROLLER, PERSON, TRUSTED]
    control_plane.api.apply(
        [
            {
                "apiVersion": f"{group}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": "everybody"},
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
                "subjects": [{"apiGroup": group, "kind": "User", "name": one} for one in users],
            }
        ]
    )
    control_plane.api.apply(owners())
    person = control_plane.api.acting_as(PERSON)
    control_plane.api.wait(
        "/api/v1/namespaces/default", lambda _one: refused(person, PODS, pod(gpu=1)), seconds=30
    )
    yield control_plane.api
    control_plane.api.delete(f"/apis/{group}/v1/clusterrolebindings/everybody")
    for one in reversed(mine):
        if one["kind"].startswith("Validating"):
            control_plane.api.delete(KINDS[one["kind"]].path(None, one["metadata"]["name"]))


def pod(gpu: int = 0, labels: dict[str, str] | None = None, **spec: Any) -> Manifest:
    """Make a pod that passes Pod Security's `restricted`."""
    asked = {"nvidia.com/gpu": str(gpu)} if gpu else {}
    container = {
        "name": "main",
        "image": "none",
        "resources": {"limits": asked, "requests": asked},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "runAsNonRoot": True,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    container |= spec.pop("container", {})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "tried", "labels": labels or {}},
        "spec": {"containers": [container], "restartPolicy": "Never", **spec},
    }


ENV = {"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}
VOID = {"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}]}


FROM = {"envFrom": [{"configMapRef": {"name": "gpus"}}]}


def seeing(one: Manifest) -> Manifest:
    """Let a pod say that it sees every GPU."""
    one["spec"]["containers"][0] |= ENV
    return one


NETWORKS, DEFAULT = "k8s.v1.cni.cncf.io/networks", "v1.multus-cni.io/default-network"


def in_network(one: Manifest, key: str = NETWORKS) -> Manifest:
    """Let a pod ask for a network that Multus adds."""
    one["metadata"]["annotations"] = {key: "voices/store"}
    return one


def job(
    gpu: int, labels: dict[str, str], inner: dict[str, str] | None = None, *, suspend: bool = True
) -> Manifest:
    one = pod(gpu, inner)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "tried", "labels": labels},
        "spec": {
            "suspend": suspend,
            "template": {"metadata": one["metadata"], "spec": one["spec"]},
        },
    }


def deployment(gpu: int, inner: dict[str, str]) -> Manifest:
    one = pod(gpu, {"app": "x", **inner})
    one["spec"].pop("restartPolicy")
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "tried"},
        "spec": {
            "selector": {"matchLabels": {"app": "x"}},
            "template": {"metadata": {"labels": one["metadata"]["labels"]}, "spec": one["spec"]},
        },
    }


def replicas(gpu: int, inner: dict[str, str]) -> Manifest:
    one = deployment(gpu, inner)
    return {
        **one,
        "apiVersion": "v1",
        "kind": "ReplicationController",
        "spec": {**one["spec"], "selector": {"app": "x"}},
    }


def cron(gpu: int, labels: dict[str, str]) -> Manifest:
    inner = job(gpu, labels)
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "tried"},
        "spec": {
            "schedule": "0 0 * * *",
            "jobTemplate": {"metadata": {"labels": labels}, "spec": inner["spec"]},
        },
    }


def owners() -> list[Manifest]:
    """Make what pods of controllers belong to: Kueue looks for it."""
    plain_job, plain_set = job(0, {}), deployment(0, {})
    plain_set["kind"] = "ReplicaSet"
    for one in (plain_job, plain_set):
        one["metadata"] |= {"name": "x", "namespace": SPACE}
    return [plain_job, plain_set]


def owned(kind: str, version: str, gpu: int, labels: dict[str, str] | None = None) -> Manifest:
    """Make a pod as a controller makes it for what it controls."""
    made = pod(gpu, labels)
    owner = {"apiVersion": version, "kind": kind, "name": "x", "uid": "1", "controller": True}
    made["metadata"]["ownerReferences"] = [owner]
    return made


def refused(api: Api, path: str, body: Manifest) -> str:
    """Try to create something; return the words of the refusal, or nothing."""
    try:
        api.create(path, body, dryRun="All")
    except ApiError as error:
        return str(error)
    return ""


MIG = {"resources": {"limits": {"nvidia.com/mig-1g.18gb": "1"}}}
FIRST = [{**pod(1)["spec"]["containers"][0], "name": "first"}]
MAPPED = [{**pod()["spec"]["containers"][0], "name": "first", **FROM}]
CLAIM = [{"name": "g", "resourceClaimTemplateName": "t"}]
SET_POD = owned("ReplicaSet", "apps/v1", 1)
HELD = owned("ReplicaSet", "apps/v1", 1, QUEUE)
HELD["spec"] |= GATE
BARE = workload("w", SPACE, "gpu-commons", units=840)
BY_LEASE, BY_QUEUE = "a GPU comes by a lease", "waits in the queue of its project"
NO_LABEL, NO_JOB = "only the hub writes labels", "who may submit jobs here"
NO_RECORD = "Workloads are written by the governor"

NO = [
    ("a GPU without a lease", PERSON, PODS, pod(1), BY_LEASE),
    ("a MIG device", PERSON, PODS, pod(container=MIG), BY_LEASE),
    ("a GPU in an init container", PERSON, PODS, pod(initContainers=FIRST), BY_LEASE),
    ("a claim of a device", PERSON, PODS, pod(resourceClaims=CLAIM), BY_LEASE),
    ("a made-up lease", PERSON, PODS, pod(1, LEASE), NO_LABEL),
    ("a project's label", PERSON, PODS, pod(0, {"gpu-commons.dev/project": "x"}), NO_LABEL),
    ("the hub without a lease", HUB, PODS, pod(1), BY_LEASE),
    ("the hub with a queue", HUB, PODS, pod(1, {**LEASE, **QUEUE}), "Kueue's labels"),
    ("a queue's label", PERSON, PODS, pod(0, QUEUE), NO_JOB),
    ("managed, not held", TRUSTED, PODS, pod(1, {"kueue.x-k8s.io/managed": "true"}), BY_LEASE),
    ("every GPU by a variable", PERSON, PODS, pod(container=ENV), "NVIDIA_VISIBLE_DEVICES"),
    ("every GPU by a map of variables", PERSON, PODS, pod(container=FROM), "envFrom may bring"),
    ("every GPU by a map, at first", PERSON, PODS, pod(initContainers=MAPPED), "envFrom may bring"),
    ("every GPU by both", PERSON, PODS, pod(container={**FROM, **ENV}), "VISIBLE_DEVICES would"),
    ("every GPU, with one of its own", TRUSTED, PODS, seeing(pod(1, QUEUE, **GATE)), "VISIBLE"),
    ("a further network", PERSON, PODS, in_network(pod()), "into a further network"),
    ("another network", TRUSTED, PODS, in_network(pod(), DEFAULT), "into a further network"),
    ("a job with a GPU", PERSON, JOBS, job(1, {}), BY_QUEUE),
    ("a job in a queue", PERSON, JOBS, job(0, QUEUE), NO_JOB),
    ("a job that runs at once", TRUSTED, JOBS, job(1, QUEUE, suspend=False), "let Kueue start"),
    ("a job of a made-up lease", TRUSTED, JOBS, job(1, QUEUE, LEASE), "carry no label"),
    ("a set with a GPU", PERSON, SETS, deployment(1, {}), BY_QUEUE),
    ("a set with a queue", PERSON, SETS, deployment(1, QUEUE), NO_JOB),
    ("replicas with a GPU", PERSON, REPLICAS, replicas(1, {}), BY_QUEUE),
    ("replicas with a queue", PERSON, REPLICAS, replicas(1, QUEUE), NO_JOB),
    ("a job each night", PERSON, CRONS, cron(1, {}), BY_QUEUE),
    ("the pod of a set, without a queue", CONTROLLER, PODS, SET_POD, BY_LEASE),
    ("a pod that says it is a job's", PERSON, PODS, owned("Job", "batch/v1", 1), BY_LEASE),
    ("a Workload", PERSON, WORKLOADS, BARE, NO_RECORD),
    ("a Workload of the hub", HUB, WORKLOADS, BARE, NO_RECORD),
    ("a queue for all pods", PERSON, DOORS, local_queue("default", SPACE, "x"), "called default"),
]

YES = [
    ("the hub with a lease", HUB, PODS, pod(1, LEASE)),
    ("the hub with a further network", HUB, PODS, in_network(pod(1, LEASE))),
    ("a pod without a GPU", PERSON, PODS, pod()),
    ("a void variable", PERSON, PODS, pod(container=VOID)),
    ("a map of variables below void", PERSON, PODS, pod(container={**FROM, **VOID})),
    ("the hub with a map of variables", HUB, PODS, pod(1, LEASE, container=FROM)),
    ("a job through a queue", TRUSTED, JOBS, job(1, QUEUE)),
    ("a queued pod", TRUSTED, PODS, pod(1, QUEUE, **GATE)),
    ("the pod of a job", CONTROLLER, PODS, owned("Job", "batch/v1", 1)),
    ("the pod of a set, held", CONTROLLER, PODS, HELD),
    ("a set in a queue", TRUSTED, SETS, deployment(1, QUEUE)),
    ("replicas in a queue", TRUSTED, REPLICAS, replicas(1, QUEUE)),
    ("replicas without a GPU", PERSON, REPLICAS, replicas(0, {})),
    ("a job each night", TRUSTED, CRONS, cron(1, QUEUE)),
    ("a Workload of the governor", GOVERNOR, WORKLOADS, BARE),
]


@pytest.mark.parametrize(("what", "user", "path", "body", "words"), NO, ids=[one[0] for one in NO])
def test_refused(api: Api, what: str, user: str, path: str, body: Manifest, words: str) -> None:
    said = refused(api.acting_as(user), path, body)

    print(f"{what}: {said or 'let in'}")
    assert words in said


@pytest.mark.parametrize(("what", "user", "path", "body"), YES, ids=[one[0] for one in YES])
def test_let_in(api: Api, what: str, user: str, path: str, body: Manifest) -> None:
    assert refused(api.acting_as(user), path, body) == ""


def as_started(hub: KubeHub, profile: str) -> Manifest:  # noqa: F811 - the fixture's value
    """Start a governed server, and give the pod that its spawner asks for."""

    async def story() -> None:
        spawner = hub.spawner(user_options={"profile": profile})
        await spawner.start()
        await spawner.stop()

    hub.run(story)
    made: Manifest = hub.kube.made[-1]
    made["metadata"].pop("namespace", None)
    return made


@pytest.mark.parametrize("profile", ["mig-small", "cpu"])
def test_what_the_hubs_spawner_starts_passes_all_of_it(
    api: Api,
    hub: KubeHub,  # noqa: F811 - the fixture's value
    profile: str,
) -> None:
    runtime = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "handler": "nvidia"}
    api.patch(
        "/apis/node.k8s.io/v1/runtimeclasses/nvidia",
        {**runtime, "metadata": {"name": "nvidia"}},
        content=APPLY,
        fieldManager="tests",
    )
    made = as_started(hub, profile)

    assert refused(api.acting_as(HUB), PODS, made) == ""
    # The same pod by anybody else: as it is, and without the labels of a lease.
    assert NO_LABEL in refused(api.acting_as(PERSON), PODS, made)
    if profile != "cpu":
        labels = made["metadata"]["labels"]
        for key in [key for key in labels if key.startswith("gpu-commons.dev/")]:
            del labels[key]
        assert BY_LEASE in refused(api.acting_as(PERSON), PODS, made)


def changed(api: Api, path: str, patch: Manifest) -> str:
    try:
        api.patch(path, patch)
    except ApiError as error:
        return str(error)
    return ""


def test_labels_of_a_lease_and_of_a_queue_stay_as_they_are(api: Api) -> None:
    api.acting_as(HUB).create(PODS, pod(1, LEASE))
    path = f"{PODS}/tried"
    person = api.acting_as(PERSON)
    try:
        for labels in (
            {"gpu-commons.dev/lease": None},
            {"gpu-commons.dev/lease": "l-2"},
            {"gpu-commons.dev/team": "speech"},
        ):
            words = changed(person, path, {"metadata": {"labels": labels}})
            assert "only the hub writes labels of gpu-commons.dev" in words
        words = changed(person, path, {"metadata": {"labels": QUEUE}})
        assert "only Kueue and who may submit jobs" in words
        assert changed(person, path, {"metadata": {"labels": {"app": "own"}}}) == ""
    finally:
        api.delete(path, gracePeriodSeconds="0")


def test_nobody_looks_into_a_pod_with_every_gpu(api: Api) -> None:
    api.acting_as(HUB).create(PODS, pod(1, LEASE))
    path = f"{PODS}/tried"
    guest = {**pod()["spec"]["containers"][0], "name": "guest"}
    guest.pop("resources")
    try:
        for env, words in (
            (ENV, "to whoever looks into this pod"),
            (FROM, "envFrom may bring"),
            ({**FROM, **VOID}, ""),
        ):
            body = {"spec": {"ephemeralContainers": [{**guest, **env}]}}
            said = changed(api.acting_as(PERSON), f"{path}/ephemeralcontainers", body)
            assert words in said
            assert bool(said) == bool(words)
    finally:
        api.delete(path, gracePeriodSeconds="0")


def test_a_queued_pod_is_let_go_by_kueue_alone(api: Api) -> None:
    api.acting_as(TRUSTED).create(PODS, pod(1, QUEUE, **GATE))
    path = f"{PODS}/tried"
    gone: Manifest = {"spec": {"schedulingGates": []}}
    try:
        words = changed(api.acting_as(TRUSTED), path, gone)
        assert "only Kueue lets a queued pod go" in words
        assert changed(api.acting_as(KUEUE), path, gone) == ""
    finally:
        api.patch(path, {"metadata": {"finalizers": None}})
        api.delete(path, gracePeriodSeconds="0")


def test_a_workload_is_changed_and_deleted_by_governor_and_kueue_alone(api: Api) -> None:
    api.acting_as(GOVERNOR).create(WORKLOADS, BARE)
    person, path = api.acting_as(PERSON), workloads_path(SPACE, "w")
    try:
        assert "Workloads are written by" in changed(person, path, {"spec": {"active": False}})
        with pytest.raises(ApiError, match="Workloads are written by the governor"):
            person.delete(path)
        assert changed(api.acting_as(GOVERNOR), path, {"spec": {"priority": 1500}}) == ""
    finally:
        api.acting_as(GOVERNOR).delete(path)


def test_elsewhere_nothing_is_refused(api: Api, control_plane: ControlPlane) -> None:
    other = control_plane.namespace()

    assert refused(api.acting_as(PERSON), f"/api/v1/namespaces/{other}/pods", pod(1)) == ""


def test_no_expression_has_a_typing_fault(api: Api) -> None:
    for name in of_kind(rendered(site_policy(), SITE), "ValidatingAdmissionPolicy"):
        path = KINDS["ValidatingAdmissionPolicy"].path(None, name)
        one = api.get(path)
        assert one.get("status", {}).get("typeChecking", {}).get("expressionWarnings", []) == []
