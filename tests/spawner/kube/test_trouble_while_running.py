"""Pods in trouble while they run, stop, or are polled: what the hub hears, what stays, what not."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from hub_ext.lease import Liveness, Report
from spawner.kube import GovernedKubeSpawner
from spawner.refusal import SpawnRefusal
from tests.spawner.kube.conftest import NAMESPACE, KubeHub
from tests.support.fake_kube_api import FakeKube

Json = dict[str, Any]
Act = Callable[[FakeKube, Json], None]


async def until_poll(spawner: GovernedKubeSpawner, seconds: float = 8) -> int | None:
    """Poll as the hub does, until an end is seen."""
    for _ in range(int(seconds / 0.1)):
        code = await spawner.poll()
        if code is not None:
            return code
        await asyncio.sleep(0.1)
    return None


async def hub_stops(spawner: GovernedKubeSpawner) -> None:
    """Do what the hub does with a server that it stops, or whose end it has seen."""
    if await spawner.poll() is None:
        await spawner.stop()
    await spawner.run_post_stop_hook()
    spawner.clear_state()


def after(hub: KubeHub, act: Act, **changes: Any) -> tuple[int | None, Report]:
    """Let something happen to a running pod: what the hub's poll says, what the governor hears."""
    codes: list[int | None] = []

    async def story() -> None:
        spawner = hub.spawner(**changes)
        await spawner.start()
        assert await spawner.poll() is None
        pod = hub.kube.pod()
        hub.kube.do(lambda: act(hub.kube, pod))
        codes.append(await until_poll(spawner))
        await hub_stops(spawner)

    hub.run(story)
    return codes[0], hub.governor.wait_for_reports(2)[-1]


def reason(told: Report) -> str:
    return "" if told.reason is None else told.reason.code


def test_a_pod_that_somebody_deletes(hub: KubeHub) -> None:
    code, told = after(hub, lambda kube, pod: kube.removes(pod))
    assert code == 1
    assert (told.liveness, told.asked, reason(told)) == (Liveness.gone, False, "deleted")


def test_a_pod_that_is_put_out_without_a_word_of_its_containers(hub: KubeHub) -> None:
    message = "Pod ephemeral local storage usage exceeds the total limit of containers 20Gi."
    code, told = after(
        hub, lambda kube, pod: kube.ends(pod, "Failed", reason="Evicted", message=message)
    )
    assert (code, told.liveness, reason(told)) == (1, Liveness.gone, "evicted")
    assert told.reason is not None
    assert "more local disk than its profile allows" in told.reason.message
    assert hub.kube.pods() == []


def test_a_pod_that_the_cluster_takes_for_another(hub: KubeHub) -> None:
    def taken(kube: FakeKube, pod: Json) -> None:
        kube.disrupted(pod, "PreemptionByScheduler", "preempting to accommodate a pod")
        kube.ends(pod, "Failed", code=137)

    code, told = after(hub, taken)
    assert (code, told.liveness, reason(told)) == (137, Liveness.gone, "taken-by-cluster")
    assert told.exit_code == 137
    assert hub.kube.pods() == []


def test_a_machine_that_is_shut_down(hub: KubeHub) -> None:
    def drained(kube: FakeKube, pod: Json) -> None:
        kube.disrupted(pod, "TerminationByKubelet", "node shutdown")
        kube.ends(pod, "Failed", code=143, reason="Terminated")

    code, told = after(hub, drained)
    assert (code, reason(told)) == (143, "drained")


def test_a_server_that_shuts_itself_down(hub: KubeHub) -> None:
    code, told = after(hub, lambda kube, pod: kube.ends(pod, "Succeeded", code=0, why="Completed"))
    assert (code, told.liveness, told.exit_code) == (0, Liveness.gone, 0)
    assert hub.kube.pods() == []


def test_one_that_ran_out_of_memory_once_and_is_back_goes_on(hub: KubeHub) -> None:
    async def story() -> None:
        spawner = hub.spawner()
        await spawner.start()
        pod = hub.kube.pod()
        hub.kube.do(lambda: hub.kube.dies(pod, 137, "OOMKilled", restarts=1))
        hub.kube.do(lambda: hub.kube.runs(pod))
        await asyncio.sleep(0.3)
        assert await spawner.poll() is None
        await hub_stops(spawner)

    hub.run(story)


