"""What people are shown of a lease, of the pools and of the governor itself."""

from datetime import timedelta

import pytest

from hub_ext.errors import RefusedError
from hub_ext.lease import (
    DeviceSample,
    Isolation,
    LeaseId,
    ProcessSample,
    SampleBatch,
    ServerKey,
    UserName,
    Verdict,
    VerdictState,
)
from hub_ext.policy.catalogue import Person
from hub_ext.policy.load import loads
from hub_ext.service.leasing.strangers import Stranger
from tests.support.governing import POLICY, Site

VERA = ServerKey(user=UserName("vera"))


def read(site: Site, util: int | None, *, node: str = "node-2") -> None:
    """Let the agent of a node read every device and process on it."""
    leases = site.governor.leases()
    devices = [d for lease in leases for d in lease.devices if d.node == node]
    batch = SampleBatch(
        node=node,
        source="simulated",
        sent_at=site.now,
        period_s=5,
        devices=tuple(
            DeviceSample(
                device=device.id,
                at=site.now,
                util_percent=util,
                memory_used_bytes=None,
                memory_total_bytes=None,
                absent="" if util is not None else "not offered",
            )
            for device in devices
        ),
        processes=tuple(
            ProcessSample(lease_id=lease.id, at=site.now, cpu_millis=10, processes=1)
            for lease in leases
        ),
    )
    site.governor.take_samples(batch, now=site.now)


def test_a_view_tells_cost_time_left_and_what_may_be_done(site: Site) -> None:
    site.run("vera")
    site.later(600)
    view = site.governor.view(VERA, now=site.now)
    assert view.lease is not None
    assert view.cost is not None
    assert (view.cost.so_far_micro, view.cost.so_far_text) == (600_000, "EUR 0.60")
    assert (view.time_left_s, view.extend_max_s, view.can_stop) == (3000, 3600, True)
    assert (view.simulated, view.isolation) == (True, Isolation.gpu)


def test_a_lease_of_no_age_has_its_price_already(site: Site) -> None:
    site.ask(site.asking("vera"))
    cost = site.governor.view(VERA, now=site.now).cost
    assert cost is not None
    assert cost.rate_text == "EUR 3.60 / h"
    assert cost.so_far_micro == 0


def test_after_its_end_the_view_tells_how_it_ended_and_what_it_cost(site: Site) -> None:
    grant = site.run("vera")
    site.later(60)
    site.stop(grant)
    site.later(600)
    view = site.governor.view(VERA, now=site.now)
    assert view.lease is None
    assert view.ended is not None
    assert view.ended.reason is not None
    assert view.cost is not None
    assert view.cost.so_far_micro == 60_000
    assert (view.can_stop, view.extend_max_s) == (False, 0)
    assert site.governor.view_of(grant.lease_id, now=site.now) == view


def test_a_server_that_never_had_a_lease_is_shown_as_that(site: Site) -> None:
    view = site.governor.view(VERA, now=site.now)
    assert (view.seq, view.lease, view.ended) == (0, None, None)
    with pytest.raises(RefusedError):
        site.governor.view_of(LeaseId("l-none"), now=site.now)


def test_every_change_has_a_higher_number(site: Site) -> None:
    seqs = [site.governor.view(VERA, now=site.now).seq]
    grant = site.ask(site.asking("vera"))
    seqs.append(site.governor.view(VERA, now=site.now).seq)
    site.started(grant)
    seqs.append(site.governor.view(VERA, now=site.now).seq)
    site.stop(grant)
    seqs.append(site.governor.view(VERA, now=site.now).seq)
    site.ask(site.asking("vera"))
    seqs.append(site.governor.view(VERA, now=site.now).seq)
    assert seqs == sorted(set(seqs))


def test_a_reading_is_shown_while_it_is_fresh_and_unknown_is_not_zero(site: Site) -> None:
    site.run("vera")
    (none,) = site.governor.view(VERA, now=site.now).readings
    assert (none.util_percent, bool(none.absent)) == (None, True)
    read(site, 80)
    (fresh,) = site.governor.view(VERA, now=site.later(5)).readings
    assert (fresh.util_percent, fresh.source) == (80, "simulated")
    (old,) = site.governor.view(VERA, now=site.later(60)).readings
    assert (old.util_percent, bool(old.absent)) == (None, True)
    read(site, None)
    (unknown,) = site.governor.view(VERA, now=site.now).readings
    assert (unknown.util_percent, unknown.absent) == (None, "not offered")


def test_the_idle_rule_hears_devices_and_processes(site: Site) -> None:
    grant = site.run("vera")
    began = site.now
    for _period in range(3):
        site.later(5)
        read(site, 3)
    readings = site.governor.readings(grant.lease_id, began, now=site.now)
    assert [len(series) for series in readings.devices] == [3]
    assert len(readings.processes) == 3
    assert (readings.period_s, readings.source) == (5, "simulated")


