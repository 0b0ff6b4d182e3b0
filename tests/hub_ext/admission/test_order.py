"""Who is first, and which borrowed lease becomes guaranteed when a teammate ends."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.admission.order import ahead_of, promotions, turn
from hub_ext.admission.snapshot import Demand
from hub_ext.lease import OpenLease, PoolName, ServerKey, Standing, UserName
from tests.support.pools import NOON, make_lease, make_policy, request, team


def demand(user: str, *, priority: int = 0, minute: int = 0, tie: str = "~") -> Demand:
    return Demand(
        ServerKey(user=UserName(user)),
        "a",
        PoolName("whole"),
        "gpu-1",
        840,
        priority,
        NOON + timedelta(minutes=minute),
        tie,
    )


def test_priority_then_time_then_lease_id() -> None:
    late = demand("late", minute=5, tie="1")
    urgent = demand("urgent", priority=7, minute=9, tie="2")
    early = demand("early", tie="4")
    twin = demand("twin", tie="3")
    assert sorted([late, urgent, early, twin], key=turn) == [urgent, twin, early, late]
    assert ahead_of(early, [late, urgent, twin]) == (urgent, twin)


demands = st.builds(
    demand,
    st.sampled_from(["a", "b", "c"]),
    priority=st.integers(0, 2),
    minute=st.integers(0, 2),
    tie=st.sampled_from(["1", "2", "~"]),
)


@given(st.lists(demands, unique_by=turn), demands)
def test_the_order_of_the_list_does_not_matter(waiting: list[Demand], mine: Demand) -> None:
    assert ahead_of(mine, waiting) == ahead_of(mine, waiting[::-1])


def held(user: str, standing: Standing, profile: str = "one", minute: int = 0) -> OpenLease:
    at = NOON + timedelta(minutes=minute)
    return make_lease(request(POLICY, user, "a", profile, at=at), standing=standing)


POLICY = make_policy({"a": team({"whole": {"nominal": "2"}}, name="a")})


def test_the_oldest_borrowed_lease_that_fits_becomes_guaranteed() -> None:
    guaranteed = held("g", Standing.guaranteed)
    large = held("large", Standing.borrowed, "two", minute=1)
    older = held("older", Standing.borrowed, minute=2)
    newer = held("newer", Standing.borrowed, minute=3)
    assert promotions(POLICY, [newer, older, large, guaranteed]) == (older.id,)
    assert promotions(POLICY, [newer, older, large]) == (large.id,)
    assert promotions(POLICY, [guaranteed]) == ()


def test_where_the_team_or_its_quota_is_gone_nothing_is_promoted() -> None:
    lease = held("u", Standing.borrowed)
    assert promotions(POLICY, [lease.model_copy(update={"team": "former"})]) == ()
    assert promotions(POLICY, [lease.model_copy(update={"pool": "cut"})]) == ()
