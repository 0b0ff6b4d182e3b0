"""A new or changed idle rule stops nobody at first, and tells whom it would have stopped."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hub_ext.errors import RefusedError
from hub_ext.idle import Readings
from hub_ext.lease import Activity, Actor, Cause, LeaseId, LeaseState, Liveness, OpenLease
from hub_ext.lease.trying import IdleTrial
from hub_ext.service.core.governor import Governor
from hub_ext.service.http import metrics
from tests.support.culling import Passes
from tests.support.small_core import SmallCore

ROOT = Actor(kind="user", name="root", admin=True)
FORMER = {
    "applies": ["mig"],
    "limit": "60m",
    "notice": "2m",
    "start_grace": "1m",
    "never_used": "0s",
}
TIGHTER = {**FORMER, "limit": "10m", "trial": "1h"}
MINUTE_S = 60


@contextmanager
def site(state: Path, **rules: dict[str, Any]) -> Iterator[tuple[SmallCore, Passes]]:
    with SmallCore.running(state, idle=rules) as core:
        yield core, Passes(core)


@pytest.fixture
def tried(tmp_path: Path) -> Iterator[tuple[SmallCore, Passes]]:
    """A rule of 60 minutes acts; one of 10 minutes is tried in its place for an hour."""
    with site(tmp_path / "state", gpus=FORMER) as (core, passes):
        core.set_policy(idle={"gpus": TIGHTER})
        yield core, passes


def trial(core: SmallCore, rule: str = "gpus") -> IdleTrial:
    [found] = [one for one in core.governor.idle_trials(now=core.now).trials if one.rule == rule]
    return found


def switch_on(core: SmallCore, rule: str = "gpus", *, early: bool = False) -> None:
    core.governor.switch_idle_on(
        rule,
        before_its_time=early,
        reason="the report was looked at",
        actor=ROOT,
        now=core.now,
    )


def test_a_site_without_a_former_rule_stops_nobody_until_an_admin_switches_it_on(
    tmp_path: Path,
) -> None:
    with site(tmp_path / "state", gpus={**TIGHTER, "trial": "30m"}) as (core, passes):
        lease = core.run("ada")
        passes.go_on(29)
        assert core.lease(lease.id).state is LeaseState.running
        assert core.governor.view_of(lease.id, now=core.now).verdict is None
        with pytest.raises(RefusedError, match="still on trial for"):
            switch_on(core)
        passes.go_on(5)
        assert trial(core).over
        assert core.lease(lease.id).state is LeaseState.running, "nothing switches itself on"
        switch_on(core)
        passes.go_on(5)
        assert core.lease(lease.id).cause is Cause.culled


def test_the_former_rule_acts_and_the_new_one_tells_what_it_would_do(
    tried: tuple[SmallCore, Passes],
) -> None:
    core, passes = tried
    lease = core.run("ada")
    passes.until(lambda: bool(core.events("idle.would_stop")))
    [event] = core.events("idle.would_stop")
    assert event.lease_id == lease.id
    assert event.body["rule"] == "gpus"
    assert event.body["verdict"]["limit_s"] == 600  # type: ignore[index]
    since_start = core.now - lease.requested_at
    assert timedelta(minutes=12) <= since_start <= timedelta(minutes=14), "limit and notice"
    assert core.events("notice.given", "lease.stopping") == []
    passes.until(lambda: core.lease(lease.id).state is LeaseState.stopping)
    assert core.now - lease.requested_at >= timedelta(minutes=62)
    assert len(core.events("idle.would_stop")) == 1, "once an episode"
    found = trial(core)
    assert (found.servers, found.stops, found.worked_again, found.kept) == (1, 1, 0, 0)
    assert found.replaces
    assert found.changes == ("limit: 1h -> 10m",)
    # An eighth of a GPU at EUR 0.50 an hour, from the stop that was not made until now.
    seconds = int((core.now - event.at).total_seconds())
    assert found.unit_s == 105 * seconds
    assert found.amount_micro == pytest.approx(500_000 * seconds / 3600, abs=1)
    [person] = found.people
    assert (person.user, person.team, person.amount_micro) == ("ada", "vision", found.amount_micro)


def test_who_works_again_in_the_same_lease_would_have_been_stopped_wrongly(
    tried: tuple[SmallCore, Passes],
) -> None:
    core, passes = tried
    lease = core.run("ada")
    passes.go_on(20)
    core.busy[lease.id] = 90
    passes.go_on(10)
    found = trial(core)
    assert (found.stops, found.worked_again) == (1, 1)
    [stop] = found.newest
    assert stop.worked_again_at is not None
    assert stop.worked_again_at - stop.at <= timedelta(minutes=10)
    given_back = found.unit_s
    passes.go_on(5)
    assert trial(core).unit_s == given_back, "nothing is given back by whoever works"
    # Quiet once more is another stop.
    core.busy[lease.id] = 0
    passes.go_on(20)
    found = trial(core)
    assert (found.servers, found.stops, found.worked_again) == (1, 2, 1)


def test_what_ends_by_itself_gives_back_until_then_and_no_longer(
    tried: tuple[SmallCore, Passes],
) -> None:
    core, passes = tried
    lease = core.run("ada")
    passes.go_on(20)
    core.governor.seen(lease.id, Liveness.alive, lease.process, now=core.now)
    ended = core.now
    core.governor.close_lost(lease.id, now=core.now)
    passes.go_on(10)
    [stop] = trial(core).newest
    assert stop.ended_at == ended
    assert stop.unit_s == 105 * int((ended - stop.at).total_seconds())
    assert stop.worked_again_at is None


def test_a_stop_of_the_former_rule_that_a_looser_one_would_not_make_is_counted(
    tmp_path: Path,
) -> None:
    with site(tmp_path / "state", gpus={**TIGHTER, "trial": "0s"}) as (core, passes):
        core.set_policy(idle={"gpus": {**FORMER, "trial": "1h"}})
        lease = core.run("ada")
        passes.go_on(15)
        assert core.lease(lease.id).cause is Cause.culled, "the former one stays in force"
        assert (trial(core).stops, trial(core).kept) == (0, 1)


def test_metrics_say_when_a_rule_waits_for_a_word(tried: tuple[SmallCore, Passes]) -> None:
    core, passes = tried

    def said() -> list[str]:
        text = metrics.text(metrics.gather(core.governor, core.now), {}).decode()
        return [one for one in text.splitlines() if one.startswith("gpu_commons_idle_trials{")]

    assert said() == [
        'gpu_commons_idle_trials{state="running"} 1.0',
        'gpu_commons_idle_trials{state="over"} 0.0',
    ]
    core.run("ada")
    passes.go_on(70)
    assert said()[1] == 'gpu_commons_idle_trials{state="over"} 1.0'
    switch_on(core)
    assert said()[1] == 'gpu_commons_idle_trials{state="over"} 0.0'


def test_a_restart_in_the_middle_changes_nothing(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with site(state, gpus={**FORMER, "limit": "3h"}) as (core, passes):
        core.set_policy(idle={"gpus": {**TIGHTER, "trial": "3h"}})
        lease = core.run("ada")
        passes.go_on(61)
        now, before = core.now, trial(core)
        assert before.stops == 1
    with SmallCore.running(state, idle={"gpus": {**TIGHTER, "trial": "3h"}}) as core:
        core.now = now
        core.set_policy(idle={"gpus": {**TIGHTER, "trial": "3h"}})
        found = trial(core)
        assert found.begun_at == before.begun_at
        assert found.stops == 1
        assert found.newest[0].at == before.newest[0].at
        # What was watched since the last full hour is lost, and no more.
        assert 3600 <= found.watched_s <= before.watched_s
        core.batch(inventory=True)
        passes = Passes(core)
        passes.go_on(1)
        assert len(core.events("idle.would_stop")) == 1
        assert core.lease(lease.id).state is LeaseState.running
        assert [one.body["rule"] for one in core.events("idle.trial")] == ["gpus"]


def test_a_rule_changed_again_in_the_middle_is_tried_anew_beside_the_same_former(
    tried: tuple[SmallCore, Passes],
) -> None:
    core, passes = tried
    core.run("ada")
    passes.go_on(40)
    assert trial(core).stops == 1
    core.set_policy(idle={"gpus": {**TIGHTER, "limit": "20m"}})
    found = trial(core)
    assert (found.stops, found.watched_s, found.over) == (0, 0, False)
    assert found.changes == ("limit: 1h -> 20m",)
    [dropped] = core.events("idle.trial_dropped")
    assert dropped.body["why"] == "changed"


def test_a_rule_removed_in_the_middle_takes_its_trial_and_its_notices_along(
    tried: tuple[SmallCore, Passes],
) -> None:
    core, passes = tried
    lease = core.run("ada")
    passes.until(lambda: core.lease(lease.id).state is LeaseState.noticed, minutes=70)
    core.set_policy(idle={})
    passes.turn()
    assert core.lease(lease.id).state is LeaseState.running
    assert core.governor.idle_trials(now=core.now).trials == ()
    assert core.governor.view_of(lease.id, now=core.now).verdict is None
    [ended] = core.events("idle.rule_ended")
    assert ended.body["why"] == "removed"


def test_an_edit_elsewhere_does_not_begin_it_anew(tried: tuple[SmallCore, Passes]) -> None:
    core, passes = tried
    passes.go_on(30)
    watched = trial(core).watched_s
    plain = {"applies": ["none"], "limit": "4h", "notice": "10m"}
    core.set_policy(idle={"plain": plain, "gpus": TIGHTER}, notice={"lifetime": "20m"})
    assert trial(core).watched_s == watched
    assert len(core.events("idle.trial")) == 1


def test_a_clock_that_jumps_ahead_ends_no_trial(tried: tuple[SmallCore, Passes]) -> None:
    core, passes = tried
    core.run("ada")
    passes.go_on(5)
    core.now += timedelta(days=30)
    passes.turn()
    found = trial(core)
    assert found.watched_s <= 10 * MINUTE_S
    with pytest.raises(RefusedError, match="still on trial"):
        switch_on(core)
    core.now -= timedelta(days=30)
    passes.go_on(20)
    assert trial(core).watched_s <= 30 * MINUTE_S
    assert trial(core).watched_s > found.watched_s, "set back, it goes on"


def test_an_admin_may_switch_it_on_before_its_time_and_that_is_on_record(
    tried: tuple[SmallCore, Passes],
) -> None:
    core, passes = tried
    lease = core.run("ada")
    passes.go_on(20)
    with pytest.raises(RefusedError) as refused:
        switch_on(core)
    assert refused.value.code == "trial-runs"
    switch_on(core, early=True)
    [event] = core.events("admin.idle_switch_on")
    assert event.actor == ROOT
    assert event.body["before_its_time"] is True
    assert (event.body["stops"], event.body["reason"]) == (1, "the report was looked at")
    assert event.body["text"]["limit"] == "10m"  # type: ignore[index]
    assert core.governor.idle_trials(now=core.now).trials == ()
    passes.go_on(4)
    assert core.lease(lease.id).cause is Cause.culled
    with pytest.raises(RefusedError) as unknown:
        switch_on(core)
    assert unknown.value.code == "no-such-trial"


def test_rules_that_were_in_force_before_trials_were_known_go_on(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with site(state) as (core, _passes):
        core.set_policy(idle={"gpus": {**FORMER, "trial": "7d"}})
        # As an older version left it: policies, and nothing about rules.
        core.governor._desk.book.switched = type(core.governor._desk.book.switched)()
        core.set_policy(idle={"gpus": {**FORMER, "trial": "7d"}}, timezone="Europe/Paris")
        [event] = core.events("idle.acts")
        assert event.body["why"] == "before-trials"
        assert core.governor.policy.idle["gpus"].limit == timedelta(hours=1)


def test_what_is_held_by_the_breaker_is_not_counted(tried: tuple[SmallCore, Passes]) -> None:
    core, passes = tried
    lease = core.run("ada")
    many = dict.fromkeys((LeaseId(f"l-{n}") for n in range(6)), core.now)
    core.governor.weigh_idleness(frozenset(many), many, now=core.now)
    assert core.governor.idle_held is not None
    for _minute in range(15):
        core.later(MINUTE_S)
        live = core.governor.leases()
        passes.culler.live(core.governor, core.now)
        for one in live:
            passes.culler.survey(core.governor, one.id, core.now)
    assert core.lease(lease.id).state is LeaseState.running
    assert core.events("idle.would_stop") == []


def test_a_trial_reads_nothing_twice(
    tried: tuple[SmallCore, Passes], monkeypatch: pytest.MonkeyPatch
) -> None:
    core, passes = tried
    core.set_policy(idle={"gpus": {**FORMER, "cpu_active_millis": 100, "trial": "7d"}})
    core.run("ada")
    asked: list[datetime] = []
    read = type(core.governor).readings_of

    def counted(self: Governor, one: OpenLease, since: datetime, *, now: datetime) -> Readings:
        asked.append(now)
        return read(self, one, since, now=now)

    monkeypatch.setattr(type(core.governor), "readings_of", counted)
    passes.go_on(40)
    assert trial(core).watched_s >= 39 * MINUTE_S
    assert len(asked) == len(set(asked)) > 0, "both rules judge from one reading"


def test_a_person_at_the_keyboard_is_use_again(tried: tuple[SmallCore, Passes]) -> None:
    core, passes = tried
    lease = core.run("ada")
    passes.until(lambda: bool(core.events("idle.would_stop")))
    passes.go_on(1)
    told = Activity(at=core.now, input_at=core.now, kernels=1, kernels_busy=0)
    core.governor.take_activity(lease.key, told, now=core.now)
    passes.turn()
    passes.go_on(0.5)
    assert trial(core).worked_again == 1


def test_who_goes_back_to_the_rule_that_acted_before_need_not_wait(tmp_path: Path) -> None:
    with site(tmp_path / "state", gpus=FORMER) as (core, passes):
        core.set_policy(idle={"gpus": TIGHTER})
        switch_on(core, early=True)
        lease = core.run("ada")
        passes.until(lambda: core.lease(lease.id).state is LeaseState.noticed)
        core.set_policy(idle={"gpus": {**FORMER, "trial": "7d"}})
        passes.turn()
        assert core.lease(lease.id).state is LeaseState.running
        assert core.governor.policy.idle["gpus"].limit == timedelta(hours=1)
        assert [one.body["why"] for one in core.events("idle.acts")] == ["at-once", "went-back"]
        # The same when a rule that was removed by mistake comes back; any other text is news.
        core.set_policy(idle={})
        core.set_policy(idle={"gpus": {**FORMER, "limit": "50m", "trial": "7d"}})
        assert core.governor.policy.idle == {}
        core.set_policy(idle={"gpus": {**FORMER, "trial": "7d"}})
        assert core.governor.policy.idle["gpus"].limit == timedelta(hours=1)
