"""From a seed to what happens when: faults and what people want. Pure: no clock, no process."""

from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Final


class FaultKind(StrEnum):
    """What can go wrong; the word before the dot says where."""

    governor_ends = "governor.sigkill"
    governor_sleeps = "governor.sigstop"
    hub_ends = "hub.sigkill"
    hub_sleeps = "hub.sigstop"
    server_ends = "server.sigkill"
    server_sleeps = "server.sigstop"
    agent_ends = "agent.sigkill"
    agent_sleeps = "agent.sigstop"
    all_sleep = "all.sigstop"
    to_governor_cut = "hub-to-governor.cut"
    to_governor_slow = "hub-to-governor.delay"
    to_hub_cut = "governor-to-hub.cut"
    to_hub_slow = "governor-to-hub.delay"
    clock_steps = "clock.step"
    ledger_locked = "ledger.lock"


class Act(StrEnum):
    """What a person does by REST."""

    start = "start"
    wait = "wait"
    hold = "hold"
    plain = "plain"
    stop = "stop"


@dataclass(frozen=True)
class Fault:
    """One fault: begins at `at_s`, ends `lasts_s` later. `pick` chooses among candidates."""

    at_s: float
    kind: FaultKind
    lasts_s: float
    pick: int
    size: float
    """Seconds of a step of the clock, or of the delay of each piece."""


@dataclass(frozen=True)
class Wish:
    """One request of one person."""

    at_s: float
    person: str
    act: Act


@dataclass(frozen=True)
class Schedule:
    """All that is to happen, in order of time."""

    faults: tuple[Fault, ...]
    wishes: tuple[Wish, ...]


_LONGEST_S: Final = {
    FaultKind.governor_sleeps: 8.0,
    FaultKind.hub_ends: 3.0,
    FaultKind.hub_sleeps: 6.0,
    FaultKind.server_sleeps: 8.0,
    FaultKind.agent_sleeps: 10.0,
    FaultKind.all_sleep: 5.0,
    FaultKind.to_governor_cut: 8.0,
    FaultKind.to_governor_slow: 8.0,
    FaultKind.to_hub_cut: 8.0,
    FaultKind.to_hub_slow: 8.0,
    FaultKind.ledger_locked: 6.0,
}
_ACTS: Final = (Act.start, Act.start, Act.wait, Act.wait, Act.hold, Act.plain, Act.stop, Act.stop)


def schedule(seed: int, *, seconds: float, people: int) -> Schedule:
    """Make the schedule of a seed; the same arguments give the same one on every machine.

    Parameters
    ----------
    seconds
        Length of the time with faults and requests.
    people
        How many people make requests.
    """
    random = Random(f"{seed} {seconds} {people}")
    wishes = _wishes(random, seconds, people)
    return Schedule(_faults(random, seconds), wishes)


def names(people: int) -> tuple[str, ...]:
    """Names of the people of a schedule."""
    return tuple(f"person-{number:02}" for number in range(people))


def _faults(random: Random, seconds: float) -> tuple[Fault, ...]:
    """Shuffle whole decks of faults, so that a short run meets every kind too."""
    gap = min(6.0, 0.7 * seconds / len(FaultKind))
    at_s, deck, faults = 0.1 * seconds, list[FaultKind](), list[Fault]()
    while at_s < 0.95 * seconds:
        if not deck:
            deck = [*FaultKind, FaultKind.server_ends]
            random.shuffle(deck)
        kind = deck.pop()
        lasts_s = round(random.uniform(0.2, 1.0) * _LONGEST_S.get(kind, 0.0), 2)
        size = random.uniform(-20, 20) if kind is FaultKind.clock_steps else random.uniform(0.1, 1)
        faults.append(Fault(round(at_s, 2), kind, lasts_s, random.randrange(1000), round(size, 2)))
        at_s += gap * random.uniform(0.5, 1.5)
    return tuple(faults)


def _wishes(random: Random, seconds: float, people: int) -> tuple[Wish, ...]:
    pause = max(5.0, people * 0.6)
    wishes = []
    for person in names(people):
        at_s = random.uniform(0, pause)
        while at_s < seconds:
            wishes.append(Wish(round(at_s, 2), person, random.choice(_ACTS)))
            at_s += pause * random.uniform(0.3, 1.7)
    return tuple(sorted(wishes, key=lambda wish: (wish.at_s, wish.person)))
