"""Jobs in the same queues of Kueue: they count, are shown, are called in, and are never charged."""

from typing import Any

import pytest

from hub_ext.errors import RefusedError
from hub_ext.lease import LeaseState, QueueSheet, Standing, When
from tests.support.governed_kueue import Cluster, told


def submitted(cluster: Cluster, name: str, namespace: str, units: int, number: int) -> None:
    """Let somebody submit a job of so many units."""
    asks = {"requests": {"gpu-commons.dev/unit": str(units)}}
    pod: dict[str, Any] = {
        "nodeSelector": {"gpu-commons.dev/pool": "whole"},
        "containers": [{"name": "main", "image": "none", "resources": asks}],
    }
    parts = [{"name": "main", "count": 1, "template": {"spec": pod}}]
    owner = {"kind": "Job", "name": name, "controller": True}
    metadata = {"name": f"job-{name}", "labels": {}, "ownerReferences": [owner]}
    spec = {"queueName": "gpu-commons", "priority": number, "podSets": parts}
    cluster.kueue.create(namespace, {"metadata": metadata, "spec": spec})


async def sheet(cluster: Cluster) -> QueueSheet:
    return await cluster.core.run(lambda core, now: core.queue(now=now))


@told
async def test_a_job_is_shown_and_what_it_holds_is_not_offered(cluster: Cluster) -> None:
    submitted(cluster, "train-3", "gpu-maps", 1680, 1500)
    await cluster.until(lambda: cluster.knows("job-train-3"))
    (job,) = (await sheet(cluster)).batch
    assert (job.name, job.team, job.project, job.pool) == ("Job train-3", "vision", "maps", "whole")
    assert (job.units, job.holds, job.called_in) == (1680, True, False)
    with pytest.raises(RefusedError) as refused:
        await cluster.run("vera")
    assert refused.value.code == "would-queue"
    await cluster.run("sam")


@told
async def test_a_job_that_borrows_goes_when_an_owner_asks(cluster: Cluster) -> None:
    submitted(cluster, "train-3", "gpu-maps", 1680, 1500)
    await cluster.until(lambda: cluster.knows("job-train-3"))
    owner = await cluster.waits("sue", "two", when=When.hold)
    await cluster.until(lambda: cluster.number(owner.id) == 1999, "it comes before every job")
    await cluster.until(lambda: cluster.stands("job-train-3", "Evicted"), "Kueue takes the job")
    now = cluster.site.now
    await cluster.until(
        lambda: [one.called_in for one in cluster.site.governor.queue(now=now).batch] == [True]
    )
    cluster.kueue.delete(cluster.kueue.body("job-train-3"))
    await cluster.until(lambda: cluster.state(owner.id) is LeaseState.held)
    assert (await sheet(cluster)).batch == ()
    assert [lease.id for lease in await cluster.leases()] == [owner.id]


@told
async def test_a_borrowed_server_does_not_move_into_a_guarantee_that_a_job_holds(
    cluster: Cluster,
) -> None:
    submitted(cluster, "train-3", "gpu-maps", 840, 1500)
    await cluster.until(lambda: cluster.knows("job-train-3"))
    borrows = await cluster.run("vera")
    assert (await cluster.lease(borrows.lease_id)).standing is Standing.borrowed
    await cluster.end(await cluster.run("sam"))
    assert (await cluster.lease(borrows.lease_id)).standing is Standing.borrowed
    cluster.kueue.delete(cluster.kueue.body("job-train-3"))
    await cluster.until(lambda: not cluster.knows("job-train-3"))
    await cluster.end(await cluster.run("sam"))
    assert (await cluster.lease(borrows.lease_id)).standing is Standing.guaranteed


@told
async def test_work_in_queues_of_others_is_none_of_ours(cluster: Cluster) -> None:
    submitted(cluster, "elsewhere", "kitchen", 840, 1500)
    await cluster.until(lambda: cluster.knows("job-elsewhere"))
    assert (await sheet(cluster)).batch == ()


async def held_by_nobody(cluster: Cluster) -> dict[str, int]:
    """Units of each pool that nobody held for a day, as the search for anomalies finds them."""
    await cluster.core.run(lambda core, now: core.search_anomalies(now=now))
    found = await cluster.core.run(lambda core, now: core.anomalies(now=now).open)
    return {str(one.pool): one.figure for one in found if one.kind == "unallocated"}


@told
async def test_what_jobs_held_within_the_day_was_not_held_by_nobody(cluster: Cluster) -> None:
    assert await held_by_nobody(cluster) == {}
    submitted(cluster, "train-3", "gpu-maps", 1680, 1500)
    await cluster.until(lambda: cluster.knows("job-train-3"))
    cluster.site.later(1800)
    assert await held_by_nobody(cluster) == {}
    cluster.kueue.delete(cluster.kueue.body("job-train-3"))
    await cluster.until(lambda: not cluster.knows("job-train-3"))
    cluster.site.later(60)
    assert await held_by_nobody(cluster) == {}
    cluster.site.later(85000)
    assert (await held_by_nobody(cluster))["whole"] == 840, "two of three were held by a job"
    cluster.site.later(3600)
    assert (await held_by_nobody(cluster))["whole"] == 2520
