"""The same sentence on form, page and panel: until when a lease is safe, and what comes then."""

from datetime import timedelta

from hub_ext.admission.contract import of_lease, offered, waiting
from hub_ext.admission.decide import offers
from hub_ext.lease import PoolName, Standing
from hub_ext.policy.model import Policy
from tests.support.pools import NOON, Commons, make_lease, make_policy, person, request, team

WHOLE = PoolName("whole")


def policy(*, reclaim: bool = True, timezone: str = "UTC") -> Policy:
    made = make_policy(
        {
            "a": team({"whole": {"nominal": "0"}}, name="a"),
            "b": team({"whole": {"nominal": "1"}}, name="b"),
        },
        whole=1,
        timezone=timezone,
    )
    pool = made.pools["whole"].model_copy(update={"reclaim": reclaim})
    return made.model_copy(update={"pools": {**made.pools, "whole": pool}})


def words(found: object) -> str:
    return getattr(found, "words", "")


def test_what_is_borrowed_says_its_times_in_the_zone_of_the_site() -> None:
    found = offered(policy(timezone="Europe/Paris"), WHOLE, Standing.borrowed, NOON)
    assert words(found) == (
        "Borrowed: safe until 13:30 CET, then it may be called in with 15m notice."
    )


def test_another_day_is_named() -> None:
    late = NOON + timedelta(hours=11, minutes=45)
    found = offered(policy(), WHOLE, Standing.borrowed, late)
    assert "safe until 2026-12-01 00:15 UTC" in words(found)


def test_guaranteed_and_never_called_in_are_said_as_well() -> None:
    assert "not taken" in words(offered(policy(), WHOLE, Standing.guaranteed, NOON))
    closed = offered(policy(reclaim=False), WHOLE, Standing.borrowed, NOON)
    assert words(closed) == "Borrowed; in pool whole nothing is called in."
    assert offered(policy(), WHOLE, Standing.would_queue, NOON) is None
    assert offered(policy(), None, Standing.unmetered, NOON) is None


def test_a_lease_keeps_what_was_said_at_its_start() -> None:
    lease = make_lease(
        request(policy(), "ann", "a", "one"),
        standing=Standing.borrowed,
        assigned_at=NOON,
        safe_until=NOON + timedelta(hours=2),
    )
    assert "safe until 14:00 UTC" in words(of_lease(policy(), lease, NOON))
    after = of_lease(policy(), lease, NOON + timedelta(hours=2))
    assert words(after) == "Borrowed: it may be called in at any time, with 15m notice."


def test_who_waits_hears_the_bound_or_that_there_is_none() -> None:
    assert "waits 50m at most" in waiting(policy(), WHOLE, "b", borrows=False)
    assert "No bound" in waiting(policy(reclaim=False), WHOLE, "b", borrows=False)
    assert "nobody is called in for it" in waiting(policy(), WHOLE, "b", borrows=True)


def test_an_offer_carries_it() -> None:
    sheet = offers(Commons(policy()).snapshot, person("ann", "a"))
    (one,) = [offer for offer in sheet.offers if offer.profile == "one"]
    assert one.standing is Standing.borrowed
    assert "safe until 12:30 UTC" in words(one.contract)
