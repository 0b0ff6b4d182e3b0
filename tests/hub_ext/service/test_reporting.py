"""A lease closes when its server is proved gone, and by nothing else."""

import pytest

from hub_ext.lease import GOVERNOR, Cause, LeaseState, Liveness, Reason, Report, ReportKind
from hub_ext.metering import SITE
from hub_ext.service.money.usage import Scope
from tests.support.governing import START, Site


def test_a_start_and_an_end_make_one_lease_with_its_times(site: Site) -> None:
    grant = site.ask(site.asking("vera"))
    site.later(5)
    process = site.started(grant)
    site.later(60)
    site.machine.end(process)
    site.ended(grant)
    lease = site.lease(grant)
    assert lease.state is LeaseState.closed
    assert lease.cause is Cause.user
    assert (lease.process, lease.closed_at) == (process, site.now)
    assert site.held() == []


def test_nobody_pays_for_the_time_that_a_report_waited_for_the_governor(site: Site) -> None:
    grant = site.run("vera")
    site.later(600)
    process = site.lease(grant).process
    assert process is not None
    site.machine.end(process)
    ended = site.now
    site.later(30)
    site.ended(grant, age_s=30)
    lease = site.lease(grant)
    assert (lease.closed_at, lease.state_since) == (ended, site.now)
    usage = site.governor.usage(Scope("all"), START, site.later(1), now=site.now)
    assert lease.assigned_at is not None
    assert usage.total.held_s == (ended - lease.assigned_at).seconds


def test_a_crash_is_charged_to_where_the_server_was_last_known_to_live(site: Site) -> None:
    grant = site.run("vera")
    site.later(600)
    site.governor.look(grant.lease_id, now=site.now)
    seen, process = site.now, site.lease(grant).process
    assert process is not None
    site.machine.end(process)
    site.later(45)
    site.ended(grant, asked=False, exit_code=1)
    lease = site.lease(grant)
    assert (lease.cause, lease.closed_at) == (Cause.failed, seen)


def test_a_report_cannot_say_that_it_ended_before_it_was_last_seen(site: Site) -> None:
    grant = site.run("vera")
    site.later(600)
    site.governor.look(grant.lease_id, now=site.now)
    seen, process = site.now, site.lease(grant).process
    assert process is not None
    site.machine.end(process)
    site.later(5)
    site.ended(grant, age_s=10**6)
    assert site.lease(grant).closed_at == seen


@pytest.mark.parametrize("liveness", [Liveness.alive, Liveness.unknown])
def test_an_end_that_is_no_end_keeps_the_device_and_counts(site: Site, liveness: Liveness) -> None:
    grant = site.run("vera")
    site.ended(grant, liveness)
    lease = site.lease(grant)
    assert (lease.state, lease.cause) == (LeaseState.stopping, Cause.user)
    assert site.held() == [device.id for device in grant.devices]
    site.ended(grant, liveness)
    assert site.lease(grant) == lease


def test_the_spawners_own_words_explain_an_end_that_nobody_asked_for(site: Site) -> None:
    words = Reason(code="evicted", message="The machine put your server out.")
    grant = site.run("vera")
    told = Report(
        kind=ReportKind.ended,
        key=grant.key,
        liveness=Liveness.unknown,
        exit_code=137,
        reason=words,
    )
    site.governor.report(grant.attempt_id, told, now=site.now)
    assert site.lease(grant).reason == words.model_copy(update={"figures": {"exit_code": 137}})
    # A stop that was asked for has its own words, whatever was seen besides.
    other = site.run("sam", "cpu")
    asked = told.model_copy(update={"key": other.key, "asked": True})
    site.governor.report(other.attempt_id, asked, now=site.now)
    assert site.lease(other).reason != words


def test_gone_is_not_believed_while_this_machine_sees_the_process(site: Site) -> None:
    grant = site.run("vera")
    site.ended(grant, Liveness.gone)
    assert site.lease(grant).state is LeaseState.stopping
    process = site.lease(grant).process
    assert process is not None
    site.machine.end(process)
    site.governor.look(grant.lease_id, now=site.now)
    assert site.lease(grant).state is LeaseState.closed


@pytest.mark.parametrize(
    ("how", "cause"),
    [
        ({"refused": True, "asked": False}, Cause.refused_by_hub),
        ({"asked": True}, Cause.cancelled),
        ({"asked": False}, Cause.failed),
    ],
)
def test_a_start_that_never_ran_says_why(site: Site, how: dict[str, bool], cause: Cause) -> None:
    grant = site.ask(site.asking("vera"))
    site.later(30)
    site.ended(grant, Liveness.gone, **how)
    lease = site.lease(grant)
    assert (lease.state, lease.cause) == (LeaseState.closed, cause)
    total = site.governor.usage(Scope("all"), START, site.later(1), now=site.now).total
    assert total.amount_micro == 0


