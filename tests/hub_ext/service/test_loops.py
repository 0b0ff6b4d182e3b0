import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hub_ext.errors import FencedError
from hub_ext.lease import GOVERNOR, Cause, LeaseState, Liveness, Reason
from hub_ext.ledger.store import Ledger
from hub_ext.service.basis.hub import HubClient
from hub_ext.service.books.config import GovernorConfig
from hub_ext.service.http import metrics
from hub_ext.service.workers.loops import Loops
from tests.support.small_core import SmallCore
from tests.support.small_hub import TOKEN, SmallHub


@pytest.fixture
def core(tmp_path: Path) -> Iterator[SmallCore]:
    with SmallCore.running(tmp_path / "state") as core:
        yield core


def turn(
    core: SmallCore, hub: SmallHub, story: Callable[[Loops], Awaitable[None]], *, token: str = TOKEN
) -> Loops:
    """Let the loops run beside a story, fast."""

    async def both() -> Loops:
        settings = replace(
            GovernorConfig().settings(),
            cycle_s=0.05,
            reconcile_s=0.05,
            intents_s=0.05,
            look_s=0.05,
        )
        async with hub.serving():
            client = HubClient(hub.url, token)
            with core.runner() as runner:
                loops = Loops(runner, client, settings)
                loops._reconciler._probe = core.probe
                task = asyncio.ensure_future(loops.run())
                try:
                    await asyncio.wait_for(story(loops), 20)
                finally:
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)
            client.close()
            return loops

    return asyncio.run(both())


async def until(done: Callable[[], bool]) -> None:
    while not done():  # noqa: ASYNC110 - the story polls what other tasks change
        await asyncio.sleep(0.02)


def test_all_loops_run_and_an_asked_stop_reaches_the_hub(core: SmallCore) -> None:
    lease = core.run("ada")
    hub = SmallHub({"ada": {"": "ready"}})
    core.governor.ask_stop(
        lease.id,
        cause=Cause.admin,
        reason=Reason(code="admin", message="Stopped."),
        actor=GOVERNOR,
        now=core.now,
    )

    async def story(loops: Loops) -> None:
        await until(lambda: hub.servers["ada"][""] == "stopped")
        core.seen[lease.id] = Liveness.gone
        await until(lambda: all(beat.passes > 2 for beat in loops.beats.values()))

    loops = turn(core, hub, story)
    names = {
        *("reconcile", "cull", "intents", "reservations", "queue", "calls", "forecast"),
        *("starts", "unused", "budgets", "outlooks", "looks", "notices"),
    }
    assert set(loops.beats) == names
    assert [beat.failures for beat in loops.beats.values()] == [0] * len(names)
    closed = core.lease(lease.id)
    assert (closed.state, closed.cause) == (LeaseState.closed, Cause.admin)


def test_a_pass_that_fails_is_counted_said_once_and_tried_again(
    core: SmallCore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "hub_ext.service.workers.loops")
    hub = SmallHub(status=503)

    async def story(loops: Loops) -> None:
        await until(lambda: bool(loops.beats) and loops.beats["reconcile"].failures > 2)
        hub.status = None
        await until(lambda: not loops.beats["reconcile"].words)

    loops = turn(core, hub, story)
    assert loops.beats["reconcile"].last_good_s is not None
    told = [record.message for record in caplog.records if "reconcile" in record.message]
    assert told == [
        "The reconcile loop: The hub answered 503 instead of its users: as told",
        "The reconcile loop works again",
    ]


def test_a_fault_of_our_own_does_not_end_the_loops_unseen(
    core: SmallCore, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(loops: Loops) -> None:
        loops._culler.live = lambda *_: 1 // 0  # type: ignore[assignment,method-assign]
        await until(lambda: bool(loops.beats) and loops.beats["cull"].failures > 1)
        await until(lambda: loops.beats["reconcile"].passes > 2)

    loops = turn(core, SmallHub(), story)
    assert "division" in loops.beats["cull"].words
    assert "ZeroDivisionError" in caplog.text


def test_the_loss_of_the_ledger_ends_the_loops(core: SmallCore) -> None:
    async def story() -> None:
        hub = SmallHub()
        async with hub.serving():
            with core.runner() as runner:
                loops = Loops(runner, HubClient(hub.url, TOKEN), GovernorConfig().settings())
                _take_over(core.ledger)
                with pytest.raises(ExceptionGroup) as raised:
                    await asyncio.wait_for(loops.run(), 20)
                assert raised.group_contains(FencedError)

    asyncio.run(story())


def test_metrics_tell_pools_leases_and_loops_and_name_no_user(core: SmallCore) -> None:
    core.run("ada")
    core.run("ben", "plain")

    async def story(loops: Loops) -> None:
        await until(lambda: all(beat.passes for beat in loops.beats.values()))

    hub = SmallHub({"ada": {"": "ready"}, "ben": {"": "ready"}})
    loops = turn(core, hub, story)
    text = metrics.text(metrics.gather(core.governor, core.now), loops.beats).decode()
    assert 'gpu_commons_pool_units{kind="held",pool="slices"} 105.0' in text
    assert 'gpu_commons_pool_fragmentation_ratio{pool="slices"} 0.' in text
    assert (
        'gpu_commons_leases{pool="slices",standing="guaranteed",state="running",team="vision"} 1.0'
        in text
    )
    assert "gpu_commons_policy_generation 1.0" in text
    assert 'gpu_commons_loop_failures_total{loop="cull"} 0.0' in text
    assert 'gpu_commons_loop_age_seconds{loop="reconcile"}' in text
    assert "ada" not in text


def _take_over(ledger: Ledger) -> None:
    """Do to the epoch what a second governor does."""
    with ledger._engine.begin() as connection:
        connection.exec_driver_sql("UPDATE epoch SET number = number + 1")
