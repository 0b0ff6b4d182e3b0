"""Kueue or the API server is away: nothing new starts, all that runs goes on, words say so."""

import asyncio
from datetime import timedelta

import pytest

from hub_ext.errors import RefusedError
from hub_ext.lease import LeaseState
from hub_ext.service.core.kueue import AWAY, BACK
from tests.support.governed_kueue import Cluster, told


@told
async def test_without_kueue_a_start_is_refused_in_words_and_works_again_by_itself(
    cluster: Cluster,
) -> None:
    running = await cluster.run("sam")
    cluster.kueue.faults.webhook_away = True
    with pytest.raises(RefusedError) as refused:
        await cluster.run("sue")
    assert (refused.value.code, refused.value.status) == ("kueue-away", 429)
    assert "Servers that run go on" in refused.value.message
    assert (await cluster.lease(running.lease_id)).state is LeaseState.running
    health = await cluster.core.run(lambda core, now: core.health(now=now))
    assert health.status == "degraded"
    assert "kueue" in [one.code for one in health.problems]
    assert await cluster.faults() != ()
    cluster.kueue.faults.webhook_away = False
    await cluster.later(11)
    await cluster.run("sue")
    assert len(await cluster.events(None, AWAY)) == len(await cluster.events(None, BACK)) == 1
    health = await cluster.core.run(lambda core, now: core.health(now=now))
    assert "kueue" not in [one.code for one in health.problems]


@told
async def test_who_wants_to_wait_waits_with_the_reason_and_starts_when_kueue_is_back(
    cluster: Cluster,
) -> None:
    cluster.kueue.faults.webhook_away = True
    lease = await cluster.waits("sam")
    assert lease.state is LeaseState.queued
    cluster.kueue.faults.webhook_away = False
    await cluster.until(lambda: cluster.state(lease.id) is LeaseState.held, "without any hand")


@told
async def test_without_the_api_servers_run_on_and_are_charged(cluster: Cluster) -> None:
    grant = await cluster.run("sam")
    cluster.kueue.faults.status = 503
    cluster.kueue.shelf.drop()
    await cluster.until(cluster.away, "it is noticed")
    with pytest.raises(RefusedError) as refused:
        await cluster.run("sue")
    assert refused.value.code == "kueue-away"
    await cluster.later(3600)
    await cluster.end(grant)
    lease = await cluster.lease(grant.lease_id)
    assert lease.closed_at is not None
    assert lease.assigned_at is not None
    assert lease.closed_at - lease.assigned_at == timedelta(hours=1)
    postings = await cluster.postings(grant.lease_id)
    assert sum(one.amount_micro or 0 for one in postings) == 3_600_000
    cluster.kueue.faults.status = 0
    await cluster.until(lambda: not cluster.there(), "what is over is deleted when it is back")
    await cluster.later(11)
    await cluster.until(lambda: not cluster.away(), "and all is listed again")
    await cluster.run("sue")


@told
async def test_an_owner_of_a_held_device_cannot_start_while_the_api_is_away(
    cluster: Cluster,
) -> None:
    both = await cluster.run("sam", "two")
    await cluster.run("vera")
    lease = await cluster.waits("viktor")
    await cluster.end(both)
    await cluster.until(lambda: cluster.state(lease.id) is LeaseState.held)
    cluster.kueue.faults.status = 503
    cluster.kueue.shelf.drop()
    await cluster.until(cluster.away)
    with pytest.raises(RefusedError) as refused:
        await cluster.run("viktor")
    assert refused.value.code == "held"
    assert "does not answer" in refused.value.message
    assert (await cluster.lease(lease.id)).state is LeaseState.held
    cluster.kueue.faults.status = 0
    await cluster.until(lambda: not cluster.away(), "it is asked whether it is back")
    assert (await cluster.run("viktor")).lease_id == lease.id


@told
async def test_a_webhook_that_answers_again_is_noticed_though_nothing_is_to_be_done(
    cluster: Cluster,
) -> None:
    await cluster.run("vera")
    await cluster.until(lambda: cluster.number("l-0001") == 2000)
    cluster.kueue.faults.webhook_away = True
    with pytest.raises(RefusedError):
        await cluster.run("sam")
    cluster.kueue.faults.webhook_away = False
    await cluster.until(lambda: not cluster.away())


@told
async def test_a_workload_that_may_not_be_deleted_after_its_lease_is_told_to_administrators(
    cluster: Cluster,
) -> None:
    grant = await cluster.run("sam")
    await cluster.until(lambda: cluster.stands(grant.lease_id, "PodsReady"))
    cluster.kueue.faults.status = 403
    await cluster.end(grant)
    await cluster.until(lambda: len(cluster.wrong()) > 0, "it is refused")
    await cluster.later(60)
    (words,) = await cluster.faults()
    assert f"Workload of lease {grant.lease_id}, which is over, is not deleted" in words
    health = await cluster.core.run(lambda core, now: core.health(now=now))
    assert "kueue" in [one.code for one in health.problems]
    assert grant.lease_id in cluster.there()


@told
async def test_a_slow_kueue_leaves_the_asker_with_an_answer_in_time(cluster: Cluster) -> None:
    cluster.kueue.faults.slow_s = 5
    began = asyncio.get_running_loop().time()
    with pytest.raises(RefusedError) as refused:
        await cluster.ask(cluster.site.asking("sam"))
    assert refused.value.code in {"would-queue", "kueue-away"}
    assert asyncio.get_running_loop().time() - began < 4
    cluster.kueue.faults.slow_s = 0
    await cluster.until(lambda: not cluster.there(), "nothing is left of it")
