"""Maintenance announced in advance: leases end before it, and it is over by the clock alone."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hub_ext.errors import RefusedError
from hub_ext.lease import (
    Actor,
    Cause,
    Device,
    Grant,
    LeaseState,
    MaintenanceSheet,
    Notice,
    Offer,
    UserName,
)
from hub_ext.policy.catalogue import Person
from hub_ext.service.books.floor import declared
from hub_ext.service.devices.maintaining import Announcement
from hub_ext.service.workers.cull import Culler
from tests.support.governing import GROUPS, START, Site, site_in

ROOT = Actor(kind="user", name="root", admin=True)
HOUR = timedelta(hours=1)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with site_in(tmp_path / "state") as site:
        yield site


def by(site: Site, reason: str = "new cables") -> dict[str, Any]:
    return {"reason": reason, "actor": ROOT, "now": site.now}


def announce(
    site: Site, start: datetime, end: datetime, *, place: str = "pool", name: str = "whole"
) -> MaintenanceSheet:
    wanted = Announcement.model_validate({"place": place, "name": name, "start": start, "end": end})
    return site.governor.announce(wanted, **by(site))


def cull(site: Site, grant: Grant) -> None:
    Culler().look(site.governor, grant.lease_id, site.now)


def notice(site: Site, grant: Grant) -> Notice | None:
    return site.lease(grant).notice


def usable(site: Site, pool: str = "whole") -> int:
    sheet = site.governor.queue(now=site.now)
    return next(load.usable for load in sheet.pools if load.pool == pool)


def devices(site: Site) -> list[Device]:
    return [one for one in declared(site.governor.policy) if one.pool == "whole"]


def offered(site: Site, user: str, profile: str = "one") -> Offer:
    person = Person(user=UserName(user), groups=GROUPS[user])
    sheet = site.governor.offers(person, now=site.now)
    return next(one for one in sheet.offers if one.profile == profile)


def test_a_server_started_before_it_ends_where_it_begins_and_is_told_at_the_start(
    site: Site,
) -> None:
    announce(site, START + HOUR / 2, START + 3 * HOUR)
    offer = offered(site, "sam")
    assert (offer.lifetime_default_s, offer.lifetime_longest_s) == (1800, 1800)
    assert "Maintenance of pool whole is announced from 2026-11-30 09:30" in offer.reason.message
    assert "new cables" in offer.reason.message
    grant = site.run("sam")
    lease = site.lease(grant)
    assert lease.ends_at == grant.ends_at == START + HOUR / 2
    assert lease.reason is not None
    assert "So this server ends at 2026-11-30 09:30" in lease.reason.message
    assert lease.reason.figures["ends_by"] == (START + HOUR / 2).isoformat()
    cull(site, grant)
    assert notice(site, grant) is None, "it ends before anything is in its way"


def test_who_would_run_into_it_is_told_at_once_and_stopped_when_it_begins(site: Site) -> None:
    grant = site.run("sam")
    short = site.run("vera", "small")
    announce(site, START + HOUR / 2, START + 3 * HOUR)
    for one in (grant, short):
        cull(site, one)
    told = notice(site, grant)
    assert told is not None
    assert (told.cause, told.reason.code, told.stops_at) == (
        Cause.admin,
        "maintenance",
        START + HOUR / 2,
    )
    assert "to 2026-11-30 12:00" in told.reason.message
    assert "Save your work" in told.reason.message
    assert notice(site, short) is None, "it is in another pool"
    site.later(1801)
    cull(site, grant)
    stopping = site.lease(grant)
    assert (stopping.state, stopping.cause) == (LeaseState.stopping, Cause.admin)
    assert stopping.reason is not None
    assert "Start it again on other devices, or after 2026-11-30 12:00" in stopping.reason.message


def test_nothing_is_started_there_shortly_before_and_while_it_is_on_then_all_by_itself_again(
    site: Site,
) -> None:
    announce(site, START + HOUR, START + 2 * HOUR, place="node", name="node-2")
    assert usable(site) == 3 * 840
    site.later(51 * 60)
    site.report_devices()
    assert usable(site) == 0, "the policy's notice before a stop is the shortest life"
    with pytest.raises(RefusedError, match="new cables") as refused:
        site.run("sam")
    assert refused.value.retry_after_s == 69 * 60, "until it is over"
    assert "3 devices in pool whole, and 0 are in service" in refused.value.message
    waiting = site.waits("sam")
    site.restart()
    assert site.serve() == 0
    site.later(40 * 60)
    site.report_devices()
    assert usable(site) == 0
    assert "node-2" in " ".join(site.governor.problems(now=site.now)["devices"])
    assert "devices" in {one.code for one in site.governor.health(now=site.now).problems}
    assert usable(site, "mig") > 0
    site.now = START + 2 * HOUR
    site.report_devices()
    assert usable(site) == 3 * 840
    assert site.governor.problems(now=site.now)["devices"] == ()
    assert site.governor.maintenance(now=site.now).announced == ()
    assert site.serve() == 1, "who waited gets a device without anybody's hand"
    assert site.now_is(waiting).state is LeaseState.held


def test_a_device_without_maintenance_is_given_first_and_the_latest_next(site: Site) -> None:
    first, second, third = devices(site)
    announce(site, START + 1.5 * HOUR, START + 9 * HOUR, place="device", name=first.id)
    announce(site, START + HOUR / 2, START + 9 * HOUR, place="device", name=second.id)
    grants = [site.run("sam"), site.run("sue"), site.run("vera")]
    assert [grant.devices[0].id for grant in grants] == [third.id, first.id, second.id]
    assert [grant.ends_at - START for grant in grants] == [HOUR, HOUR, HOUR / 2]


def test_called_off_the_notice_is_taken_back_and_lives_are_extended_again(site: Site) -> None:
    early = site.run("sam")
    [planned] = announce(site, START + HOUR / 2, START + 3 * HOUR).announced
    late = site.run("sue")
    cull(site, early)
    assert site.governor.view_of(late.lease_id, now=site.now).extend_max_s == 0
    with pytest.raises(RefusedError, match="can be extended by 0s at most") as refused:
        site.governor.extend(late.lease_id, seconds=60, actor=ROOT, now=site.now)
    assert "Maintenance of pool whole" in refused.value.message
    site.governor.call_off(planned.id, **by(site, "cables came late"))
    cull(site, early)
    assert site.lease(early).state is LeaseState.running
    assert site.governor.view_of(late.lease_id, now=site.now).extend_max_s == 5400
    longer = site.governor.extend(late.lease_id, seconds=5400, actor=ROOT, now=site.now)
    assert longer.ends_at is not None
    assert longer.ends_at > site.now + HOUR
    with site.ledger.transaction() as tx:
        kinds = ("admin.announce", "admin.call_off")
        told = [
            (one.kind, one.actor.name, one.body["reason"]) for _seq, one in tx.events(kinds=kinds)
        ]
    assert told == [
        ("admin.announce", "root", "new cables"),
        ("admin.call_off", "root", "cables came late"),
    ]
    with pytest.raises(RefusedError, match="no maintenance"):
        site.governor.call_off(planned.id, **by(site))


def test_an_extension_reaches_until_it_begins(site: Site) -> None:
    grant = site.run("sam")
    announce(site, START + 1.5 * HOUR, START + 3 * HOUR)
    assert site.governor.view_of(grant.lease_id, now=site.now).extend_max_s == 1800
    site.governor.extend(grant.lease_id, seconds=1800, actor=ROOT, now=site.now)
    cull(site, grant)
    assert notice(site, grant) is None


def test_put_off_it_is_told_anew(site: Site) -> None:
    grant = site.run("sam")
    [planned] = announce(site, START + HOUR / 3, START + 3 * HOUR).announced
    cull(site, grant)
    site.governor.call_off(planned.id, **by(site, "later"))
    announce(site, START + HOUR / 2, START + 3 * HOUR)
    cull(site, grant)
    assert notice(site, grant) is None
    cull(site, grant)
    told = notice(site, grant)
    assert told is not None
    assert told.stops_at == START + HOUR / 2


def test_who_could_not_be_told_before_still_gets_the_notice_of_the_policy(site: Site) -> None:
    grant = site.run("sam")
    announce(site, START + HOUR / 2, START + 9 * HOUR)
    site.later(35 * 60)  # The governor slept, or the clock was set forward, past its beginning.
    cull(site, grant)
    told = notice(site, grant)
    assert told is not None
    assert told.stops_at == site.now + timedelta(minutes=10)
    site.later(300)
    cull(site, grant)
    assert notice(site, grant) == told, "no look puts it off"
    site.later(301)
    cull(site, grant)
    assert site.lease(grant).state is LeaseState.stopping


def test_steps_of_the_clock_make_it_neither_longer_nor_forgotten(site: Site) -> None:
    announce(site, START + HOUR, START + 2 * HOUR)
    site.now = START + 24 * HOUR
    site.report_devices()
    assert usable(site) == 3 * 840
    site.now = START + 1.5 * HOUR
    site.report_devices()
    assert usable(site) == 0, "set back into it: it is on"
    site.now = START
    site.report_devices()
    assert usable(site) == 3 * 840
    assert len(site.governor.maintenance(now=site.now).announced) == 1


def test_slept_through_it_stops_nobody(site: Site) -> None:
    grant = site.run("vera", "cpu")
    held = site.run("sam")
    announce(site, START + HOUR / 4, START + HOUR / 3)
    site.later(30 * 60)
    for one in (grant, held):
        cull(site, one)
        assert site.lease(one).state is LeaseState.running


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        (1, 1, "end after it begins"),
        (2, 1, "end after it begins"),
        (-3, -1, "later than now"),
        (1, 24 * 400, "366 days"),
    ],
)
def test_times_that_cannot_be_are_refused(site: Site, start: int, end: int, words: str) -> None:
    with pytest.raises(RefusedError, match=words):
        announce(site, START + start * HOUR, START + end * HOUR)
    with pytest.raises(RefusedError, match="There is no machine"):
        announce(site, START, START + HOUR, place="node", name="nowhere")


def test_begun_before_it_was_announced_it_begins_now(site: Site) -> None:
    [planned] = announce(site, START - HOUR, START + HOUR).announced
    assert planned.start == START
    assert usable(site) == 0
