"""Pods in trouble while they start: each ends soon, in words, is taken away, and is reported."""

import asyncio
import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from hub_ext.lease import Liveness, Report
from spawner.refusal import SpawnRefusal
from tests.spawner.kube.conftest import NAMESPACE, KubeHub, terms_of
from tests.support.fake_kube_api import FakeKube, comes_up, stays_pending

Json = dict[str, Any]
NO_ROOM = (
    "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient "
    "nvidia.com/mig-1g.18gb. no new claims to deallocate, preemption: 0/3 nodes are available: "
    "3 No preemption victims found for incoming pod."
)
QUOTA = (
    'pods "jupyter-ada" is forbidden: exceeded quota: fence, requested: '
    "requests.nvidia.com/mig-1g.18gb=1, used: requests.nvidia.com/mig-1g.18gb=2, limited: "
    "requests.nvidia.com/mig-1g.18gb=2"
)


async def refused(hub: KubeHub, **changes: Any) -> tuple[SpawnRefusal, Any]:
    """Start, expect a refusal, and do then what the hub does."""
    spawner = hub.spawner(**changes)
    with pytest.raises(SpawnRefusal) as caught:
        await spawner.start()
    if await spawner.poll() is None:
        await spawner.stop()
    await spawner.run_post_stop_hook()
    spawner.clear_state()
    return caught.value, spawner


def told(hub: KubeHub, script: Any, **changes: Any) -> tuple[str, Report]:
    """Let a start meet a script; what the person read, and what the governor heard."""
    seen: list[str] = []

    async def story() -> None:
        refusal, spawner = await refused(hub, **changes)
        assert refusal.status_code < 500
        assert spawner.former is None
        seen.append(refusal.jupyterhub_message)

    hub.kube.script = script
    hub.run(story)
    (ended,) = [one for one in hub.governor.wait_for_reports(1) if one.kind == "ended"]
    assert hub.kube.pods() == []
    return seen[0], ended


def doing(act: Callable[[FakeKube, Json], None]) -> Any:
    """Make a script of one act."""

    async def script(kube: FakeKube, pod: Json) -> None:
        act(kube, pod)

    return script


def test_no_machine_has_room(hub: KubeHub) -> None:
    words, ended = told(hub, doing(lambda kube, pod: kube.unschedulable(pod, NO_ROOM)))
    assert "2 machines have too little nvidia.com/mig-1g.18gb left" in words
    assert "1 machine has a taint that the policy does not tolerate" in words
    assert "preemption" not in words
    assert (ended.liveness, ended.refused, ended.asked) == (Liveness.gone, False, False)
    assert ended.reason is not None
    assert (ended.reason.code, ended.reason.message) == ("unschedulable", words)


