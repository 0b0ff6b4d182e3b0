"""What is asked of the API for a grant, and what of a site's or a person's own never is."""

from functools import partial
from typing import Any

import pytest

from hub_ext.lease import (
    Ask,
    Choice,
    PodTerms,
    ProfileName,
    ServerKey,
    ServerName,
    Toleration,
    UserName,
)
from spawner.refusal import SpawnRefusal
from tests.spawner.kube.conftest import IMAGE, NAMESPACE, VOLUME, KubeHub, terms_of
from tests.support.governor import offer

Json = dict[str, Any]


def made(hub: KubeHub, **changes: Any) -> Json:
    """Start a server, and give the pod that was asked for."""

    async def story() -> None:
        spawner = hub.spawner(**changes)
        await spawner.start()
        await spawner.stop()

    hub.run(story)
    pod: Json = hub.kube.made[-1]
    return pod


def server(pod: Json) -> Json:
    (container,) = [one for one in pod["spec"]["containers"] if one["name"] == "notebook"]
    return dict(container)


def variables(pod: Json) -> dict[str, str]:
    return {one["name"]: one.get("value", "") for one in server(pod)["env"]}


def volume_of(pod: Json, path: str) -> tuple[Json, Json]:
    """Give the mount at a path, and its volume."""
    (mount,) = [one for one in server(pod)["volumeMounts"] if one["mountPath"] == path]
    (volume,) = [one for one in pod["spec"]["volumes"] if one["name"] == mount["name"]]
    return mount, volume


