"""The bounds that `check` prints are sums of what the policy says, and absent where it is not."""

from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.policy.bounds import large_bound, owner_bound
from hub_ext.policy.model import Policy
from hub_ext.policy.summary import summary
from hub_ext.units import duration_text
from tests.support.pools import make_policy, team

minutes = st.integers(0, 600).map(lambda n: timedelta(minutes=n))


def rules(mode: str = "enforce", **pool: Any) -> Policy:
    """Two teams in a pool with other times."""
    made = make_policy(
        {
            "owners": team({"whole": {"nominal": "4"}}, name="owners"),
            "guests": team({"whole": {"nominal": "0"}}, name="guests"),
        },
        mode=mode,
    )
    pools = {**made.pools, "whole": made.pools["whole"].model_copy(update=pool)}
    return made.model_copy(update={"pools": pools})


def line(policy: Policy, name: str) -> str:
    """The line of one team."""
    return next(one for one in summary(policy).splitlines() if one.startswith(name))


def test_a_guarantee_waits_for_runtime_notice_and_stop() -> None:
    assert owner_bound(rules(), "whole") == timedelta(minutes=50)
    assert "50m (30m + 15m + 5m)" in line(rules(), "owners")


def test_who_may_not_reclaim_has_no_bound() -> None:
    policy = rules(reclaim=False)
    assert owner_bound(policy, "whole") is None
    assert "no bound: your team may not reclaim" in line(policy, "owners")


def test_who_is_guaranteed_nothing_has_no_bound() -> None:
    assert "no bound: nothing is guaranteed" in line(rules(), "guests")


def test_large_requests_have_a_bound_where_nobody_may_pass_for_ever() -> None:
    assert "no bound: smaller ones may pass" in line(rules(), "owners")
    both = rules(starve_after=timedelta(hours=4), normal_lifetime=timedelta(days=1))
    assert "1d4h5m (4h + 1d + 5m)" in line(both, "guests")


def test_bounds_of_a_quota_that_is_only_observed_say_so() -> None:
    assert "The bounds hold once quota is enforced." in summary(rules("observe"))
    assert "once quota is enforced" not in summary(rules())


@given(minutes, minutes, minutes)
def test_the_printed_bound_is_the_sum(
    runtime: timedelta, notice: timedelta, starve: timedelta
) -> None:
    policy = rules(min_runtime=runtime, notice=notice, starve_after=starve, normal_lifetime=notice)
    stop = policy.notice.stop_limit
    assert owner_bound(policy, "whole") == runtime + notice + stop
    assert large_bound(policy, "whole") == starve + notice + stop
    assert f"{duration_text(runtime + notice + stop)} (" in line(policy, "owners")
