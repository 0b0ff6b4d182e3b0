"""Servers kept by their owners: within a budget, on the record, and the same after a restart."""

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hub_ext.errors import RefusedError
from hub_ext.lease import Actor, Cause, Grant, LeaseState, Notice, Reason, UserName
from hub_ext.lease.keeping import KeepGrantSheet, KeepSheet
from hub_ext.service.books.keepbook import GRANTED, KEPT
from hub_ext.service.reclaim.keepgrants import KeepWish
from tests.support.governing import POLICY, Site, site_in

VERA = Actor(kind="user", name="vera")
LENA = Actor(kind="user", name="lena")
HOUR = 3600
KEPT_POLICY = POLICY.replace("keep: 30m", "keep: {each: 2h, server: 5h, week: 8h}").replace(
    "default: 1h, longest: 2h", "default: 960h, longest: 960h"
)
ROOMY = KEPT_POLICY.replace("default: 1h, longest: 4h", "default: 960h, longest: 960h")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with site_in(tmp_path, policy=KEPT_POLICY) as made:
        yield made


def keep(site: Site, grant: Grant) -> int:
    """Ask once; return for how many seconds it is kept from now on."""
    kept = site.governor.keep(grant.lease_id, actor=VERA, now=site.now)
    assert kept.kept_until is not None
    return int((kept.kept_until - site.now).total_seconds())


def refused(site: Site, grant: Grant) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        keep(site, grant)
    return caught.value


def shown(site: Site, grant: Grant) -> KeepSheet:
    sheet = site.governor.view_of(grant.lease_id, now=site.now).keep
    assert sheet is not None
    return sheet


def times_kept(site: Site, kind: str = KEPT) -> int:
    with site.ledger.transaction() as tx:
        return len(tx.events(kinds=(kind,)))


def granted(site: Site, hours: int, days: float = 2, team: str = "vision") -> KeepGrantSheet:
    until = site.now + timedelta(days=days)
    wish = KeepWish(user=UserName("vera"), more_s=hours * HOUR, until=until)
    return site.governor.grant_keep(team, wish, reason="a deadline", actor=LENA, now=site.now)


def spend(site: Site, grant: Grant) -> None:
    """Keep it until its own limit is spent: 5 hours."""
    for _n in range(3):
        keep(site, grant)
        site.later(2 * HOUR)


def test_the_price_is_shown_before_it_is_asked_and_what_is_left_after(site: Site) -> None:
    grant = site.run("vera")
    before = shown(site, grant)
    # EUR 3.60 an hour.
    assert (before.adds_s, before.price_text) == (2 * HOUR, "EUR 7.20")
    assert before.until == site.now + timedelta(hours=2)
    assert (before.server_kept_s, before.server_limit_s) == (0, 5 * HOUR)
    keep(site, grant)
    site.later(HOUR)
    after = shown(site, grant)
    assert (after.adds_s, after.price_text) == (HOUR, "EUR 3.60")
    assert (after.server_kept_s, after.week_kept_s) == (2 * HOUR, 2 * HOUR)
    assert after.words == "Kept for 2h of 5h on this server, and 2h of 8h within seven days."


def test_a_repeated_ask_is_the_same_ask_also_after_a_restart(site: Site) -> None:
    grant = site.run("vera")
    assert keep(site, grant) == 2 * HOUR
    site.later(20)
    site.restart()
    assert keep(site, grant) == 2 * HOUR - 20
    assert (times_kept(site), shown(site, grant).week_kept_s) == (1, 2 * HOUR)


def test_a_keep_that_is_over_is_asked_for_anew_however_short_it_was(tmp_path: Path) -> None:
    with site_in(tmp_path, policy=POLICY.replace("keep: 30m", "keep: 10s")) as site:
        grant = site.run("vera")
        assert keep(site, grant) == 10
        site.later(11)
        assert keep(site, grant) == 10
        assert times_kept(site) == 2


def test_one_server_is_kept_for_so_long_and_the_refusal_says_what_to_do(site: Site) -> None:
    grant = site.run("vera")
    spend(site, grant)
    no = refused(site, grant)
    assert no.code == "keep-spent"
    assert (no.figures["server_kept_s"], no.figures["server_limit_s"]) == (5 * HOUR, 5 * HOUR)
    assert "kept for 5h of the 5h" in no.message
    assert "ask a lead" in no.message


