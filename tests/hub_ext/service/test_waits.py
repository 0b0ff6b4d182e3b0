"""How long people waited, as it is recorded and shown."""

import json
import re
from html import unescape
from pathlib import Path

import pytest

from hub_ext.lease import Actor, Grant, LeaseState, OpenLease, When
from hub_ext.lease.waits import WaitRow
from hub_ext.policy.load import loads
from hub_ext.service.books import pastleases
from hub_ext.service.http import metrics
from tests.hub_ext.service.api.stories import at_the_door
from tests.support.governing import POLICY, Site
from tests.support.identities import PREFIX, Door

SAM = Actor(kind="user", name="sam")

BOUND_S = (30 + 15 + 5) * 60
"""What the policy promises an owner: min_runtime, notice and stop limit."""


def row_of(site: Site, team: str, profile: str) -> WaitRow:
    rows = site.governor.waits(now=site.now).rows
    (found,) = [one for one in rows if (one.team, one.profile) == (team, profile)]
    return found


def of(site: Site, team: str, profile: str) -> tuple[int | None, int | None, int, int | None]:
    """Longest wait for a device and from there until it ran; owed, and kept percent."""
    row = row_of(site, team, profile)
    return (
        row.held.p99_s if row.held else None,
        row.ready.p99_s if row.ready else None,
        row.owed,
        row.kept_percent,
    )


def lent(site: Site) -> tuple[Grant, OpenLease]:
    """Vision has a GPU of its own and one of speech; sam of speech waits for both of theirs."""
    borrower = site.run("vera", "two")
    return borrower, site.waits("sam", "two")


def comes_up(site: Site, lease: OpenLease, after_s: int = 20) -> Grant:
    """Let the server that waited be started on what is held for it."""
    grant = site.ask(site.asking(lease.key.user, lease.profile))
    site.later(after_s)
    site.started(grant)
    return grant


def test_a_start_without_a_wait_is_a_wait_of_no_time_and_no_test_of_a_guarantee(site: Site) -> None:
    grant = site.ask(site.asking("vera"))
    site.later(15)
    site.started(grant)
    assert of(site, "vision", "one") == (0, 15, 0, None)


def test_an_owner_who_waits_is_recorded_as_owed_once_and_the_bound_counts_from_there(
    site: Site,
) -> None:
    borrower, mine = lent(site)
    site.later(1)
    site.serve()
    assert site.now_is(mine).owed_since == site.now
    head = site.governor.lease(mine.id)
    site.later(30)
    site.serve()
    assert site.now_is(mine) == head
    site.later(BOUND_S - 30)
    site.stop(borrower)
    site.serve()
    comes_up(site, mine)
    assert of(site, "speech", "two") == (BOUND_S + 1, 20, 1, 100)


def test_a_second_too_late_is_a_guarantee_that_was_not_kept(site: Site) -> None:
    borrower, mine = lent(site)
    site.serve()
    site.later(BOUND_S + 1)
    site.stop(borrower)
    site.serve()
    comes_up(site, mine)
    assert of(site, "speech", "two") == (BOUND_S + 1, 20, 1, 0)


def test_one_that_waits_beyond_the_bound_is_told_before_it_starts_and_after_it_left(
    site: Site,
) -> None:
    _borrower, mine = lent(site)
    site.serve()
    site.later(BOUND_S)
    assert all(row.team != "speech" for row in site.governor.waits(now=site.now).rows)
    site.later(1)
    assert of(site, "speech", "two") == (None, None, 1, 0)
    site.governor.cancel(mine.id, actor=SAM, now=site.now)
    assert of(site, "speech", "two") == (None, None, 1, 0)


def test_what_was_promised_then_is_what_counts_whatever_the_policy_says_later(site: Site) -> None:
    borrower, mine = lent(site)
    site.serve()
    assert site.now_is(mine).owed_bound_s == BOUND_S
    nodes = "nodes: [{name: node-2, gpus: 3}]"
    quick = POLICY.replace(nodes, f"{nodes}\n    min_runtime: 1m\n    notice: 1m")
    site.governor.set_policy(loads(quick), now=site.now)
    site.later(BOUND_S)
    site.stop(borrower)
    site.serve()
    comes_up(site, mine)
    assert site.now_is(mine).owed_bound_s == BOUND_S
    assert of(site, "speech", "two")[2:] == (1, 100)


def test_only_the_first_of_a_queue_is_owed_what_the_guarantee_has_for_one(site: Site) -> None:
    _borrower, mine = lent(site)
    second = site.waits("sue", "two")
    site.serve()
    assert site.now_is(mine).owed_since is not None
    assert site.now_is(second).owed_since is None
    site.governor.cancel(mine.id, actor=SAM, now=site.now)
    site.later(60)
    site.serve()
    assert site.now_is(second).owed_since == site.now


def test_while_a_device_is_out_nothing_is_owed_unless_the_bound_had_passed(site: Site) -> None:
    _borrower, mine = lent(site)
    site.serve()
    first = site.now_is(mine).owed_since
    site.later(60)
    whole = [device.id for device in site.governor.devices(now=site.now) if device.pool == "whole"]
    site.report_devices(without=frozenset(whole[-2:]))
    site.serve()
    assert site.now_is(mine).owed_since is None
    site.report_devices()
    site.serve()
    again = site.now_is(mine).owed_since
    assert first is not None
    assert again is not None
    assert again > first
    site.later(BOUND_S + 1)
    site.report_devices(without=frozenset(whole[-2:]))
    site.serve()
    assert site.now_is(mine).owed_since == again


