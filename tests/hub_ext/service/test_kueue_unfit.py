"""A Kueue that does not keep what promises rest on: its queues are not used, what runs goes on."""

import asyncio

import pytest

from hub_ext.errors import RefusedError, UnreachableError
from hub_ext.kube.queuedemands import Breach, Weight, of_queue
from hub_ext.lease import LeaseState
from hub_ext.service.kueue.unfit import FIT, UNFIT
from tests.support.governed_kueue import Cluster, told

SHARING = Breach("fair-sharing", Weight.wrong, "Kueue's Fair Sharing is on", "remove fairSharing")
DOUBT = Breach("unread", Weight.doubt, "the namespaces could not be read", "look yourself")


async def look(cluster: Cluster, *found: Breach) -> None:
    await cluster.core.run(lambda core, now: core.kueue_inspected(found, now=now))


@told
async def test_nothing_new_starts_and_nothing_is_asked_for_while_a_demand_is_broken(
    cluster: Cluster,
) -> None:
    running = await cluster.run("sam")
    before = cluster.there()
    await look(cluster, SHARING, DOUBT)
    with pytest.raises(RefusedError, match="Fair Sharing is on") as refused:
        await cluster.run("sue")
    assert "remove fairSharing" in refused.value.message
    assert cluster.there() == before
    assert (await cluster.lease(running.lease_id)).state is LeaseState.running
    assert any("Fair Sharing" in line for line in await cluster.faults())
    await look(cluster, DOUBT)
    await cluster.run("sue")
    await look(cluster, DOUBT)
    assert len(await cluster.events(None, UNFIT)) == len(await cluster.events(None, FIT)) == 1


@told
async def test_only_the_queue_that_is_wrong_is_left(cluster: Cluster) -> None:
    wrong = of_queue({"metadata": {"name": "gc-speech"}, "spec": {"stopPolicy": "Hold"}})
    await look(cluster, *wrong)
    await cluster.run("vera")
    with pytest.raises(RefusedError, match="gc-speech") as refused:
        await cluster.run("sam")
    assert refused.value.code == "would-queue"


@told
async def test_who_waits_is_taken_out_and_starts_when_it_is_mended(cluster: Cluster) -> None:
    await cluster.run("sam", "two")
    lease = await cluster.waits("sue")
    await cluster.until(lambda: cluster.there() >= {lease.id}, "it is asked for")
    await look(cluster, SHARING)
    await cluster.until(lambda: cluster.is_out(lease.id), "nothing is asked for any more")
    await look(cluster)
    await cluster.until(lambda: not cluster.is_out(lease.id), "and again")


@told
async def test_a_look_that_fails_changes_nothing(cluster: Cluster) -> None:
    async def away(_policy: object) -> tuple[Breach, ...]:
        await asyncio.sleep(0)
        raise UnreachableError("no answer")

    await look(cluster, SHARING)
    cluster.work._inspect = away
    with pytest.raises(UnreachableError):
        await cluster.work.look_at_demands()
    with pytest.raises(RefusedError, match="Fair Sharing"):
        await cluster.run("sam")
