"""A server whose end nobody saw is charged until it was last seen, and its charge says so."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hub_ext.lease import Actor, Cause, Grant, Liveness, Posting, Standing
from hub_ext.ledger.places import place
from hub_ext.ledger.verify import examine
from hub_ext.metering import clip
from hub_ext.reports import plain
from hub_ext.service.sheets import lease as lease_page
from tests.support.governing import Site, site_in

LOOK_S = 30
ROOT = Actor(kind="user", name="root", admin=True)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with site_in(tmp_path / "state") as opened:
        yield opened
        assert examine(place(opened.state, None)).difference == ""


def charges(site: Site) -> list[Posting]:
    with site.ledger.transaction() as tx:
        return list(
            tx.postings(start=site.now - timedelta(days=9), end=site.now + timedelta(days=1))
        )


def looked(site: Site, grant: Grant, after_s: int = LOOK_S) -> None:
    site.later(after_s)
    site.governor.look(grant.lease_id, now=site.now)


def died(site: Site, grant: Grant) -> None:
    process = site.lease(grant).process
    assert process is not None
    site.machine.end(process)


def test_an_end_that_a_look_finds_is_bounded_and_at_the_last_look_before(site: Site) -> None:
    grant = site.run("vera")
    looked(site, grant)
    seen = site.now
    site.later(10)
    died(site, grant)
    looked(site, grant)
    [line] = charges(site)
    assert (line.end, line.seconds, line.bounded) == (seen, LOOK_S, True)
    assert site.lease(grant).cause is Cause.lost


def test_an_end_that_was_asked_for_and_seen_is_not(site: Site) -> None:
    grant = site.run("vera")
    site.later(100)
    site.stop(grant)
    [line] = charges(site)
    assert (line.seconds, line.bounded) == (100, False)


def test_one_that_ended_by_itself_is_charged_until_it_was_last_seen(site: Site) -> None:
    grant = site.run("vera")
    looked(site, grant)
    site.later(20)
    died(site, grant)
    site.ended(grant, asked=False, exit_code=1)
    [line] = charges(site)
    assert (line.seconds, line.bounded) == (LOOK_S, True)


def test_an_end_in_the_instant_in_which_it_was_last_seen_is_known(site: Site) -> None:
    grant = site.run("vera")
    looked(site, grant)
    died(site, grant)
    site.ended(grant, asked=False, exit_code=1)
    [line] = charges(site)
    assert (line.seconds, line.bounded) == (LOOK_S, False)


def test_a_lease_that_an_administrator_gives_up_is_bounded_where_it_lived(site: Site) -> None:
    grant = site.run("vera")
    looked(site, grant)
    site.later(500)
    site.machine.blind = True
    site.governor.force_release(grant.lease_id, reason="gone", actor=ROOT, now=site.now)
    [line] = charges(site)
    assert (line.seconds, line.bounded) == (LOOK_S, True)


def test_only_the_last_of_several_charges_is_bounded(site: Site) -> None:
    first, second = site.run("vera"), site.run("viktor")
    looked(site, second)
    site.stop(first)
    assert site.lease(second).standing is Standing.guaranteed
    looked(site, second)
    site.later(10)
    died(site, second)
    looked(site, second)
    own = [line for line in charges(site) if line.user == "viktor"]
    assert [(line.standing, line.bounded) for line in own] == [
        (Standing.borrowed, False),
        (Standing.guaranteed, True),
    ]


def test_a_part_of_a_bounded_charge_is_bounded_where_it_has_its_end(site: Site) -> None:
    grant = site.run("vera")
    looked(site, grant)
    site.later(5)
    died(site, grant)
    looked(site, grant)
    [line] = charges(site)
    middle = line.start + timedelta(seconds=10)
    first, last = clip(line, line.start, middle), clip(line, middle, line.end)
    assert first is not None
    assert last is not None
    assert (first.bounded, last.bounded) == (False, True)


def test_exports_the_page_and_the_report_of_the_month_say_so(site: Site) -> None:
    grant = site.run("vera")
    looked(site, grant)
    site.later(5)
    died(site, grant)
    looked(site, grant)
    [line] = charges(site)
    assert plain.row(line, str)["end_bounded"] == "yes"
    file = site.governor.dossier(grant.lease_id, now=site.now)
    page = lease_page.sheet(file, site.governor.policy)
    assert "nobody saw its end" in dict(page["facts"])["Charged until"]  # type: ignore[call-overload]
    assert page["lines"][0]["end"].endswith("last seen")  # type: ignore[index]


@settings(max_examples=25, deadline=None)
@given(
    looks=st.lists(st.integers(min_value=1, max_value=LOOK_S), max_size=5),
    dies_after=st.integers(min_value=0, max_value=LOOK_S),
    restart=st.booleans(),
    told=st.booleans(),
)
def test_never_in_the_sites_favour_and_at_most_one_look_too_little(
    tmp_path_factory: pytest.TempPathFactory,
    looks: list[int],
    dies_after: int,
    restart: bool,
    told: bool,
) -> None:
    with site_in(tmp_path_factory.mktemp("bounded") / "state") as site:
        grant = site.run("vera")
        begun = site.now
        for after_s in looks:
            looked(site, grant, after_s)
        site.later(dies_after)
        died(site, grant)
        lived_s = int((site.now - begun).total_seconds())
        if restart:
            site.later(7200)
            site.restart()
        else:
            site.later(LOOK_S)
        if told:
            site.ended(grant, Liveness.gone, asked=False, exit_code=1)
        else:
            site.governor.look(grant.lease_id, now=site.now)
        [line] = charges(site)
        assert line.bounded
        assert line.seconds <= lived_s <= line.seconds + LOOK_S
        per_s = (line.price_micro_per_hour or 0) // 3600
        assert line.amount_micro == per_s * line.seconds
        assert line.amount_micro <= per_s * lived_s <= line.amount_micro + per_s * LOOK_S
