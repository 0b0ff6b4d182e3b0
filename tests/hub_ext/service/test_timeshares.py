"""A GPU that several have in turns, as its driver sees it: one GPU, whatever we hand out of it."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from hub_ext.errors import RefusedError
from hub_ext.lease import (
    Device,
    DeviceHealth,
    DeviceId,
    DeviceSample,
    FaultSign,
    Inventory,
    PoolName,
    SampleBatch,
)
from hub_ext.service.reclaim.stops import kind_of
from tests.support.governing import Site, site_in

POLICY = """\
version: 1
currency: EUR
modes: {quota: enforce, idle: enforce}
pools:
  turns: {model: l40s, nodes: [{name: node-1, gpus: 2, geometry: [{share: 2}, {share: 2}]}]}
teams:
  vision: {groups: [vision], quota: {turns: {nominal: "1"}}}
  speech: {groups: [speech], quota: {turns: {nominal: "1"}}}
profiles:
  turn:
    {title: Half in turns, pool: turns, flavor: {share: 2}, cpu: "1", memory: 1GiB,
     lifetime: {default: 1h, longest: 4h}}
prices: [{pool: turns, flavor: share-2, from: 2026-01-01, per_hour: "0.90"}]
idle:
  turns: {applies: [share], limit: 10m, notice: 5m, start_grace: 0s, keep: 30m, trial: 0s}
"""
GIB = 2**30
GPUS = [DeviceId("GPU-aa"), DeviceId("GPU-bb")]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with site_in(tmp_path / "state", policy=POLICY) as opened:
        yield opened


def driver(
    site: Site, *, used: int = 0, util: int = 0, signs: tuple[FaultSign, ...] = (), times: int = 1
) -> None:
    """Let an agent report two whole GPUs; figures and signs are those of the first."""
    for _ in range(times):
        site.later(5)
        devices = tuple(
            Device(id=name, pool=PoolName(""), node="node-1", gpu=index, model="NVIDIA L40S")
            for index, name in enumerate(GPUS)
        )
        samples = tuple(
            DeviceSample(
                device=name,
                at=site.now,
                util_percent=util if name == GPUS[0] else 0,
                memory_used_bytes=used if name == GPUS[0] else 0,
                memory_total_bytes=48 * GIB,
            )
            for name in GPUS
        )
        site.governor.take_samples(
            SampleBatch(
                node="node-1",
                source="nvml",
                sent_at=site.now,
                period_s=5,
                devices=samples,
                health=tuple(
                    DeviceHealth(device=name, signs=signs if name == GPUS[0] else ())
                    for name in GPUS
                ),
                inventory=Inventory(node="node-1", source="nvml", at=site.now, devices=devices),
            ),
            now=site.now,
        )


def test_two_of_a_team_have_one_gpu_and_another_team_gets_the_other(site: Site) -> None:
    driver(site)
    first, second, other = site.run("vera", "turn"), site.run("viktor", "turn"), None
    other = site.run("sam", "turn")
    assert [grant.devices[0].driver_id for grant in (first, second, other)] == [
        "GPU-aa",
        "GPU-aa",
        "GPU-bb",
    ]
    assert first.devices[0].id != second.devices[0].id
    assert first.isolation == "time-slice"
    assert kind_of(site.lease(first)) == "share"
    assert site.lease(first).units == 420


def test_the_memory_of_a_mate_is_no_rest_of_an_ended_server(site: Site) -> None:
    driver(site)
    site.run("vera", "turn")
    driver(site, used=20 * GIB, util=90, times=5)
    assert site.governor.problems(now=site.now)["devices"] == ()
    assert site.run("viktor", "turn").devices[0].driver_id == "GPU-aa"


def test_memory_that_nobody_has_a_lease_for_takes_the_gpu_out_for_all(site: Site) -> None:
    driver(site)
    driver(site, used=20 * GIB, times=5)
    assert len(site.governor.problems(now=site.now)["devices"]) == 2
    assert site.run("vera", "turn").devices[0].driver_id == "GPU-bb"


def test_a_fault_of_the_gpu_is_a_fault_of_each_share(site: Site) -> None:
    driver(site)
    grant = site.run("vera", "turn")
    sign = FaultSign.model_validate({"kind": "xid", "code": 79, "since": site.now})
    driver(site, signs=(sign,))
    out = {row.device.id for row in site.governor.device_sheet(now=site.now).devices if row.outage}
    assert out == {"GPU-aa::0", "GPU-aa::1"}
    assert site.run("viktor", "turn").devices[0].driver_id == "GPU-bb"
    with pytest.raises(RefusedError, match="no room for one of 2 time-shares"):
        site.run("sam", "turn")
    assert site.lease(grant).devices[0].driver_id == "GPU-aa"


def test_the_panel_and_the_idle_rule_read_the_gpu_that_is_had_in_turns(site: Site) -> None:
    driver(site)
    grant = site.run("vera", "turn")
    since = site.now
    driver(site, used=3 * GIB, util=40, times=3)
    view = site.governor.view(site.asking("vera").key, now=site.now)
    (shown,) = view.readings
    assert shown.util_percent == 40
    assert shown.title == "l40s, GPU 0 of node-1, shared by up to 2"
    readings = site.governor.readings(grant.lease_id, since - timedelta(seconds=1), now=site.now)
    assert [one.util_percent for one in readings.devices[0]][-3:] == [40, 40, 40]


def test_a_share_costs_its_own_price(site: Site) -> None:
    driver(site)
    grant = site.run("vera", "turn")
    site.later(3600 - 5)
    view = site.governor.view(site.asking("vera").key, now=site.now)
    assert view.cost is not None
    assert view.cost.so_far_micro == 898_750
    assert site.lease(grant).flavor == "share-2"


def test_a_gpu_that_is_well_again_is_back_with_all_its_shares(site: Site) -> None:
    driver(site)
    sign = FaultSign.model_validate({"kind": "ecc", "code": 1, "since": site.now})
    driver(site, signs=(sign,))
    assert len(site.governor.problems(now=site.now)["devices"]) == 2
    driver(site, times=3)
    assert site.governor.problems(now=site.now)["devices"] == ()
    assert site.run("vera", "turn").devices[0].driver_id == "GPU-aa"