def test_one_that_runs_out_of_memory_again_and_again_is_ended(hub: KubeHub) -> None:
    code, told = after(hub, lambda kube, pod: kube.dies(pod, 137, "OOMKilled", restarts=2))
    assert (code, told.liveness, reason(told)) == (137, Liveness.gone, "out-of-memory")
    assert hub.kube.pods() == []


def test_one_that_crashes_is_given_three_tries(hub: KubeHub) -> None:
    async def story() -> None:
        spawner = hub.spawner()
        await spawner.start()
        pod = hub.kube.pod()
        hub.kube.do(lambda: hub.kube.dies(pod, 9, restarts=2))
        await asyncio.sleep(0.3)
        assert await spawner.poll() is None
        hub.kube.do(lambda: hub.kube.dies(pod, 9, restarts=3))
        assert await until_poll(spawner) == 9
        await hub_stops(spawner)

    hub.run(story)
    assert reason(hub.governor.wait_for_reports(2)[-1]) == "crashing"
    assert hub.kube.pods() == []


def test_a_lost_machine_ends_the_server_but_not_the_lease(hub: KubeHub) -> None:
    hub.kube.keeps = True

    async def story() -> None:
        spawner = hub.spawner()
        await spawner.start()
        pod = hub.kube.pod()
        hub.kube.do(lambda: hub.kube.loses_machine(pod))
        assert await until_poll(spawner) == 1
        await hub_stops(spawner)
        assert spawner.former is not None
        told = hub.governor.wait_for_reports(2)[-1]
        assert (told.liveness, reason(told)) == (Liveness.unknown, "machine-lost")
        assert hub.governor.grants != {}
        # The machine is back, or an administrator removes it: only now the GPU is free.
        hub.kube.do(lambda: hub.kube.removes(pod))
        await asyncio.to_thread(hub.governor.wait_for_reports, 3)

    hub.run(story)
    assert hub.governor.wait_for_reports(3)[-1].liveness is Liveness.gone
    assert hub.governor.grants == {}


def test_a_machine_that_is_silent_for_a_moment_is_not_taken_for_lost(hub: KubeHub) -> None:
    async def story() -> None:
        spawner = hub.spawner()
        await spawner.start()
        pod = hub.kube.pod()
        hub.kube.do(lambda: hub.kube._condition(pod, "Ready", "False", reason="NodeStatusUnknown"))
        hub.kube.do(lambda: hub.kube.ends(pod, "Unknown"))
        await asyncio.sleep(0.3)
        assert await spawner.poll() is None
        assert await spawner.liveness() is Liveness.unknown
        hub.kube.do(lambda: hub.kube.runs(pod))
        await asyncio.sleep(0.3)
        assert await spawner.poll() is None
        assert await spawner.liveness() is Liveness.alive
        await hub_stops(spawner)

    hub.run(story)


def test_a_pod_that_does_not_end_is_not_waited_for_and_not_forgotten(hub: KubeHub) -> None:
    async def story() -> None:
        spawner = hub.spawner()
        await spawner.start()
        hub.kube.keeps = True
        pod = hub.kube.pod()
        await asyncio.wait_for(hub_stops(spawner), 10)
        told = hub.governor.wait_for_reports(2)[-1]
        assert (told.liveness, told.asked) == (Liveness.alive, True)
        # The next start of this server is refused while the pod lives.
        state = spawner.get_state()
        again = hub.spawner()
        again.load_state(state)
        with pytest.raises(SpawnRefusal, match="still"):
            await again.start()
        # The hub is not kept waiting for the former pod before it shows the refusal.
        assert await again.poll() is not None
        assert len(hub.kube.made) == 1
        hub.kube.do(lambda: hub.kube.removes(pod))
        await asyncio.to_thread(hub.governor.wait_for_reports, 3)
        hub.kube.keeps = False
        later = hub.spawner()
        later.load_state(state)
        assert await later.start()
        await hub_stops(later)

    hub.run(story)
    assert len(hub.kube.made) == 2