@pytest.mark.parametrize(
    ("how", "cause"),
    [
        ({"asked": True}, Cause.user),
        ({"asked": False, "exit_code": 0}, Cause.user),
        ({"asked": False, "exit_code": 137}, Cause.failed),
        ({"asked": False}, Cause.failed),
    ],
)
def test_a_server_that_ran_says_why_it_ended(site: Site, how: dict[str, int], cause: Cause) -> None:
    grant = site.run("vera")
    process = site.lease(grant).process
    assert process is not None
    site.machine.end(process)
    site.ended(grant, Liveness.gone, **how)  # type: ignore[arg-type]  # a table of arguments
    lease = site.lease(grant)
    assert lease.cause is cause
    assert lease.reason is not None
    assert lease.reason.message.endswith(".")


def test_reports_that_come_twice_or_late_change_nothing(site: Site) -> None:
    grant = site.run("vera")
    site.stop(grant)
    closed = site.lease(grant)
    site.later(10)
    site.ended(grant)
    told = Report(kind=ReportKind.started, key=grant.key, liveness=Liveness.alive)
    site.governor.report(grant.attempt_id, told, now=site.now)
    assert site.lease(grant) == closed
    assert site.governor.leases() == ()


def test_a_report_of_a_former_attempt_leaves_the_present_lease_alone(site: Site) -> None:
    first = site.ask(site.asking("vera"))
    second = site.run("vera")
    site.ended(first)
    assert site.lease(second).state is LeaseState.running


def test_a_cause_that_was_decided_stands_against_what_the_report_guesses(site: Site) -> None:
    grant = site.run("vera")
    reason = Reason(code="culled", message="It was idle.")
    site.governor.ask_stop(
        grant.lease_id, cause=Cause.culled, reason=reason, actor=GOVERNOR, now=site.now
    )
    site.stop(grant)
    assert site.lease(grant).cause is Cause.culled


def test_what_was_seen_alive_bounds_what_a_lost_server_costs(site: Site) -> None:
    grant = site.run("vera")
    site.later(120)
    site.governor.seen(grant.lease_id, Liveness.alive, now=site.now)
    site.later(3600)
    site.governor.seen(grant.lease_id, Liveness.unknown, now=site.now)
    assert site.lease(grant).state is LeaseState.running
    site.governor.close_lost(grant.lease_id, now=site.now)
    lease = site.lease(grant)
    assert lease.cause is Cause.lost
    total = site.governor.usage(Scope("all"), START, site.later(1), now=site.now).total
    assert total.amount_micro == 120_000
    assert total.held_s == 120


def test_what_was_seen_survives_a_restart(site: Site) -> None:
    grant = site.run("vera")
    site.later(120)
    site.governor.seen(grant.lease_id, Liveness.alive, now=site.now)
    site.restart()
    site.later(60)
    site.governor.close_lost(grant.lease_id, now=site.now)
    closed_at = site.lease(grant).closed_at
    assert closed_at is not None
    assert (closed_at - START).total_seconds() == 120


def test_a_stop_that_takes_too_long_is_the_sites_own_after_its_limit(site: Site) -> None:
    grant = site.run("vera")
    site.later(600)
    site.ended(grant, Liveness.alive)
    site.later(1000)
    running = site.governor.usage(Scope("all"), START, site.now, now=site.now)
    process = site.lease(grant).process
    assert process is not None
    site.machine.end(process)
    site.governor.look(grant.lease_id, now=site.now)
    usage = site.governor.usage(Scope("all"), START, site.later(1), now=site.now)
    assert {row.team: row.amount_micro for row in usage.rows} == {
        "vision": 900_000,
        SITE: 700_000,
    }
    assert running.total.amount_micro == usage.total.amount_micro
    mine = site.governor.usage(Scope("me", user="vera"), START, site.now, now=site.now)
    assert mine.total.amount_micro == 900_000


def test_a_teammates_end_turns_the_oldest_borrowed_lease_into_a_guaranteed_one(site: Site) -> None:
    first, second = site.run("vera"), site.run("viktor")
    assert (site.lease(first).standing, site.lease(second).standing) == ("guaranteed", "borrowed")
    site.stop(first)
    assert site.lease(second).standing == "guaranteed"


def test_a_price_that_changes_is_charged_from_its_day(site: Site) -> None:
    site.policy_text = site.policy_text.replace(
        "prices:\n",
        'prices:\n  - {pool: whole, from: 2026-12-01, per_hour: "7.20"}\n',
    )
    site.restart()
    grant = site.run("vera")
    site.later(16 * 3600)
    site.stop(grant)
    total = site.governor.usage(Scope("all"), START, site.later(1), now=site.now).total
    assert total.amount_micro == 15 * 3_600_000 + 7_200_000


def test_a_pool_that_left_the_policy_is_charged_as_agreed_at_the_start(site: Site) -> None:
    grant = site.run("vera", "small")
    text = site.policy_text
    start, end = text.index("  mig:\n    model"), text.index("  whole:\n    model")
    text = text[:start] + text[end:]
    text = text.replace('      mig: {nominal: "0.25"}\n', "")
    start, end = text.index("  small:"), text.index("  one:")
    text = text[:start] + text[end:]
    text = text.replace(
        '  - {pool: mig, flavor: 1g.18gb, from: 2026-01-01, per_hour: "0.72"}\n', ""
    )
    site.policy_text = text
    site.restart()
    site.later(3600)
    site.stop(grant)
    total = site.governor.usage(Scope("all"), START, site.later(1), now=site.now).total
    assert total.amount_micro == 720_000
