"""Steps of a budget as stories: told once, also after a restart, and stopped with notice."""

from datetime import timedelta
from pathlib import Path

import pytest

from hub_ext.cli import main
from hub_ext.lease import Cause, Event, Grant, LeaseState, Notice
from hub_ext.policy.load import loads
from hub_ext.service.books.budgetclosure import BUDGET_SPENT
from hub_ext.service.books.budgetrecord import REACHED
from hub_ext.service.money.budgetsteps import BUDGET_ADVICE
from hub_ext.service.reclaim.stops import give_notice
from hub_ext.service.rules.unenforced import DayRow
from hub_ext.service.workers.cull import Culler
from tests.support.governing import POLICY, START, Site, site_in

ENFORCE = POLICY.replace("idle: enforce", "idle: observe, budget: enforce")
STEPS = """\
budgets:
  month:
    {team: vision, amount: "3.60", notice: 20m,
     steps: [{at: 25, act: tell}, {at: 50, act: no_new}, {at: 75, act: stop}]}
"""
"""A GPU at EUR 3.60 an hour: a quarter is spent in 15 minutes."""


def turn(site: Site, minutes: int = 0) -> None:
    """Let time pass, then let the loops go round once."""
    site.later(60 * minutes)
    site.governor.tend_budgets(now=site.now)
    look(site)


def look(site: Site) -> None:
    """Look at every live server once, as the loop does that announces stops."""
    culler = Culler()
    for lease_id in culler.live(site.governor, site.now):
        culler.look(site.governor, lease_id, site.now)


def notice_of(site: Site, grant: Grant) -> Notice | None:
    return site.lease(grant).notice


def reached(site: Site) -> list[tuple[int, str]]:
    with site.ledger.transaction() as tx:
        events: list[Event] = [event for _seq, event in tx.events(kinds=(REACHED,))]
    return [(int(str(one.body["at_percent"])), str(one.body["mode"])) for one in events]


def test_each_step_is_told_once_and_what_is_not_stopped_goes_on(tmp_path: Path) -> None:
    with site_in(tmp_path / "state", policy=ENFORCE + STEPS) as site:
        grant = site.run("vera")
        turn(site, 14)
        assert (reached(site), notice_of(site, grant)) == ([], None)
        turn(site, 1)
        told = notice_of(site, grant)
        assert told is not None
        assert (told.reason.code, told.cause) == (BUDGET_ADVICE, Cause.budget)
        assert told.is_advice
        assert "Budget month of team vision: EUR 0.90 of EUR 3.60 is spent (25 %)." in (
            told.reason.message
        )
        turn(site, 5)
        assert notice_of(site, grant) == told, "the same is not told again"
        site.restart()
        turn(site, 1)
        assert reached(site) == [(25, "enforce")]
        turn(site, 10)
        newer = notice_of(site, grant)
        assert newer is not None
        assert "nothing new with a GPU starts" in newer.reason.message
        assert reached(site) == [(25, "enforce"), (50, "enforce")]


def test_a_server_with_time_left_gets_the_whole_notice_also_over_a_restart(tmp_path: Path) -> None:
    policy = ENFORCE.replace("{default: 1h, longest: 2h}", "{default: 2h, longest: 2h}")
    with site_in(tmp_path / "state", policy=policy + STEPS) as site:
        grant, cpu, other = site.run("vera"), site.run("viktor", "cpu"), site.run("sue")
        turn(site, 45)
        notice = notice_of(site, grant)
        assert notice is not None
        assert (notice.reason.code, notice.stops_at) == (
            BUDGET_SPENT,
            site.now + timedelta(minutes=20),
        )
        assert "Save your work" in notice.reason.message
        turn(site, 10)
        site.restart()
        look(site)
        assert notice_of(site, grant) == notice, "nobody has reckoned yet, and it stands"
        turn(site, 9)
        assert notice_of(site, grant) == notice
        turn(site, 1)
        ended = site.lease(grant)
        assert (ended.state, ended.cause) == (LeaseState.stopping, Cause.budget)
        assert ended.reason is not None
        assert "stopped because its budget is spent" in ended.reason.message
        assert [intent.lease_id for intent in site.governor.intents()] == [grant.lease_id]
        assert notice_of(site, cpu) is None
        assert site.lease(other).state is LeaseState.running


def test_a_budget_that_is_given_more_calls_the_stop_off(tmp_path: Path) -> None:
    policy = ENFORCE.replace("{default: 1h, longest: 2h}", "{default: 2h, longest: 2h}")
    with site_in(tmp_path / "state", policy=policy + STEPS) as site:
        grant = site.run("vera")
        turn(site, 45)
        site.governor.set_policy(loads(policy + STEPS.replace("3.60", "36.00")), now=site.now)
        turn(site, 1)
        assert notice_of(site, grant) is None
        site.governor.set_policy(loads(policy + STEPS), now=site.now)
        turn(site, 30)
        again = notice_of(site, grant)
        assert again is not None
        assert again.stops_at == site.now + timedelta(minutes=20), "never shorter than was agreed"
        assert [percent for percent, _mode in reached(site)] == [25, 50, 75], "each once a period"


