"""The chart's JSON repeats what it was given, and nothing in a name becomes markup."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.reports.figures import MOST_BARS, HeldBar, held_against_utilised

HOUR = 840 * 3600


def drawn(*bars: HeldBar) -> dict[str, Any]:
    figure: dict[str, Any] = json.loads(held_against_utilised(bars))
    return figure


def bar(label: str, busy: int, idle: int = 0, unmeasured: int = 0) -> HeldBar:
    return HeldBar(label=label, busy=busy * HOUR, idle=idle * HOUR, unmeasured=unmeasured * HOUR)


def test_each_part_is_a_bar_with_its_own_pattern_and_the_largest_comes_first() -> None:
    figure = drawn(bar("small", 1), bar("large", 2, 3, 1))
    assert [trace["meta"] for trace in figure["data"]] == ["busy", "idle", "unmeasured"]
    assert [trace["x"] for trace in figure["data"]] == [[2, 1], [3, 0], [1, 0]]
    assert figure["layout"]["yaxis"]["ticktext"] == ["large", "small"]
    assert len({trace["marker"]["pattern"]["shape"] for trace in figure["data"]}) == 3


def test_a_name_is_text_and_never_markup() -> None:
    figure = drawn(bar('<a href="javascript:x">me</a>', 1))
    assert figure["data"][0]["customdata"] == ['&lt;a href="javascript:x"&gt;me&lt;/a&gt;']
    assert "<" not in figure["layout"]["yaxis"]["ticktext"][0]


def test_two_rows_of_one_name_stay_two_bars() -> None:
    figure = drawn(bar("same", 1), bar("same", 2))
    assert figure["data"][0]["y"] == [0, 1]


def test_what_is_too_many_is_joined() -> None:
    figure = drawn(*(bar(f"p{n:02}", 1) for n in range(MOST_BARS + 3)))
    assert figure["layout"]["yaxis"]["ticktext"][-1] == "3 others"
    assert figure["data"][0]["x"][-1] == 3


bars = st.builds(
    HeldBar,
    label=st.text(max_size=40),
    busy=st.integers(0, 10**9),
    idle=st.integers(0, 10**9),
    unmeasured=st.integers(0, 10**9),
)


@given(st.lists(bars, min_size=1, max_size=30))
def test_nothing_is_lost_or_added_whatever_the_order(given_bars: list[HeldBar]) -> None:
    figure = drawn(*given_bars)
    held = sum(sum(trace["x"]) for trace in figure["data"])
    assert abs(held - sum(one.held for one in given_bars) / HOUR) < 0.002 * 3 * (MOST_BARS + 1)