def test_a_verdict_is_an_event_when_it_changes_and_is_shown_always(site: Site) -> None:
    grant = site.run("vera")
    for state in (VerdictState.quiet, VerdictState.quiet, VerdictState.idle):
        verdict = Verdict(
            state=state, rule="gpus", at=site.later(5), quiet_since=site.now, limit_s=600
        )
        site.governor.judged(grant.lease_id, verdict, now=site.now)
    shown = site.governor.view(VERA, now=site.now).verdict
    assert shown is not None
    assert shown.state is VerdictState.idle
    with site.ledger.transaction() as tx:
        kinds = [event.kind for _seq, event in tx.events(lease_id=grant.lease_id)]
    assert kinds.count("verdict.changed") == 2


def test_agents_are_told_what_to_watch_on_their_node(site: Site) -> None:
    gpu, cpu, starting = site.run("vera"), site.run("vera", "cpu", server="two"), "viktor"
    other = site.ask(site.asking(starting, "cpu"))
    batch = SampleBatch(node="node-2", source="simulated", sent_at=site.now, period_s=5)
    watch = site.governor.take_samples(batch, now=site.now)
    items = {item.lease_id: item for item in watch.leases}
    assert set(items) == {gpu.lease_id, cpu.lease_id}
    assert items[gpu.lease_id].devices == tuple(device.id for device in gpu.devices)
    assert items[cpu.lease_id].process == site.lease(cpu).process
    assert other.lease_id not in items
    assert watch.inventory_wanted is False


def test_after_a_restart_agents_are_asked_for_their_devices(site: Site) -> None:
    site.governor.close()
    site.governor = site._open()
    batch = SampleBatch(node="node-2", source="simulated", sent_at=site.now, period_s=5)
    assert site.governor.take_samples(batch, now=site.now).inventory_wanted


def test_the_queue_tells_what_pools_have_and_hold(site: Site) -> None:
    site.run("sam", "two")
    site.report_devices(without=frozenset({site.held()[0]}))
    sheet = site.governor.queue(now=site.now)
    whole = next(load for load in sheet.pools if load.pool == "whole")
    assert (whole.declared, whole.usable, whole.held, whole.leases) == (2520, 1680, 1680, 1)
    assert len(sheet.drift) == 1


def test_a_stranger_on_the_hub_is_told_and_counted(site: Site) -> None:
    grant = site.run("vera")
    ghost = ServerKey(user=UserName("ghost"))
    seen = [Stranger(grant.key), Stranger(ghost)]
    assert site.governor.strangers(seen, since=site.now, now=site.now) == (ghost,)
    health = site.governor.health(now=site.now)
    assert {one.code: one.figures for one in health.problems} == {"servers": {"count": 1}}
    assert "ghost" not in health.model_dump_json()
    assert "ghost" in site.governor.problems(now=site.now)["servers"][0]


def test_offers_are_made_by_the_function_that_decides(site: Site) -> None:
    person = Person(user=UserName("viktor"), groups=("vision",))
    before = {o.profile: o.standing for o in site.governor.offers(person, now=site.now).offers}
    assert before == {
        "cpu": "unmetered",
        "small": "guaranteed",
        "one": "guaranteed",
        "two": "borrowed",
    }
    site.run("sam", "two")
    site.run("vera")
    after = [o for o in site.governor.offers(person, now=site.now).offers if o.profile == "one"]
    assert [o.standing for o in after] == ["would_queue"]


PINNED = POLICY.replace(
    "maps: {team: vision}",
    'maps: {team: vision, environments: {dev: {image: r.example/torch, digest: "sha256:DIGEST"}}}',
)


def test_who_runs_on_an_environment_is_told_that_another_is_pinned_by_now(site: Site) -> None:
    old, new = (loads(PINNED.replace("DIGEST", letter * 64)) for letter in "ab")
    site.governor.set_policy(old, now=site.now)
    asked = site.asking("vera")
    pinned = site.governor.environment_of(asked, now=site.now)
    assert pinned is not None
    site.started(site.governor.ask(asked, now=site.now, checks={pinned: pinned}))
    assert site.governor.view(VERA, now=site.now).environment_now is None
    site.governor.set_policy(new, now=site.now)
    by_now = site.governor.view(VERA, now=site.now).environment_now
    assert by_now is not None
    assert (by_now.name, by_now.digest) == ("dev", "sha256:" + "b" * 64)
    lease = site.governor.view(VERA, now=site.now).lease
    assert lease is not None
    assert lease.grant is not None
    assert lease.grant.environment == pinned, "what runs keeps what it got"


def test_the_machine_is_named_whose_agent_found_the_devices_of_a_lease(site: Site) -> None:
    lease = site.run("vera")
    found = site.governor.view(lease.key, now=site.now)
    assert found.found_on == lease.devices[0].node
    silent = site.now + timedelta(days=1)
    assert site.governor.view(lease.key, now=silent).found_on == ""


def test_several_gpus_say_how_they_are_joined(site: Site) -> None:
    both = site.run("sam", "two")
    view = site.governor.view(both.key, now=site.now)
    assert view.joined == "2 GPUs; how they are joined is not known"
    alone = site.run("vera")
    assert site.governor.view(alone.key, now=site.now).joined == ""
