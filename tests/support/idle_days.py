"""Simulated days of people of each kind, from a seed; and what the idle rules make of them.

The kinds are data that no rule ever reads. A step is a minute.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from ruamel.yaml import YAML

from hub_ext.idle import Clocks, Readings, judge_on
from hub_ext.lease import (
    Activity,
    DeviceId,
    DeviceSample,
    LeaseId,
    ProcessSample,
    Verdict,
    VerdictState,
)
from hub_ext.policy.model import IdleRule
from hub_ext.policy.model.idle import window_of
from tests.support.ledger_parts import NOON, a_lease

KINDS: Mapping[str, Mapping[str, Any]] = YAML(typ="safe").load(
    (Path(__file__).parents[1] / "data" / "idle-kinds.yaml").read_text(encoding="utf-8")
)
MINUTE = timedelta(minutes=1)
LOOK_EVERY = 3
"""Minutes between two looks at a server that is not idle; an idle one is looked at each minute."""

LIFE_H = 20
_BEHIND = 20
"""Minutes of readings that a look is given: a window and a gap before it."""

GPU = DeviceId("GPU-1")
MIB = 1024**2


@dataclass
class Quality:
    """What came of the lives of one kind."""

    hours: float = 0
    lives: int = 0
    announced: int = 0
    stopped: int = 0
    late: list[int] = field(default_factory=list)
    """Minutes from when it was left to the stop, of each that was stopped."""


def rule_with(**changed: Any) -> IdleRule:
    """The rule of a whole GPU, all of its defaults, but for what is changed."""
    rule = {"applies": ["gpu"], "limit": "60m", "notice": "15m"}
    return IdleRule.model_validate(rule | changed)


def in_use(name: str, rule: IdleRule, *, hours: float, seed: int) -> Quality:
    """Let somebody of a kind who works live for so long, in lives of a lease each."""
    found, random = Quality(), Random(f"{seed} {name}")
    while found.hours < hours:
        _live(found, _steps(KINDS["in_use"][name], random, again=True), rule)
    return found


def left(name: str, rule: IdleRule, *, lives: int, seed: int) -> Quality:
    """Let so many servers of a kind be left; the minutes count from the last phase on."""
    found, random = Quality(), Random(f"{seed} {name}")
    for _ in range(lives):
        _live(found, _steps(KINDS["left"][name]["phases"], random, again=False), rule)
    return found


def latest(name: str, rule: IdleRule) -> int:
    """After how many minutes a server of a kind that was left must be stopped.

    That is its limit, a window until means have fallen, the notice, and one look.
    """
    spans = window_of(rule) + rule.notice + LOOK_EVERY * MINUTE
    return int(KINDS["left"][name]["within"]) + int(spans / MINUTE)


def _steps(
    phases: list[dict[str, Any]], random: Random, *, again: bool
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give each minute's figures, and the number of minutes since the phase began."""
    while True:
        for phase in phases:
            for minute in range(random.randint(*phase["minutes"])):
                yield (
                    minute,
                    {
                        name: _figure(of, minute, random) if name != "said" else of
                        for name, of in phase.items()
                        if name != "minutes"
                    },
                )
        if not again:
            return


def _figure(of: Any, minute: int, random: Random) -> int | None:
    match of:
        case {"every": int(every), "of": figure}:
            return 0 if minute % every else _figure(figure, 0, random)
        case [int(least), int(most)]:
            return random.randint(least, most)
        case _:
            return None if of is None else int(of)


def _live(found: Quality, steps: Iterator[tuple[int, dict[str, Any]]], rule: IdleRule) -> None:
    """Live one lease to its end, or to the stop for idleness."""
    server = _Server(rule)
    found.lives += 1
    for number, (minute, figures) in enumerate(steps):
        if number >= LIFE_H * 60:
            break
        found.hours += 1 / 60
        server.read(minute, figures)
        told = server.told_at
        if number % LOOK_EVERY and told is None:
            continue
        if server.look().state is not VerdictState.idle:
            server.told_at = None
        elif told is None:
            found.announced += 1
            server.told_at = server.now
        elif server.now - told >= rule.notice:
            found.stopped += 1
            found.late.append(minute)
            return


class _Server:
    """One running server: its newest readings, and where it was judged last."""

    def __init__(self, rule: IdleRule) -> None:
        self.rule, self.now, self.clocks = rule, NOON, Clocks()
        self.told_at: datetime | None = None
        self.lease = a_lease("L", assigned_at=NOON, started_at=NOON)
        self.devices: deque[DeviceSample] = deque(maxlen=_BEHIND)
        self.processes: deque[ProcessSample] = deque(maxlen=_BEHIND)
        self.said: dict[str, Any] = {}

    def read(self, minute: int, figures: Mapping[str, Any]) -> None:
        self.now += MINUTE
        power, memory = figures.get("power"), figures.get("memory", 500)
        self.devices.append(
            DeviceSample(
                device=GPU,
                at=self.now,
                util_percent=figures.get("gpu", 0),
                memory_used_bytes=memory * MIB,
                memory_total_bytes=None,
                processes=figures.get("processes", 1),
                power_mw=None if power is None else 1000 * power,
            )
        )
        self.processes.append(
            ProcessSample(
                lease_id=LeaseId("L"),
                at=self.now,
                cpu_millis=figures.get("cpu", 20),
                processes=2,
                disk_bytes_s=MIB * figures.get("disk", 0),
                net_bytes_s=MIB * figures.get("net", 0),
            )
        )
        self.said = self._telling(minute, dict(figures.get("said", {})))

    def _telling(self, minute: int, said: dict[str, Any]) -> dict[str, Any]:
        began = self.now - minute * MINUTE
        if said.get("kernels_busy"):
            said["busy_since"] = began
        if said.pop("typed", 0):
            said["input_at"] = self.now
        if said.pop("output", 0):
            said["output_at"] = self.now
        if took_s := said.pop("cell_ended", 0):
            said |= {"cell_ended_at": began, "cell_s": took_s}
        return {"kernels": 1, "kernels_busy": 0} | said

    def look(self) -> Verdict:
        readings = Readings(
            devices=(tuple(self.devices),),
            processes=tuple(self.processes),
            period_s=60.0,
            source="nvml",
            activity=Activity.model_validate({"at": self.now} | self.said),
        )
        verdict, self.clocks = judge_on(
            self.clocks, "gpus", self.rule, self.lease, readings, self.now, required_devices=(GPU,)
        )
        return verdict
