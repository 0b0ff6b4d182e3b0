"""Advice to change to a smaller profile: by name and price, from the policy, and no stop."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hub_ext.lease import LeaseState, Notice, OpenLease
from hub_ext.policy.load import loads
from hub_ext.service.reclaim.smaller import SMALLER
from tests.support.culling import Passes
from tests.support.governing import POLICY
from tests.support.small_core import SmallCore

RULE = {"applies": ["mig"], "limit": "20m", "notice": "5m", "start_grace": "1m"}


@pytest.fixture
def passes(tmp_path: Path) -> Iterator[Passes]:
    with SmallCore.running(tmp_path / "state", **ruled(gpu_unused="10m")) as core:
        yield Passes(core)


def ruled(**more: Any) -> dict[str, Any]:
    return {"idle": {"gpus": {**RULE, "trial": "0s", **more}}}


def told(passes: Passes, lease: OpenLease) -> Notice | None:
    return passes.core.lease(lease.id).notice


def test_a_gpu_that_is_not_used_beside_work_is_advised_a_profile_without(passes: Passes) -> None:
    core = passes.core
    lease = core.run("ada")
    core.cpu[lease.id] = 900
    passes.until(lambda: told(passes, lease) is not None)
    notice = told(passes, lease)
    assert notice is not None
    assert (notice.reason.code, notice.is_advice) == (SMALLER, True)
    assert "The profile No GPU (" in notice.reason.message
    assert notice.reason.figures["profile"] == "plain"
    passes.go_on(90)
    assert told(passes, lease) == notice
    core.busy[lease.id] = 90
    passes.until(lambda: core.lease(lease.id).state is LeaseState.running, minutes=3)
    given = [event.body["notice"] for event in core.events("notice.given")]
    assert len(given) == 1


def test_quiet_is_advised_before_the_notice_where_the_policy_says_so(passes: Passes) -> None:
    core = passes.core
    core.set_policy(**ruled(advise="8m"))
    lease = core.run("ada")
    passes.until(lambda: told(passes, lease) is not None)
    first = told(passes, lease)
    assert first is not None
    assert first.reason.code == SMALLER
    passes.until(lambda: (now := told(passes, lease)) is not None and not now.is_advice)
    notice = told(passes, lease)
    assert notice is not None
    assert notice.reason.code == "idle"
    later_s = (notice.given_at - first.given_at).total_seconds()
    assert 11 * 60 <= later_s <= 13 * 60
    passes.until(lambda: core.lease(lease.id).state is LeaseState.stopping)


@pytest.mark.parametrize("change", [{"mode": "observe"}, {"gpu_unused": "0s"}])
def test_nobody_is_advised_where_the_policy_is_silent(
    passes: Passes, change: dict[str, str]
) -> None:
    core = passes.core
    mode = change.get("mode", "enforce")
    rules = ruled(gpu_unused=change.get("gpu_unused", "10m"))
    core.set_policy(**rules, modes={"quota": "enforce", "idle": mode})
    lease = core.run("ada")
    core.cpu[lease.id] = 900
    passes.go_on(30)
    assert told(passes, lease) is None


def test_a_server_that_is_kept_is_not_advised(passes: Passes) -> None:
    core = passes.core
    core.set_policy(**ruled(advise="8m", keep="2h"))
    lease = core.run("ada")
    core.governor.keep(lease.id, actor=core.events()[-1].actor, now=core.now)
    passes.go_on(30)
    assert told(passes, lease) is None


def test_advice_after_the_limit_is_warned_of() -> None:
    policy = POLICY.replace("notice: 5m, start", "notice: 5m, advise: 10m, start")
    assert any("nobody is advised by it" in one.message for one in loads(policy).warnings)
