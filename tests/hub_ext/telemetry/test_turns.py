"""One that hangs keeps its thread; the others have their turns, and it has its own again later."""

import threading
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from hub_ext.telemetry.nvml_turns import Turns

PATIENCE_S = 0.05


class Site:
    """Things that are done in turn, some of which wait for a gate."""

    def __init__(self) -> None:
        self.done: list[int] = []
        self.gates: dict[int, threading.Event] = {}

    def hang(self, key: int) -> threading.Event:
        self.gates[key] = threading.Event()
        return self.gates[key]

    def jobs(self, *keys: int) -> dict[int, Callable[[], None]]:
        return {key: partial(self._do, key) for key in keys}

    def _do(self, key: int) -> None:
        if key in self.gates:
            self.gates[key].wait(30)
        self.done.append(key)


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    for gate in made.gates.values():
        gate.set()


def test_all_have_their_turn_in_order(site: Site) -> None:
    turns = Turns(PATIENCE_S)
    for _round in range(3):
        turns.run(site.jobs(0, 1, 2))
    assert site.done == [0, 1, 2] * 3
    assert turns.missed == {}


@pytest.mark.parametrize("hung", [[0], [2], [0, 1], [0, 1, 2]])
def test_those_that_hang_hold_up_no_other(site: Site, hung: list[int]) -> None:
    turns = Turns(PATIENCE_S)
    for key in hung:
        site.hang(key)
    for round_number in range(1, 4):
        turns.run(site.jobs(0, 1, 2))
        assert turns.missed == dict.fromkeys(hung, round_number)
    well = [key for key in (0, 1, 2) if key not in hung]
    assert site.done == well * 3, "what hangs was begun once"


def test_one_that_answers_again_has_its_turn_again(site: Site) -> None:
    turns, gate = Turns(PATIENCE_S), site.hang(1)
    turns.run(site.jobs(0, 1, 2))
    del site.gates[1]
    gate.set()
    while turns.missed:
        turns.run(site.jobs(0, 1, 2))
    assert site.done.count(1) >= 2
    site.done.clear()
    turns.run(site.jobs(0, 1, 2))
    assert site.done == [0, 1, 2]


def test_what_one_raises_comes_out_after_the_others(site: Site) -> None:
    def fail() -> None:
        raise LookupError("lost")

    turns = Turns(PATIENCE_S)
    with pytest.raises(LookupError, match="lost"):
        turns.run({0: fail, **site.jobs(1)})
    assert site.done == [1]
    turns.run(site.jobs(0, 1))
    assert site.done == [1, 0, 1]
