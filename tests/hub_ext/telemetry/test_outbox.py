"""What an agent read while the governor was away: kept, bounded, handed over in order."""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hub_ext.errors import NotTakenError, UnreachableError
from hub_ext.lease import SampleBatch, WatchList
from hub_ext.telemetry.agent import Agent
from hub_ext.telemetry.outbox import ASIDE, ASIDE_KEPT, Outbox
from hub_ext.telemetry.simulated import SimulatedReader

from .small_policy import TEXT

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
PERIOD_S = 0.1


def batch(at: datetime, node: str = "node-1") -> SampleBatch:
    return SampleBatch(node=node, source="nvml", sent_at=at, period_s=10)


def handed(outbox: Outbox, now: datetime = NOW) -> list[SampleBatch]:
    given = []
    while (kept := outbox.oldest(now)) is not None:
        outbox.drop(kept[0])
        given.append(kept[1])
    return given


def test_what_is_put_comes_back_oldest_first_after_a_restart_and_says_that_it_is_late(
    tmp_path: Path,
) -> None:
    ages = (30, 10, 20)
    for age in ages:
        Outbox(tmp_path / "out").put(batch(NOW - timedelta(seconds=age)))
    given = handed(Outbox(tmp_path / "out"))
    assert [(NOW - one.sent_at).seconds for one in given] == [30, 20, 10]
    assert all(one.late for one in given)
    assert handed(Outbox(tmp_path / "out")) == []


def test_an_hour_is_kept_and_what_is_dropped_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    outbox = Outbox(tmp_path)
    outbox.put(batch(NOW - timedelta(minutes=61)))
    outbox.put(batch(NOW - timedelta(minutes=59)))
    assert [NOW - one.sent_at for one in handed(outbox)] == [timedelta(minutes=59)]
    assert "Dropped the 1 oldest" in caplog.text


def test_so_many_bytes_are_kept_the_newest(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one = len(batch(NOW).model_copy(update={"late": True}).model_dump_json())
    outbox = Outbox(tmp_path, limit_bytes=3 * one + one // 2)
    for second in range(6):
        outbox.put(batch(NOW + timedelta(seconds=second)))
    assert [one.sent_at.second for one in handed(outbox)] == [3, 4, 5]
    assert "That time stays unknown" in caplog.text


def test_a_file_that_a_crash_tore_is_dropped_and_the_others_are_handed_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    outbox = Outbox(tmp_path)
    for second in range(3):
        outbox.put(batch(NOW + timedelta(seconds=second)))
    torn = min(tmp_path.iterdir())
    torn.write_bytes(torn.read_bytes()[:20])
    (tmp_path / "00000000000000000000-x.json.half").write_text("{")
    assert [one.sent_at.second for one in handed(outbox)] == [1, 2]
    assert "no batch of readings" in caplog.text


def test_a_nodes_name_leads_nowhere_else(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "out")
    outbox.put(batch(NOW, node="../../etc/x y"))
    assert [one.parent for one in tmp_path.rglob("*.json")] == [tmp_path / "out"]
    assert handed(outbox)[0].node == "../../etc/x y"


def test_a_disk_that_refuses_is_said_once_and_the_agent_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    outbox = Outbox(tmp_path / "file" / "out")
    for second in range(3):
        outbox.put(batch(NOW + timedelta(seconds=second)))
    assert outbox.oldest(NOW) is None
    assert caplog.text.count("cannot be kept") == 1


class Inbox:
    """A governor that goes away and comes back; keeps what it took."""

    def __init__(self) -> None:
        self.away = False
        self.poison: set[datetime] = set()
        self.busy: set[datetime] = set()
        self.took: list[SampleBatch] = []

    async def post(self, batch: SampleBatch) -> WatchList:
        if self.away:
            raise UnreachableError("away")
        if batch.sent_at in self.poison:
            raise NotTakenError("HTTP 400: it is none")
        if batch.sent_at in self.busy:
            self.busy.discard(batch.sent_at)
            raise UnreachableError("HTTP 429: later")
        self.took.append(batch)
        return WatchList(leases=())


async def until(true: Callable[[], bool]) -> None:
    """Wait until something is true; the story's own limit ends what never is."""
    while not true():  # noqa: ASYNC110 - the things waited for have no event to wait on
        await asyncio.sleep(0.01)


def test_after_the_governors_return_the_present_goes_first_and_then_the_gap_in_order(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(TEXT)
    reader = SimulatedReader(policy, tmp_path / "sim", node="localhost", period_s=PERIOD_S)
    governor, folder = Inbox(), tmp_path / "outbox"

    async def story() -> None:
        stop = asyncio.Event()
        agent = Agent(reader, governor, node="localhost", period_s=PERIOD_S, outbox=Outbox(folder))
        running = asyncio.create_task(agent.run(stop))
        await until(lambda: bool(governor.took))
        governor.away = True
        await until(lambda: len(list(folder.glob("*.json"))) >= 6)
        governor.took.clear()
        governor.away = False
        await until(lambda: sum(one.late for one in governor.took) >= 6)
        await until(lambda: not list(folder.glob("*.json")))
        stop.set()
        await running

    with caplog.at_level(logging.WARNING):
        asyncio.run(asyncio.wait_for(story(), 30))
    first = next(number for number, one in enumerate(governor.took) if one.late)
    assert first > 0, "what is so now went first"
    late = [one for one in governor.took if one.late]
    assert [one.sent_at for one in late] == sorted(one.sent_at for one in late)
    assert all(one.inventory is None and one.devices for one in late)
    assert all(late[0].sent_at < one.sent_at for one in governor.took[:first])


def test_what_is_refused_for_good_is_set_aside_and_what_follows_is_handed_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(TEXT)
    reader = SimulatedReader(policy, tmp_path / "sim", node="localhost", period_s=PERIOD_S)
    governor, outbox = Inbox(), Outbox(tmp_path / "outbox")
    now = datetime.now(UTC)
    past = [now - timedelta(seconds=age) for age in (500, 400, 300, 200, 100)]
    for at in past:
        outbox.put(batch(at))
    governor.poison, governor.busy = {past[0], past[2]}, {past[3]}

    async def story() -> None:
        stop = asyncio.Event()
        agent = Agent(reader, governor, node="localhost", period_s=PERIOD_S, outbox=outbox)
        running = asyncio.create_task(agent.run(stop))
        await until(lambda: outbox.oldest(datetime.now(UTC)) is None)
        await until(lambda: governor.took[-1].refused > 0)
        stop.set()
        await running

    with caplog.at_level(logging.WARNING):
        asyncio.run(asyncio.wait_for(story(), 30))
    late = [one.sent_at for one in governor.took if one.late]
    assert late == [past[1], past[3], past[4]], "one that was put off came again, in order"
    assert governor.took[-1].refused == 2
    aside = sorted((tmp_path / "outbox" / ASIDE).iterdir())
    kept = [SampleBatch.model_validate_json(one.read_bytes()).sent_at for one in aside]
    assert kept == [past[0], past[2]]
    assert caplog.text.count("is set aside") == 2
    assert str(aside[0]) in caplog.text


def test_so_many_refused_batches_are_kept_to_be_looked_at(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path)
    for second in range(ASIDE_KEPT + 5):
        assert outbox.set_aside(batch(NOW + timedelta(seconds=second))) is not None
    assert len(list((tmp_path / ASIDE).iterdir())) == ASIDE_KEPT
    (tmp_path / "file").write_text("")
    assert Outbox(tmp_path / "file").set_aside(batch(NOW)) is None
