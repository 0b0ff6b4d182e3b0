"""What an ended server leaves on its device: nobody else gets it before it was seen empty."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hub_ext.errors import RefusedError
from hub_ext.lease import (
    Device,
    DeviceId,
    DeviceSample,
    Grant,
    LeaseState,
    OpenLease,
    SampleBatch,
    StrayProcess,
)
from hub_ext.service.books.floor import declared
from tests.support.governing import POLICY, Site, site_in

GIB = 1024**3
LENT = POLICY.replace('borrowing_limit: "1"', 'borrowing_limit: "2"')


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with site_in(tmp_path / "state", policy=LENT) as site:
        yield site


def whole(site: Site) -> list[Device]:
    return [one for one in declared(site.governor.policy) if one.pool == "whole"]


def read(
    site: Site,
    memory: dict[DeviceId, int | None] | None = None,
    processes: dict[DeviceId, int | None] | None = None,
    *,
    strays: tuple[StrayProcess, ...] | None = None,
    times: int = 1,
) -> None:
    """Let the agent of the whole GPUs read them; what is not named is empty."""
    for _time in range(times):
        at = site.later(5)
        samples = tuple(
            DeviceSample(
                device=one.id,
                at=at,
                util_percent=0,
                memory_used_bytes=(memory or {}).get(one.id, 0),
                memory_total_bytes=141 * GIB,
                processes=(processes or {}).get(one.id),
            )
            for one in whole(site)
        )
        batch = SampleBatch(
            node="node-2", source="nvml", sent_at=at, period_s=3600, devices=samples, strays=strays
        )
        site.governor.take_samples(batch, now=at)


def out(site: Site) -> dict[str, str]:
    return {x.device: x.words for x in site.governor.device_sheet(now=site.now).outages}


def used_and_ended(site: Site, user: str = "sam", server: str = "") -> DeviceId:
    """Let somebody use a GPU, and end while it was in use by the newest reading."""
    grant = site.run(user, server=server)
    [device] = grant.devices
    read(site, {device.id: 80 * GIB})
    site.later(1)
    site.stop(grant)
    return device.id


def get(site: Site, user: str, server: str = "") -> DeviceId:
    return site.run(user, server=server).devices[0].id


def test_a_process_that_is_left_takes_the_device_out_until_it_is_gone(site: Site) -> None:
    first = whole(site)[0].id
    read(site, processes={first: 1}, times=2)
    assert out(site) == {}
    read(site, processes={first: 1})
    assert out(site) == {first: "1 processes use it though no lease has it; end them"}
    assert first not in [get(site, "sam"), get(site, "vera")]
    read(site, times=3)
    assert out(site) == {}
    with site.ledger.transaction() as tx:
        told = [one.kind for _seq, one in tx.events(kinds=("device.out", "device.back"))]
    assert told == ["device.out", "device.back"]
    assert get(site, "sue") == first


def test_a_process_without_a_lease_is_named(site: Site) -> None:
    first = whole(site)[0].id
    strays = tuple(StrayProcess(device=first, pid=pid, memory_bytes=None) for pid in (12, 7))
    read(site, strays=strays, times=3)
    assert out(site) == {first: "process 7, 12 uses it though no lease has it; end that process"}
    read(site, strays=(), times=3)
    assert out(site) == {}


def test_what_cannot_be_read_takes_nothing_out_and_brings_nothing_back(site: Site) -> None:
    first = whole(site)[0].id
    read(site, {first: None}, {first: 0}, times=5)
    assert out(site) == {}
    read(site, {first: 20 * GIB}, times=3)
    assert first in out(site)
    read(site, {first: None}, {first: 0}, times=5)
    assert first in out(site), "no process, but nobody knows whether its memory is free"
    read(site, times=3)
    assert out(site) == {}


def test_another_team_waits_for_a_reading_and_the_own_team_does_not(site: Site) -> None:
    device = used_and_ended(site)
    others = {get(site, "vera"), get(site, "viktor")}
    assert device not in others
    with pytest.raises(RefusedError) as refused:
        site.run("vera", server="more")
    assert "has just come free. It is looked at before another team gets it" in str(refused.value)
    assert (refused.value.figures["why"], refused.value.retry_after_s) == ("not-clean", 5)
    assert get(site, "sue") == device


def test_once_it_is_seen_empty_everybody_has_it(site: Site) -> None:
    device = used_and_ended(site)
    read(site)
    assert device in {get(site, "vera"), get(site, "viktor"), get(site, "vera", "more")}


def test_what_is_still_held_after_the_end_keeps_it_from_its_own_team_too(site: Site) -> None:
    device = used_and_ended(site)
    read(site, {device: 80 * GIB})
    assert device not in {get(site, "sam"), get(site, "sue")}
    with pytest.raises(RefusedError):
        site.run("vera")
    read(site, {device: 80 * GIB}, times=2)
    assert "81920 MiB of its memory are held" in out(site)[device]
    read(site, times=3)
    assert get(site, "vera") == device


def test_a_device_that_rested_or_was_never_read_is_free_for_everybody_at_once(site: Site) -> None:
    grant = site.run("sam")
    site.stop(grant)
    rested = site.run("sam")
    read(site)
    site.stop(rested)
    assert len({get(site, "vera"), get(site, "viktor"), get(site, "vera", "more")}) == 3


def waiting(site: Site) -> tuple[Grant, OpenLease]:
    """Vision borrows both GPUs of speech; sam is owed one, and viktor's is called in for him."""
    site.run("vera")
    borrowed = [site.run("viktor"), site.run("viktor", server="two")]
    owner = site.waits("sam")
    site.later(1800)
    assert site.governor.review_calls(now=site.now) == 1
    [called] = [one for one in borrowed if site.lease(one).called_in is not None]
    return called, owner


def test_nobody_else_is_called_in_while_what_came_free_is_looked_at(site: Site) -> None:
    called, owner = waiting(site)
    [device] = called.devices
    read(site, {one.id: 80 * GIB for one in whole(site)})
    site.stop(called)
    site.serve()
    assert site.now_is(owner).state is LeaseState.queued, "it is not seen empty yet"
    assert site.governor.review_calls(now=site.now) == 0
    assert [one for one in site.governor.leases() if one.called_in is not None] == []
    read(site, {one.id: 80 * GIB for one in whole(site) if one.id != device.id})
    site.serve()
    held = site.now_is(owner)
    assert (held.state, held.devices[0].id) == (LeaseState.held, device.id)


def test_a_device_that_nobody_has_seen_for_minutes_is_told_to_admins(site: Site) -> None:
    device = used_and_ended(site)
    assert site.governor.problems(now=site.now)["devices"] == ()
    read(site, {device: None}, times=30)
    [told] = site.governor.problems(now=site.now)["devices"]
    assert told == f"{device} is kept for team speech: its memory has not been seen free"
    read(site)
    assert site.governor.problems(now=site.now)["devices"] == ()


def test_after_a_restart_each_device_is_read_before_it_is_handed_out(site: Site) -> None:
    device = used_and_ended(site)
    site.restart()
    read(site, {device: 80 * GIB})
    assert device not in {get(site, "vera"), get(site, "viktor")}