def test_another_start_has_a_limit_of_its_own_and_the_week_is_the_persons(site: Site) -> None:
    first = site.run("vera")
    spend(site, first)
    site.stop(first)
    site.report_devices()
    second = site.run("vera")
    # 5 of 8 hours are gone, of which the last reached beyond the stop by nothing.
    assert keep(site, second) == 2 * HOUR
    site.later(2 * HOUR)
    assert keep(site, second) == HOUR
    site.later(HOUR)
    site.restart()
    no = refused(site, second)
    assert (no.figures["week_kept_s"], no.figures["week_limit_s"]) == (8 * HOUR, 8 * HOUR)
    free = shown(site, second).free_at
    assert free is not None
    assert no.figures["free_at"] == free.isoformat()
    assert "There is some again from 2026-12-07 09:01:00 UTC on" in no.message
    site.now = free
    assert keep(site, second) == 60


def test_what_lies_after_the_end_of_a_server_comes_back(site: Site) -> None:
    grant = site.run("vera")
    keep(site, grant)
    site.later(HOUR)
    site.stop(grant)
    assert shown(site, site.run("vera")).week_kept_s == HOUR


def test_a_lead_grants_more_until_a_time_and_it_is_shown(site: Site) -> None:
    grant = site.run("vera")
    spend(site, grant)
    (given,) = granted(site, 3).grants
    assert (given.user, given.more_s, given.by, given.reason) == (
        "vera",
        3 * HOUR,
        "lena",
        "a deadline",
    )
    site.restart()
    assert times_kept(site, GRANTED) == 1
    sheet = shown(site, grant)
    assert (sheet.granted_s, sheet.granted_until) == (3 * HOUR, given.until)
    assert keep(site, grant) == 2 * HOUR
    site.now = given.until
    assert shown(site, grant).granted_s == 0
    assert refused(site, grant).code == "keep-spent"


def test_a_grant_of_nothing_ends_the_former_one(site: Site) -> None:
    granted(site, 3)
    assert granted(site, 0).grants == ()


def test_a_grant_of_another_team_changes_nothing(site: Site) -> None:
    grant = site.run("vera")
    granted(site, 3, team="speech")
    assert shown(site, grant).granted_s == 0


def test_a_grant_needs_a_team_and_an_end_within_a_month(site: Site) -> None:
    with pytest.raises(RefusedError, match="within 31 days"):
        granted(site, 1, days=32)
    with pytest.raises(RefusedError, match="no team 'none'"):
        granted(site, 1, team="none")


def test_nobody_keeps_where_the_policy_does_not_let_them(tmp_path: Path) -> None:
    with site_in(tmp_path, policy=POLICY.replace("keep: 30m", "keep: 0s")) as site:
        grant = site.run("vera")
        assert refused(site, grant).code == "keep-off"
        assert shown(site, grant).until is None


def test_a_spent_budget_leaves_the_announced_stop_standing(site: Site) -> None:
    grant = site.run("vera")
    spend(site, grant)
    notice = Notice(
        cause=Cause.culled,
        given_at=site.now,
        stops_at=site.now + timedelta(minutes=5),
        reason=Reason(code="idle", message="It is idle."),
    )
    site.governor.give_notice(grant.lease_id, notice, evidence=None, now=site.now)
    refused(site, grant)
    assert site.lease(grant).state is LeaseState.noticed


@settings(max_examples=12)
@given(data=st.data())
def test_no_order_of_asks_stops_and_restarts_exceeds_the_budget(data: st.DataObject) -> None:
    """Two servers of one person; each ask may be sent twice, and the governor may die after it."""
    with tempfile.TemporaryDirectory() as folder, site_in(Path(folder), policy=ROOMY) as site:
        servers = {name: site.run("vera", "small", server=name) for name in ("a", "b")}
        for _ in range(data.draw(st.integers(1, 12))):
            site.later(data.draw(st.sampled_from([1, 59, 61, 1800, 7200, 86400])))
            name = data.draw(st.sampled_from(["a", "b"]))
            act = data.draw(st.sampled_from(["keep", "keep twice", "again", "restart"]))
            if act == "restart":
                site.restart()
            elif act == "again":
                site.stop(servers[name])
                site.report_devices()
                servers[name] = site.run("vera", "small", server=name)
            else:
                for _ in range(1 if act == "keep" else 2):
                    with suppress(RefusedError):
                        keep(site, servers[name])
            for grant in servers.values():
                sheet = shown(site, grant)
                assert sheet.server_kept_s <= 5 * HOUR
                assert sheet.week_kept_s <= 8 * HOUR
