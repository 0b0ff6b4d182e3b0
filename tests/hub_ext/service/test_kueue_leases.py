"""A lease on Kueue from the ask to its end, told against a Kueue that behaves."""

from dataclasses import replace
from datetime import datetime

import pytest

from hub_ext.errors import RefusedError
from hub_ext.kube.engine import Phase
from hub_ext.kube.reading import seen
from hub_ext.lease import GOVERNOR, Cause, LeaseState, Standing, When
from hub_ext.service.core.governor import Governor
from hub_ext.service.kueue.intents import MAKE
from hub_ext.service.queueing.tickets import START
from tests.support.governed_kueue import Cluster, told


@told
async def test_who_fits_is_answered_with_the_grant_and_has_a_workload(cluster: Cluster) -> None:
    grant = await cluster.run("sam")
    lease = await cluster.lease(grant.lease_id)
    assert (lease.state, lease.standing) == (LeaseState.running, Standing.guaranteed)
    assert cluster.kueue.holding() == {grant.lease_id}
    assert all(device.id.startswith("slot-") for device in grant.devices)
    assert grant.pod is not None
    assert (grant.pod.namespace, grant.pod.resource_name) == ("gpu-team-speech", "nvidia.com/gpu")
    assert cluster.kueue.body(grant.lease_id)["metadata"]["namespace"] == "gpu-team-speech"
    await cluster.until(lambda: cluster.number(grant.lease_id) == 2000, "it stands above who waits")
    await cluster.until(lambda: cluster.stands(grant.lease_id, "PodsReady"), "it is said to be up")
    await cluster.end(grant)
    await cluster.until(lambda: not cluster.there(), "the Workload is deleted with the proof")
    await cluster.until(lambda: not cluster.site.governor.intents(), "nothing is left to do")
    assert (await cluster.lease(grant.lease_id)).cause is Cause.user


@told
async def test_a_server_without_a_gpu_needs_no_kueue(cluster: Cluster) -> None:
    cluster.kueue.faults.status = 500
    grant = await cluster.run("sam", "cpu")
    assert (await cluster.lease(grant.lease_id)).state is LeaseState.running
    assert cluster.there() == set()


@told
async def test_who_does_not_wait_is_refused_when_it_does_not_fit(cluster: Cluster) -> None:
    await cluster.run("sam", "two")
    await cluster.run("vera")
    with pytest.raises(RefusedError) as refused:
        await cluster.run("sue")
    assert refused.value.code == "would-queue"
    assert len(cluster.there()) == 2


@told
async def test_a_request_waits_on_kueue_and_is_started_when_its_turn_comes(
    cluster: Cluster,
) -> None:
    both = await cluster.run("sam", "two")
    one = await cluster.run("vera")
    lease = await cluster.waits("viktor")
    assert lease.state is LeaseState.queued
    await cluster.until(lambda: lease.id in cluster.there(), "it would borrow, and nobody owns it")
    assert cluster.kueue.holding() == {both.lease_id, one.lease_id}
    await cluster.end(both)
    await cluster.until(lambda: cluster.state(lease.id) is LeaseState.held, "a device is held")
    held = await cluster.lease(lease.id)
    assert held.standing is Standing.borrowed
    await cluster.until(lambda: cluster.intended(lease.id) == [START], "and it is to be started")
    await cluster.until(lambda: cluster.number(lease.id) == 2000, "nobody evicts it before it runs")
    grant = await cluster.run("viktor")
    assert grant.lease_id == lease.id
    assert cluster.kueue.holding() == {one.lease_id, lease.id}


@told
async def test_who_only_wants_a_device_held_is_not_started(cluster: Cluster) -> None:
    both = await cluster.run("sam", "two")
    await cluster.run("vera")
    lease = await cluster.waits("viktor", when=When.hold)
    await cluster.end(both)
    await cluster.until(lambda: cluster.state(lease.id) is LeaseState.held)
    await cluster.until(lambda: cluster.intended(lease.id) == [])
    await cluster.still(lambda: START not in cluster.intended(lease.id))


