"""A witness that need not be there and falls silent says nothing, so the limit begins anew."""

from typing import Any

import pytest

from hub_ext.lease import VerdictState
from tests.support.idle_hours import Hours

MIB = 1024**2
WORKS: dict[str, Any] = {"net": 20 * MIB, "disk": 20 * MIB, "changes": 1}
"""A figure of each such witness that says: in use."""


@pytest.mark.parametrize("name", WORKS)
def test_work_whose_counter_falls_silent_is_not_idle_at_once(name: str) -> None:
    hours = Hours().pass_by(180, **{name: WORKS[name]}).pass_by(1, **{name: None})
    assert not hours.is_idle()
    hours.pass_by(58, **{name: None})
    assert not hours.is_idle()
    # The others suffice, but they must have been quiet for the whole limit since.
    hours.pass_by(5, **{name: None})
    assert hours.is_idle()


@pytest.mark.parametrize("name", WORKS)
def test_a_restarted_agent_announces_no_stop_of_a_server_that_works(name: str) -> None:
    hours = Hours().pass_by(180, **{name: WORKS[name]})
    hours.pass_by(1, **{name: None}).pass_by(60, **{name: WORKS[name]})
    assert not hours.is_idle()
    assert hours.verdict is not None
    assert hours.verdict.state is VerdictState.active


def test_a_board_that_drew_power_is_not_idle_once_nobody_can_tell() -> None:
    hours = Hours().pass_by(20, power=60_000).pass_by(180, power=400_000).pass_by(50)
    assert not hours.is_idle()
    hours.pass_by(15)
    assert hours.is_idle()


def test_a_witness_that_was_never_there_changes_nothing() -> None:
    assert Hours().pass_by(62, processes=1).idle_after() in {60, 61}
