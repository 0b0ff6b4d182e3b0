"""A GPU that lies unused beside other work is taken back only while that lets somebody start."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from hub_ext.errors import RefusedError
from hub_ext.lease import (
    Actor,
    Ask,
    Cause,
    Choice,
    LeaseState,
    OpenLease,
    ProfileName,
    ServerKey,
    TeamName,
    UserName,
    VerdictState,
    When,
)
from hub_ext.policy.catalogue import Person
from hub_ext.service.rules.limits_site import site_limits
from hub_ext.service.workers.lastlook import still_stands
from tests.support.culling import Passes
from tests.support.small_core import SmallCore

RULE = {
    "applies": ["mig"],
    "limit": "30m",
    "notice": "2m",
    "start_grace": "1m",
    "gpu_unused": "10m",
    "gpu_unused_stop": True,
}
BUSY_CPU = 900
ROOT = Actor(kind="user", name="root", admin=True)


@pytest.fixture
def core(tmp_path: Path) -> Iterator[SmallCore]:
    with SmallCore.running(tmp_path / "state", idle={"gpus": RULE}) as core:
        yield core


def at_work(core: SmallCore, user: str) -> OpenLease:
    """Run a server that computes beside its GPU."""
    lease = core.run(user)
    core.cpu[lease.id] = BUSY_CPU
    return lease


def wait(core: SmallCore, user: str) -> None:
    wish = {
        "attempt_id": f"waits-{user}",
        "key": ServerKey(user=UserName(user)),
        "groups": ("vision",),
        "choice": Choice(profile=ProfileName("small")),
        "when": When.start,
    }
    with suppress(RefusedError):
        core.governor.ask(Ask.model_validate(wish), now=core.now)


def full(core: SmallCore) -> list[OpenLease]:
    """All seven slices are held, and none of them is used."""
    return [at_work(core, f"user-{n}") for n in range(7)]


def told(core: SmallCore) -> list[OpenLease]:
    """Whose stop is announced; a word on a smaller profile is none."""
    return [
        one
        for one in core.governor.leases()
        if one.state is LeaseState.noticed and one.notice is not None and not one.notice.is_advice
    ]


def verdict(core: SmallCore, lease: OpenLease) -> tuple[VerdictState, str]:
    found = core.governor.view_of(lease.id, now=core.now).verdict
    assert found is not None
    return found.state, found.ground


def test_while_nobody_waits_its_owner_is_advised_and_nothing_more(core: SmallCore) -> None:
    leases = full(core)
    Passes(core).go_on(20)
    assert told(core) == []
    assert verdict(core, leases[0]) == (VerdictState.active, "gpu_unused")


def test_as_many_are_told_and_stopped_as_wait_whose_gpu_lay_unused_longest_first(
    core: SmallCore,
) -> None:
    leases, passes = full(core), Passes(core)
    core.busy[leases[0].id] = core.busy[leases[1].id] = 90
    passes.go_on(8)
    core.busy[leases[1].id] = 0
    passes.go_on(20)
    wait(core, "zoe")
    passes.until(lambda: bool(told(core)), minutes=2)
    passes.go_on(1)
    [first] = told(core)
    assert first.id not in {leases[0].id, leases[1].id}
    assert first.notice is not None
    assert "somebody waits for it" in first.notice.reason.message
    assert core.governor.idle_held is None
    passes.until(lambda: core.lease(first.id).state is LeaseState.stopping, minutes=3)
    assert core.lease(first.id).cause is Cause.culled
    assert still_stands(core.governor, core.lease(first.id), core.now), "looked at once more"
    passes.go_on(2)
    assert told(core) == [], "what ends already is enough for the one who waits"


def test_who_uses_the_gpu_meanwhile_keeps_it_and_another_is_told(core: SmallCore) -> None:
    leases, passes = full(core), Passes(core)
    passes.go_on(15)
    wait(core, "zoe")
    passes.until(lambda: bool(told(core)), minutes=2)
    [first] = told(core)
    core.busy[first.id] = 90
    passes.until(lambda: first.id not in {one.id for one in told(core)}, minutes=2)
    passes.until(lambda: bool(told(core)), minutes=2)
    [second] = told(core)
    assert second.id in {one.id for one in leases} - {first.id}


def test_who_uses_it_at_the_last_moment_is_not_stopped(core: SmallCore) -> None:
    full(core)
    passes = Passes(core)
    passes.go_on(15)
    wait(core, "zoe")
    passes.until(lambda: passes.count(LeaseState.stopping) > 0, minutes=5)
    [stopping] = [one for one in core.governor.leases() if one.state is LeaseState.stopping]
    core.busy[stopping.id] = 90
    core.later(40)
    assert not still_stands(core.governor, core.lease(stopping.id), core.now)
    assert core.lease(stopping.id).state is LeaseState.running


def test_the_notice_is_taken_back_when_nobody_waits_any_more(core: SmallCore) -> None:
    full(core)
    passes = Passes(core)
    passes.go_on(15)
    wait(core, "zoe")
    passes.until(lambda: bool(told(core)), minutes=2)
    [first] = told(core)
    [waits] = [one for one in core.governor.leases() if one.state is LeaseState.queued]
    core.governor.close_by_hand(waits.id, reason="no longer", actor=ROOT, now=core.now)
    passes.until(lambda: first.id not in {one.id for one in told(core)}, minutes=1)
    passes.go_on(5)
    assert told(core) == []


def test_a_keep_by_its_owner_holds_that_off_too(core: SmallCore) -> None:
    full(core)
    passes = Passes(core)
    passes.go_on(15)
    wait(core, "zoe")
    passes.until(lambda: bool(told(core)), minutes=2)
    [first] = told(core)
    core.governor.keep(first.id, actor=ROOT, now=core.now)
    passes.go_on(5)
    assert core.lease(first.id).state is LeaseState.running


def test_whose_end_would_not_let_anybody_start_keeps_it(tmp_path: Path) -> None:
    teams = {
        "vision": {"groups": ["vision"], "quota": {"slices": {"nominal": "0.25"}}},
        "speech": {"groups": ["speech"], "quota": {"slices": {"nominal": "0.25"}}},
    }
    with SmallCore.running(tmp_path / "state", teams=teams, idle={"gpus": RULE}) as core:
        mine = [at_work(core, f"user-{n}") for n in range(2)]
        passes = Passes(core)
        passes.go_on(15)
        wish = {
            "attempt_id": "other-team",
            "key": ServerKey(user=UserName("sue")),
            "groups": ("speech",),
            "choice": Choice(profile=ProfileName("small")),
            "when": When.start,
        }
        # Five slices are free: the other team waits for nothing of this one.
        core.governor.ask(Ask.model_validate(wish), now=core.now)
        passes.go_on(3)
        assert told(core) == []
        wait(core, "zoe")
        passes.until(lambda: bool(told(core)), minutes=2)
        assert {one.id for one in told(core)} < {one.id for one in mine}


def test_without_the_rule_who_waits_goes_on_waiting(tmp_path: Path) -> None:
    advised = {**RULE, "gpu_unused_stop": False}
    with SmallCore.running(tmp_path / "state", idle={"gpus": advised}) as core:
        full(core)
        passes = Passes(core)
        passes.go_on(15)
        wait(core, "zoe")
        passes.go_on(10)
        assert told(core) == []


def test_a_rule_on_trial_that_takes_them_says_so_and_takes_none(tmp_path: Path) -> None:
    former = {**RULE, "gpu_unused_stop": False}
    with SmallCore.running(tmp_path / "state", idle={"gpus": former}) as core:
        core.set_policy(idle={"gpus": {**RULE, "trial": "7d"}})
        full(core)
        passes = Passes(core)
        passes.go_on(15)
        wait(core, "zoe")
        passes.go_on(6)
        assert told(core) == []
        assert len(core.events("idle.would_stop")) == 1
        [trial] = core.governor.idle_trials(now=core.now).trials
        assert trial.changes == ("gpu_unused_stop: False -> True",)
        # It worked all the time beside its GPU; only a use of that shows the stop to be wrong.
        assert (trial.stops, trial.worked_again) == (1, 0)
        for lease in core.governor.leases():
            core.busy[lease.id] = 90
        passes.go_on(3)
        [trial] = core.governor.idle_trials(now=core.now).trials
        assert (trial.stops, trial.worked_again) == (1, 1)


def test_people_read_that_rule_only_where_it_acts_for_their_team(tmp_path: Path) -> None:
    teams = {
        "vision": {"groups": ["vision"], "quota": {"slices": {"nominal": "0.5"}}},
        "speech": {"groups": ["speech"], "quota": {"slices": {"nominal": "0.25"}}},
    }
    general = {**RULE, "gpu_unused_stop": False}
    rules = {"gpus": general, "vision": {**RULE, "teams": ["vision"], "limit": "20m"}}
    with SmallCore.running(tmp_path / "state", teams=teams, idle=rules) as core:

        def read(group: str) -> list[str]:
            person = Person(user=UserName("ada"), groups=(group,))
            found = site_limits(core.governor.policy, person, (TeamName(group),), core.now)
            return [one.words for one in found if one.subject == "idle"]

        assert not any("unused" in words for words in read("speech"))
        assert any("quiet for 30m is idle" in words for words in read("speech"))
        assert any("unused for 10m beside other work" in words for words in read("vision"))
        assert any("(vision)" in words for words in read("vision"))
        changed = {**rules["vision"], "gpu_unused": "5m", "trial": "7d"}
        core.set_policy(teams=teams, idle={"gpus": general, "vision": changed})
        assert any("unused for 10m beside other work" in words for words in read("vision"))
