"""Reservations and hard budgets: what is reserved is paid for until its end, once, or not kept."""

from datetime import timedelta
from pathlib import Path

import pytest

from hub_ext.errors import RefusedError
from hub_ext.lease import LeaseState
from hub_ext.lease.budgets import BudgetRow
from hub_ext.lease.reserving import Opening
from tests.hub_ext.service.test_reserving import (
    EVERYONE,
    HOUR,
    lease_of,
    person,
    present,
    tend,
    unused,
)
from tests.hub_ext.service.test_reserving import reserve as reserve_for
from tests.support.governing import Site, site_in

ENFORCE = EVERYONE.replace("idle: enforce", "idle: enforce, budget: enforce")

PROJECTS = ENFORCE.replace(
    "  maps: {team: vision}",
    "  talks: {team: speech}\n  songs: {team: speech}\n  maps: {team: vision}",
)


def hard(amount: str, policy: str = ENFORCE) -> str:
    """Give the team of sam and sue so much; a GPU is EUR 3.60 an hour."""
    return f'{policy}budgets:\n  month: {{team: speech, amount: "{amount}", hard: true}}\n'


def reserve(site: Site, *, length: float, after: float = 1, project: str | None = None) -> None:
    reserve_for(site, after=after, length=length, by=person("sam"), project=project)


def budget(site: Site) -> BudgetRow:
    (row,) = site.governor.budgets(now=site.now)
    return row


def opening(site: Site) -> Opening:
    (one,) = present(site)
    assert one.current is not None
    return one.current


def why(site: Site) -> str:
    reason = opening(site).reason
    assert reason is not None
    return reason.code


def test_a_reservation_is_paid_for_until_its_end_and_not_for_a_lifetime_alone(
    tmp_path: Path,
) -> None:
    free = ENFORCE.replace("no_show: 15m", "no_show: 15m, unused_percent: 0")
    with site_in(tmp_path, policy=hard("28.79", free)) as site:
        reserve(site, length=8)
        tend(site, HOUR)
        assert (lease_of(site, "sam"), why(site)) == (None, "budget-too-small")
        assert opening(site).devices == ()
    with site_in(tmp_path / "enough", policy=hard("28.80", free)) as site:
        reserve(site, length=8)
        tend(site, HOUR)
        grant = site.run("sam")
        assert grant.ends_at == site.now + timedelta(hours=8)
        assert budget(site).left_micro == 0


def test_what_is_kept_for_a_start_does_not_stand_in_its_way(tmp_path: Path) -> None:
    with site_in(tmp_path, policy=hard("3.60")) as site:
        reserve(site, length=1)
        tend(site, HOUR)
        assert budget(site).left_micro == 0
        site.later(300)
        grant = site.run("sam")
        tend(site)
        assert (site.lease(grant).reservation, budget(site).left_micro) == (present(site)[0].id, 0)


def test_devices_kept_beside_a_server_do_not_stand_in_the_way_of_changing_over(
    tmp_path: Path,
) -> None:
    with site_in(tmp_path, policy=hard("3.60")) as site:
        reserve(site, length=1)
        other = site.run("sam", "cpu")
        tend(site, HOUR)
        assert (why(site), budget(site).left_micro) == ("reserved-kept", 0)
        site.stop(other)
        grant = site.run("sam")
        tend(site)
        assert site.lease(grant).reservation == present(site)[0].id
        assert budget(site).committed_micro == 3_600_000


def test_a_server_that_runs_gets_no_time_of_a_reservation_that_nobody_pays_for(
    tmp_path: Path,
) -> None:
    with site_in(tmp_path, policy=hard("3.60")) as site:
        grant = site.run("sam")
        own = grant.ends_at
        reserve(site, after=0.5, length=8)
        tend(site, HOUR / 2)
        lease = site.lease(grant)
        assert (lease.reservation, lease.ends_at) == (present(site)[0].id, own)
        assert why(site) == "budget-too-small"
        tend(site, 60)
        row = budget(site)
        assert row.spent_micro + row.committed_micro == 3_600_000


def test_a_server_that_runs_is_given_the_reserved_time_where_it_is_paid_for(
    tmp_path: Path,
) -> None:
    with site_in(tmp_path, policy=hard("30.60")) as site:
        grant = site.run("sam")
        reserve(site, after=0.5, length=8)
        tend(site, HOUR / 2)
        assert site.lease(grant).ends_at == site.now + timedelta(hours=8)
        assert (opening(site).reason, budget(site).left_micro) == (None, 0)


def test_a_server_of_another_project_is_not_taken_for_what_is_reserved(tmp_path: Path) -> None:
    with site_in(tmp_path, policy=PROJECTS) as site:
        grant = site.ask(site.asking("sam", "one", project="songs"))
        site.started(grant)
        reserve(site, after=0.5, length=2, project="talks")
        tend(site, HOUR / 2)
        assert (site.lease(grant).reservation, site.lease(grant).ends_at) == (None, grant.ends_at)
        assert why(site) == "reserved-kept"


@pytest.mark.parametrize("profile", ["", "cpu"], ids=["no server", "a server beside"])
def test_what_no_budget_pays_for_is_neither_kept_nor_charged(tmp_path: Path, profile: str) -> None:
    with site_in(tmp_path, policy=hard("0.50")) as site:
        if profile:
            site.run("sam", profile)
        reserve(site, length=4)
        tend(site, HOUR)
        for _minute in range(20):
            assert why(site) == "budget-too-small"
            assert (opening(site).devices, opening(site).kept_since) == ((), None)
            tend(site, 60)
        assert unused(site) == []
        row = budget(site)
        assert (row.spent_micro, row.committed_micro) == (0, 0)
        site.run("sue", "cpu")


@pytest.mark.parametrize(
    ("amount", "code"), [("10.79", "budget-short"), ("10.80", "reserved-kept")]
)
def test_while_devices_are_kept_beside_a_server_with_a_gpu_both_are_paid_for(
    tmp_path: Path, amount: str, code: str
) -> None:
    with site_in(tmp_path, policy=hard(amount, PROJECTS)) as site:
        site.started(site.ask(site.asking("sam", "one", project="songs")))
        reserve(site, after=0.5, length=2, project="talks")
        tend(site, HOUR / 2)
        assert why(site) == code


def test_money_that_comes_later_keeps_what_is_reserved_from_then_on(tmp_path: Path) -> None:
    with site_in(tmp_path, policy=hard("3.60")) as site:
        other = site.run("sue")
        reserve(site, after=0.5, length=0.5)
        tend(site, HOUR / 2)
        assert why(site) == "budget-short"
        with pytest.raises(RefusedError):
            site.ask(site.asking("sam", "one"))
        site.stop(other)
        site.report_devices()
        tend(site)
        lease = lease_of(site, "sam")
        assert lease is not None
        assert lease.state is LeaseState.held
