import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hub_ext.errors import UnreachableError
from hub_ext.lease import (
    Cause,
    LeaseId,
    LeaseState,
    Liveness,
    OpenLease,
    PodTerms,
    ReportKind,
)
from hub_ext.service.basis.hub import HubClient
from hub_ext.service.workers.reconcile import Comparison, Reconciler
from tests.support.small_core import SmallCore
from tests.support.small_hub import TOKEN, SmallHub


@pytest.fixture
def core(tmp_path: Path) -> Iterator[SmallCore]:
    with SmallCore.running(tmp_path / "state") as core:
        yield core


@pytest.fixture
def hub() -> SmallHub:
    return SmallHub()


@asynccontextmanager
async def reconciler(core: SmallCore, hub: SmallHub, **how: Any) -> AsyncIterator[Reconciler]:
    async with hub.serving():
        client = HubClient(hub.url, TOKEN)
        try:
            with core.runner() as runner:
                yield Reconciler(runner, client, **{"probe": core.probe, **how})
        finally:
            client.close()


def compare(core: SmallCore, hub: SmallHub, **how: Any) -> Comparison:
    """Compare once; `probe` and `cluster` stand in for what the machine and the cluster see."""

    async def story() -> Comparison:
        async with reconciler(core, hub, **how) as one:
            return await one.compare()

    return asyncio.run(story())


def state(core: SmallCore, lease: OpenLease) -> tuple[LeaseState, Cause | None]:
    present = core.lease(lease.id)
    return present.state, present.cause


def test_a_server_that_lives_is_noted_and_stays(core: SmallCore, hub: SmallHub) -> None:
    lease = core.run("ada")
    hub.servers = {"ada": {"": "ready"}}
    core.now += timedelta(minutes=5)
    assert compare(core, hub) == Comparison(alive=1, closed=0, forgotten=0, strangers=())
    present = core.lease(lease.id)
    assert present.state is LeaseState.running
    assert present.last_seen_at == core.now


def test_a_server_is_noted_for_when_it_was_looked_at_not_for_when_that_was_recorded(
    core: SmallCore, hub: SmallHub
) -> None:
    """The governor sleeps between look and record; the server may have ended meanwhile."""
    lease = core.run("ada")
    hub.servers = {"ada": {"": "ready"}}
    core.now += timedelta(minutes=5)
    looked_at = core.now

    def sleep(_offset: int) -> None:
        core.now += timedelta(hours=1)

    hub.on_page = sleep
    compare(core, hub)
    assert core.now > looked_at
    assert core.lease(lease.id).last_seen_at == looked_at


def test_a_lease_whose_server_is_gone_closes_at_the_last_time_it_was_seen(
    core: SmallCore, hub: SmallHub
) -> None:
    lease = core.run("ada")
    hub.servers = {"ada": {"": "ready"}}
    core.now += timedelta(minutes=5)
    compare(core, hub)
    seen_at = core.now
    core.now += timedelta(hours=3)
    hub.servers = {"ada": {"": "stopped"}}
    core.seen[lease.id] = Liveness.gone
    assert compare(core, hub).closed == 1
    closed = core.lease(lease.id)
    assert (closed.state, closed.cause) == (LeaseState.closed, Cause.lost)
    assert closed.closed_at == seen_at


def test_a_user_who_is_deleted_takes_the_lease_along(core: SmallCore, hub: SmallHub) -> None:
    lease = core.run("ada")
    core.seen[lease.id] = Liveness.gone
    assert compare(core, hub).closed == 1
    assert state(core, lease) == (LeaseState.closed, Cause.lost)


def test_a_process_that_the_hub_forgot_keeps_its_gpu_and_is_shown(
    core: SmallCore, hub: SmallHub
) -> None:
    lease = core.run("ada")
    hub.servers = {"ada": {"": "stopped"}}
    assert compare(core, hub).forgotten == 1
    stopping = core.lease(lease.id)
    assert (stopping.state, stopping.cause) == (LeaseState.stopping, Cause.lost)
    assert stopping.reason is not None
    assert lease.process is not None
    assert str(lease.process.pid) in stopping.reason.message
    assert core.governor.queue(now=core.now).pools[0].held == lease.units
    assert compare(core, hub).forgotten == 0, "it is said once"
    core.seen[lease.id] = Liveness.gone
    assert compare(core, hub).closed == 1
    assert core.governor.queue(now=core.now).pools[0].held == 0


