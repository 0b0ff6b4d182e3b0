"""A pool that lets nobody wait for ever: who is overdue is passed by nobody younger."""

from datetime import timedelta
from typing import Any

from hub_ext.admission.decide import Admitted, Queued
from hub_ext.admission.queue import line
from hub_ext.lease import OpenLease
from tests.support.pools import Commons, make_policy, team

HOUR = timedelta(hours=1)


def commons(*, starve_after: str | None = "1h", **teams: dict[str, Any]) -> Commons:
    """Four GPUs on two machines."""
    nodes = [{"name": "node-1", "gpus": 2}, {"name": "node-2", "gpus": 2}]
    whole: dict[str, Any] = {"model": "h200-141gb", "nodes": nodes}
    if starve_after is not None:
        whole["starve_after"] = starve_after
    cut = {"name": "node-3", "gpus": 1, "geometry": [["3g.71gb", "3g.71gb"]]}
    pools = {"whole": whole, "cut": {"model": "h200-141gb", "nodes": [cut]}}
    shared = {
        "a": team({"whole": {"nominal": "2"}}, name="a"),
        "b": team({"whole": {"nominal": "2"}}, name="b"),
    }
    return Commons(make_policy({**shared, **teams}, pools=pools))


def answers(pool: Commons) -> dict[str, str]:
    return {
        one.lease.key.user: (
            "admitted" if isinstance(one.decision, Admitted) else one.decision.reason.code
        )
        for one in line(pool.snapshot)
    }


def full(pool: Commons) -> None:
    """Both teams hold what they are guaranteed, one GPU a server, on both machines."""
    for user, name in (("a-1", "a"), ("b-1", "b"), ("a-2", "a"), ("b-2", "b")):
        assert isinstance(pool.asks(user, name, "one"), Admitted)


def test_a_large_request_is_passed_by_small_ones_until_it_is_overdue() -> None:
    pool = commons()
    full(pool)
    pool.waits("large", "a", "two")
    pool.ends("a-1")
    assert isinstance(pool.asks("small", "a", "one"), Admitted)
    pool.now += HOUR
    pool.ends("small")
    answer = pool.asks("next", "a", "one")
    assert isinstance(answer, Queued)
    assert answer.reason.code == "overdue-waits"
    assert "has waited for more than 1h" in answer.reason.message
    pool.ends("a-2")
    assert answers(pool)["large"] == "no-room"
    assert isinstance(pool.asks("owner", "b", "one"), Queued)


def test_without_the_rule_small_ones_pass_for_ever() -> None:
    pool = commons(starve_after=None)
    full(pool)
    pool.waits("large", "a", "two")
    pool.now += 24 * HOUR
    pool.ends("a-1")
    assert isinstance(pool.asks("small", "a", "one"), Admitted)


def test_an_older_request_passes() -> None:
    pool = commons()
    full(pool)
    pool.waits("older", "b", "one")
    pool.waits("large", "a", "two")
    pool.now += HOUR
    pool.ends("b-1")
    assert answers(pool)["older"] == "admitted"
    assert answers(pool)["large"] != "admitted"


def test_who_would_borrow_holds_up_borrowers_and_mates_but_no_owner() -> None:
    pool = commons(c=team({"whole": {"nominal": "0"}}, name="c"))
    full(pool)
    pool.waits("overdue", "c", "two")
    pool.now += HOUR
    pool.ends("b-1")
    borrows = pool.asks("borrows", "a", "one")
    mate = pool.asks("mate", "c", "one")
    for answer in (borrows, mate):
        assert isinstance(answer, Queued)
        assert answer.reason.code == "overdue-waits"
    assert isinstance(pool.asks("owner", "b", "one"), Admitted)


def test_who_waits_for_a_cap_holds_up_nobody() -> None:
    capped = team({"whole": {"nominal": "2"}}, name="c", most_leases_per_person=1)
    pool = commons(c=capped)
    assert isinstance(pool.asks("c-1", "c", "one"), Admitted)
    waits = pool.waits("c-1", "c", "one", server="second")
    pool.now += HOUR
    assert isinstance(pool.asks("c-2", "c", "one"), Admitted)
    assert waits.id in {one.id for one in pool.leases}


def test_what_was_called_in_for_a_request_is_not_taken_by_an_overdue_one() -> None:
    pool = commons()
    full(pool)
    pool.waits("overdue", "b", "one")
    pool.now += HOUR
    caller: OpenLease = pool.waits("caller", "a", "one", priority=1999)
    pool.ends("a-1")
    assert answers(pool)["caller"] == "admitted"
    assert answers(pool)["overdue"] != "admitted"
    assert caller.requested_at > pool.now - HOUR


def test_two_who_would_borrow_and_their_colleagues_do_not_wait_for_each_other() -> None:
    one = {"whole": {"nominal": "1"}}
    pool = commons(a=team(one, name="a"), b=team(one, name="b"), c=team(one, name="c"))
    for number in range(4):
        assert isinstance(pool.asks(f"c-{number}", "c", "one"), Admitted)
    for name in "ab":
        pool.waits(f"{name}-large", name, "two")
    for name in "ab":
        pool.waits(f"{name}-small", name, "one")
    pool.now += HOUR
    for number in range(4):
        pool.ends(f"c-{number}")
    found = answers(pool)
    assert found["a-large"] == "admitted"
    assert found["b-large"] == "admitted"


def test_who_was_called_in_and_waits_again_in_the_old_place_has_not_waited_all_that_time() -> None:
    pool = commons()
    full(pool)
    pool.waits("again", "a", "two", asked_at=pool.now + 2 * HOUR)
    pool.now += 2 * HOUR + HOUR / 2
    pool.ends("a-1")
    assert isinstance(pool.asks("small", "a", "one"), Admitted)
    pool.now += HOUR
    pool.ends("small")
    assert isinstance(pool.asks("next", "a", "one"), Queued)
