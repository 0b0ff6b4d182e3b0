"""On Kubernetes a lease holds a place; its real device is known by kubelet and cluster together."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from hub_ext.lease import (
    Device,
    DeviceHealth,
    DeviceHolding,
    DeviceId,
    DeviceSample,
    FaultSign,
    Grant,
    Inventory,
    Liveness,
    PoolName,
    ProcessSample,
    Report,
    ReportKind,
    SampleBatch,
    VerdictState,
    WatchItem,
)
from hub_ext.service.money.usage import Scope
from hub_ext.service.workers.cull import Culler
from tests.hub_ext.service.test_timeshares import POLICY as TURNS
from tests.support.governing import POLICY, Site, site_in

REAL = DeviceId("GPU-8f1c")
WHERE = ("gpu-maps", "jupyter-vera")
GIB = 1024**3


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with site_in(tmp_path / "state", servers="pods") as opened:
        yield opened


def told(
    site: Site, util: int, *, holds: bool = True, pod: str | None = WHERE[1], used: int = 1
) -> None:
    """Let the agent of the machine tell of the GPU, of whose it is, and of a quiet CPU."""
    held = () if pod is None else (DeviceHolding(namespace=WHERE[0], pod=pod, device=REAL),)
    lease = next(iter(site.governor.leases()), None)
    processes = (
        ()
        if lease is None
        else (ProcessSample(lease_id=lease.id, at=site.now, cpu_millis=5, processes=1),)
    )
    batch = SampleBatch(
        node="node-2",
        source="nvml",
        sent_at=site.now,
        period_s=20,
        devices=(
            DeviceSample(
                device=REAL,
                at=site.now,
                util_percent=util,
                memory_used_bytes=used,
                memory_total_bytes=141 * GIB,
            ),
        ),
        processes=processes,
        holdings=held if holds else None,
    )
    site.governor.take_samples(batch, now=site.now)


def known(site: Site) -> Grant:
    grant = site.run("vera")
    site.governor.take_servers({WHERE: grant.lease_id})
    return grant


def test_figures_are_of_the_real_device_once_both_have_told(site: Site) -> None:
    grant = site.run("vera")
    told(site, 40)
    (place,) = site.governor.view(grant.key, now=site.now).readings
    assert place.util_percent is None
    assert place.device.startswith("slot-")
    site.governor.take_servers({WHERE: grant.lease_id})
    (real,) = site.governor.view(grant.key, now=site.now).readings
    assert (real.device, real.util_percent) == (REAL, 40)


def test_another_ones_device_is_never_shown(site: Site) -> None:
    grant = known(site)
    told(site, 40, pod="jupyter-somebody")
    (place,) = site.governor.view(grant.key, now=site.now).readings
    assert place.util_percent is None


def test_a_kubelet_that_fell_silent_leaves_the_device_unknown(site: Site) -> None:
    grant = known(site)
    told(site, 40)
    for _ in range(8):
        site.later(20)
        told(site, 40, holds=False)
    (place,) = site.governor.view(grant.key, now=site.now).readings
    assert place.device.startswith("slot-")


@pytest.mark.parametrize(("util", "state"), [(0, VerdictState.idle), (60, VerdictState.active)])
def test_idleness_is_judged_by_the_real_device(site: Site, util: int, state: VerdictState) -> None:
    grant = known(site)
    culler = Culler()
    for _ in range(45):
        site.later(20)
        told(site, util)
        culler.look(site.governor, grant.lease_id, site.now)
    verdict = site.governor.view(grant.key, now=site.now).verdict
    assert verdict is not None
    assert verdict.state is state
    assert f"gpu {REAL}" in [one.name for one in verdict.signals]


def test_its_use_is_summed_for_the_lease(site: Site) -> None:
    grant = known(site)
    for _ in range(30):
        site.later(20)
        told(site, 50)
    used = site.governor._desk.samples.used(site.now.replace(hour=0), site.now)
    assert used[grant.lease_id].peak_percent == 50


def test_a_device_that_went_to_another_container_is_the_former_ones_no_more(site: Site) -> None:
    grant = known(site)
    told(site, 40)
    (real,) = site.governor.held_devices(site.lease(grant), now=site.now)
    assert real == REAL
    site.later(20)
    told(site, 40, pod="jupyter-somebody")
    (place,) = site.governor.held_devices(site.lease(grant), now=site.now)
    assert place.startswith("slot-")
    site.later(20)
    told(site, 40)
    assert site.governor.held_devices(site.lease(grant), now=site.now) == [REAL]


def test_what_a_server_or_a_job_computes_on_its_gpu_is_never_called_left(site: Site) -> None:
    known(site)
    for pod in (WHERE[1], "train-0-x7k2p"):
        for _ in range(5):
            site.later(20)
            told(site, 90, pod=pod, used=60 * GIB)
        assert site.governor.device_sheet(now=site.now).outages == ()


def test_memory_that_no_container_holds_takes_the_gpu_out_until_it_is_free(site: Site) -> None:
    for _ in range(5):
        site.later(20)
        told(site, 0, holds=False, used=60 * GIB)
    assert site.governor.device_sheet(now=site.now).outages == (), "nobody told whose it is"
    for _ in range(3):
        site.later(20)
        told(site, 0, pod=None, used=60 * GIB)
    (outage,) = site.governor.device_sheet(now=site.now).outages
    assert (outage.device, outage.cause) == (REAL, "not-empty")
    for _ in range(3):
        site.later(20)
        told(site, 0, pod=None, used=0)
    assert site.governor.device_sheet(now=site.now).outages == ()


def test_a_server_that_begins_anew_is_not_shown_the_gpu_of_its_former_container(
    site: Site,
) -> None:
    former = known(site)
    told(site, 90)
    site.stop(former)
    site.later(5)
    again = site.run("vera")
    site.governor.take_servers({WHERE: again.lease_id})
    assert site.governor.held_devices(site.lease(again), now=site.now) != [REAL]
    site.later(20)
    told(site, 0)
    assert site.governor.held_devices(site.lease(again), now=site.now) == [REAL]


def test_who_is_given_a_gpu_at_fault_does_not_pay_for_it(site: Site) -> None:
    grant = known(site)
    other = site.run("sam")
    site.later(20)
    told(site, 40)
    card = Device(id=REAL, pool=PoolName("whole"), node="node-2", gpu=0, model="h200-141gb")
    sick = SampleBatch(
        node="node-2",
        source="nvml",
        sent_at=site.now,
        period_s=20,
        inventory=Inventory(node="node-2", source="nvml", at=site.now, devices=(card,)),
        health=(
            DeviceHealth(device=REAL, signs=(FaultSign(kind="xid", code=79, since=site.now),)),
        ),
    )
    site.governor.take_samples(sick, now=site.now)
    (stretch,) = site.lease(grant).waived
    assert (stretch.start, stretch.end) == (site.now, None)
    assert site.lease(other).waived == ()


def test_two_servers_that_have_a_gpu_in_turns_are_both_on_record(tmp_path: Path) -> None:
    with site_in(tmp_path / "state", policy=TURNS, servers="pods") as site:
        grants = [site.run(user, "turn") for user in ("vera", "sam")]
        pods = [("gpu-maps", "jupyter-vera"), ("gpu-maps", "jupyter-sam")]
        site.governor.take_servers(
            dict(zip(pods, (grant.lease_id for grant in grants), strict=True))
        )
        holdings = tuple(
            DeviceHolding(namespace=space, pod=pod, device=DeviceId(f"{REAL}::{n}"))
            for n, (space, pod) in enumerate(pods)
        )
        for _ in range(3):
            site.later(20)
            sample = DeviceSample(
                device=REAL,
                at=site.now,
                util_percent=60,
                memory_used_bytes=GIB,
                memory_total_bytes=48 * GIB,
            )
            batch = SampleBatch(
                node="node-1",
                source="nvml",
                sent_at=site.now,
                period_s=20,
                devices=(sample,),
                holdings=holdings,
            )
            site.governor.take_samples(batch, now=site.now)
        start = site.now - timedelta(hours=1)
        used = site.governor.usage(Scope("all"), start, site.now, now=site.now)
        assert {one.user: one.measured_s > 0 for one in used.rows} == {"vera": True, "sam": True}
        for n, grant in enumerate(grants):
            (real,) = site.governor.view(grant.key, now=site.now).readings
            assert (real.device, real.util_percent) == (f"{REAL}::{n}", 60)
        assert site.governor.device_sheet(now=site.now).outages == ()


def listed(site: Site, node: str, *processes: ProcessSample) -> list[WatchItem]:
    """Let the agent of a machine report, and give what it is asked to watch."""
    batch = SampleBatch(
        node=node, source="nvml", sent_at=site.now, period_s=20, processes=processes
    )
    return list(site.governor.take_samples(batch, now=site.now).leases)


def test_a_server_without_a_gpu_is_watched_by_the_machine_that_it_runs_on(tmp_path: Path) -> None:
    """Nobody but the cluster knows which machine that is; until it has told, nobody is asked to."""
    policy = POLICY.replace("applies: [gpu, mig]", "applies: [none]")
    with site_in(tmp_path / "state", policy=policy, servers="pods") as site:
        grant = site.ask(site.asking("vera", "cpu"))
        told_of = Report(kind=ReportKind.started, key=grant.key, liveness=Liveness.alive)
        site.governor.report(grant.attempt_id, told_of, now=site.now)
        assert listed(site, "node-cpu") == []
        site.governor.take_servers({}, {grant.lease_id: "node-cpu"})
        assert listed(site, "node-1") == []
        (item,) = listed(site, "node-cpu")
        assert (item.lease_id, item.devices, item.process) == (grant.lease_id, (), None)
        culler = Culler()
        for _ in range(45):
            site.later(20)
            quiet = ProcessSample(lease_id=grant.lease_id, at=site.now, cpu_millis=2, processes=3)
            listed(site, "node-cpu", quiet)
            culler.look(site.governor, grant.lease_id, site.now)
        verdict = site.governor.view(grant.key, now=site.now).verdict
        assert verdict is not None
        assert verdict.state is VerdictState.idle
        site.governor.take_servers({}, {})
        assert listed(site, "node-cpu") == [], "it moved, or nobody knows any more"
