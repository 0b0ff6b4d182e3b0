"""A lease follows a person who was renamed: by its start, where that leaves no doubt."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_ext.lease import LeaseId, LeaseState, ServerKey, ServerName, UserName
from hub_ext.ledger.verify import verify
from hub_ext.service.basis.hub import HubServer
from hub_ext.service.leasing.renaming import WITHIN, renamed
from tests.support.governing import START, Site, site_in
from tests.support.ledger_parts import a_lease


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with site_in(tmp_path / "state") as site:
        yield site


def key(user: str, server: str = "") -> ServerKey:
    return ServerKey(user=UserName(user), server=ServerName(server))


@st.composite
def servers(draw: st.DrawFn) -> tuple[str, str, int | None]:
    return (
        draw(st.sampled_from(["adele", "ben", "cora"])),
        draw(st.sampled_from(["", "two"])),
        draw(st.one_of(st.none(), st.integers(-90, 90))),
    )


@given(st.lists(servers(), max_size=5, unique_by=lambda one: one[:2]), st.booleans())
def test_only_one_server_of_that_name_and_start_is_taken(
    found: list[tuple[str, str, int | None]], has_lease: bool
) -> None:
    at = START
    lease = a_lease(state=LeaseState.running, assigned_at=at)
    hubs = [
        HubServer(
            key=key(user, name),
            ready=True,
            pending=None,
            started=None if late is None else at + timedelta(seconds=late),
        )
        for user, name, late in found
    ]
    leased = {key("ben", lease.key.server)} if has_lease else set()
    possible = [
        one.key
        for one in hubs
        if one.key.server == lease.key.server
        and one.key not in leased
        and one.started is not None
        and abs(one.started - at) <= WITHIN
    ]
    taken = renamed(lease, hubs, leased)
    assert taken == (possible[0] if len(possible) == 1 else None)


def test_its_lease_is_the_new_names_from_now_on_and_survives(site: Site) -> None:
    grant = site.run("vera")
    assert site.governor.follow(grant.lease_id, key("vanessa"), now=site.now)
    site.restart()
    lease = site.lease(grant)
    assert (lease.key.user, lease.state) == ("vanessa", LeaseState.running)
    assert lease.devices == grant.devices
    assert site.governor.view(key("vera"), now=site.now).lease is None
    shown = site.governor.view(key("vanessa"), now=site.now).lease
    assert shown is not None
    assert shown.id == grant.lease_id
    with site.ledger.transaction() as tx:
        [(_seq, told)] = tx.events(kinds=("server.renamed",))
    assert (told.body["from"], told.body["to"]) == (
        key("vera").model_dump(mode="json"),
        key("vanessa").model_dump(mode="json"),
    )
    assert verify(site.state / "ledger.sqlite").difference == ""
    # Nobody has the old name any more, so somebody new may.
    assert site.run("vera").lease_id != grant.lease_id


def test_a_name_that_has_a_lease_of_that_server_takes_no_other(site: Site) -> None:
    first, second = site.run("vera"), site.run("sam")
    assert not site.governor.follow(first.lease_id, key("sam"), now=site.now)
    assert site.lease(first).key.user == "vera"
    assert site.lease(second).key.user == "sam"
    site.stop(first)
    assert not site.governor.follow(first.lease_id, key("vanessa"), now=site.now)
    assert site.governor.lease(LeaseId("l-none")) is None