def test_a_start_that_died_before_it_made_a_process_is_closed(
    core: SmallCore, hub: SmallHub
) -> None:
    lease = core.ask("ada")
    hub.servers = {"ada": {"": "spawn"}}
    assert compare(core, hub).closed == 0
    assert state(core, lease)[0] is LeaseState.starting
    hub.servers = {"ada": {"": "stopped"}}
    assert compare(core, hub).closed == 1
    assert state(core, lease) == (LeaseState.closed, Cause.lost)


def test_a_start_whose_report_was_lost_runs_once_the_hub_serves_it_and_is_charged(
    core: SmallCore, hub: SmallHub
) -> None:
    """The hub died with the report in its hands, and has found the server again since."""
    lease = core.ask("ada")
    core.seen[lease.id] = Liveness.alive
    hub.servers = {"ada": {"": "spawn"}}
    compare(core, hub)
    assert state(core, lease)[0] is LeaseState.starting, "the hub is still at it"
    core.now += timedelta(minutes=1)
    hub.servers = {"ada": {"": "ready"}}
    compare(core, hub)
    running = core.lease(lease.id)
    assert (running.state, running.started_at) == (LeaseState.running, core.now)
    core.now += timedelta(minutes=5)
    compare(core, hub)
    core.now += timedelta(hours=1)
    core.seen[lease.id] = Liveness.gone
    hub.servers = {"ada": {"": "stopped"}}
    assert compare(core, hub).closed == 1
    with core.ledger.transaction() as tx:
        [line] = tx.postings(start=lease.requested_at, end=core.now)
    assert line.seconds == 360
    assert line.amount_micro


def test_a_start_that_left_a_process_behind_is_not_closed(core: SmallCore, hub: SmallHub) -> None:
    lease = core.ask("ada")
    core.seen[lease.id] = Liveness.alive
    assert compare(core, hub).forgotten == 1
    assert state(core, lease)[0] is LeaseState.stopping


def test_a_known_process_that_may_not_be_looked_at_proves_nothing(
    core: SmallCore, hub: SmallHub
) -> None:
    lease = core.run("ada")
    core.seen[lease.id] = Liveness.unknown
    assert compare(core, hub) == Comparison(alive=0, closed=0, forgotten=0, strangers=())
    assert state(core, lease)[0] is LeaseState.running
    hub.servers = {"ada": {"": "ready"}}
    core.now += timedelta(minutes=5)
    assert compare(core, hub).alive == 1
    assert core.lease(lease.id).last_seen_at == core.now


def test_a_stop_that_is_done_closes_with_its_own_cause(core: SmallCore, hub: SmallHub) -> None:
    lease = core.run("ada")
    core.report(lease, ReportKind.ended, asked=True)
    assert state(core, lease) == (LeaseState.stopping, Cause.user)
    hub.servers = {"ada": {"": "stopped"}}
    compare(core, hub)
    assert state(core, lease) == (LeaseState.stopping, Cause.user)
    core.seen[lease.id] = Liveness.gone
    compare(core, hub)
    assert state(core, lease) == (LeaseState.closed, Cause.user)


@pytest.mark.parametrize("status", [403, 404, 500, 503])
def test_nothing_is_concluded_from_a_hub_that_does_not_answer(
    core: SmallCore, hub: SmallHub, status: int
) -> None:
    lives, gone = core.run("ada"), core.run("ben")
    core.seen[gone.id] = Liveness.gone
    hub.status = status
    core.now += timedelta(minutes=5)
    with pytest.raises(UnreachableError):
        compare(core, hub)
    assert state(core, gone)[0] is LeaseState.running
    assert core.lease(lives.id).last_seen_at == core.now


def test_a_server_that_slips_between_two_pages_keeps_its_lease(
    core: SmallCore, hub: SmallHub
) -> None:
    names = ("ada", "ben", "cleo", "dora")
    leases = {name: core.run(name) for name in names}
    hub.servers = {name: {"": "ready"} for name in names}

    def stops(_offset: int) -> None:
        hub.servers["ada"][""] = "stopped"

    hub.on_page = stops
    core.seen = {lease.id: Liveness.gone for lease in leases.values()}
    compare(core, hub)
    assert state(core, leases["cleo"])[0] is LeaseState.running


