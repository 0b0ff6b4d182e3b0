"""Recorded waits: what is known is summed up, what is not known is no figure."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.lease import LeaseId
from hub_ext.reports.waits import Wait, quantiles, wait_rows

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
BOUND = timedelta(minutes=50)
BOUNDS = {"gpus": BOUND}


def wait(held_s: int | None = 60, owed_for: timedelta | None = None, **more: object) -> Wait:
    fields: dict[str, object] = {
        "lease_id": LeaseId("l-1"),
        "team": "vision",
        "pool": "gpus",
        "profile": "one",
        "task_type": None,
        "ended": NOON,
        "held_s": held_s,
        "ready_s": 20,
        "owed_for": owed_for,
        **more,
    }
    return Wait(**fields)  # type: ignore[arg-type]


def test_no_wait_is_no_figure() -> None:
    assert quantiles([]) is None
    assert quantiles([None]) is None
    assert wait_rows([], BOUNDS, NOON) == ()


def test_one_wait_is_all_of_its_quantiles() -> None:
    found = quantiles([7, None])
    assert found is not None
    assert (found.count, found.p50_s, found.p90_s, found.p99_s) == (1, 7, 7, 7)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=300))
def test_a_quantile_is_the_least_wait_that_so_many_do_not_exceed(seconds: list[int]) -> None:
    found = quantiles(seconds)
    assert found is not None
    for percent, value in ((50, found.p50_s), (90, found.p90_s), (99, found.p99_s)):
        assert value in seconds
        within = Fraction(sum(one <= value for one in seconds), len(seconds))
        below = Fraction(sum(one < value for one in seconds), len(seconds))
        assert below < Fraction(percent, 100) <= within


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.integers(0, 99))))
def test_every_wait_is_in_one_row_and_their_order_does_not_matter(
    waits: list[tuple[str, str, int]],
) -> None:
    made = [wait(held, team=team, profile=profile) for team, profile, held in waits]
    rows = wait_rows(made, BOUNDS, NOON)
    assert sum(row.held.count for row in rows if row.held) == len(made)
    assert wait_rows(reversed(made), BOUNDS, NOON) == rows
    assert len(rows) == len({(team, profile) for team, profile, _held in waits})


def test_rows_are_told_apart_by_what_is_asked_for() -> None:
    made = [wait(profile="one"), wait(profile="two"), wait(task_type="training")]
    assert len(wait_rows(made, BOUNDS, NOON)) == 3
    (whole,) = wait_rows(made, BOUNDS, NOON, by=())
    assert whole.held is not None
    assert (whole.held.count, whole.profile, whole.task_type) == (3, None, None)


def test_what_ended_before_is_left_out() -> None:
    assert wait_rows([wait()], BOUNDS, NOON + timedelta(seconds=1)) == ()


def test_the_guarantee_is_kept_up_to_the_bound_itself() -> None:
    made = [
        wait(owed_for=BOUND),
        wait(owed_for=timedelta(0)),
        wait(owed_for=BOUND + timedelta(seconds=1)),
        wait(owed_for=None),
    ]
    (row,) = wait_rows(made, BOUNDS, NOON)
    assert (row.owed, row.kept_percent) == (3, 66)


def test_who_left_the_queue_counts_once_the_bound_had_passed() -> None:
    (left,) = wait_rows([wait(None, BOUND * 2, ready_s=None)], BOUNDS, NOON)
    assert (left.held, left.ready, left.owed, left.kept_percent) == (None, None, 1, 0)
    assert wait_rows([wait(None, BOUND / 2, ready_s=None)], BOUNDS, NOON) == ()


def test_without_a_bound_nothing_is_said_of_the_guarantee() -> None:
    (row,) = wait_rows([wait(owed_for=BOUND)], {"gpus": None}, NOON)
    assert (row.owed, row.kept_percent) == (0, None)
    (gone,) = wait_rows([wait(owed_for=BOUND)], {}, NOON)
    assert gone.kept_percent is None


def test_a_wait_is_held_against_what_was_promised_then() -> None:
    promised = [
        wait(owed_for=BOUND * 2, promised=BOUND * 3),
        wait(owed_for=BOUND, promised=BOUND / 2),
        wait(owed_for=BOUND, promised=timedelta(0)),
    ]
    (row,) = wait_rows(promised, BOUNDS, NOON)
    assert (row.owed, row.kept_percent) == (2, 50)
    (other,) = wait_rows(promised, {"gpus": None}, NOON)
    assert (other.owed, other.kept_percent) == (2, 50)