def test_each_field_of_the_grant_is_in_the_pod(hub: KubeHub) -> None:
    pod = made(hub)
    spec, container = pod["spec"], server(pod)
    assert (container["image"], container["imagePullPolicy"]) == (IMAGE, "IfNotPresent")
    assert spec["imagePullSecrets"] == [{"name": "registry"}]
    figures = {"cpu": 2.0, "memory": 4 * 2**30, "nvidia.com/mig-1g.18gb": "1"}
    assert container["resources"]["limits"] == {**figures, "ephemeral-storage": str(20 * 2**30)}
    assert container["resources"]["requests"] == {**figures, "ephemeral-storage": "0"}
    assert spec["nodeSelector"] == {"gpu-commons.dev/pool": "main"}
    assert spec["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    ]
    assert spec["runtimeClassName"] == "nvidia"
    assert spec["priorityClassName"] == "gpu-commons"
    assert pod["metadata"]["labels"]["gpu-commons.dev/lease"] == "lease-1"
    assert pod["metadata"]["labels"]["hub.jupyter.org/username"] == "ada"
    assert pod["metadata"]["annotations"]["gpu-commons.dev/attempt"] == (
        hub.governor.asks[0].attempt_id
    )
    assert spec["automountServiceAccountToken"] is False
    assert "serviceAccountName" not in spec


def test_the_volumes_are_the_projects_and_no_others(hub: KubeHub) -> None:
    pod = made(hub)
    assert volume_of(pod, "/project")[1]["persistentVolumeClaim"] == {"claimName": "project"}
    mount, volume = volume_of(pod, "/data/imagenet")
    assert mount["readOnly"]
    assert volume["persistentVolumeClaim"] == {"claimName": "imagenet", "readOnly": True}
    assert volume_of(pod, "/scratch")[1]["emptyDir"] == {"sizeLimit": str(20 * 2**30)}
    claim = hub.kube.claims[NAMESPACE, "project"]
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    assert claim["spec"]["storageClassName"] == "fast"
    assert claim["spec"]["resources"]["requests"]["storage"] == str(50 * 2**30)
    assert claim["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "gpu-commons",
        "gpu-commons.dev/team": "vision",
    }
    # A second server of the project works on the same.
    made(hub, user="bob")
    assert list(hub.kube.claims) == [(NAMESPACE, "project")]


def test_where_one_machine_mounts_a_volume_each_server_has_its_own(hub: KubeHub) -> None:
    volume = VOLUME.model_copy(update={"shared": False, "access": "ReadWriteOnce"})
    hub.governor.pod_of = partial(terms_of, volume=volume)
    first = made(hub, storage_pvc_ensure=False)
    second = made(hub, server="second", storage_pvc_ensure=False)
    names = [
        volume_of(one, "/project")[1]["persistentVolumeClaim"]["claimName"]
        for one in (first, second)
    ]
    assert names == ["project-ada", "project-ada--second"]


def test_it_passes_what_pod_security_restricted_demands(hub: KubeHub) -> None:
    pod = made(hub)
    spec, rights = pod["spec"], server(pod)["securityContext"]
    assert rights["allowPrivilegeEscalation"] is False
    assert rights["capabilities"] == {"drop": ["ALL"]}
    assert rights["runAsNonRoot"]
    assert rights["seccompProfile"] == {"type": "RuntimeDefault"}
    assert "privileged" not in rights
    assert spec["securityContext"]["runAsNonRoot"]
    assert spec["securityContext"]["fsGroup"] == 100
    kinds = {key for volume in spec["volumes"] for key in volume} - {"name"}
    assert kinds <= {"emptyDir", "persistentVolumeClaim"}


def test_without_a_gpu_no_gpu_is_visible_whatever_anybody_sets(hub: KubeHub) -> None:
    pod = made(
        hub,
        user_options={"profile": "cpu"},
        environment={
            "NVIDIA_VISIBLE_DEVICES": "all",
            "CUDA_VISIBLE_DEVICES": "0",
            "GPU_COMMONS_LEASE_ID": "mine",
            "X": {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},
            "SITE": "yes",
        },
    )
    seen = variables(pod)
    assert (seen["NVIDIA_VISIBLE_DEVICES"], seen["CUDA_VISIBLE_DEVICES"]) == ("void", "")
    assert (seen["SITE"], seen["GPU_COMMONS_LEASE_ID"]) == ("yes", "lease-1")
    names = [one["name"] for one in server(pod)["env"]]
    assert len(names) == len(set(names))
    assert "nvidia.com/mig-1g.18gb" not in server(pod)["resources"]["limits"]
    assert "runtimeClassName" not in pod["spec"]


def test_with_a_gpu_the_machines_plugin_says_which(hub: KubeHub) -> None:
    seen = variables(made(hub, environment={"NVIDIA_VISIBLE_DEVICES": "all"}))
    assert "NVIDIA_VISIBLE_DEVICES" not in seen
    assert "CUDA_VISIBLE_DEVICES" not in seen
    assert "GPU_COMMONS_SIM_FILE" not in seen


def test_a_sites_own_settings_that_give_too_much_are_left_out_and_said(
    hub: KubeHub, caplog: pytest.LogCaptureFixture
) -> None:
    pod = made(
        hub,
        service_account="default",
        automount_service_account_token=True,
        privileged=True,
        uid=0,
        extra_pod_config={
            "hostNetwork": True,
            "service_account_name": "admin",
            "volumes": [{"name": "x", "hostPath": {"path": "/"}}],
            "dnsPolicy": "Default",
        },
        extra_container_config={
            "resources": {"limits": {"nvidia.com/gpu": "8"}},
            "securityContext": {"privileged": True},
            "stdin": True,
        },
        extra_resource_limits={"nvidia.com/gpu": "8", "hugepages-2Mi": "1Gi"},
        volumes=[
            {"name": "host", "hostPath": {"path": "/"}},
            {"name": "docker", "host_path": {"path": "/var/run/docker.sock"}},
            {"name": "shm", "emptyDir": {"medium": "Memory"}},
        ],
        volume_mounts=[
            {"name": "host", "mountPath": "/host"},
            {"name": "docker", "mountPath": "/docker"},
            {"name": "shm", "mountPath": "/dev/shm"},
            {"name": "shm", "mountPath": "/project"},
        ],
        init_containers=[
            {
                "name": "block-metadata",
                "image": "net",
                "securityContext": {"capabilities": {"add": ["NET_ADMIN"]}},
            },
            {"name": "chown", "image": "busybox", "resources": {"limits": {"nvidia.com/gpu": 1}}},
        ],
        profile_list=[{"display_name": "GPU", "kubespawner_override": {"image": "other"}}],
        pod_security_context={"sysctls": [], "runAsUser": 0, "supplementalGroups": [7]},
        extra_labels={"gpu-commons.dev/lease": "stolen", "site": "yes"},
        node_selector={"gpu-commons.dev/pool": "other", "zone": "a"},
        tolerations=[{"key": "site", "operator": "Exists"}],
        image="site/image:latest",
    )
    spec, container = pod["spec"], server(pod)
    assert spec["dnsPolicy"] == "Default"
    assert not {"hostNetwork", "serviceAccountName"} & spec.keys()
    assert "runAsUser" not in container["securityContext"]
    assert "privileged" not in container["securityContext"]
    assert container["stdin"]
    assert "nvidia.com/gpu" not in container["resources"]["limits"]
    assert container["resources"]["limits"]["hugepages-2Mi"] == "1Gi"
    assert container["image"] == IMAGE
    assert not any("hostPath" in one for one in spec["volumes"])
    paths = [one["mountPath"] for one in container["volumeMounts"]]
    assert "/dev/shm" in paths
    assert not {"/host", "/docker"} & set(paths)
    assert paths.count("/project") == 1
    (init,) = spec["initContainers"]
    assert (init["name"], init["resources"]["limits"]) == ("chown", {})
    assert init["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert spec["securityContext"]["supplementalGroups"] == [7]
    assert pod["metadata"]["labels"]["gpu-commons.dev/lease"] == "lease-1"
    assert pod["metadata"]["labels"]["site"] == "yes"
    assert spec["nodeSelector"] == {"gpu-commons.dev/pool": "main", "zone": "a"}
    assert {"key": "site", "operator": "Exists"} in spec["tolerations"]
    said = caplog.text
    for words in (
        "extra_pod_config: hostNetwork",
        "volumes: host",
        "volumes: docker",
        "service_account:",
        "privileged:",
        "profile_list:",
        "uid: 0",
        "nvidia.com/gpu",
        "block-metadata",
        "extra_container_config: resources",
        "volume_mounts: /project is ours",
    ):
        assert words in said, words


@pytest.mark.parametrize(
    ("give", "words"),
    [
        (lambda pod: pod.spec.__setattr__("host_network", True), "hostNetwork"),
        (lambda pod: pod.spec.__setattr__("service_account_name", "admin"), "an account"),
        (lambda pod: pod.spec.__setattr__("automount_service_account_token", None), "an account"),
        (lambda pod: pod.spec.__setattr__("node_name", "n7"), "nodeName"),
        (
            lambda pod: pod.spec.volumes.append({"name": "h", "hostPath": {"path": "/etc"}}),
            "hostPath /etc",
        ),
        (
            lambda pod: pod.spec.containers[0].resources.limits.update({"nvidia.com/gpu": "2"}),
            "2 nvidia.com/gpu",
        ),
        (
            lambda pod: pod.spec.containers[0].resources.limits.update(
                {"nvidia.com/mig-1g.18gb": "2"}
            ),
            "2 nvidia.com/mig-1g.18gb",
        ),
        (
            lambda pod: pod.spec.containers[0].security_context.update({"privileged": True}),
            "rights of the machine",
        ),
        (
            lambda pod: pod.spec.containers[0].__setattr__("image", "other"),
            "another image than the pinned one",
        ),
        (
            lambda pod: pod.metadata.labels.update({"gpu-commons.dev/lease": "other"}),
            "labels of another lease",
        ),
    ],
)
def test_a_hook_that_gives_more_than_was_granted_is_refused(
    hub: KubeHub, give: Any, words: str
) -> None:
    def hook(_spawner: object, pod: Any) -> Any:
        give(pod)
        return pod

    async def story() -> None:
        spawner = hub.spawner(modify_pod_hook=hook)
        with pytest.raises(SpawnRefusal) as caught:
            await spawner.start()
        assert words in caught.value.jupyterhub_message
        assert "Tell an administrator" in caught.value.jupyterhub_message
        await spawner.run_post_stop_hook()

    hub.run(story)
    assert hub.kube.made == []


def test_a_harmless_hook_is_let_be(hub: KubeHub) -> None:
    def hook(_spawner: object, pod: Any) -> Any:
        pod.metadata.annotations["site"] = "yes"
        return pod

    assert made(hub, modify_pod_hook=hook)["metadata"]["annotations"]["site"] == "yes"


def test_a_setting_that_kubespawner_cannot_use_is_no_fault_of_the_hub(hub: KubeHub) -> None:
    async def story() -> None:
        spawner = hub.spawner(extra_pod_config={"noSuchField": 1})
        with pytest.raises(SpawnRefusal) as caught:
            await spawner.start()
        assert caught.value.status_code == 409
        assert "Tell an administrator" in caught.value.jupyterhub_message

    hub.run(story)


def test_a_governor_that_knows_no_pods_is_told_to_an_administrator(hub: KubeHub) -> None:
    hub.governor.pod_of = None

    async def story() -> None:
        with pytest.raises(SpawnRefusal, match="sets the governor's engine"):
            await hub.spawner().start()

    hub.run(story)
    assert hub.kube.made == []


def test_a_server_without_a_governor_lives_where_the_policy_says(hub: KubeHub) -> None:
    """The governor told before of what a profile without a GPU is made."""
    ask = Ask(
        attempt_id="attempt-of-nobody",
        key=ServerKey(user=UserName("x"), server=ServerName("")),
        choice=Choice(profile=ProfileName("cpu")),
    )
    labels = {"gpu-commons.dev/team": "vision"}
    alone = offer("cpu", kube=terms_of(ask, offer("cpu"), labels=labels, annotations={}))
    hub.governor.offers = [alone, offer("mig-small")]

    async def story() -> None:
        await hub.spawner()._sheet()
        with hub.governor.away():
            spawner = hub.spawner(user_options={"profile": "cpu"}, image="site/image:1")
            await spawner.start()
        assert hub.kube.pods() == ["gpu-atlas/jupyter-ada"]
        pod = hub.kube.made[0]
        assert variables(pod)["NVIDIA_VISIBLE_DEVICES"] == "void"
        assert server(pod)["image"] == IMAGE
        assert server(pod)["securityContext"]["runAsNonRoot"]
        claims = [one["persistentVolumeClaim"]["claimName"] for one in pod["spec"]["volumes"]
                  if "persistentVolumeClaim" in one]  # fmt: skip
        assert claims == ["project", "imagenet"]
        assert spawner.trace is not None
        attempt = pod["metadata"]["annotations"]["gpu-commons.dev/attempt"]
        assert attempt == spawner.trace.attempt_id
        assert "gpu-commons.dev/lease" not in pod["metadata"]["labels"]
        await spawner.stop()

    hub.run(story)
    (started,) = hub.governor.wait_for_reports(1)
    assert started.namespace == "gpu-atlas"


def test_without_a_governor_nothing_starts_of_which_the_place_is_not_known(hub: KubeHub) -> None:
    hub.governor.offers = [offer("cpu"), offer("mig-small")]

    async def story() -> None:
        await hub.spawner()._sheet()
        with hub.governor.away():
            with pytest.raises(SpawnRefusal) as refused:
                await hub.spawner(user_options={"profile": "cpu"}).start()
            form = await hub.spawner().get_options_form()
        assert refused.value.status_code == 429
        assert "tell an administrator that the governor is away" in str(
            refused.value.jupyterhub_message
        )
        assert "cpu/vision" not in form

    hub.run(story)
    assert hub.kube.made == []


def test_people_choose_on_our_form_and_kubespawners_profiles_are_gone(hub: KubeHub) -> None:
    async def story() -> None:
        spawner = hub.spawner(profile_list=[{"display_name": "Own GPU profile"}])
        form = await spawner.get_options_form()
        assert 'value="mig-small/vision"' in form
        assert "Own GPU profile" not in form
        assert spawner.options_from_form({"offer": ["cpu/vision"]}) == {
            "profile": "cpu",
            "team": "vision",
        }
        assert spawner.separates_devices()

    hub.run(story)


@pytest.mark.parametrize(
    "toleration",
    [
        Toleration(key="team", operator="Equal", value="vision"),
        Toleration(key="nvidia.com/gpu"),
    ],
)
def test_a_toleration_says_no_more_than_it_says(hub: KubeHub, toleration: Toleration) -> None:
    hub.governor.pod_of = partial(terms_of, tolerations=(toleration,))
    (told,) = made(hub)["spec"]["tolerations"]
    assert told == {k: v for k, v in toleration.model_dump().items() if v is not None}


def test_terms_name_a_resource_and_its_number_together() -> None:
    with pytest.raises(ValueError, match="go together"):
        PodTerms(namespace="a", scratch_bytes=1, resource_name="nvidia.com/gpu")