def test_a_scheduling_gate_is_named(hub: KubeHub) -> None:
    def gated(kube: FakeKube, pod: Json) -> None:
        pod["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
        kube.unschedulable(pod, "Scheduling is blocked", reason="SchedulingGated")

    words, _ = told(hub, doing(gated))
    assert "kueue.x-k8s.io/admission" in words
    assert "`gpu-commons doctor`" in words


def test_a_scheduler_that_says_nothing_is_not_waited_for_long(hub: KubeHub) -> None:
    words, _ = told(hub, stays_pending)
    assert "found no machine for this server within 3 s" in words


def test_a_cluster_that_starts_a_machine_is_given_longer(hub: KubeHub) -> None:
    async def scales_up(kube: FakeKube, pod: Json) -> None:
        kube.unschedulable(pod, NO_ROOM)
        kube.event(pod, "TriggeredScaleUp", "pod triggered scale-up")
        await asyncio.sleep(4)
        await comes_up(kube, pod)

    async def story() -> None:
        spawner = hub.spawner()
        assert await spawner.start()
        await spawner.stop()

    hub.kube.script = scales_up
    hub.run(story)


@pytest.mark.parametrize(
    ("said", "words", "at_once"),
    [
        ("manifest unknown: not found", "the registry has no such image", True),
        ("401 Unauthorized", "does not give it to this project", True),
        ("dial tcp: lookup registry.example: no such host", "does not answer", False),
        ("", "the machine does not say why", False),
    ],
)
def test_an_image_that_does_not_come(hub: KubeHub, said: str, words: str, at_once: bool) -> None:
    def pulls(kube: FakeKube, pod: Json) -> None:
        kube.scheduled(pod)
        kube.waits(pod, "ImagePullBackOff", said)

    began = time.monotonic()
    shown, ended = told(hub, doing(pulls), trouble_timeout=4.0, pull_timeout=60.0)
    assert words in shown
    assert "registry.example/vision/atlas@sha256:aaaa" in shown
    assert at_once == (time.monotonic() - began < 4.0) or at_once is False
    assert ended.reason is not None
    assert ended.reason.code == "image-pull"


def test_an_image_that_takes_too_long_is_kept_for_the_next_try(hub: KubeHub) -> None:
    words, _ = told(hub, doing(lambda kube, pod: kube.scheduled(pod)))
    assert "what was fetched so far is kept" in words


def test_an_image_that_runs_as_root_is_told_to_whoever_keeps_it(hub: KubeHub) -> None:
    def rooted(kube: FakeKube, pod: Json) -> None:
        kube.scheduled(pod)
        message = "container has runAsNonRoot and image will run as root"
        kube.waits(pod, "CreateContainerConfigError", message)

    words, _ = told(hub, doing(rooted))
    assert "a numeric USER that is not 0" in words


def test_a_volume_that_hangs_on_another_machine(hub: KubeHub) -> None:
    def hangs(kube: FakeKube, pod: Json) -> None:
        kube.scheduled(pod)
        kube.event(pod, "FailedAttachVolume", "Multi-Attach error for volume pvc-1", "Warning")

    words, _ = told(hub, doing(hangs))
    assert "still mounted on another machine" in words


def test_a_pod_that_somebody_deletes_meanwhile(hub: KubeHub) -> None:
    async def deleted(kube: FakeKube, pod: Json) -> None:
        kube.scheduled(pod)
        await asyncio.sleep(1.5)
        kube.removes(pod)

    words, ended = told(hub, deleted, pull_timeout=60.0)
    assert "Somebody outside GPU Commons deleted your server" in words
    assert ended.liveness is Liveness.gone


def test_a_pod_that_is_put_out_meanwhile_does_not_stay(hub: KubeHub) -> None:
    def put_out(kube: FakeKube, pod: Json) -> None:
        kube.scheduled(pod)
        kube.ends(pod, "Failed", reason="Evicted", message="The node was low on resource: memory.")

    words, ended = told(hub, doing(put_out))
    assert "too little memory left for all" in words
    assert ended.reason is not None
    assert ended.reason.code == "evicted"


def test_a_machine_without_the_gpu_that_it_counts(hub: KubeHub) -> None:
    def unexpected(kube: FakeKube, pod: Json) -> None:
        kube.scheduled(pod)
        message = (
            "Allocate failed due to requested number of devices unavailable for "
            "nvidia.com/mig-1g.18gb. Requested: 1, Available: 0, which is unexpected"
        )
        kube.ends(pod, "Failed", reason="UnexpectedAdmissionError", message=message)

    words, _ = told(hub, doing(unexpected))
    assert "its device plugin and its GPUs differ" in words


def test_a_server_that_needs_more_memory_than_it_has_to_begin_with(hub: KubeHub) -> None:
    def oom(kube: FakeKube, pod: Json) -> None:
        kube.scheduled(pod)
        kube.dies(pod, 137, "OOMKilled", restarts=2)

    words, ended = told(hub, doing(oom))
    assert "take a profile with more memory" in words
    assert ended.exit_code in (None, 137)


def test_a_program_that_crashes_each_time(hub: KubeHub) -> None:
    def crashes(kube: FakeKube, pod: Json) -> None:
        kube.scheduled(pod)
        kube.dies(pod, 3, restarts=3)

    words, _ = told(hub, doing(crashes), boot_timeout=60.0)
    assert "ends with code 3 each time" in words


def test_an_image_without_the_program(hub: KubeHub) -> None:
    def missing(kube: FakeKube, pod: Json) -> None:
        kube.scheduled(pod)
        kube.dies(pod, 128, "StartError", restarts=1)

    words, _ = told(hub, doing(missing), boot_timeout=60.0)
    assert "no program `jupyterhub-singleuser`" in words


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        ((403, QUOTA), "namespace-quota", "used requests.nvidia.com/mig-1g.18gb=2 of"),
        ((403, 'violates PodSecurity "restricted:latest": x'), "pod-security", "more rights"),
        (
            (403, 'User "hub" cannot create resource "pods" in API group ""'),
            "hub-may-not",
            "`gpu-commons render --apply`",
        ),
        ((403, "ValidatingAdmissionPolicy 'p' denied request: no"), "cluster-refused", "no"),
        ((422, "spec.x: Invalid value"), "pod-invalid", "spec.x: Invalid value"),
        ((500, 'failed calling webhook "mpod.kb.io"'), "cluster-away", "failed calling webhook"),
        ((401, "Unauthorized"), "hub-not-known", "does not know the hub"),
    ],
)
def test_a_refusal_of_the_cluster_is_one_sentence(
    hub: KubeHub, answer: tuple[int, str], code: str, words: str
) -> None:
    hub.kube.refuse = answer
    shown, ended = told(hub, stays_pending)
    assert words in shown
    assert "secret-header" not in shown
    assert '"kind"' not in shown
    assert ended.liveness is Liveness.gone


