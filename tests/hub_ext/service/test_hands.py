"""An administrator's hand on one lease: closed, released, moved, adopted; never without a trace."""

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_ext.errors import RefusedError
from hub_ext.lease import (
    Actor,
    Cause,
    Event,
    LeaseState,
    OpenLease,
    Posting,
    ProcessRef,
    ProfileName,
    ProjectName,
    ServerKey,
    Standing,
    TeamName,
    UserName,
)
from hub_ext.ledger.places import place
from hub_ext.ledger.verify import examine
from hub_ext.metering import charge
from hub_ext.policy.prices import PriceSpan
from hub_ext.service.leasing.adopting import Wanted
from hub_ext.service.leasing.hands import Destination
from hub_ext.service.leasing.strangers import Stranger
from tests.support.governing import Site
from tests.support.ledger_parts import NOON, a_lease

ROOT = Actor(kind="cli", name="ada as root", admin=True)
SPEECH = Destination(team=TeamName("speech"))


def by_hand(site: Site) -> dict[str, Any]:
    return {"reason": "the rack is on fire", "actor": ROOT, "now": site.now}


def acts(site: Site) -> list[Event]:
    with site.ledger.transaction() as tx:
        found = [event for _seq, event in tx.events() if event.kind.startswith("admin.")]
    assert examine(place(site.state, site.settings.ledger_url)).difference == ""
    return found


def postings(site: Site) -> list[tuple[str, int, int | None]]:
    with site.ledger.transaction() as tx:
        lines = tx.postings(start=site.now - timedelta(days=9), end=site.now + timedelta(days=1))
    return [(line.team, line.seconds, line.amount_micro) for line in lines]


def test_a_closed_lease_stops_first_and_says_who_and_why(site: Site) -> None:
    grant = site.run("vera")
    lease = site.governor.close_by_hand(grant.lease_id, **by_hand(site))
    assert lease.state is LeaseState.stopping
    assert lease.cause is Cause.admin
    assert lease.reason is not None
    assert "ada as root stopped the server: the rack is on fire" in lease.reason.message
    assert len(site.held()) == 1
    assert [intent.kind for intent in site.governor.intents()] == ["stop"]
    (act,) = acts(site)
    assert (act.kind, act.actor, act.body["reason"]) == (
        "admin.close",
        ROOT,
        "the rack is on fire",
    )
    site.stop(grant)
    assert site.lease(grant).cause is Cause.admin
    with pytest.raises(RefusedError, match="has ended"):
        site.governor.close_by_hand(grant.lease_id, **by_hand(site))


def test_a_lease_whose_process_is_gone_closes_at_once(site: Site) -> None:
    grant = site.run("vera")
    process = site.lease(grant).process
    assert process is not None
    site.machine.end(process)
    site.later(60)
    assert site.governor.close_by_hand(grant.lease_id, **by_hand(site)).state is LeaseState.closed
    assert site.held() == []
    assert site.governor.intents() == ()


def test_nothing_is_released_by_force_while_its_process_is_seen(site: Site) -> None:
    grant = site.run("vera")
    with pytest.raises(RefusedError, match="still runs on this machine"):
        site.governor.force_release(grant.lease_id, **by_hand(site))
    assert len(site.held()) == 1
    assert acts(site) == []


def test_by_force_is_without_proof_and_charged_until_last_seen(site: Site) -> None:
    grant = site.run("vera")
    site.later(100)
    with site.ledger.transaction() as tx:
        tx.seen([grant.lease_id], at=site.now)
    site.later(1000)
    site.machine.blind = True
    lease = site.governor.force_release(grant.lease_id, **by_hand(site))
    assert (lease.state, lease.cause) == (LeaseState.closed, Cause.admin)
    assert site.held() == []
    assert postings(site) == [("vision", 100, 100_000)]
    (act,) = acts(site)
    assert act.kind == "admin.force_release"
    assert act.body["seen"] == "unknown"
    assert act.body["devices"] == [grant.devices[0].id]
    # Its late word opens nothing again.
    site.ended(grant)
    assert site.lease(grant) == lease


def test_a_moved_lease_is_charged_to_each_team_for_its_own_time(site: Site) -> None:
    grant = site.run("vera")
    assert site.lease(grant).project == "maps"
    site.later(100)
    moved = site.governor.move(grant.lease_id, SPEECH, **by_hand(site))
    assert (moved.team, moved.project, moved.standing) == ("speech", None, Standing.guaranteed)
    assert moved.devices == grant.devices
    assert postings(site) == [("vision", 100, 100_000)]
    site.later(50)
    view = site.governor.view_of(grant.lease_id, now=site.now)
    assert view.cost is not None
    assert view.cost.so_far_micro == 50_000
    site.stop(grant)
    assert postings(site) == [("vision", 100, 100_000), ("speech", 50, 50_000)]
    (act,) = acts(site)
    assert act.body["from"] == {"team": "vision", "project": "maps"}
    assert act.body["to"] == {"team": "speech", "project": None}


def test_there_and_back_again_leaves_no_gap(site: Site) -> None:
    grant = site.run("vera")
    for seconds, team in ((0, "speech"), (7, "vision"), (0, "speech"), (7, "vision")):
        site.later(seconds)
        site.governor.move(grant.lease_id, Destination(team=TeamName(team)), **by_hand(site))
    site.stop(grant)
    assert sum(seconds for _team, seconds, _amount in postings(site)) == 14


def test_beyond_the_guarantee_a_moved_lease_borrows_and_makes_room_behind_it(site: Site) -> None:
    site.run("sam", "two")
    first, second = site.run("vera"), None
    with pytest.raises(RefusedError):
        second = site.run("viktor")
    assert second is None
    moved = site.governor.move(first.lease_id, SPEECH, **by_hand(site))
    assert moved.standing is Standing.borrowed


