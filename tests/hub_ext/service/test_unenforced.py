"""Observe, advise, enforce: what the rules would have done is recorded, told and summed."""

from datetime import timedelta
from pathlib import Path

import pytest

from hub_ext.errors import RefusedError
from hub_ext.lease import LeaseId, Verdict, VerdictState
from hub_ext.service.rules.unenforced import WOULD_STOP, DayRow
from tests.support.governing import POLICY, Site, site_in

OBSERVE = POLICY.replace("quota: enforce, idle: enforce", "quota: observe, idle: observe")
ADVISE = POLICY.replace("quota: enforce, idle: enforce", "quota: advise, idle: advise")
TIGHT = 'whole: {nominal: "1", borrowing_limit: "0"}'


def tight(policy: str) -> str:
    return policy.replace('whole: {nominal: "1", borrowing_limit: "1"}', TIGHT)


def idle(site: Site, lease_id: LeaseId) -> None:
    verdict = Verdict(
        state=VerdictState.idle,
        at=site.now,
        rule="gpus",
        quiet_since=site.now - timedelta(minutes=10),
        limit_s=600,
        signals=(),
        words="Its GPU did nothing for 10 minutes.",
    )
    site.governor.judged(lease_id, verdict, now=site.now)


def rows(site: Site) -> tuple[DayRow, ...]:
    return site.governor.unenforced(now=site.now)


def test_observe_starts_it_says_that_it_would_have_queued_and_sums_it_up(tmp_path: Path) -> None:
    with site_in(tmp_path / "state", policy=tight(OBSERVE)) as site:
        site.run("vera")
        assert rows(site) == ()
        lease = site.lease(site.run("viktor"))
        assert lease.reason is not None
        assert "If quota were enforced, this would have queued" in lease.reason.message
        idle(site, lease.id)
        idle(site, lease.id)
        assert rows(site) == (DayRow("2026-11-30", "vision", 1, 0, 1),)
        site.later(86400)
        site.report_devices()
        idle(site, site.run("sam").lease_id)
        assert [(row.day, row.team, row.idle) for row in rows(site)] == [
            ("2026-12-01", "speech", 1),
            ("2026-11-30", "vision", 1),
        ]
        site.later(86400 * 14)
        assert [row.team for row in rows(site)] == []


def test_advise_says_it_in_words_of_its_own_and_sums_it_up_too(tmp_path: Path) -> None:
    with site_in(tmp_path / "state", policy=tight(ADVISE)) as site:
        site.run("vera")
        lease = site.lease(site.run("viktor"))
        assert lease.reason is not None
        assert "Once quota is enforced" in lease.reason.message
        assert "If quota were" not in lease.reason.message
        assert [(row.queued, row.idle) for row in rows(site)] == [(1, 0)]


def test_enforce_refuses_and_has_nothing_to_add(tmp_path: Path) -> None:
    with site_in(tmp_path / "state", policy=tight(POLICY)) as site:
        lease_id = site.run("vera").lease_id
        with pytest.raises(RefusedError):
            site.run("viktor")
        idle(site, lease_id)
        assert rows(site) == ()
        with site.ledger.transaction() as tx:
            assert tx.events(kinds=[WOULD_STOP]) == ()
