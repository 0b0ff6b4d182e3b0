"""Prices by standing, as stories: what a lease pays while it borrows, and after it moved up."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from hub_ext.lease import Posting, Standing, UserName
from hub_ext.ledger.places import place
from hub_ext.ledger.verify import examine
from hub_ext.policy.catalogue import Person
from hub_ext.policy.load import loads
from hub_ext.policy.prices import unused_at
from tests.support.governing import POLICY, START, Site, site_in

TIERS = POLICY.replace(
    '{pool: whole, from: 2026-01-01, per_hour: "3.60"}',
    '{pool: whole, from: 2026-01-01, per_hour: "3.60", borrowed: "1.80"}',
)
"""Of what is borrowed a second costs 500 micro-euros, of the guarantee 1 000."""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with site_in(tmp_path / "state", policy=TIERS) as opened:
        yield opened
        assert examine(place(opened.state, None)).difference == ""


def charges(site: Site) -> list[Posting]:
    with site.ledger.transaction() as tx:
        return list(
            tx.postings(start=site.now - timedelta(days=9), end=site.now + timedelta(days=1))
        )


def figures(site: Site, user: str) -> list[tuple[Standing, int, int | None]]:
    return [
        (line.standing, line.seconds, line.amount_micro)
        for line in charges(site)
        if line.user == user
    ]


def new_policy(site: Site, text: str) -> None:
    site.governor.set_policy(loads(text), now=site.now)
    site.policy_text = text


def test_who_moves_up_pays_each_price_for_its_own_time(site: Site) -> None:
    first = site.run("vera")
    second = site.run("viktor")
    assert (first.standing, first.price_micro_per_hour) == (Standing.guaranteed, 3_600_000)
    assert (second.standing, second.price_micro_per_hour) == (Standing.borrowed, 1_800_000)
    site.later(100)
    site.stop(first)
    assert site.lease(second).standing is Standing.guaranteed
    site.later(50)
    view = site.governor.view_of(second.lease_id, now=site.now)
    assert view.cost is not None
    assert view.cost.so_far_micro == 100 * 500 + 50 * 1_000
    assert view.cost.price_micro_per_hour == 3_600_000
    site.stop(second)
    assert figures(site, "viktor") == [
        (Standing.borrowed, 100, 50_000),
        (Standing.guaranteed, 50, 50_000),
    ]


def test_the_form_shows_the_price_of_how_it_would_stand(site: Site) -> None:
    site.run("vera")
    viktor = Person(user=UserName("viktor"), groups=("vision",))
    sheet = site.governor.offers(viktor, now=site.now)
    (offer,) = [one for one in sheet.offers if one.profile == "one"]
    assert offer.standing is Standing.borrowed
    assert offer.price_micro_per_hour == 1_800_000
    assert "1.80" in offer.price_text


def test_how_it_stood_is_remembered_over_a_restart(site: Site) -> None:
    first, second = site.run("vera"), site.run("viktor")
    site.later(100)
    site.stop(first)
    site.restart()
    site.later(10)
    site.stop(second)
    assert figures(site, "viktor") == [
        (Standing.borrowed, 100, 50_000),
        (Standing.guaranteed, 10, 10_000),
    ]


def test_a_price_without_tiers_is_one_for_all(tmp_path: Path) -> None:
    with site_in(tmp_path / "state") as site:
        site.run("vera")
        assert site.run("viktor").price_micro_per_hour == 3_600_000


@pytest.mark.parametrize("restarted", [False, True])
def test_a_price_that_is_changed_for_days_that_are_over_changes_no_past(
    site: Site,
    restarted: bool,
) -> None:
    grant = site.run("vera")
    site.later(100)
    changed = TIERS.replace('per_hour: "3.60"', 'per_hour: "7.20"')
    if restarted:
        site.policy_text = changed
        site.restart()
    else:
        new_policy(site, changed)
    site.later(10)
    site.stop(grant)
    assert figures(site, "vera") == [
        (Standing.guaranteed, 100, 100_000),
        (Standing.guaranteed, 10, 20_000),
    ]


def test_another_currency_is_never_added_to_what_was_agreed(site: Site) -> None:
    grant = site.run("vera")
    site.later(100)
    new_policy(site, TIERS.replace("currency: EUR", "currency: GPUH"))
    site.later(10)
    late = site.run("sam")
    site.stop(grant)
    site.later(10)
    site.stop(late)
    found = {(line.user, line.currency, line.amount_micro) for line in charges(site)}
    assert found == {("vera", "EUR", 110_000), ("sam", "GPUH", 10_000)}


def test_what_is_kept_unused_has_a_price_of_its_own() -> None:
    policy = loads(TIERS.replace('borrowed: "1.80"', 'reserved_unused: "0.90"')).policy
    assert unused_at(policy, "whole", "gpu-2", START, 25) == 1_800_000
    assert unused_at(policy, "mig", "1g.18gb", START, 25) == 180_000
    assert unused_at(policy, "mig", "gpu-1", START, 25) is None
