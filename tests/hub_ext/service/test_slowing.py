"""Starts that fail again and again slow their own person down, twice as long each time."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hub_ext.errors import RefusedError
from hub_ext.policy.checks import check
from hub_ext.policy.load import loads
from hub_ext.policy.problems import path_text
from tests.support.governing import POLICY, Site, site_in


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with site_in(tmp_path / "state") as site:
        yield site


def fails(site: Site, user: str = "sam", profile: str = "one", server: str = "") -> None:
    """Start a server that never comes up."""
    grant = site.ask(site.asking(user, profile, server=server))
    site.later(1)
    site.ended(grant, asked=False, exit_code=1)


def wait_s(site: Site, user: str = "sam", profile: str = "one") -> int:
    """Seconds that somebody has to wait now; 0 where they may start, and then they have."""
    try:
        fails(site, user, profile)
    except RefusedError as refused:
        # Another refusal has no such figure, and fails the test.
        return int(refused.figures["wait_s"])
    return 0


def test_each_further_failure_doubles_the_pause_up_to_the_longest(site: Site) -> None:
    for _start in range(3):
        fails(site)
    pauses = []
    for _round in range(7):
        pause = wait_s(site)
        pauses.append(pause)
        site.later(pause - 1)
        assert wait_s(site) == 1
        site.later(1)
        assert wait_s(site) == 0
    assert pauses == [30, 60, 120, 240, 480, 900, 900]


def test_the_refusal_says_what_to_do_and_that_nobody_else_waits(site: Site) -> None:
    for _start in range(3):
        fails(site)
    with pytest.raises(RefusedError) as refused:
        site.run("sam", server="another")
    assert "Your last 3 starts failed, so the next one has to wait for 30s" in refused.value.message
    assert "mend that first" in refused.value.message
    told = refused.value
    assert (told.code, told.status, told.retry_after_s) == ("starts-fail", 429, 30)
    site.run("sue")
    site.run("vera")
    assert len(site.governor.leases()) == 2, "nothing was opened for whoever waits"


def test_servers_without_a_gpu_and_of_any_name_count_together(site: Site) -> None:
    fails(site, profile="cpu")
    fails(site, server="two")
    fails(site)
    assert wait_s(site, profile="cpu") == 30


def test_two_failures_are_let_pass_and_a_server_that_stays_up_forgives(site: Site) -> None:
    fails(site)
    fails(site)
    grant = site.run("sam")
    site.later(121)
    site.stop(grant)
    fails(site)
    fails(site)
    assert wait_s(site) == 0
    assert wait_s(site) == 30


def test_who_has_a_server_that_runs_well_is_not_slowed(site: Site) -> None:
    grant = site.run("sam", server="steady")
    site.later(200)
    for _start in range(4):
        fails(site, server="other")
    assert site.lease(grant).open


def test_a_server_that_comes_up_and_dies_at_once_counts(site: Site) -> None:
    for _start in range(3):
        grant = site.run("sam")
        site.later(20)
        site.machine.living.clear()
        site.ended(grant, asked=False, exit_code=139)
    assert wait_s(site) == 30


def test_ends_that_somebody_wanted_are_no_failures(site: Site) -> None:
    for _start in range(4):
        grant = site.ask(site.asking("sam"))
        site.ended(grant, asked=True)
        refused = site.ask(site.asking("sam"))
        site.ended(refused, refused=True)
        site.stop(site.run("sam"))
    assert wait_s(site) == 0


def test_a_restart_forgives_nothing_and_time_does(site: Site) -> None:
    for _start in range(3):
        fails(site)
    site.restart()
    assert wait_s(site) == 30
    site.later(30)
    site.report_devices()
    assert wait_s(site) == 0


def test_a_lost_answer_is_repeated_all_the_same(site: Site) -> None:
    asked = site.asking("sue")
    grant = site.ask(asked)
    for _start in range(3):
        fails(site, "sue", "cpu", server="other")
    assert site.ask(asked) == grant


def test_a_clock_that_was_set_back_keeps_nobody(site: Site) -> None:
    for _start in range(3):
        fails(site)
    site.later(-3600)
    assert wait_s(site) == 0


def test_the_policy_says_how_often_and_how_long(tmp_path: Path) -> None:
    rules = "starts: {failures: 1, pause: 2m, longest_pause: 3m}\n"
    with site_in(tmp_path / "state", policy=POLICY + rules) as site:
        fails(site)
        assert wait_s(site) == 120
        site.later(120)
        assert wait_s(site) == 0
        assert wait_s(site) == 180


def test_a_first_pause_above_the_longest_is_refused() -> None:
    policy = loads(POLICY).policy
    starts = policy.starts.model_copy(update={"pause": 2 * policy.starts.longest_pause})
    wrong = policy.model_copy(update={"starts": starts})
    assert [path_text(one.path) for one in check(wrong) if one.severity == "error"] == [
        "starts.pause"
    ]