def test_an_api_that_nobody_answers_for_is_no_fault_of_the_hub(hub: KubeHub) -> None:
    async def story() -> None:
        spawner = hub.spawner()
        spawner.api.api_client.configuration.host = "http://127.0.0.1:9"
        for _ in range(2):
            with pytest.raises(SpawnRefusal) as caught:
                await spawner.start()
            assert caught.value.status_code == 429
            assert "The cluster does not answer as it should" in caught.value.jupyterhub_message
        # A watch that never began is begun anew once the API is back.
        spawner.api.api_client.configuration.host = hub.kube.url
        await spawner.run_post_stop_hook()
        again = hub.spawner()
        assert await again.start()
        await again.stop()

    hub.run(story)


def test_a_namespace_that_is_not_there(hub: KubeHub) -> None:
    hub.kube.namespaces.clear()
    hub.governor.pod_of = partial(terms_of, volume=None)
    words, _ = told(hub, stays_pending)
    assert "The namespace gpu-atlas of your project is not in the cluster" in words


def test_no_room_for_the_volume_is_told_as_such(hub: KubeHub) -> None:
    hub.kube.refuse_claims = (403, QUOTA.replace("nvidia.com/mig-1g.18gb", "storage"))
    words, _ = told(hub, stays_pending)
    assert "has a ResourceQuota fence that leaves no room" in words
    assert hub.kube.made == []


def test_a_pod_of_the_same_name_is_ended_and_the_start_goes_on(hub: KubeHub) -> None:
    old = {
        "metadata": {"name": "jupyter-ada", "namespace": NAMESPACE, "uid": "old"},
        "spec": {"containers": [{"name": "notebook", "image": "old"}]},
        "status": {"phase": "Pending"},
    }

    async def story() -> None:
        hub.kube.do(lambda: hub.kube.changed("pods", old, "ADDED"))
        hub.kube.do(lambda: hub.kube.scheduled(old))
        hub.kube.do(lambda: hub.kube.runs(old, "127.0.0.2"))
        spawner = hub.spawner(k8s_api_request_retry_timeout=10)
        assert await spawner.start() == "http://127.0.0.1:8888"
        assert hub.kube.pod()["metadata"]["uid"] != "old"
        assert spawner.trace is not None
        assert not spawner.trace.asked
        await spawner.stop()

    hub.run(story)


def test_a_lost_answer_to_the_creation_makes_no_second_pod(hub: KubeHub) -> None:
    lost: list[int] = []

    async def story() -> None:
        spawner = hub.spawner(k8s_api_request_retry_timeout=10)
        real = spawner.api.create_namespaced_pod

        async def times_out(*words: Any, **more: Any) -> Any:
            answer = await real(*words, **more)
            if not lost:
                lost.append(1)
                raise TimeoutError
            return answer

        spawner.api.create_namespaced_pod = times_out
        assert await spawner.start()
        assert len(hub.kube.made) == 1
        await spawner.stop()

    hub.run(story)
    assert hub.kube.deletes[0]["name"] == "jupyter-ada"
    assert len(hub.kube.deletes) == 1


def test_a_cancelled_start_leaves_no_pod(hub: KubeHub) -> None:
    async def story() -> None:
        spawner = hub.spawner()
        task = asyncio.ensure_future(spawner.start())
        await asyncio.to_thread(hub.kube.made_one.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        if await spawner.poll() is None:
            await spawner.stop()
        await spawner.run_post_stop_hook()

    hub.kube.script = stays_pending
    hub.run(story)
    assert hub.kube.pods() == []
    assert hub.governor.wait_for_reports(2)[-1].liveness is Liveness.gone


def test_the_page_tells_it_in_words_and_never_twice(hub: KubeHub) -> None:
    pages: list[list[Json]] = []

    async def slow(kube: FakeKube, pod: Json) -> None:
        kube.unschedulable(pod, NO_ROOM)
        await asyncio.sleep(1.5)
        await comes_up(kube, pod)

    async def story() -> None:
        spawner = hub.spawner()
        start = asyncio.ensure_future(spawner.start())
        await asyncio.sleep(0.3)
        pages.append([event async for event in spawner.progress()])
        await start
        await spawner.stop()

    hub.kube.script = slow
    hub.run(story)
    messages = [one["message"] for one in pages[0]]
    assert messages[0].startswith("Granted: Profile mig-small")
    assert any("finds no machine for this server" in one for one in messages)
    assert messages[-1] == "The server's program starts."
    assert len(messages) == len(set(messages))
    assert not any("FailedScheduling" in json.dumps(one) for one in pages[0])
