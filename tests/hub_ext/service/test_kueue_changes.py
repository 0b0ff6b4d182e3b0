"""What is held by promise waits for Kueue as well: changes of profile, and reservations."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from hub_ext.errors import RefusedError
from hub_ext.lease import (
    GOVERNOR,
    BatchLoad,
    Cause,
    Choice,
    Device,
    LeaseId,
    LeaseState,
    OpenLease,
    PoolName,
    ProfileName,
    ProjectName,
    TeamName,
)
from hub_ext.lease.reserving import ReservationWish
from hub_ext.mig.geometry import declared_devices
from hub_ext.policy.load import loads
from hub_ext.service.basis.access import Caller
from hub_ext.service.books import formats
from hub_ext.service.books.slots import place_of
from hub_ext.service.leasing.hands import Destination
from hub_ext.service.pages.overview import templates
from hub_ext.service.sheets import kueue
from tests.support.governed_kueue import Cluster, cluster_in, told
from tests.support.governing import GROUPS, POLICY, START

LARS = Caller(kind="person", name="lars")
RESERVABLE = POLICY.replace(
    "nodes: [{name: node-2, gpus: 3}]",
    "nodes: [{name: node-2, gpus: 3}]\n"
    '    reservable: {by: leads, most: "3", longest: 8h, ahead: 14d, no_show: 15m}',
)


@told
async def test_a_server_changes_its_profile_and_its_workload_with_it(cluster: Cluster) -> None:
    old = await cluster.run("vera", "small")
    fresh = await cluster.core.run(
        lambda core, now: core.switch(
            old.lease_id,
            Choice(profile=ProfileName("one")),
            groups=GROUPS["vera"],
            actor=GOVERNOR,
            now=now,
        )
    )
    await cluster.until(lambda: cluster.state(fresh.id) is LeaseState.held, "new capacity first")
    await cluster.later(30)
    await cluster.until(lambda: cluster.state(old.lease_id) is LeaseState.stopping)
    assert {old.lease_id, fresh.id} <= cluster.kueue.holding()
    await cluster.end(old)
    await cluster.until(lambda: cluster.there() == {fresh.id}, "the old Workload goes")
    grant = await cluster.run("vera", "one")
    assert grant.lease_id == fresh.id
    assert (await cluster.lease(old.lease_id)).cause is Cause.replaced


@told
async def test_where_only_its_own_quota_is_enough_the_start_waits_for_its_end(
    cluster: Cluster,
) -> None:
    old = await cluster.run("sam", "two")
    await cluster.run("vera")
    fresh = await cluster.core.run(
        lambda core, now: core.switch(
            old.lease_id,
            Choice(profile=ProfileName("one")),
            groups=GROUPS["sam"],
            actor=GOVERNOR,
            now=now,
        )
    )
    await cluster.until(lambda: cluster.state(old.lease_id) is LeaseState.noticed)
    await cluster.later(30)
    await cluster.until(lambda: cluster.state(old.lease_id) is LeaseState.stopping)
    assert fresh.id not in cluster.kueue.holding()
    await cluster.end(old)
    grant = await cluster.run("sam", "one")
    assert grant.lease_id == fresh.id
    await cluster.until(lambda: fresh.id in cluster.kueue.holding())
    await cluster.until(lambda: old.lease_id not in cluster.there())


def test_a_reservation_begins_with_a_workload_and_is_claimed(tmp_path: Path) -> None:
    async def story(cluster: Cluster) -> None:
        now = cluster.site.now
        wish = ReservationWish.model_validate(
            {
                "profile": "one",
                "team": "speech",
                "user": "sam",
                "starts": (now + timedelta(hours=2)).replace(tzinfo=None),
                "ends": (now + timedelta(hours=4)).replace(tzinfo=None),
            }
        )
        await cluster.core.run(lambda core, now: core.reserve(wish, LARS, now=now))
        await cluster.later(2 * 3600)
        await cluster.core.run(lambda core, now: core.tend_reservations(now=now))
        (lease,) = await cluster.leases()
        assert (lease.state, lease.key.user) == (LeaseState.held, "sam")
        await cluster.until(lambda: lease.id in cluster.kueue.holding(), "Kueue admits it")
        grant = await cluster.run("sam")
        assert grant.lease_id == lease.id

    async def whole() -> None:
        async with cluster_in(tmp_path, RESERVABLE) as cluster:
            await asyncio.wait_for(story(cluster), 60)

    asyncio.run(whole())


@told
async def test_a_request_that_the_policy_makes_larger_asks_anew(cluster: Cluster) -> None:
    await cluster.run("sam", "two")
    await cluster.run("vera")
    lease = await cluster.waits("sue")
    await cluster.until(lambda: cluster.units(lease.id) == 840)
    larger = loads(POLICY.replace("flavor: {gpus: 1}", "flavor: {gpus: 2}"))
    await cluster.core.run(lambda core, now: core.set_policy(larger, now=now))
    await cluster.until(lambda: cluster.units(lease.id) == 1680, "its Workload is another one")
    assert (await cluster.lease(lease.id)).state is LeaseState.queued


@told
async def test_a_request_whose_project_gets_another_namespace_asks_there(cluster: Cluster) -> None:
    await cluster.run("sam", "two")
    await cluster.run("vera")
    lease = await cluster.waits("viktor")
    await cluster.until(lambda: cluster.namespaces(lease.id) == ["gpu-maps"])
    moved = loads(POLICY.replace("{team: vision}", "{team: vision, namespace: atlas}"))
    cluster.kueue.local["atlas", "gpu-commons"] = "gc-vision"
    await cluster.core.run(lambda core, now: core.set_policy(moved, now=now))
    await cluster.until(lambda: cluster.namespaces(lease.id) == ["atlas"], "and not where it was")
    assert (await cluster.lease(lease.id)).state is LeaseState.queued
    uid = cluster.uid(lease.id)
    await cluster.still(lambda: cluster.uid(lease.id) == uid)


@told
async def test_who_runs_or_is_held_stays_where_it_has_its_quota_and_the_next_start_goes_there(
    cluster: Cluster,
) -> None:
    """A policy that gives the project another namespace moves nobody who has a device."""
    running = await cluster.run("vera")
    moved = loads(POLICY.replace("{team: vision}", "{team: vision, namespace: atlas}"))
    cluster.kueue.local["atlas", "gpu-commons"] = "gc-vision"
    uid = cluster.uid(running.lease_id)
    await cluster.core.run(lambda core, now: core.set_policy(moved, now=now))
    following = await cluster.run("viktor")
    await cluster.still(lambda: cluster.uid(running.lease_id) == uid)
    assert cluster.namespaces(running.lease_id) == ["gpu-maps"]
    assert cluster.namespaces(following.lease_id) == ["atlas"]
    assert following.pod is not None
    assert following.pod.namespace == "atlas"
    lease = await cluster.lease(running.lease_id)
    assert lease.grant is not None
    assert lease.grant.pod is not None
    assert lease.grant.pod.namespace == "gpu-maps"
    assert cluster.kueue.holding() == {running.lease_id, following.lease_id}
    summary = await cluster.core.run(lambda core, _now: core.generations(1)[0].summary)
    assert "1 server of maps runs on in gpu-maps; the next start goes to atlas" in summary
    await cluster.end(running)
    await cluster.until(lambda: cluster.there() == {following.lease_id}, "nothing is left behind")


@told
async def test_a_lease_is_not_moved_away_from_the_quota_that_it_has_on_kueue(
    cluster: Cluster,
) -> None:
    grant, without = await cluster.run("vera"), await cluster.run("sam", "cpu")
    into = Destination(team=TeamName("speech"))

    async def move(lease_id: LeaseId, into: Destination) -> OpenLease:
        return await cluster.core.run(
            lambda core, now: core.move(lease_id, into, reason="lent", actor=GOVERNOR, now=now)
        )

    with pytest.raises(RefusedError) as refused:
        await move(grant.lease_id, into)
    assert refused.value.code == "kueue-keeps-quota"
    assert "the quota of vision, maps" in refused.value.message
    assert "start it again for the other team" in refused.value.message
    assert (await cluster.lease(grant.lease_id)).team == "vision"
    assert await cluster.events(grant.lease_id, "admin.move") == []
    moved = await move(without.lease_id, Destination(team=TeamName("vision")))
    assert moved.team == "vision"


@told
async def test_a_waiting_workload_that_somebody_takes_out_is_put_back(cluster: Cluster) -> None:
    await cluster.run("sam", "two")
    await cluster.run("vera")
    lease = await cluster.waits("viktor")
    await cluster.until(lambda: lease.id in cluster.there())
    cluster.kueue.change(cluster.kueue.body(lease.id), {"spec": {"active": False}})
    await cluster.until(lambda: cluster.is_out(lease.id) is False)
    assert (await cluster.lease(lease.id)).state is LeaseState.queued


def places(pool: str) -> tuple[Device, ...]:
    policy = loads(POLICY).policy
    return tuple(place_of(one) for one in declared_devices(pool, policy.pools[pool]))


def test_a_place_is_no_gpu_and_says_who_chooses() -> None:
    whole, mig = places("whole"), places("mig")
    assert len({one.id for one in (*whole, *mig)}) == len(whole) + len(mig)
    assert not any(one.simulated for one in whole)
    assert formats.device_words(whole[:2]) == "2 x H200 141 GB; the device plugin chooses which"
    assert formats.device_words(mig[:1]).startswith("MIG 1g.18gb of H200")


def test_administrators_read_what_is_wrong_and_which_jobs_there_are() -> None:
    job = BatchLoad(
        name="Job <train>",
        namespace="gpu-maps",
        team=TeamName("vision"),
        project=ProjectName("maps"),
        pool=PoolName("whole"),
        units=1260,
        holds=True,
        called_in=False,
        since=START,
    )
    template = templates().get_template("kueue.html")
    page = template.render(kueue.sheet((job,), ("since noon: no answer",), "UTC"))
    assert "since noon: no answer" in page
    assert "gpu-maps: Job &lt;train&gt;" in page
    assert "<td>vision, maps</td><td>whole</td><td>1.5</td><td>holds GPUs</td>" in page
    assert template.render(kueue.sheet((), (), "UTC")).strip() == ""
