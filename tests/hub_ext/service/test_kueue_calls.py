"""Leases that are called in on Kueue, and what Kueue or somebody else does without a call."""

from hub_ext.lease import Cause, Grant, LeaseState, OpenLease
from hub_ext.service.kueue.acts import ORPHAN
from hub_ext.service.kueue.seen import NO_QUOTA, TAKEN
from tests.support.governed_kueue import Cluster, told

NOTICE_S, SAFE_S = 900, 1800


async def called_in(cluster: Cluster) -> tuple[Grant, OpenLease]:
    """Let vision borrow what is speech's, and speech ask for it, as far as the notice."""
    await cluster.run("vera")
    borrowed = await cluster.run("viktor")
    await cluster.run("sam")
    owner = await cluster.waits("sue")
    await cluster.until(lambda: owner.id in cluster.there())
    await cluster.later(SAFE_S)
    await cluster.until(lambda: cluster.state(borrowed.lease_id) is LeaseState.noticed)
    return borrowed, owner


@told
async def test_a_call_lowers_the_number_and_the_owner_starts_after_the_stop(
    cluster: Cluster,
) -> None:
    borrowed, owner = await called_in(cluster)
    victim = borrowed.lease_id
    await cluster.until(lambda: cluster.number(victim) < 1000, "it is called in")
    await cluster.until(lambda: cluster.number(owner.id) == 1999, "its caller is woken")
    await cluster.until(lambda: cluster.stands(victim, "Evicted"), "Kueue evicts exactly that")
    assert victim in cluster.kueue.holding()
    await cluster.still(lambda: cluster.state(victim) is LeaseState.noticed)
    (taken,) = await cluster.events(victim, TAKEN)
    assert taken.body["called_in"] is True
    await cluster.later(NOTICE_S)
    await cluster.until(lambda: cluster.state(victim) is LeaseState.stopping, "the notice is over")
    await cluster.still(lambda: victim in cluster.there())
    await cluster.end(borrowed)
    await cluster.until(lambda: victim not in cluster.there(), "its server is proved gone")
    await cluster.until(lambda: cluster.state(owner.id) is LeaseState.held, "the owner is served")
    grant = await cluster.run("sue")
    assert grant.lease_id == owner.id
    assert (await cluster.lease(victim)).cause is Cause.preempted


@told
async def test_a_call_that_is_withdrawn_lets_the_lease_go_on_on_kueue_too(
    cluster: Cluster,
) -> None:
    borrowed, owner = await called_in(cluster)
    victim = borrowed.lease_id
    await cluster.until(lambda: cluster.stands(victim, "Evicted"))
    await cluster.cancel(owner)
    await cluster.until(lambda: cluster.state(victim) is LeaseState.running, "it is not needed")
    await cluster.until(lambda: not cluster.stands(victim, "Evicted"), "and Kueue is told so")
    await cluster.until(lambda: cluster.number(victim) >= 2000)
    await cluster.until(lambda: not cluster.site.governor.intents())
    assert victim in cluster.kueue.holding()
    assert (await cluster.lease(victim)).notice is None


@told
async def test_a_withdrawal_survives_a_restart(cluster: Cluster) -> None:
    borrowed, owner = await called_in(cluster)
    victim = borrowed.lease_id
    await cluster.until(lambda: cluster.stands(victim, "Evicted"))
    await cluster.stop()
    await cluster.cancel(owner)
    await cluster.core.run(lambda core, now: core.review_calls(now=now))
    await cluster.restart(running=False)
    await cluster.until(lambda: not cluster.stands(victim, "Evicted"))
    assert (await cluster.lease(victim)).notice is None
    assert len(await cluster.events(victim, "notice.given")) == 1


@told
async def test_an_eviction_that_nobody_announced_is_a_notice_and_no_loss(cluster: Cluster) -> None:
    grant = await cluster.run("sam")
    cluster.kueue.evict(grant.lease_id, "Preempted")
    await cluster.until(lambda: cluster.state(grant.lease_id) is LeaseState.noticed)
    notice = (await cluster.lease(grant.lease_id)).notice
    assert notice is not None
    assert (notice.reason.code, notice.cause) == (NO_QUOTA, Cause.preempted)
    assert "Save your work" in notice.reason.message
    (taken,) = await cluster.events(grant.lease_id, TAKEN)
    assert (taken.body["for"], taken.body["called_in"]) == ("Preempted", False)
    assert any("sam" in words for words in await cluster.faults())
    await cluster.restart()
    await cluster.still(lambda: cluster.state(grant.lease_id) is LeaseState.noticed)
    assert len(await cluster.events(grant.lease_id, TAKEN)) == 1
    await cluster.later(NOTICE_S)
    await cluster.until(lambda: cluster.state(grant.lease_id) is LeaseState.stopping)
    assert grant.lease_id in cluster.there()
    await cluster.end(grant)
    await cluster.until(lambda: grant.lease_id not in cluster.there())