def test_who_follows_a_pod_to_its_end_leaves_the_next_one_of_its_name_alone(
    hub: KubeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        first, looked, started = hub.spawner(), asyncio.Event(), asyncio.Event()
        end_pod = first.end_pod

        async def late(*asked: Any) -> bool:
            looked.set()
            await started.wait()
            return await end_pod(*asked)

        await first.start()
        hub.kube.keeps, pod = True, hub.kube.pod()
        await hub_stops(first)
        monkeypatch.setattr(first, "end_pod", late)
        await asyncio.wait_for(looked.wait(), 10)
        # Its machine answers again, and the person starts anew.
        state, asked = first.get_state(), len(hub.kube.deletes)
        hub.kube.do(lambda: hub.kube.removes(pod))
        hub.kube.keeps = False
        later = hub.spawner()
        later.load_state(state)
        await later.start()
        following = list(GovernedKubeSpawner._followed.values())
        started.set()
        await asyncio.gather(*following)
        assert len(following) == 1
        assert len(hub.kube.deletes) == asked
        assert await later.poll() is None
        await hub_stops(later)

    hub.run(story)


def test_a_pod_that_came_between_look_and_deletion_stays(hub: KubeHub) -> None:
    async def story() -> None:
        spawner = hub.spawner()
        await spawner.start()
        now = hub.kube.pod()
        before = {**now, "metadata": {**now["metadata"], "uid": "before"}}
        assert not await spawner._delete(spawner.place, before, 1)
        assert await spawner.end_pod(spawner.place, "an-attempt-before", 1)
        assert await spawner.poll() is None
        assert "deletionTimestamp" not in hub.kube.pod()["metadata"]
        await hub_stops(spawner)
        assert hub.kube.pods() == []

    hub.run(story)


def test_a_pod_is_never_deleted_without_grace(hub: KubeHub) -> None:
    async def story() -> None:
        spawner = hub.spawner()
        await spawner.start()
        await spawner.stop(now=True)

    hub.run(story)
    assert [one["grace_s"] for one in hub.kube.deletes] == [1]


def test_an_api_that_is_away_proves_nothing(hub: KubeHub) -> None:
    async def story() -> None:
        spawner = hub.spawner()
        await spawner.start()
        state = spawner.get_state()
        hub.kube.away = True
        await GovernedKubeSpawner._stop_all_reflectors()
        assert await spawner.poll() is None
        assert await spawner.liveness() is Liveness.unknown
        # A hub that starts now must not forget the server.
        restarted = hub.spawner()
        restarted.load_state(state)
        assert await restarted.poll() is None
        hub.kube.away = False
        assert await restarted.poll() is None
        assert await restarted.liveness() is Liveness.alive
        await hub_stops(restarted)
        assert hub.kube.pods() == []

    hub.run(story)


def test_a_watch_that_gave_up_is_begun_again(hub: KubeHub) -> None:
    async def story() -> None:
        spawner = hub.spawner()
        await spawner.start()
        spawner.pod_reflector.watch_task.cancel()
        await asyncio.sleep(0.1)
        pod = hub.kube.pod()
        hub.kube.do(lambda: hub.kube.ends(pod, "Failed", code=5))
        assert await spawner.poll() == 5
        await hub_stops(spawner)

    hub.run(story)


def test_a_hub_that_died_while_a_server_started_finds_its_pod_again(hub: KubeHub) -> None:
    async def story() -> None:
        spawner = hub.spawner(scheduling_timeout=30.0)
        start = asyncio.ensure_future(spawner.start())
        await asyncio.to_thread(hub.kube.made_one.wait, 10)
        kept = dict(spawner.orm_spawner.state)
        pod = hub.kube.pod()
        start.cancel()
        await asyncio.gather(start, return_exceptions=True)
        # A new hub knows only what the database kept.
        hub.kube.do(lambda: hub.kube.scheduled(pod))
        hub.kube.do(lambda: hub.kube.runs(pod))
        again = hub.spawner()
        again.load_state(kept)
        again.clear_state()
        assert again.former is not None
        hub.kube.script = runs
        assert await again.start()
        assert hub.kube.pods() == [f"{NAMESPACE}/jupyter-ada"]
        assert hub.kube.pod()["metadata"]["uid"] != pod["metadata"]["uid"]
        await hub_stops(again)

    async def waits(kube: FakeKube, pod: Json) -> None:
        pass

    async def runs(kube: FakeKube, pod: Json) -> None:
        kube.scheduled(pod)
        kube.runs(pod)

    hub.kube.script = waits
    hub.run(story)


def test_a_hub_that_restarts_keeps_its_servers(hub: KubeHub) -> None:
    async def story() -> None:
        spawner = hub.spawner()
        await spawner.start()
        again = hub.spawner()
        again.load_state(spawner.get_state())
        assert (again.namespace, again.pod_name) == (NAMESPACE, "jupyter-ada")
        assert await again.poll() is None
        await hub_stops(again)

    hub.run(story)
    assert hub.governor.wait_for_reports(2)[-1].liveness is Liveness.gone