def test_a_new_month_begins_anew_and_tells_anew(tmp_path: Path) -> None:
    policy = ENFORCE.replace("{default: 1h, longest: 2h}", "{default: 2h, longest: 24h}")
    with site_in(tmp_path / "state", policy=policy + STEPS) as site:
        site.now = START.replace(hour=23, minute=30)
        site.report_devices()
        grant = site.run("vera")
        turn(site, 20)
        assert notice_of(site, grant) is not None
        turn(site, 11)
        assert notice_of(site, grant) is None, "December has spent a minute's worth"
        turn(site, 15)
        assert notice_of(site, grant) is not None
        assert [percent for percent, _mode in reached(site)] == [25, 25]


def test_advice_says_what_would_be_and_observing_says_nothing_but_both_are_summed(
    tmp_path: Path,
) -> None:
    for mode in ("observe", "advise"):
        policy = ENFORCE.replace("budget: enforce", f"budget: {mode}")
        with site_in(tmp_path / mode, policy=policy + STEPS) as site:
            grant = site.run("vera")
            turn(site, 46)
            notice = notice_of(site, grant)
            if mode == "observe":
                assert notice is None
            else:
                assert notice is not None
                assert notice.is_advice
                assert "Once budgets are enforced: Servers" in notice.reason.message
            assert reached(site) == [(25, mode), (50, mode), (75, mode)]
            assert site.governor.unenforced(now=site.now) == (
                DayRow("2026-11-30", "vision", 0, 0, 0, spent=1),
            )
            turn(site, 1)
            assert len(reached(site)) == 3


def test_what_stops_a_server_comes_before_what_only_tells(tmp_path: Path) -> None:
    with site_in(tmp_path / "state", policy=ENFORCE + STEPS) as site:
        grant = site.run("vera")
        turn(site, 15)
        told = notice_of(site, grant)
        assert told is not None
        turn(site, 6)
        assert notice_of(site, grant) == told
        # The lifetime's own notice comes ten minutes before the end.
        site.governor.set_policy(loads(ENFORCE), now=site.now)
        site.governor.set_policy(loads(ENFORCE + STEPS), now=site.now)
        turn(site, 8)
        life = Notice(
            cause=Cause.expired,
            given_at=site.now,
            stops_at=site.now + timedelta(minutes=5),
            reason=told.reason.model_copy(update={"code": "lifetime-ends"}),
        )
        assert (
            give_notice(
                site.governor._desk, grant.lease_id, life, evidence=None, now=site.now
            ).notice
            == life
        )
        assert (
            give_notice(
                site.governor._desk, grant.lease_id, told, evidence=None, now=site.now
            ).notice
            == life
        )


def test_the_end_of_a_life_is_announced_though_a_budget_was_told_of(tmp_path: Path) -> None:
    tell = 'budgets:\n  month: {team: vision, amount: "3.60", steps: [{at: 25, act: tell}]}\n'
    with site_in(tmp_path / "state", policy=ENFORCE + tell) as site:
        grant = site.run("vera")
        turn(site, 49)
        told = notice_of(site, grant)
        assert told is not None
        assert told.is_advice
        turn(site, 1)
        life = notice_of(site, grant)
        assert life is not None
        assert life.cause is Cause.expired
        assert life.stops_at == START + timedelta(hours=1)


def test_a_step_is_told_also_where_a_stricter_one_of_another_budget_stands(tmp_path: Path) -> None:
    two = (
        "budgets:\n"
        '  own: {team: vision, each: person, amount: "3.60", '
        "steps: [{at: 10, act: guaranteed_only}, {at: 50, act: no_new}]}\n"
        '  all: {team: vision, amount: "7.20", '
        "steps: [{at: 10, act: tell}, {at: 25, act: guaranteed_only}]}\n"
    )
    with site_in(tmp_path / "state", policy=ENFORCE + two) as site:
        grant = site.run("vera")
        told = []
        for _look in range(5):
            turn(site, 6)
            notice = notice_of(site, grant)
            assert notice is not None
            told.append((notice.reason.figures["budget"], notice.reason.figures["at_percent"]))
        # At half an hour both reach a step, and the stricter is told.
        assert told == [("own", 10), ("all", 10), ("all", 10), ("all", 10), ("own", 50)]
        site.governor.set_policy(loads(ENFORCE), now=site.now)
        turn(site)
        assert notice_of(site, grant) is None


def test_rows_say_since_when_a_step_stands_and_which_comes_next(tmp_path: Path) -> None:
    each = '  own: {team: vision, each: person, amount: "7.20", steps: [{at: 10, act: no_new}]}\n'
    with site_in(tmp_path / "state", policy=ENFORCE + STEPS + each) as site:
        site.run("vera")
        turn(site, 30)
        month, own = site.governor.budgets(("vision",), now=site.now)
        assert (month.act, month.reached_at, month.percent) == ("no_new", site.now, 50)
        assert month.next_step is not None
        assert (month.next_step.at_percent, month.next_step.act) == (75, "stop")
        assert (own.user, own.act, own.percent) == ("vera", "no_new", 25)
        assert site.governor.budgets(("speech",), now=site.now) == ()
        assert len(site.governor.budgets(now=site.now)) == 2


def test_the_books_are_whole_with_all_that_budgets_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = ENFORCE.replace("budget: enforce", "budget: observe")
    with site_in(tmp_path / "state", policy=policy + STEPS) as site:
        grant = site.run("vera")
        turn(site, 46)
        site.stop(grant)
        turn(site, 1)
    assert main(["ledger", "verify", "--state", str(tmp_path / "state")]) == 0
    assert "ok" in capsys.readouterr().out
