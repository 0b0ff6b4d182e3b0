"""Servers that run without a lease: adopted with what is known, shown where it is not enough."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hub_ext.lease import (
    AttemptId,
    Cause,
    DeviceId,
    LeaseState,
    Liveness,
    OpenLease,
    Report,
    ReportKind,
    ServerKey,
    Standing,
    UserName,
)
from hub_ext.service.basis.machine import FoundServer
from hub_ext.service.leasing.strangers import ADOPTED, NOT_KNOWN, UNKNOWN, Stranger
from tests.support.governing import POLICY, Site, site_in

BOTH = POLICY.replace("groups: [speech]", "groups: [speech, vision]")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with site_in(tmp_path / "state") as site:
        yield site


def stranger(
    site: Site,
    user: str = "vera",
    *devices: str,
    groups: tuple[str, ...] = ("vision",),
    attempt: str = "attempt-without-us",
) -> Stranger:
    """A server that runs on this machine, and nobody told the governor."""
    process = site.machine.start(site.now)
    named = tuple(DeviceId(one) for one in devices)
    found = FoundServer(process, AttemptId(attempt), named)
    return Stranger(ServerKey(user=UserName(user)), groups, found)


def compare(site: Site, *strangers: Stranger) -> tuple[ServerKey, ...]:
    return site.governor.strangers(strangers, since=site.now, now=site.now)


def the_lease(site: Site) -> OpenLease:
    [lease] = site.governor.leases()
    return lease


def words(site: Site) -> str:
    return " ".join(site.governor.problems(now=site.now)["servers"])


def events(site: Site, kind: str) -> int:
    with site.ledger.transaction() as tx:
        return len(tx.events(kinds=[kind]))


def test_a_server_of_one_team_is_adopted_with_what_is_known_and_no_more(site: Site) -> None:
    one = stranger(site)
    assert compare(site, one) == ()
    lease = the_lease(site)
    assert one.found is not None
    assert (lease.state, lease.team, lease.profile) == (LeaseState.running, "vision", NOT_KNOWN)
    assert (lease.pool, lease.units, lease.ends_at) == (None, 0, None)
    assert (lease.standing, lease.process) == (Standing.unmetered, one.found.process)
    assert lease.reason is not None
    assert "not known" in lease.reason.message
    assert (events(site, ADOPTED), events(site, UNKNOWN)) == (1, 0)
    assert words(site) == ""
    assert compare(site) == ()
    assert site.governor.view(lease.key, now=site.now).lease is not None


def test_the_gpu_that_it_uses_is_held_counted_and_charged_from_now(site: Site) -> None:
    [device, *_rest] = [one for one in site.governor.devices(now=site.now) if one.pool == "whole"]
    compare(site, stranger(site, "vera", device.id))
    lease = the_lease(site)
    assert [one.id for one in lease.devices] == [device.id]
    assert (lease.flavor, lease.units, lease.standing) == ("gpu-1", 840, Standing.guaranteed)
    assert lease.assigned_at == site.now
    others = [site.run(user).devices[0].id for user in ("sam", "sue")]
    assert device.id not in others


def test_its_late_ask_completes_it_with_its_profile(site: Site) -> None:
    one = stranger(site)
    compare(site, one)
    found = the_lease(site)
    site.later(20)
    grant = site.ask(site.asking("vera", "cpu", attempt="attempt-without-us"))
    lease = site.lease(grant)
    assert (lease.id, lease.profile, lease.state) == (found.id, "cpu", LeaseState.running)
    assert lease.ends_at is not None
    assert site.ask(site.asking("vera", "cpu", attempt="attempt-without-us")) == grant
    assert one.found is not None
    told = Report(
        kind=ReportKind.started,
        key=one.key,
        liveness=Liveness.alive,
        process=one.found.process,
    )
    site.governor.report("attempt-without-us", told, now=site.now)
    site.machine.end(one.found.process)
    site.ended(grant)
    assert (site.lease(grant).state, site.lease(grant).cause) == (LeaseState.closed, Cause.user)


def test_where_no_process_can_be_read_the_hubs_word_is_all_there_is(site: Site) -> None:
    compare(site, Stranger(ServerKey(user=UserName("vera")), ("vision",)))
    lease = the_lease(site)
    assert lease.reason is not None
    assert "nor whether it uses a GPU" in lease.reason.message
    grant = site.ask(site.asking("vera", "cpu"))
    assert site.lease(grant).id == lease.id


def test_a_gpu_is_never_handed_to_a_second_start_beside_an_adopted_server(site: Site) -> None:
    compare(site, stranger(site))
    with pytest.raises(Exception, match="still"):
        site.ask(site.asking("vera", "one"))
    assert the_lease(site).profile == NOT_KNOWN


@pytest.mark.parametrize(
    ("groups", "why"), [((), "no group of a team"), (("vision",), "several teams")]
)
def test_whose_it_is_must_be_known(tmp_path: Path, groups: tuple[str, ...], why: str) -> None:
    with site_in(tmp_path / "state", policy=BOTH) as site:
        one = stranger(site, groups=groups)
        assert compare(site, one) == (one.key,)
        assert compare(site, one) == (one.key,)
        assert why in words(site)
        assert events(site, UNKNOWN) == 1
        assert site.governor.leases() == ()


def test_of_several_teams_it_is_the_one_of_its_last_server(tmp_path: Path) -> None:
    with site_in(tmp_path / "state", policy=BOTH) as site:
        site.stop(site.ask(site.asking("vera", "one", team="speech")))
        site.later(60)
        compare(site, stranger(site))
        assert the_lease(site).team == "speech"


def test_a_device_that_another_lease_holds_is_not_taken_twice(site: Site) -> None:
    held = site.run("sam").devices[0].id
    assert compare(site, stranger(site, "vera", held)) != ()
    assert held in words(site)
    assert compare(site, stranger(site, "vera", "GPU-of-nobody")) != ()
    assert "GPU-of-nobody" in words(site)


def test_a_server_that_ended_since_the_hub_was_asked_is_no_stranger(site: Site) -> None:
    grant = site.run("vera")
    one = stranger(site)
    site.stop(grant)
    assert compare(site, one) == ()
    assert site.governor.leases() == ()


def test_an_adopted_server_that_is_gone_is_closed_as_lost(site: Site) -> None:
    one = stranger(site)
    compare(site, one)
    lease = the_lease(site)
    assert one.found is not None
    site.machine.end(one.found.process)
    site.governor.look(lease.id, now=site.later(30))
    assert site.now_is(lease).cause is Cause.lost