def test_a_device_that_was_held_in_vain_keeps_the_first_instant(site: Site) -> None:
    borrower = site.run("vera", "two")
    mine = site.waits("sam", "two", when=When.hold)
    site.later(100)
    site.stop(borrower)
    site.serve()
    held_at = site.now_is(mine).held_at
    assert held_at == site.now
    site.later(5 * 60 + 1)
    site.serve()
    assert site.now_is(mine).holds == 2
    assert site.now_is(mine).held_at == held_at
    comes_up(site, mine, after_s=10)
    assert of(site, "speech", "two")[:2] == (100, 5 * 60 + 11)


def test_a_smaller_wish_has_waited_since_the_larger_one_was_made(site: Site) -> None:
    borrower = site.run("vera", "two")
    site.run("sue")
    mine = site.waits("sam", "two")
    site.later(60)
    smaller = site.waits("sam", "one")
    assert smaller.requested_at == mine.requested_at
    site.later(100)
    site.stop(borrower)
    site.serve()
    comes_up(site, smaller)
    assert of(site, "speech", "one")[:2] == (160, 20)


def test_where_quota_only_advises_no_guarantee_is_put_to_the_test(site: Site) -> None:
    site.governor.set_policy(
        loads(POLICY.replace("quota: enforce", "quota: observe")), now=site.now
    )
    for user in ("vera", "viktor", "sue"):
        site.run(user)
    mine = site.waits("sam")
    site.serve()
    assert site.now_is(mine).owed_since is None


def test_what_uses_no_gpu_and_what_was_never_started_are_no_waits(site: Site) -> None:
    site.run("vera", "cpu", server="plain")
    _borrower, mine = lent(site)
    site.governor.cancel(mine.id, actor=SAM, now=site.now)
    assert {row.profile for row in site.governor.waits(now=site.now).rows} == {"two"}
    assert {row.team for row in site.governor.waits(now=site.now).rows} == {"vision"}


def test_all_of_it_is_read_again_after_a_restart_a_page_at_a_look(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pastleases, "PAGE", 4)
    for _turn in range(7):
        grant = site.run("vera")
        site.later(60)
        site.stop(grant)
    site.governor.look_at_waits(now=site.now)
    for _look in range(4):
        known = row_of(site, "vision", "one")
    assert known.held is not None
    assert known.held.count == 7
    site.restart()
    counts = []
    for _look in range(5):
        found = row_of(site, "vision", "one")
        assert found.held is not None
        counts.append(found.held.count)
    assert counts == sorted(counts)
    assert (counts[0] < 7, counts[-1]) == (True, 7)


def test_after_thirty_days_it_is_not_shown_any_more(site: Site) -> None:
    site.stop(site.run("vera"))
    assert site.governor.waits(now=site.now).rows
    site.later(30 * 86400 + 1)
    assert site.governor.waits(now=site.now).rows == ()


def test_metrics_tell_it_by_team_and_pool(site: Site) -> None:
    borrower, mine = lent(site)
    site.serve()
    site.later(120)
    site.stop(borrower)
    site.serve()
    comes_up(site, mine)
    assert site.now_is(mine).state is LeaseState.running
    text = metrics.text(metrics.gather(site.governor, site.now), {}).decode()
    labels = 'pool="whole",quantile="0.9",stage="{stage}",team="speech"'
    assert f"gpu_commons_wait_seconds{{{labels.format(stage='held')}}} 120.0" in text
    assert f"gpu_commons_wait_seconds{{{labels.format(stage='ready')}}} 20.0" in text
    assert 'gpu_commons_guarantee_kept_ratio{pool="whole",team="speech"} 1.0' in text
    assert 'gpu_commons_guarantee_kept_ratio{pool="whole",team="vision"}' not in text
    assert "sam" not in text


def test_leads_see_their_own_team_and_admins_all(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        door.site.run("vera")
        door.site.run("sam")
        seen = {}
        for role in ("lead", "other-lead", "admin"):
            answer = await door.call("GET", "waits", role)
            seen[role] = {row["team"] for row in json.loads(answer.body)["rows"]}
        assert seen == {
            "lead": {"vision"},
            "other-lead": {"speech"},
            "admin": {"vision", "speech"},
        }

    at_the_door(tmp_path, story)


def test_the_pages_have_a_table_of_it(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        site = door.site
        empty = await door.call("GET", f"{PREFIX}team/vision", "lead")
        assert "nobody asked for a GPU since waits are recorded" in empty.body.decode()
        borrower, mine = lent(site)
        site.serve()
        site.later(120)
        site.stop(borrower)
        site.serve()
        comes_up(site, mine)
        for path, role in (("admin", "admin"), ("team/speech", "other-lead")):
            page = await door.call("GET", f"{PREFIX}{path}", role)
            text = " ".join(unescape(re.sub(r"<[^>]+>", " ", page.body.decode())).split())
            assert "speech whole Two GPUs unlabelled 1 2 min · 2 min · 2 min" in text
            assert "20 s · 20 s · 20 s 100 % of 1" in text
        assert "vision whole" not in text

    at_the_door(tmp_path, story)