@told
async def test_a_queue_that_an_administrator_stops_gives_its_servers_notice(
    cluster: Cluster,
) -> None:
    grant = await cluster.run("sam")
    cluster.kueue.evict(grant.lease_id, "ClusterQueueStopped")
    await cluster.until(lambda: cluster.state(grant.lease_id) is LeaseState.noticed)
    notice = (await cluster.lease(grant.lease_id)).notice
    assert notice is not None
    assert "administrator has stopped" in notice.reason.message


@told
async def test_a_governor_that_said_too_late_that_a_server_is_up_says_so_and_it_goes_on(
    cluster: Cluster,
) -> None:
    grant = await cluster.run("sam")
    cluster.kueue.evict(grant.lease_id, "PodsReadyTimeout")
    await cluster.until(lambda: cluster.stands(grant.lease_id, "Evicted") is False)
    assert (await cluster.lease(grant.lease_id)).state is LeaseState.running
    assert len(await cluster.events(grant.lease_id, TAKEN)) == 1


@told
async def test_what_somebody_else_deactivates_has_lost_its_quota_and_gets_a_notice(
    cluster: Cluster,
) -> None:
    grant = await cluster.run("sam")
    cluster.kueue.change(cluster.kueue.body(grant.lease_id), {"spec": {"active": False}})
    await cluster.until(lambda: cluster.state(grant.lease_id) is LeaseState.noticed)
    assert cluster.kueue.holding() == set()
    await cluster.still(lambda: cluster.is_out(grant.lease_id))
    assert any("taken this server's quota away" in words for words in await cluster.faults())
    await cluster.later(NOTICE_S)
    await cluster.until(lambda: cluster.state(grant.lease_id) is LeaseState.stopping)


@told
async def test_an_eviction_before_the_start_puts_a_request_back_to_its_place(
    cluster: Cluster,
) -> None:
    both = await cluster.run("sam", "two")
    await cluster.run("vera")
    lease = await cluster.waits("viktor")
    await cluster.end(both)
    await cluster.until(lambda: cluster.state(lease.id) is LeaseState.held)
    before = cluster.kueue.body(lease.id)["metadata"]["uid"]
    cluster.kueue.evict(lease.id, "Preempted")
    await cluster.until(lambda: bool(cluster.uid(lease.id) not in {before, None}), "made anew")
    await cluster.until(lambda: cluster.state(lease.id) is LeaseState.held, "and admitted again")
    again = await cluster.lease(lease.id)
    assert (again.requested_at, again.holds) == (lease.requested_at, 1)
    assert len(await cluster.events(lease.id, TAKEN)) == 1


@told
async def test_a_workload_that_somebody_deletes_is_made_again_without_a_notice(
    cluster: Cluster,
) -> None:
    grant = await cluster.run("sam")
    cluster.kueue.delete(cluster.kueue.body(grant.lease_id))
    await cluster.until(lambda: grant.lease_id in cluster.kueue.holding(), "it is made again")
    await cluster.until(lambda: cluster.number(grant.lease_id) == 2000)
    assert (await cluster.lease(grant.lease_id)).state is LeaseState.running


@told
async def test_a_workload_without_a_lease_is_deleted_after_a_second_look(
    cluster: Cluster,
) -> None:
    grant = await cluster.run("sam")
    body = cluster.kueue.body(grant.lease_id)
    await cluster.end(grant)
    await cluster.until(lambda: not cluster.there())
    labels = {**body["metadata"]["labels"], "gpu-commons.dev/lease": "l-9999"}
    metadata = {"name": "l-9999", "labels": labels}
    spec = {**body["spec"], "priority": 1000}
    cluster.kueue.create("gpu-team-speech", {"metadata": metadata, "spec": spec})
    await cluster.still(lambda: cluster.there() == {"l-9999"})
    await cluster.later(31)
    await cluster.until(lambda: not cluster.there())
    assert len(await cluster.events(None, ORPHAN)) == 1


@told
async def test_what_another_hub_has_made_is_left_alone(cluster: Cluster) -> None:
    grant = await cluster.run("sam")
    body = cluster.kueue.body(grant.lease_id)
    labels = {**body["metadata"]["labels"], "gpu-commons.dev/lease": "l-other"}
    labels["gpu-commons.dev/hub"] = "elsewhere"
    metadata = {"name": "l-other", "labels": labels}
    cluster.kueue.create("gpu-team-speech", {"metadata": metadata, "spec": body["spec"]})
    await cluster.later(120)
    await cluster.still(lambda: "l-other" in cluster.there())