@told
async def test_a_request_that_is_left_has_no_workload_any_more(cluster: Cluster) -> None:
    await cluster.run("sam", "two")
    await cluster.run("vera")
    lease = await cluster.waits("viktor")
    await cluster.until(lambda: lease.id in cluster.there())
    await cluster.cancel(lease)
    await cluster.until(lambda: lease.id not in cluster.there(), "its Workload is deleted at once")


@told
async def test_nobody_borrows_past_an_owner_who_waits(cluster: Cluster) -> None:
    """Those who would borrow are taken out while an owner waits, and keep their place."""
    await cluster.run("vera")
    borrowed = await cluster.run("viktor")
    await cluster.run("sam")
    waits = await cluster.waits("vera", server="b")
    await cluster.until(lambda: waits.id in cluster.there(), "nobody owns what it would borrow")
    owner = await cluster.waits("sue")
    await cluster.until(lambda: owner.id in cluster.there(), "an owner always asks")
    await cluster.until(lambda: cluster.is_out(waits.id), "who would borrow is taken out")
    late = await cluster.waits("viktor", server="b")
    await cluster.still(lambda: late.id not in cluster.there())
    await cluster.end(borrowed)
    await cluster.until(lambda: cluster.state(owner.id) is LeaseState.held, "the owner is served")
    await cluster.until(lambda: not cluster.is_out(waits.id), "then they may ask again")
    await cluster.until(lambda: late.id in cluster.there())
    assert (await cluster.lease(waits.id)).state is LeaseState.queued


@told
async def test_who_is_admitted_while_it_is_being_taken_out_has_its_quota(
    cluster: Cluster,
) -> None:
    await cluster.run("vera")
    borrowed = await cluster.run("viktor")
    await cluster.run("sam")
    waits = await cluster.waits("vera", server="b")
    await cluster.until(lambda: waits.id in cluster.there())
    owner = await cluster.waits("sue")
    await cluster.until(lambda: cluster.is_out(waits.id), "an owner comes first")

    def admitted_first(core: Governor, now: datetime) -> None:
        core.cancel(owner.id, actor=GOVERNOR, now=now)
        cluster.site.stop(borrowed)
        news = replace(seen(cluster.kueue.body(waits.id)), phase=Phase.admitted, holds=True)
        core.kueue_saw(news, now=now)
        core.kueue_acts(now=now)
        core.serve_queue(now=now)
        assert cluster.state(waits.id) is LeaseState.held

    await cluster.core.run(admitted_first)


@told
async def test_a_governor_that_ends_in_the_middle_goes_on_from_the_record(
    cluster: Cluster,
) -> None:
    await cluster.run("sam", "two")
    await cluster.run("vera")
    cluster.kueue.faults.webhook_away = True
    lease = await cluster.waits("viktor")
    await cluster.until(lambda: MAKE in cluster.intended(lease.id), "the intent is on record")
    await cluster.restart()
    assert lease.id not in cluster.there()
    cluster.kueue.faults.webhook_away = False
    await cluster.until(lambda: lease.id in cluster.there(), "it is made after the restart")
    await cluster.until(lambda: cluster.intended(lease.id) == [], "and that was seen")


@told
async def test_an_answer_that_was_lost_makes_no_second_workload(cluster: Cluster) -> None:
    cluster.kueue.faults.loses_answer = True
    grant = await cluster.run("sam")
    assert cluster.there() == {grant.lease_id}
    await cluster.until(lambda: cluster.intended(grant.lease_id) == [])


@told
async def test_a_restart_while_servers_run_adopts_their_workloads(cluster: Cluster) -> None:
    grant = await cluster.run("sam")
    uid = cluster.kueue.body(grant.lease_id)["metadata"]["uid"]
    await cluster.restart()
    await cluster.still(lambda: cluster.state(grant.lease_id) is LeaseState.running)
    assert cluster.kueue.body(grant.lease_id)["metadata"]["uid"] == uid
    await cluster.stop()
    await cluster.core.run(lambda _core, _now: cluster.site.stop(grant))
    assert cluster.there() == {grant.lease_id}
    await cluster.restart(running=False)
    await cluster.until(lambda: not cluster.there(), "what was intended before is done after")
