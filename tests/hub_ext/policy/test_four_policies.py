"""The four example policies, each with a day of its people: what its comments promise happens."""

from datetime import timedelta

import pytest

from hub_ext.policy.bounds import owner_bound
from hub_ext.policy.load import load
from tests.support.four_policies import BURST, EXAMPLES, felt, table
from tests.support.load import STEP, Felt

PAGE = EXAMPLES.parents[1] / "docs" / "explanation" / "four-policies.md"
NOW = timedelta(0)


@pytest.fixture(scope="module")
def day() -> dict[str, Felt]:
    """Let each policy have its day, once."""
    return felt()


def test_fixed_shares_serve_their_team_and_refuse_the_rest(day: dict[str, Felt]) -> None:
    fixed = day["fixed"]
    assert fixed.longest("training") == NOW
    assert (fixed.started("experiment"), fixed.refused["experiment"]) == (2, BURST - 2)
    assert fixed.longest("service") not in (None, NOW)
    assert sum(fixed.stops.values()) == 0


def test_elastic_shares_start_everything_that_finds_a_gpu(day: dict[str, Felt]) -> None:
    elastic = day["elastic"]
    assert elastic.started("experiment") == BURST
    assert elastic.median("experiment") == NOW
    assert elastic.started("training") == elastic.started("service") == 1


def test_in_one_queue_a_service_stops_an_experiment_and_a_training_is_not_passed_for_ever(
    day: dict[str, Felt],
) -> None:
    queue = day["priority-queue"]
    assert queue.stops == {"experiment": 1, "service": 0, "training": 0}
    assert queue.longest("service") == timedelta(minutes=15)
    training = queue.longest("training")
    assert training is not None
    assert training < timedelta(hours=3)
    assert queue.started("experiment") == BURST


def test_combined_keeps_the_printed_bound_and_serves_the_service_at_once(
    day: dict[str, Felt],
) -> None:
    combined, policy = day["combined"], load(EXAMPLES / "combined.yaml").policy
    bound, training = owner_bound(policy, "main"), combined.longest("training")
    assert bound is not None
    assert training is not None
    # Time passes in steps: a call is made at one, carried out at another, its room taken later.
    assert training <= bound + 3 * STEP
    assert combined.longest("service") == NOW
    assert combined.stops["experiment"] > 0
    assert combined.started("experiment") == BURST


def test_the_table_of_the_page_is_what_happens(day: dict[str, Felt]) -> None:
    assert table(day) in PAGE.read_text(), table(day)
