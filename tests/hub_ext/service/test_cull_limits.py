"""Limits longer than the rule's own reach a stop, and what a server says of itself is bounded."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hub_ext.lease import Activity, Cause, LeaseState, OpenLease
from hub_ext.service.workers.cull import Culler
from tests.support.small_core import SmallCore

MINUTE = 60
RULE = {
    "gpus": {
        "applies": ["mig"],
        "limit": "10m",
        "notice": "2m",
        "start_grace": "1m",
        "never_used": "0s",
        "no_progress": "30m",
        "user_extends": "40m",
    }
}


@pytest.fixture
def core(tmp_path: Path) -> Iterator[SmallCore]:
    with SmallCore.running(tmp_path / "state", idle=RULE) as core:
        yield core


def minutes_to_the_stop(core: SmallCore, lease: OpenLease, says: dict[str, Any]) -> int | None:
    """Let the server say the same each minute; count them until it is stopped, 90 at most."""
    culler = Culler()
    for minute in range(90):
        core.later(MINUTE)
        said = {"kernels": 1, "kernels_busy": 0, **says}
        if said.pop("input", False):
            said["input_at"] = core.now
        told = Activity.model_validate({"at": core.now, **said})
        core.governor.take_activity(lease.key, told, now=core.now)
        for lease_id in culler.live(core.governor, core.now):
            culler.look(core.governor, lease_id, core.now)
        if core.lease(lease.id).state is LeaseState.stopping:
            assert core.lease(lease.id).cause is Cause.culled
            return minute
    return None


def test_a_kernel_that_is_busy_with_nothing_is_stopped_after_its_own_limit(
    core: SmallCore,
) -> None:
    lease = core.run("ada")
    took = minutes_to_the_stop(core, lease, {"kernels_busy": 1, "busy_since": core.now})
    assert took is not None
    assert 30 <= took <= 35


def test_input_that_is_said_for_ever_holds_a_stop_off_for_its_budget_alone(
    core: SmallCore,
) -> None:
    lease = core.run("ada")
    took = minutes_to_the_stop(core, lease, {"input": True})
    assert took is not None
    assert 40 + 10 <= took <= 40 + 10 + 5


def test_without_a_word_of_its_own_it_is_stopped_after_the_rule_s_limit(core: SmallCore) -> None:
    lease = core.run("ada")
    took = minutes_to_the_stop(core, lease, {})
    assert took is not None
    assert timedelta(minutes=10) <= timedelta(minutes=took) <= timedelta(minutes=15)