@pytest.mark.parametrize(
    ("into", "words"),
    [
        (Destination(team=TeamName("nobody")), "There are: vision, speech"),
        (Destination(team=TeamName("vision")), "nothing changed"),
        (Destination(team=TeamName("speech"), project=ProjectName("maps")), "There are: none"),
    ],
)
def test_a_move_to_nowhere_is_refused_with_what_there_is(
    site: Site, into: Destination, words: str
) -> None:
    grant = site.run("vera")
    with pytest.raises(RefusedError, match=words):
        site.governor.move(grant.lease_id, into, **by_hand(site))
    assert acts(site) == []


def test_a_team_without_quota_in_the_pool_takes_no_lease_of_it(site: Site) -> None:
    grant = site.run("vera", "small")
    with pytest.raises(RefusedError, match="no quota in the pool mig"):
        site.governor.move(grant.lease_id, SPEECH, **by_hand(site))


def test_what_does_not_run_is_not_moved(site: Site) -> None:
    grant = site.ask(site.asking("vera"))
    with pytest.raises(RefusedError, match="starting"):
        site.governor.move(grant.lease_id, SPEECH, **by_hand(site))


def lost(site: Site, user: str = "vera") -> tuple[OpenLease, ProcessRef]:
    """Let a lease be closed as lost while its process lives."""
    grant = site.run(user)
    process = site.lease(grant).process
    assert process is not None
    site.later(10)
    site.governor.close_lost(grant.lease_id, now=site.now)
    return site.lease(grant), process


def test_a_server_that_lost_its_lease_gets_one_with_what_it_holds(site: Site) -> None:
    former, process = lost(site)
    lease = site.governor.adopt(Wanted(user=UserName("vera")), **by_hand(site))
    assert lease.id != former.id
    assert (lease.state, lease.process) == (LeaseState.running, process)
    assert (lease.team, lease.project, lease.profile) == ("vision", "maps", "one")
    assert lease.devices == former.devices
    assert lease.standing is Standing.guaranteed
    assert [act.kind for act in acts(site)] == ["admin.grant"]
    with pytest.raises(RefusedError, match="Close or move that one"):
        site.governor.adopt(Wanted(user=UserName("vera")), **by_hand(site))
    # The spawner still knows the server by the attempt of its start.
    site.later(30)
    site.machine.end(process)
    with site.ledger.transaction() as tx:
        attempt = tx.lease(lease.id)
    assert attempt is not None
    assert attempt.attempt_id == former.attempt_id


def test_what_is_not_shown_to_run_gets_no_lease(site: Site) -> None:
    _former, process = lost(site)
    site.machine.end(process)
    with pytest.raises(RefusedError, match="Nothing shows"):
        site.governor.adopt(Wanted(user=UserName("vera")), **by_hand(site))
    with pytest.raises(RefusedError, match="does not run"):
        site.governor.adopt(Wanted(user=UserName("vera"), process=process), **by_hand(site))


def test_the_hubs_word_is_enough_for_a_server_without_a_gpu(site: Site) -> None:
    key = ServerKey(user=UserName("sam"))
    site.governor.strangers([Stranger(key)], since=site.now, now=site.now)
    with pytest.raises(RefusedError, match="--profile and --team"):
        site.governor.adopt(Wanted(user=UserName("sam")), **by_hand(site))
    wanted = Wanted(user=UserName("sam"), profile=ProfileName("cpu"), team=TeamName("speech"))
    lease = site.governor.adopt(wanted, **by_hand(site))
    assert (lease.standing, lease.devices) == (Standing.unmetered, ())
    assert site.governor.problems(now=site.now)["servers"] == ()


def test_a_device_is_named_known_free_and_of_the_profile(site: Site) -> None:
    former, _process = lost(site)
    other = site.run("sam")
    held = site.lease(other).devices[0].id
    vera = UserName("vera")
    for wanted, words in (
        (Wanted(user=vera, profile=ProfileName("two")), "2 x gpu-2"),
        (Wanted(user=vera, devices=(held,)), f"held by the lease {other.lease_id}"),
    ):
        if held == former.devices[0].id and "held" not in words:
            continue
        with pytest.raises(RefusedError, match=words):
            site.governor.adopt(wanted, **by_hand(site))


@given(
    cuts=st.lists(st.integers(1, 5000), min_size=0, max_size=4),
    rest=st.integers(0, 5000),
    price=st.integers(0, 10**8),
)
def test_however_often_it_moves_its_parts_add_up_to_the_whole(
    cuts: list[int], rest: int, price: int
) -> None:
    lease = a_lease(state=LeaseState.running, assigned_at=NOON, started_at=NOON)
    assert lease.assigned_at is not None
    end = lease.assigned_at + timedelta(seconds=sum(cuts) + rest)
    spans = (PriceSpan(lease.assigned_at, end + timedelta(days=1), price),)
    whole = charge(lease, spans, end)
    parts: list[Posting] = []
    at = lease.assigned_at
    for seconds in cuts:
        at += timedelta(seconds=seconds)
        parts += charge(lease, spans, at)
        lease = lease.model_copy(update={"charged_until": at})
    parts += charge(lease, spans, end)
    paid, due = (sum(line.amount_micro or 0 for line in lines) for lines in (parts, whole))
    assert paid == due
    assert sum(line.seconds for line in parts) == sum(line.seconds for line in whole)
    for before, after in pairwise(parts):
        assert before.end == after.start
