"""From a policy and a lease to what its pod is made of, on the policy that we ship for clusters."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hub_ext.errors import RefusedError
from hub_ext.kube.podterms import PodSettings, gpu_resource, place_of, pod_terms
from hub_ext.lease import (
    AttemptId,
    Choice,
    LeaseId,
    LeaseState,
    OpenLease,
    PodDataset,
    PodTerms,
    PodVolume,
    ProfileName,
    ProjectName,
    ServerKey,
    ServerName,
    Standing,
    TaskTypeName,
    Toleration,
    UserName,
)
from hub_ext.policy.catalogue import Resolved, resolve
from hub_ext.policy.load import load
from hub_ext.policy.model import Policy
from hub_ext.policy.model.network import Bandwidth, Network
from hub_ext.policy.model.tasks import TaskType
from tests.support.pools import person

CONFIG = Path(__file__).parents[3] / "config"
AT = datetime(2026, 12, 1, 9, tzinfo=UTC)


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load(CONFIG / "examples/kubernetes.yaml").policy


def chosen(policy: Policy, profile: str, group: str = "imaging", **more: Any) -> Resolved:
    choice = Choice(profile=ProfileName(profile), **more)
    return resolve(policy, person("ada", group), choice, AT)


def lease_of(resolved: Resolved, user: str = "ada", server: str = "") -> OpenLease:
    return OpenLease(
        id=LeaseId("lease-1"),
        key=ServerKey(hub="hub", user=UserName(user), server=ServerName(server)),
        attempt_id=AttemptId("attempt-0001"),
        choice=resolved.choice,
        team=resolved.team,
        project=resolved.project,
        profile=resolved.profile,
        pool=resolved.pool,
        flavor=resolved.flavor,
        units=resolved.units,
        standing=Standing.guaranteed,
        state=LeaseState.starting,
        state_since=AT,
        requested_at=AT,
        price_micro_per_hour=None,
        currency="EUR",
        policy_generation=1,
    )


def terms(policy: Policy, profile: str, settings: PodSettings | None = None) -> PodTerms:
    resolved = chosen(policy, profile)
    return pod_terms(policy, resolved, lease_of(resolved), settings or PodSettings())


def test_everything_that_the_policy_says_is_in_the_terms(policy: Policy) -> None:
    made = terms(policy, "slice")
    assert made.namespace == "gpu-cells"
    assert made.image is not None
    assert made.image.startswith("registry.example/imaging/cells@sha256:1d64")
    assert (made.pull_policy, made.pull_secrets) == ("IfNotPresent", ("registry-imaging",))
    assert (made.resource_name, made.resource_count) == ("nvidia.com/mig-1g.18gb", 1)
    assert made.node_selector["nvidia.com/mig.config"] == "mixed"
    assert made.tolerations == (Toleration(key="nvidia.com/gpu", effect="NoSchedule"),)
    assert (made.runtime_class, made.priority_class) == ("nvidia", "gpu-commons")
    assert made.volume == PodVolume(
        claim="project",
        shared=True,
        size_bytes=500 * 2**30,
        storage_class="fast-shared",
        access="ReadWriteMany",
        mount="/project",
    )
    assert made.datasets == (
        PodDataset(claim="microscopy-2025", mount="/data/microscopy-2025"),
        PodDataset(claim="microscopy-2026", mount="/data/microscopy-2026"),
    )
    assert made.scratch_bytes == 20 * 2**30


@pytest.mark.parametrize(
    ("profile", "resource"),
    [
        ("card", ("nvidia.com/gpu", 1)),
        ("large-slice", ("nvidia.com/mig-3g.71gb", 1)),
        ("share", ("nvidia.com/gpu.shared", 1)),
        ("desk", (None, 0)),
    ],
)
def test_one_gpu_resource_at_most(
    policy: Policy, profile: str, resource: tuple[str | None, int]
) -> None:
    assert gpu_resource(policy, chosen(policy, profile)) == resource


def test_a_media_profile_is_named_as_the_device_plugin_names_it(policy: Policy) -> None:
    media = chosen(policy, "slice").model_copy(update={"mig_profile": "1g.18gb+me"})
    assert gpu_resource(policy, media) == ("nvidia.com/mig-1g.18gb.me", 1)


def test_a_server_without_a_gpu_stands_anywhere_and_asks_for_none(policy: Policy) -> None:
    made = terms(policy, "desk")
    assert (made.node_selector, made.tolerations, made.runtime_class) == ({}, (), None)
    assert made.scratch_bytes == 10 * 2**30


def test_labels_name_lease_team_project_task_and_person(policy: Policy) -> None:
    resolved = chosen(policy, "card")
    lease = lease_of(resolved, user="Ada L. <ada@example.org>", server="second")
    made = pod_terms(policy, resolved, lease, PodSettings())
    assert made.labels["gpu-commons.dev/lease"] == "lease-1"
    assert made.labels["gpu-commons.dev/team"] == "imaging"
    assert made.labels["gpu-commons.dev/project"] == "cells"
    assert made.labels["gpu-commons.dev/pool"] == "whole"
    assert made.labels["gpu-commons.dev/server"] == "second"
    assert made.labels["gpu-commons.dev/user"].startswith("Ada-L-ada-example-org-")
    assert all(len(value) <= 63 for value in made.labels.values())


def test_a_pool_without_labels_of_its_own_is_found_by_ours(policy: Policy) -> None:
    bare = policy.model_copy(
        update={"pools": {**policy.pools, "whole": policy.pools["whole"].model_copy(
            update={"selector": {}}
        )}}
    )  # fmt: skip
    assert terms(bare, "card").node_selector == {"gpu-commons.dev/pool": "whole"}


def test_a_volume_that_one_machine_mounts_is_one_for_each_server(policy: Policy) -> None:
    resolved = chosen(policy, "card", "speech")
    made = pod_terms(policy, resolved, lease_of(resolved), PodSettings())
    assert made.namespace == "speech-voices"
    assert made.volume is not None
    assert (made.volume.shared, made.volume.access) == (False, "ReadWriteOnce")


def test_in_the_one_namespace_of_a_site_volumes_carry_the_project(policy: Policy) -> None:
    settings = PodSettings(single="hub", priority_class=None)
    made = terms(policy, "card", settings)
    assert (made.namespace, made.priority_class) == ("hub", None)
    assert made.volume is not None
    assert made.volume.claim == "project-cells"
    assert place_of(policy, "speech", "voices", "hub").namespace == "hub"


def test_a_directory_of_one_machine_is_refused_and_the_hubs_own_image_is_not(
    policy: Policy,
) -> None:
    resolved = chosen(policy, "card", project=ProjectName("cells"))
    assert resolved.environment is not None
    prefix = resolved.environment.model_copy(update={"image": None, "prefix": "/opt/env"})
    local = resolved.model_copy(update={"environment": prefix})
    with pytest.raises(RefusedError, match="give it an image"):
        pod_terms(policy, local, lease_of(local), PodSettings())
    none = resolved.model_copy(update={"environment": None})
    assert pod_terms(policy, none, lease_of(none), PodSettings()).image is None


def test_a_further_network_and_rates_are_asked_for_by_annotation(policy: Policy) -> None:
    resolved = chosen(policy, "slice")
    assert resolved.project is not None
    rates = Bandwidth(ingress="2G", egress="500M")
    project = policy.projects[resolved.project]
    changed = policy.model_copy(
        update={
            "projects": {
                **policy.projects,
                resolved.project: project.model_copy(
                    update={"network": Network(secondary="storage-net")}
                ),
            },
            "task_types": {"training": TaskType(title="Training", bandwidth=rates)},
        }
    )
    asked = resolved.model_copy(update={"task_type": TaskTypeName("training")})

    made = pod_terms(changed, asked, lease_of(resolved), PodSettings())

    assert made.annotations == {
        "gpu-commons.dev/attempt": "attempt-0001",
        "k8s.v1.cni.cncf.io/networks": "storage-net",
        "kubernetes.io/ingress-bandwidth": "2G",
        "kubernetes.io/egress-bandwidth": "500M",
    }
