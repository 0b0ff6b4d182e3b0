"""Anomalies on a real governor: found, recorded as episodes, priced, told and acted upon."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from hub_ext.errors import RefusedError
from hub_ext.lease import (
    GOVERNOR,
    Actor,
    Cause,
    DeviceId,
    Event,
    Grant,
    LeaseState,
    Liveness,
    SampleBatch,
    ServerKey,
    StrayProcess,
    UserName,
)
from hub_ext.lease.anomalies import Anomaly, AnomalyAct
from hub_ext.service.anomalies.acts import Deed
from hub_ext.service.core import anomaly as anomalycore
from hub_ext.service.leasing.strangers import Stranger
from hub_ext.service.workers.cull import Culler
from tests.support.governing import POLICY, Site, site_in
from tests.support.odd_site import GIB, LONG, MINUTE, look, pass_time

ROOT = Actor(kind="user", name="ada", admin=True)
LENA = Actor(kind="user", name="lena")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with site_in(tmp_path / "state", policy=LONG) as site:
        yield site


def odd(site: Site, teams: tuple[str, ...] | None = None) -> list[Anomaly]:
    """Anomalies but capacity that nobody holds, which has stories of its own."""
    found = site.governor.anomalies(teams, now=site.now).open
    return [one for one in found if one.kind != "unallocated"]


def events(site: Site, *kinds: str) -> list[Event]:
    with site.ledger.transaction() as tx:
        return [one for _seq, one in tx.events(kinds=kinds, limit=1000)]


def do(
    site: Site,
    one: Anomaly,
    act: AnomalyAct,
    actor: Actor = ROOT,
    teams: tuple[str, ...] | None = None,
) -> None:
    deed = Deed(act=act, reason="others wait", actor=actor, teams=teams)
    site.governor.act_on_anomaly(one.id, deed, now=site.now)


def test_hoarding_is_found_priced_and_over_when_the_gpu_works(site: Site) -> None:
    grant = site.run("vera")
    pass_time(site, 0.5, gpu=70, memory=90 * GIB)
    pass_time(site, 1.5, memory=90 * GIB)
    assert odd(site) == [], "two hours are not over"
    pass_time(site, 0.6, memory=90 * GIB)
    [one] = odd(site)
    assert (one.kind, one.owner, one.teams) == ("hoarding", "vera", ("vision",))
    assert one.leases == (grant.lease_id,)
    # Two hours of EUR 3.60.
    assert one.money_micro == 7_200_000
    pass_time(site, 0.5, memory=120 * GIB)
    [later] = odd(site)
    assert (later.id, later.began, later.peak) == (one.id, one.began, 90 * GIB)
    assert later.money_micro == 7_200_000 + 1_800_000
    pass_time(site, 0.1, gpu=80, memory=120 * GIB)
    assert odd(site) == [later], "it may be away for a moment"
    pass_time(site, 0.2, gpu=80, memory=120 * GIB)
    assert odd(site) == []
    [ended] = site.governor.anomalies(now=site.now).ended
    assert (ended.id, ended.money_micro) == (one.id, later.money_micro)
    assert [one.kind for one in events(site, "anomaly.began", "anomaly.ended")] == [
        "anomaly.began",
        "anomaly.ended",
    ]


def test_busy_neighbours_are_not_flagged(site: Site) -> None:
    site.run("vera")
    site.run("sam")
    site.run("viktor", "cpu")
    pass_time(site, 3, gpu=35, memory=90 * GIB)
    assert odd(site) == []
    assert events(site, "anomaly.began") == []


def test_a_server_that_prepares_data_for_hours_is_not_hoarding(site: Site) -> None:
    site.run("vera")
    pass_time(site, 0.2, gpu=50, memory=40 * GIB)
    pass_time(site, 3, memory=40 * GIB, cpu=1900)
    assert odd(site) == []


def test_what_is_never_used_is_asked_about_and_the_answer_is_seen_in_lab(site: Site) -> None:
    grant = site.run("sam")
    pass_time(site, 1.1)
    [one] = odd(site)
    assert (one.kind, one.owner, one.act) == ("never_used", "sam", "ask")
    do(site, one, "ask")
    notice = site.lease(grant).notice
    assert notice is not None
    assert notice.is_advice
    assert "ada asks you: others wait. Its GPU has not been used" in notice.reason.message
    [acted] = events(site, "admin.anomaly")
    assert (acted.actor, acted.body["act"]) == (ROOT, "ask")
    Culler().look(site.governor, grant.lease_id, site.now)
    assert site.lease(grant).notice == notice, "the idle round leaves it alone"
    pass_time(site, 0.4, gpu=60, memory=GIB)
    assert odd(site) == []
    assert site.lease(grant).notice is None, "it goes with what it was given for"
    assert site.lease(grant).state is LeaseState.running


def test_an_administrator_stops_with_notice_and_the_owner_reads_why(site: Site) -> None:
    grant = site.run("sam")
    pass_time(site, 1.1)
    [one] = odd(site)
    do(site, one, "stop")
    notice = site.lease(grant).notice
    assert notice is not None
    assert (notice.cause, notice.stops_at) == (Cause.admin, site.now + timedelta(minutes=10))
    assert "Administrator ada stops this server: others wait." in notice.reason.message
    culler = Culler()
    site.later(9 * MINUTE)
    culler.look(site.governor, grant.lease_id, site.now)
    assert site.lease(grant).state is LeaseState.noticed
    site.later(MINUTE)
    culler.look(site.governor, grant.lease_id, site.now)
    stopping = site.lease(grant)
    assert (stopping.state, stopping.cause) == (LeaseState.stopping, Cause.admin)
    assert stopping.reason is not None
    assert stopping.reason.message.startswith("Administrator ada stopped the server: others wait.")
    site.stop(grant)
    look(site)
    assert odd(site) == [], "over at once with its lease"


def test_where_a_stop_is_announced_already_it_is_said_that_nobody_was_told(site: Site) -> None:
    site.run("sam")
    pass_time(site, 1.1)
    [one] = odd(site)
    do(site, one, "stop")
    site.later(5)
    acts: tuple[AnomalyAct, ...] = ("ask", "notice", "stop")
    for act in acts:
        with pytest.raises(RefusedError) as refused:
            do(site, one, act)
        assert refused.value.code == "nobody-told"
    assert len(events(site, "admin.anomaly")) == 1


def test_what_a_person_asks_stands_before_what_the_idle_rule_advises(tmp_path: Path) -> None:
    advises = POLICY.replace("idle: enforce}", "idle: advise}").replace(
        "longest: 2h", "longest: 4h"
    )
    with site_in(tmp_path / "state", policy=advises) as site:
        grant = site.run("sam")
        pass_time(site, 0.8)
        site.governor.extend(grant.lease_id, seconds=7200, actor=GOVERNOR, now=site.now)
        pass_time(site, 0.4)
        culler = Culler()
        culler.look(site.governor, grant.lease_id, site.now)
        notice = site.lease(grant).notice
        assert notice is not None
        assert notice.reason.code == "idle-advice"
        do(site, odd(site)[0], "ask")
        culler.look(site.governor, grant.lease_id, site.later(10))
        notice = site.lease(grant).notice
        assert notice is not None
        assert "ada asks you" in notice.reason.message


def test_a_stop_by_hand_outlives_a_restart_and_can_be_taken_back(site: Site) -> None:
    grant = site.run("sam")
    pass_time(site, 1.1)
    do(site, odd(site)[0], "stop")
    site.restart()
    Culler().look(site.governor, grant.lease_id, site.now)
    notice = site.lease(grant).notice
    assert notice is not None
    site.governor.withdraw_notice(grant.lease_id, notice.reason, now=site.now)
    Culler().look(site.governor, grant.lease_id, site.later(20 * MINUTE))
    assert site.lease(grant).state is LeaseState.running


def test_a_lead_sees_and_asks_their_own_team_alone(site: Site) -> None:
    site.run("vera")
    site.run("sam")
    pass_time(site, 1.1)
    assert [one.owner for one in odd(site, ("vision",))] == ["vera"]
    mine = next(one for one in odd(site) if one.owner == "vera")
    theirs = next(one for one in odd(site) if one.owner == "sam")
    do(site, mine, "ask", LENA, ("vision",))
    forbidden: tuple[AnomalyAct, ...] = ("stop", "close")
    for act in forbidden:
        with pytest.raises(RefusedError) as refused:
            do(site, mine, act, LENA, ("vision",))
        assert refused.value.code == "not-for-this"
        assert "Possible: ask, notice" in refused.value.message
    with pytest.raises(RefusedError) as refused:
        do(site, theirs, "ask", LENA, ("vision",))
    assert refused.value.code == "no-such-anomaly"
    assert len(events(site, "admin.anomaly")) == 1


def test_open_anomalies_outlive_a_restart(site: Site) -> None:
    site.run("sam")
    pass_time(site, 1.1)
    [before] = odd(site)
    site.restart()
    [after] = odd(site)
    assert after.id == before.id
    pass_time(site, 0.1)
    assert [one.began for one in odd(site)] == [before.began]
    assert len(events(site, "anomaly.began")) == 1


def test_one_person_with_most_of_a_pool_is_asked_once_it_lasts(tmp_path: Path) -> None:
    rules = "anomalies: {pool_least: '3'}\n"
    with site_in(tmp_path / "state", policy=LONG + rules) as site:
        first, second = site.run("sam"), site.run("sam", server="two")
        pass_time(site, 0.9, gpu=60)
        assert odd(site) == []
        pass_time(site, 0.3, gpu=60)
        [one] = odd(site)
        assert (one.kind, one.owner, one.figure) == ("pool_share", "sam", 66)
        do(site, one, "ask")
        assert all(site.lease(grant).notice is not None for grant in (first, second))


def run_and_end(site: Site, minutes: int) -> None:
    site.report_devices()
    grant = site.run("sam")
    site.later(minutes * MINUTE)
    site.stop(grant)


def test_a_lease_much_dearer_than_its_like_is_told_against_what_is_usual(tmp_path: Path) -> None:
    rules = "anomalies: {dear_least: '5'}\n"
    with site_in(tmp_path / "state", policy=LONG + rules) as site:
        for minutes in (20, 30, 30, 30, 40, 30, 30, 20):
            run_and_end(site, minutes)
        grant = site.run("vera")
        pass_time(site, 1.3, gpu=60)
        assert odd(site) == [], "EUR 4.68 is less than what is looked at"
        pass_time(site, 0.3, gpu=60)
        [one] = odd(site)
        assert (one.kind, one.owner, one.leases) == ("dear", "vera", (grant.lease_id,))
        assert "half of the 8 leases" in one.words
        assert "cost EUR 1.80 or less" in one.words
        assert one.money_micro == one.figure
        site.restart()
        pass_time(site, 0.1, gpu=60)
        assert [one.kind for one in odd(site)] == ["dear"], "what is usual is read again"


def test_a_process_outside_any_lease_is_named_and_its_device_quarantined(site: Site) -> None:
    grant = site.run("sam")
    [used] = grant.devices
    site.stop(grant)
    stray = StrayProcess(
        device=used.id, pid=4711, memory_bytes=500 * 2**20, lease_id=grant.lease_id
    )
    pass_time(site, 0.02, strays=(stray,))
    assert odd(site) == []
    pass_time(site, 0.05, strays=(stray,))
    look(site)
    [one] = odd(site)
    assert (one.kind, one.subject, one.owner, one.teams) == ("outside", used.id, "sam", ("speech",))
    assert (one.act, one.money_micro is not None) == ("quarantine", True)
    do(site, one, "quarantine")
    assert used.id in {x.device for x in site.governor.device_sheet(now=site.now).outages}
    again = site.run("sam").devices[0].id
    assert again != used.id
    pass_time(site, 0.3, gpu=50)
    assert odd(site) == []


def test_a_server_without_a_lease_is_told_after_a_while(site: Site) -> None:
    nobody = Stranger(ServerKey(user=UserName("nora")), groups=("elsewhere",))
    site.governor.strangers([nobody], since=site.now, now=site.now)
    look(site)
    assert odd(site) == []
    site.later(3 * MINUTE)
    site.governor.strangers([nobody], since=site.now, now=site.now)
    look(site)
    [one] = odd(site)
    assert (one.kind, one.subject, one.owner) == ("outside", "nora/", "nora")
    assert one.money_micro is None


def forgotten(site: Site) -> Grant:
    grant = site.run("sam")
    site.governor.forget(grant.lease_id, site.lease(grant).process, now=site.now)
    return grant


def test_a_server_that_the_hub_forgot_is_told_and_closed_once_it_is_gone(site: Site) -> None:
    grant = forgotten(site)
    look(site)
    assert odd(site) == []
    site.later(3 * MINUTE)
    look(site)
    [one] = odd(site)
    assert (one.kind, one.leases, one.act) == ("forgotten", (grant.lease_id,), "close")
    process = site.lease(grant).process
    assert process is not None
    do(site, one, "close")
    assert site.lease(grant).state is LeaseState.stopping, "its process lives"
    site.machine.end(process)
    do(site, one, "close")
    assert site.lease(grant).state is LeaseState.closed
    look(site)
    assert odd(site) == []


def test_a_gap_is_told_with_whose_server_is_not_seen(site: Site) -> None:
    grant = site.run("sam")
    pass_time(site, 0.5, gpu=60)
    pass_time(site, 0.2, gpu=None, memory=None)
    assert odd(site) == []
    pass_time(site, 0.1, gpu=None, memory=None)
    [one] = odd(site)
    assert (one.kind, one.subject, one.owner) == ("gap", grant.lease_id, "sam")
    pass_time(site, 0.2, gpu=None, memory=50 * GIB)
    assert odd(site) == [], "one figure is enough"


def test_a_machine_that_falls_silent_is_one_gap(site: Site) -> None:
    site.run("sam")
    site.run("vera")
    pass_time(site, 0.2, gpu=60, every_s=20)
    site.later(20 * MINUTE)
    look(site)
    silent = {one.subject: one for one in odd(site) if one.kind == "gap"}
    assert silent.keys() == {"node-1", "node-2"}
    one = silent["node-2"]
    assert (one.teams, one.figure) == (("speech", "vision"), 20 * MINUTE)
    # Two servers of EUR 3.60 an hour for twenty minutes.
    assert one.money_micro == 2_400_000


def free(site: Site, pool: str = "whole") -> Anomaly | None:
    found = site.governor.anomalies(now=site.now).open
    return next((one for one in found if (one.kind, one.pool) == ("unallocated", pool)), None)


def test_capacity_that_nobody_held_for_a_day_is_told_with_the_pools_price(site: Site) -> None:
    first = site.run("sam")
    pass_time(site, 23.5, gpu=60, every_s=600)
    assert free(site) is None
    pass_time(site, 1, gpu=60, every_s=600)
    one = free(site)
    assert one is not None
    assert (one.figure, one.owner, one.act) == (2 * 840, None, "ask")
    hours = (site.now - one.began) / timedelta(hours=1)
    assert one.money_micro == round(2 * 3_600_000 * hours)
    assert one.teams == ()
    second = site.run("sue")
    look(site)
    later = free(site)
    assert later is not None
    assert later.figure == 840
    site.later(60)
    for grant in (first, second):
        site.stop(grant)
    site.restart()
    look(site)
    after = free(site)
    assert after is not None
    assert (after.figure, after.id) == (840, one.id), "the ledger is read again"


def test_unpriced_capacity_says_that_it_is_not_priced(tmp_path: Path) -> None:
    cheap = LONG.replace('  - {pool: whole, from: 2026-01-01, per_hour: "3.60"}\n', "")
    with site_in(tmp_path / "state", policy=cheap) as site:
        pass_time(site, 25, every_s=600)
        one = free(site)
        assert one is not None
        assert one.money_micro is None


def test_nothing_is_looked_for_without_a_policy_and_a_lost_server_ends_what_was_told(
    site: Site,
) -> None:
    grant = site.run("sam")
    pass_time(site, 1.1)
    assert len(odd(site)) == 1
    site.ended(grant, Liveness.gone)
    site.machine.living.clear()
    site.governor.close_lost(grant.lease_id, now=site.now)
    look(site)
    assert odd(site) == []


def test_a_device_of_another_name_is_nobodys(site: Site) -> None:
    stray = StrayProcess(device=DeviceId("GPU-else"), pid=7, memory_bytes=None)
    batch = SampleBatch(node="node-9", source="nvml", sent_at=site.now, period_s=5, strays=(stray,))
    for _time in range(4):
        batch = batch.model_copy(update={"sent_at": site.later(50)})
        site.governor.take_samples(batch, now=site.now)
        look(site)
    [one] = odd(site)
    assert (one.kind, one.owner, one.teams, one.money_micro) == ("outside", None, (), None)


def test_of_many_servers_those_are_looked_at_first_that_waited_longest(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    grants = [site.run(user) for user in ("sam", "vera", "viktor")]
    monkeypatch.setattr(anomalycore, "MOST_LOOKS", 2)
    seen = []
    for _pass in range(3):
        turn = site.governor.to_look_at(now=site.later(MINUTE))
        for lease_id in turn:
            site.governor.look_at_use(lease_id, now=site.now)
        seen.append(turn)
    first, second, third = (grant.lease_id for grant in grants)
    assert seen == [(first, second), (third, first), (second, first)]


def test_a_gpu_that_is_only_kept_busy_is_told_to_administrators(site: Site) -> None:
    site.run("sam")
    pass_time(site, 12.2, gpu=100, memory=2 * GIB, every_s=120, sm=1)
    [one] = odd(site)
    assert (one.kind, one.owner) == ("gaming", "sam")
    assert odd(site, ("speech",)) == []
    pass_time(site, 0.3, gpu=100, memory=2 * GIB, every_s=120, sm=60)
    assert odd(site) == []


def test_on_kubernetes_a_quarantine_is_of_the_machine_and_stops_nobody(tmp_path: Path) -> None:
    with site_in(tmp_path / "state", policy=LONG, servers="pods") as site:
        grant = site.run("sam")
        node = grant.devices[0].node
        stray = StrayProcess(device=DeviceId("GPU-real"), pid=4711, memory_bytes=None)
        for _time in range(5):
            batch = SampleBatch(
                node=node,
                source="nvml",
                sent_at=site.later(MINUTE),
                period_s=MINUTE,
                strays=(stray,),
            )
            site.governor.take_samples(batch, now=site.now)
            look(site)
        [one] = [x for x in odd(site) if x.kind == "outside"]
        do(site, one, "quarantine")
        [drain] = site.governor.device_sheet(now=site.now).drains
        assert (drain.place, drain.name, drain.by) == ("node", node, "ada")
        assert drain.ends_at - site.now == timedelta(days=366)
        Culler().look(site.governor, grant.lease_id, site.now)
        assert site.lease(grant).notice is None, "whoever is there is not disturbed"
        with pytest.raises(RefusedError):
            site.run("sue")
