"""Days of each kind of people: nobody who works is stopped, and nobody who left holds on.

Each figure of a rule has a kind that it is there for: changed far enough, it harms that kind.
"""

from typing import Any

import pytest

from tests.support.idle_days import KINDS, Quality, in_use, latest, left, rule_with

HOURS, LIVES, SEED = 180, 3, 7


def is_well(name: str, found: Quality) -> bool:
    """Whether people of a kind are treated as they should be."""
    if name in KINDS["in_use"]:
        return not found.stopped
    return found.stopped == found.lives and max(found.late) <= latest(name, rule_with())


def lived(name: str, hours: float = HOURS, **changed: Any) -> Quality:
    rule = rule_with(**changed)
    if name in KINDS["in_use"]:
        return in_use(name, rule, hours=hours, seed=SEED)
    return left(name, rule, lives=LIVES, seed=SEED)


@pytest.mark.parametrize("name", [*KINDS["in_use"], *KINDS["left"]])
def test_people_are_treated_as_they_should_be(name: str) -> None:
    found = lived(name)
    assert is_well(name, found), found


@pytest.mark.parametrize(
    ("changed", "harmed"),
    [
        ({"limit": "15m"}, "explores in short cells"),
        ({"limit": "3h"}, "leaves the tab open overnight"),
        ({"never_used": "0s"}, "never opened it"),
        ({"no_progress": "0s"}, "waits for workers elsewhere"),
        ({"no_progress": "6h"}, "left it at input()"),
        ({"user_extends": "0s"}, "reads and writes code"),
        ({"user_extends": "30d"}, "forges a key each minute"),
        ({"gpu_active_percent": 1}, "asks nvidia-smi in a loop"),
        ({"gpu_active_share": 60}, "feeds the gpu in bursts"),
        ({"memory_active": "100GiB"}, "loads model after model"),
        ({"power_active_watts": 100_000}, "works where the gpu's counter broke"),
        ({"cpu_active_millis": 100_000}, "runs a job in a terminal"),
        ({"cpu_active_millis": 1, "cpu_baseline_millis": 0}, "leaves the tab open overnight"),
        ({"disk_active": "1GiB"}, "unpacks from disk"),
        ({"network_active": "1GiB"}, "downloads for hours"),
    ],
    ids=lambda one: one if isinstance(one, str) else " ".join(one),
)
def test_each_figure_is_there_for_somebody(changed: dict[str, Any], harmed: str) -> None:
    assert is_well(harmed, lived(harmed, 40))
    assert not is_well(harmed, lived(harmed, 40, **changed))
