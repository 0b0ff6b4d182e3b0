"""A GPU at fault is not handed out; its owner is told and stopped, and does not pay for it."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hub_ext.lease import (
    Actor,
    Cause,
    Device,
    DeviceHealth,
    DeviceId,
    FaultSign,
    Grant,
    LeaseState,
    Posting,
    SampleBatch,
)
from hub_ext.ledger.store import FILE
from hub_ext.ledger.verify import verify
from hub_ext.metering import WAIVED
from hub_ext.service.books.floor import declared
from hub_ext.service.sheets.lease import sheet
from hub_ext.service.workers.cull import Culler
from tests.support.governing import START, Site, site_in

ROOT = Actor(kind="user", name="root", admin=True)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with site_in(tmp_path / "state") as site:
        yield site
        assert verify(site.state / FILE).difference == ""


def pool(site: Site) -> list[Device]:
    return [one for one in declared(site.governor.policy) if one.pool == "whole"]


def sign(site: Site, kind: str, code: int, *, ago_s: float = 0) -> FaultSign:
    since = site.now - timedelta(seconds=ago_s)
    return FaultSign.model_validate({"kind": kind, "code": code, "since": since})


def look(site: Site, signs: dict[DeviceId, list[FaultSign] | None], *, times: int = 1) -> None:
    """Let the agent look at every whole GPU, 5 s after the last time; None could not be asked."""
    for _ in range(times):
        site.later(5)
        health = tuple(
            DeviceHealth(device=one.id, signs=tuple(signs.get(one.id) or ()))
            for one in pool(site)
            if signs.get(one.id, []) is not None
        )
        site.governor.take_samples(
            SampleBatch(
                node="node-2", source="nvml", sent_at=site.now, period_s=3600, health=health
            ),
            now=site.now,
        )


def words(site: Site) -> str:
    return " ".join(site.governor.problems(now=site.now)["devices"])


def by(site: Site) -> dict[str, Any]:
    return {"reason": "it was reset", "actor": ROOT, "now": site.now}


def cull(site: Site, grant: Grant) -> None:
    Culler().look(site.governor, grant.lease_id, site.now)


def posted(site: Site) -> list[Posting]:
    with site.ledger.transaction() as tx:
        return list(tx.postings(start=START - timedelta(days=1), end=START + timedelta(days=9)))


@pytest.mark.parametrize(
    ("kind", "code", "said"),
    [
        ("ecc", 2, "2 memory errors could not be corrected"),
        ("xid", 79, "Xid 79: it has fallen off the bus"),
        ("recovery", 1, "the GPU is to be reset"),
    ],
)
def test_a_device_at_fault_is_out_of_service_and_its_lease_ended_with_words(
    site: Site, kind: str, code: int, said: str
) -> None:
    grant = site.run("sam")
    [device] = grant.devices
    look(site, {device.id: [sign(site, kind, code)]})
    assert said in words(site)
    cull(site, grant)
    notice = site.lease(grant).notice
    assert notice is not None
    assert said in notice.reason.message
    assert "nothing is charged" in notice.reason.message
    site.now = notice.stops_at
    cull(site, grant)
    stopping = site.lease(grant)
    assert (stopping.state, stopping.cause) == (LeaseState.stopping, Cause.admin)
    site.stop(grant)
    others = [site.run(user).devices[0].id for user in ("sam", "sue")]
    assert device.id not in others


def test_from_the_first_sign_to_the_close_the_site_pays_to_the_micro_unit(site: Site) -> None:
    grant = site.run("sam")
    site.later(1000)
    look(site, {grant.devices[0].id: [sign(site, "ecc", 1, ago_s=5)]})
    view = site.governor.view_of(grant.lease_id, now=site.later(600))
    assert view.cost is not None
    assert view.cost.so_far_micro == 995_000, "the clock of the panel stands still"
    site.stop(grant)
    assert [(line.team, line.user, line.seconds, line.amount_micro) for line in posted(site)] == [
        ("speech", "sam", 995, 995_000),
        (WAIVED, "(site)", 610, 610_000),
    ]
    page = sheet(site.governor.dossier(grant.lease_id, now=site.now), site.governor.policy)
    assert "the device was at fault" in str(page["facts"])
    assert "Nothing is charged from" in str(page["timeline"])
    assert [line["payer"] for line in page["lines"]] == [  # type: ignore[attr-defined]
        "speech",
        "the site: the device was at fault",
    ]


def test_a_sign_older_than_the_lease_waives_all_of_it_and_no_more(site: Site) -> None:
    grant = site.run("sam")
    look(site, {grant.devices[0].id: [sign(site, "ecc", 1, ago_s=9999)]})
    site.later(60)
    site.stop(grant)
    [line] = posted(site)
    assert (line.team, line.seconds) == (WAIVED, 65)


def test_a_device_that_vanished_is_not_charged_from_the_last_batch_that_had_it(site: Site) -> None:
    grant = site.run("sam")
    look(site, {}, times=2)
    site.later(7)
    site.report_devices(without=frozenset({grant.devices[0].id}))
    site.later(100)
    site.stop(grant)
    assert [(line.team, line.seconds) for line in posted(site)] == [("speech", 10), (WAIVED, 107)]


def test_memory_errors_that_are_gone_bring_it_back_and_are_charged_again(site: Site) -> None:
    grant = site.run("sam")
    [device] = grant.devices
    look(site, {device.id: [sign(site, "ecc", 1)]})
    cull(site, grant)
    look(site, {device.id: None}, times=4)
    assert words(site) != "", "what could not be asked has passed no check"
    look(site, {}, times=3)
    assert words(site) == ""
    cull(site, grant)
    assert site.lease(grant).state is LeaseState.running
    site.later(100)
    site.stop(grant)
    assert [(line.team, line.seconds) for line in posted(site)] == [(WAIVED, 40), ("speech", 100)]


def test_an_xid_is_over_when_an_administrator_says_so(site: Site) -> None:
    [device, *_others] = pool(site)
    happened = sign(site, "xid", 119)
    look(site, {device.id: [happened]})
    look(site, {}, times=9)
    assert "system processor" in words(site)
    site.restart()
    assert "system processor" in words(site), "it is on the record"
    site.governor.bring_back(device.id, **by(site))
    look(site, {device.id: [happened]}, times=3)
    assert words(site) == "", "the agent goes on telling of it, and it is known"
    site.restart()
    look(site, {device.id: [happened]})
    assert words(site) == ""
    look(site, {})
    look(site, {device.id: [sign(site, "xid", 119)]})
    assert "system processor" in words(site), "it has happened again"


def test_more_memory_errors_than_were_accepted_are_a_new_fault(site: Site) -> None:
    [device, *_others] = pool(site)
    look(site, {device.id: [sign(site, "ecc", 1)]})
    site.governor.bring_back(device.id, **by(site))
    look(site, {device.id: [sign(site, "ecc", 1)]})
    assert words(site) == ""
    look(site, {device.id: [sign(site, "ecc", 2)]})
    assert "2 memory errors" in words(site)


@pytest.mark.parametrize("code", [13, 31, 43, 45, 63, 94])
def test_a_programs_own_mistake_is_no_fault_of_the_device(site: Site, code: int) -> None:
    grant = site.run("sam")
    look(site, {grant.devices[0].id: [sign(site, "xid", code)]}, times=5)
    assert words(site) == ""
    assert site.lease(grant).waived == ()


def test_a_device_is_charged_that_an_administrator_takes_out(site: Site) -> None:
    grant = site.run("sam")
    site.governor.take_out(grant.devices[0].id, **by(site))
    site.later(60)
    site.stop(grant)
    assert [(line.team, line.seconds) for line in posted(site)] == [("speech", 60)]


def test_a_device_that_nobody_knows_is_not_taken_out(site: Site) -> None:
    look(site, {})
    stranger = DeviceHealth(device=DeviceId("GPU-of-nobody"), signs=(sign(site, "ecc", 1),))
    batch = SampleBatch(
        node="node-2", source="nvml", sent_at=site.now, period_s=5, health=(stranger,)
    )
    site.governor.take_samples(batch, now=site.now)
    assert words(site) == ""
