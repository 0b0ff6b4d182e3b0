"""An agent's clock against the governor's: the quickest answer tells, and a step forgets."""

from datetime import UTC, datetime, timedelta

import pytest

from hub_ext.telemetry.peerclock import PeerClock

START = datetime(2026, 12, 1, tzinfo=UTC)


class World:
    """True time, a governor's clock and an agent's, each of which can be set."""

    def __init__(self, *, agent_s: float = 0.0, governor_s: float = 0.0) -> None:
        self.true_s = 0.0
        self.agent_s, self.governor_s = agent_s, governor_s
        self.clock = PeerClock(self.agent, lambda: self.true_s)

    def agent(self) -> datetime:
        return START + timedelta(seconds=self.true_s + self.agent_s)

    def exchange(self, there_s: float = 0.01, back_s: float = 0.01) -> None:
        """Send a batch and hear the answer, ten seconds after the former."""
        self.true_s += 10 + there_s
        at = START + timedelta(seconds=self.true_s + self.governor_s)
        self.true_s += back_s
        self.clock.heard(at, there_s + back_s)

    def offset_ms(self) -> int:
        told = self.clock.offset()
        assert told is not None
        return told.offset_ms


def test_before_the_first_answer_nothing_is_known() -> None:
    assert World().clock.offset() is None


@pytest.mark.parametrize("ahead_s", [-7200, -61, -1.5, 0, 0.25, 30, 86400])
def test_a_constant_offset_is_found(ahead_s: float) -> None:
    world = World(agent_s=ahead_s)
    world.exchange()
    assert world.offset_ms() == round(-1000 * ahead_s)


def test_a_slow_answer_is_outweighed_by_a_quick_one() -> None:
    world = World(agent_s=-5)
    for there_s in (3.0, 0.01, 2.0, 4.0):
        world.exchange(there_s=there_s)
    assert abs(world.offset_ms() - 5000) <= 10
    told = world.clock.offset()
    assert told is not None
    assert told.within_ms == 10


def test_the_error_is_never_more_than_it_says() -> None:
    world = World()
    for there_s, back_s in ((2.0, 0.1), (0.4, 0.9), (0.3, 0.0)):
        world.exchange(there_s, back_s)
        told = world.clock.offset()
        assert told is not None
        assert abs(told.offset_ms) <= told.within_ms


def test_an_agents_clock_that_was_set_says_nothing_until_the_next_answer() -> None:
    world = World(agent_s=-120)
    world.exchange()
    world.agent_s = 0
    assert world.clock.offset() is None, "the old offset would put right readings wrong"
    world.exchange()
    assert world.offset_ms() == 0


def test_a_governors_clock_that_was_set_is_noticed_at_its_next_answer() -> None:
    world = World()
    for _time in range(5):
        world.exchange()
    world.governor_s = 300
    world.exchange(there_s=0.5)
    assert abs(world.offset_ms() - 300_000) < 500


def test_a_clock_that_drifts_is_followed() -> None:
    world = World()
    for _time in range(60):
        world.agent_s += 0.03
        world.exchange()
    assert abs(world.offset_ms() + 1800) < 300
