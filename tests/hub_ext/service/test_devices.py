"""Devices that fail, are not empty, or are taken out by hand: not handed out, and said why."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hub_ext.errors import RefusedError
from hub_ext.lease import (
    Actor,
    Cause,
    Device,
    DeviceId,
    DeviceSample,
    Grant,
    Inventory,
    LeaseState,
    SampleBatch,
    Spot,
)
from hub_ext.policy.load import loads
from hub_ext.service.books.floor import declared
from hub_ext.service.workers.cull import Culler
from tests.support.governing import START, Site, site_in

ROOT = Actor(kind="user", name="root", admin=True)
GIB = 1024**3


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with site_in(tmp_path / "state") as site:
        yield site


def pool(site: Site, name: str = "whole") -> list[Device]:
    return [one for one in declared(site.governor.policy) if one.pool == name]


def read(site: Site, used: dict[DeviceId, int | None], *, times: int = 1) -> None:
    """Let the agent of the machine with whole GPUs report how much memory is held."""
    for _ in range(times):
        site.later(5)
        samples = tuple(
            DeviceSample(
                device=one.id,
                at=site.now,
                util_percent=0,
                memory_used_bytes=used.get(one.id, 0),
                memory_total_bytes=141 * GIB,
            )
            for one in pool(site)
        )
        site.governor.take_samples(
            SampleBatch(
                node="node-2", source="nvml", sent_at=site.now, period_s=3600, devices=samples
            ),
            now=site.now,
        )


def usable(site: Site) -> int:
    sheet = site.governor.queue(now=site.now)
    return next(load.usable for load in sheet.pools if load.pool == "whole")


def words(site: Site) -> str:
    return " ".join(site.governor.problems(now=site.now)["devices"])


def codes(site: Site) -> set[str]:
    return {one.code for one in site.governor.health(now=site.now).problems}


def events(site: Site, *kinds: str) -> list[tuple[str, str]]:
    with site.ledger.transaction() as tx:
        return [(one.kind, one.actor.name) for _seq, one in tx.events(kinds=kinds)]


def by(site: Site, reason: str = "new cables") -> dict[str, Any]:
    return {"reason": reason, "actor": ROOT, "now": site.now}


def cull(site: Site, grant: Grant) -> None:
    Culler().look(site.governor, grant.lease_id, site.now)


def test_memory_that_stays_held_takes_a_free_device_out_until_it_is_empty(site: Site) -> None:
    first = pool(site)[0].id
    read(site, {first: 20 * GIB})
    assert usable(site) == 2 * 840, "one reading already keeps it from being handed out"
    assert events(site, "device.out") == []
    read(site, {first: 20 * GIB}, times=2)
    assert events(site, "device.out") == [("device.out", "governor")]
    assert "20480 MiB of its memory are held" in words(site)
    assert first in words(site)
    assert "devices" in codes(site)
    assert first not in [site.run(user).devices[0].id for user in ("sam", "vera")]
    with pytest.raises(RefusedError):
        site.run("sue")
    read(site, {first: 0}, times=2)
    assert usable(site) == 2 * 840, "two good readings are not enough"
    read(site, {first: None})
    read(site, {first: 0})
    assert events(site, "device.out", "device.back")[-1] == ("device.back", "governor")
    assert (usable(site), words(site)) == (3 * 840, "")
    assert site.run("sue").devices[0].id == first


def test_what_a_lease_holds_or_nobody_measured_says_nothing(site: Site) -> None:
    [device] = site.run("sam").devices
    read(site, {device.id: 100 * GIB, pool(site)[2].id: None}, times=5)
    assert events(site, "device.out") == []
    assert usable(site) == 3 * 840


def test_one_strange_reading_is_forgotten(site: Site) -> None:
    first = pool(site)[0].id
    for held in (20 * GIB, 0, 20 * GIB, 20 * GIB, 0):
        read(site, {first: held})
    assert events(site, "device.out") == []
    assert usable(site) == 3 * 840


def test_a_device_that_vanishes_in_use_is_faulty_and_its_owner_is_told_and_stopped(
    site: Site,
) -> None:
    grant = site.run("sam")
    [device] = grant.devices
    site.report_devices(without=frozenset({device.id}))
    assert "does not find it any more" in words(site)
    cull(site, grant)
    notice = site.lease(grant).notice
    assert notice is not None
    assert (notice.cause, notice.reason.code) == (Cause.admin, "device-faulty")
    assert "Save your work" in notice.reason.message
    site.now = notice.stops_at
    cull(site, grant)
    stopping = site.lease(grant)
    assert (stopping.state, stopping.cause) == (LeaseState.stopping, Cause.admin)
    assert stopping.reason is not None
    assert "another device is given out" in stopping.reason.message
    site.stop(grant)
    site.report_devices()
    assert device.id not in [site.run(user).devices[0].id for user in ("sam", "sue")]


def test_a_faulty_device_that_is_found_again_comes_back_and_the_notice_goes(site: Site) -> None:
    grant = site.run("sam")
    site.report_devices(without=frozenset({grant.devices[0].id}))
    cull(site, grant)
    for _ in range(3):
        site.later(5)
        site.report_devices()
    assert words(site) == ""
    cull(site, grant)
    assert site.lease(grant).state is LeaseState.running


def test_an_administrator_takes_out_and_back_with_a_reason(site: Site) -> None:
    first = pool(site)[0].id
    sheet = site.governor.take_out(first, **by(site))
    assert [one.by for one in sheet.outages] == ["root"]
    assert (usable(site), "new cables" in words(site)) == (2 * 840, True)
    with pytest.raises(RefusedError, match="already"):
        site.governor.take_out(first, **by(site))
    read(site, {first: 0}, times=5)
    assert usable(site) == 2 * 840, "no check brings back what a person took out"
    site.restart()
    assert usable(site) == 2 * 840, "it is on the record"
    site.governor.bring_back(first, **by(site))
    assert usable(site) == 3 * 840
    assert events(site, "device.out", "device.back") == [
        ("device.out", "root"),
        ("device.back", "root"),
    ]
    with pytest.raises(RefusedError, match="not out"):
        site.governor.bring_back(first, **by(site))
    with pytest.raises(RefusedError, match="There is no device"):
        site.governor.take_out(DeviceId("GPU-of-nobody"), **by(site))


@pytest.mark.parametrize(
    "spot", [("pool", "whole"), ("node", "node-2"), ("device", "")], ids=lambda one: one[0]
)
def test_a_drain_starts_nothing_new_announces_the_ends_and_is_lifted(
    site: Site, spot: tuple[str, str]
) -> None:
    grant = site.run("sam")
    where = Spot.model_validate({"place": spot[0], "name": spot[1] or grant.devices[0].id})
    site.governor.drain(where, after=timedelta(minutes=20), **by(site))
    others = 0 if spot[0] != "device" else 2
    assert usable(site) == others * 840
    if not others:
        with pytest.raises(RefusedError, match="new cables"):
            site.run("sue")
    cull(site, grant)
    notice = site.lease(grant).notice
    assert notice is not None
    assert notice.stops_at == site.now + timedelta(minutes=20)
    assert "Administrator root" in notice.reason.message
    site.restart()
    assert usable(site) == others * 840
    site.governor.lift(where, **by(site, "done"))
    cull(site, grant)
    assert site.lease(grant).state is LeaseState.running
    assert usable(site) == 3 * 840
    assert events(site, "admin.drain", "admin.lift") == [
        ("admin.drain", "root"),
        ("admin.lift", "root"),
    ]
    with pytest.raises(RefusedError, match="not drained"):
        site.governor.lift(where, **by(site))


def test_a_drain_that_is_over_stops_whom_it_told(site: Site) -> None:
    grant = site.run("sam")
    site.governor.drain(Spot(place="pool", name="whole"), after=None, **by(site))
    cull(site, grant)
    site.later(9 * 60)
    cull(site, grant)
    assert site.lease(grant).state is LeaseState.noticed
    site.later(61)
    cull(site, grant)
    assert (site.lease(grant).state, site.lease(grant).cause) == (
        LeaseState.stopping,
        Cause.admin,
    )


def test_no_drain_of_what_is_not_there(site: Site) -> None:
    for place in ("pool", "node", "device"):
        spot = Spot.model_validate({"place": place, "name": "nowhere"})
        with pytest.raises(RefusedError, match="There are"):
            site.governor.drain(spot, after=None, **by(site))


def test_a_simulated_device_that_left_the_policy_is_no_fault(site: Site) -> None:
    grant = site.run("vera", "small")
    left = Inventory(node="node-1", source="simulated", at=site.now, devices=())
    policy = site.policy_text.replace("node-1", "node-9")
    site.governor.set_policy(loads(policy), now=site.now)
    site.governor.take_samples(
        SampleBatch(
            node="node-1", source="simulated", sent_at=site.now, period_s=5, inventory=left
        ),
        now=site.now,
    )
    assert words(site) == ""
    assert site.lease(grant).state is LeaseState.running


def test_what_is_left_on_a_device_after_a_stop_is_charged_to_nobody(site: Site) -> None:
    grant = site.run("sam")
    site.later(100)
    site.stop(grant)
    read(site, {grant.devices[0].id: 20 * GIB}, times=3)
    assert "are held though no lease has it" in words(site)
    site.later(3600)
    read(site, {}, times=3)
    assert words(site) == ""
    with site.ledger.transaction() as tx:
        [line] = tx.postings(start=START, end=site.now)
    assert (line.team, line.seconds) == ("speech", 100)