def test_a_start_during_the_comparison_is_not_taken_for_a_loss(
    core: SmallCore, hub: SmallHub
) -> None:
    started: list[OpenLease] = []

    def starts(_offset: int) -> None:
        started.append(core.ask("ada"))

    hub.on_page = starts
    assert compare(core, hub) == Comparison(alive=0, closed=0, forgotten=0, strangers=())
    assert state(core, started[0])[0] is LeaseState.starting


def test_a_live_server_without_a_lease_is_recorded_once_and_shown(
    core: SmallCore, hub: SmallHub
) -> None:
    core.run("ada")
    hub.servers = {"ada": {"": "ready"}, "eve": {"": "ready", "x": "ready", "y": "spawn"}}
    assert [str(key) for key in compare(core, hub).strangers] == ["eve/", "eve/x"]
    compare(core, hub)
    assert len(core.events("server.unknown")) == 2
    assert any("eve" in line for line in core.governor.problems(now=core.now)["servers"])
    hub.servers["eve"] = {"": "stopped"}
    assert compare(core, hub).strangers == ()
    assert core.governor.problems(now=core.now)["servers"] == ()


def test_a_live_server_of_a_known_team_is_adopted_and_its_end_is_seen(
    core: SmallCore, hub: SmallHub
) -> None:
    hub.servers = {"ada": {"": "ready"}}
    hub.groups = {"ada": ["vision"]}
    found = compare(core, hub)
    assert (found.adopted, found.strangers) == (1, ())
    [lease] = core.governor.leases()
    assert (lease.team, lease.state) == ("vision", LeaseState.running)
    assert compare(core, hub).adopted == 0
    hub.servers = {"ada": {"": "stopped"}}
    assert compare(core, hub).closed == 1
    assert state(core, lease) == (LeaseState.closed, Cause.lost)


def _blind(_lease: OpenLease) -> Liveness:
    """Be a machine that sees none of the servers."""
    return Liveness.unknown


@dataclass
class SmallCluster:
    """Pods of leases, as a cluster would tell of them."""

    says: Liveness
    ended: list[str] = field(default_factory=list)

    async def of(
        self, leases: Iterable[OpenLease], _places: Mapping[LeaseId, str]
    ) -> dict[LeaseId, Liveness]:
        return {lease.id: self.says for lease in leases}

    def servers(self, _leases: Iterable[OpenLease]) -> dict[tuple[str, str], LeaseId]:
        return {}

    def machines(self, _leases: Iterable[OpenLease]) -> dict[LeaseId, str]:
        return {}

    async def end(self, lease: OpenLease, _places: Mapping[LeaseId, str]) -> None:
        self.ended.append(str(lease.key))


@pytest.mark.parametrize(
    ("says", "left"),
    [
        (Liveness.unknown, LeaseState.running),
        (Liveness.alive, LeaseState.stopping),
        (Liveness.gone, LeaseState.closed),
    ],
)
def test_a_lease_without_a_pod_of_its_own_is_looked_for_all_the_same(
    core: SmallCore, hub: SmallHub, says: Liveness, left: LeaseState
) -> None:
    lease = core.run("ada")
    cluster = SmallCluster(says)
    compare(core, hub, probe=_blind, cluster=cluster)
    assert core.lease(lease.id).state is left


@pytest.mark.parametrize(
    ("says", "left"),
    [
        (Liveness.unknown, LeaseState.running),
        (Liveness.alive, LeaseState.stopping),
        (Liveness.gone, LeaseState.closed),
    ],
)
def test_a_pod_that_the_hub_forgot_is_gone_only_when_the_cluster_says_so(
    core: SmallCore,
    hub: SmallHub,
    monkeypatch: pytest.MonkeyPatch,
    says: Liveness,
    left: LeaseState,
) -> None:
    pod = PodTerms(namespace="gpu-atlas", scratch_bytes=1)
    monkeypatch.setattr("hub_ext.service.leasing.granting.terms", lambda *_words: pod)
    lease = core.run("ada")
    cluster = SmallCluster(says)
    compare(core, hub, probe=_blind, cluster=cluster)
    assert core.lease(lease.id).state is left
    assert cluster.ended == (["ada/"] if says is Liveness.alive else [])
