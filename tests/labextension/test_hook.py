"""The person's own program before a stop: in time, once, not for long, and only their own."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from hub_ext.lease import Cause, LeaseState, LeaseView, Notice, Reason
from labextension.hook import BeforeStop, HookState
from tests.labextension.test_notices import NOW, a_notice, noticed


def program(folder: Path, text: str, *, mode: int = 0o755) -> Path:
    file = folder / "before-stop"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(mode)
    return file


def soon(left_s: float) -> LeaseView:
    return noticed(a_notice(Cause.preempted).model_copy(update={"stops_at": NOW + _span(left_s)}))


def _span(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)


class Told:
    """What a page would be told of the program, one after the other."""

    def __init__(self) -> None:
        self.states: list[HookState] = []
        self._news = asyncio.Event()

    def take(self, state: HookState) -> None:
        self.states.append(state)
        self._news.set()

    async def until(self, last: HookState) -> None:
        while last not in self.states:
            self._news.clear()
            await asyncio.wait_for(self._news.wait(), 10)


Story = Callable[[BeforeStop, Told], Awaitable[None]]


def told(file: Path, story: Story, limit_s: float = 2.0) -> list[HookState]:
    async def run() -> list[HookState]:
        heard = Told()
        await story(BeforeStop(file, limit_s, heard.take), heard)
        return heard.states

    return asyncio.run(run())


def test_it_is_run_with_the_reason_in_its_environment(tmp_path: Path) -> None:
    out = tmp_path / "out"
    file = program(tmp_path, f'echo "$GPU_COMMONS_STOP_CAUSE $GPU_COMMONS_STOPS_AT" > {out}')

    async def story(hook: BeforeStop, heard: Told) -> None:
        hook.look(soon(1))
        await heard.until(HookState.done)

    assert told(file, story) == [HookState.waits, HookState.runs, HookState.done]
    assert out.read_text().startswith("preempted 2026-11-30T14:00:01")


def test_it_waits_until_shortly_before_the_stop_and_a_withdrawal_ends_the_wait(
    tmp_path: Path,
) -> None:
    file = program(tmp_path, f"touch {tmp_path}/ran")

    async def story(hook: BeforeStop, heard: Told) -> None:
        hook.look(soon(600))
        await asyncio.sleep(0.2)
        hook.look(noticed(None, LeaseState.running))
        assert heard.states[-1] is HookState.none

    assert told(file, story) == [HookState.waits, HookState.none]
    assert not (tmp_path / "ran").exists()


def test_what_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    file = program(tmp_path, f"(sleep 3; touch {tmp_path}/late) & sleep 30")

    async def story(hook: BeforeStop, heard: Told) -> None:
        hook.look(soon(0))
        await heard.until(HookState.too_long)
        await asyncio.sleep(3)

    assert told(file, story, limit_s=0.3)[-1] is HookState.too_long
    assert not (tmp_path / "late").exists()


def test_one_notice_runs_it_once(tmp_path: Path) -> None:
    out = tmp_path / "out"
    file = program(tmp_path, f"echo ran >> {out}")

    async def story(hook: BeforeStop, heard: Told) -> None:
        for _time in range(3):
            hook.look(soon(0))
            await heard.until(HookState.done)

    told(file, story)
    assert out.read_text() == "ran\n"


def test_a_failure_is_said(tmp_path: Path) -> None:
    async def story(hook: BeforeStop, heard: Told) -> None:
        hook.look(soon(0))
        await heard.until(HookState.failed)

    assert told(program(tmp_path, "exit 3"), story)[-1] is HookState.failed


def test_words_that_no_program_can_be_given_are_a_failure_that_is_said(tmp_path: Path) -> None:
    words = Notice(
        cause=Cause.admin,
        given_at=NOW,
        stops_at=NOW,
        reason=Reason(code="admin", message="New\0cables."),
    )

    async def story(hook: BeforeStop, heard: Told) -> None:
        hook.look(noticed(words))
        await heard.until(HookState.failed)

    assert told(program(tmp_path, "true"), story)[-1] is HookState.failed


@pytest.mark.parametrize("mode", [0o644, 0o777])
def test_what_cannot_be_run_or_others_may_write_is_not_run(tmp_path: Path, mode: int) -> None:
    file = program(tmp_path, f"touch {tmp_path}/ran", mode=mode)

    async def story(hook: BeforeStop, _heard: Told) -> None:
        hook.look(soon(0))
        await asyncio.sleep(0.2)

    assert told(file, story) == [HookState.unusable]
    assert not (tmp_path / "ran").exists()


def test_without_a_program_nothing_is_done(tmp_path: Path) -> None:
    async def story(hook: BeforeStop, _heard: Told) -> None:
        hook.look(soon(0))

    assert told(tmp_path / "none", story) == [HookState.none]


def test_advice_runs_nothing(tmp_path: Path) -> None:
    file = program(tmp_path, f"touch {tmp_path}/ran")
    advice = Notice(
        cause=Cause.culled,
        given_at=NOW,
        stops_at=NOW,
        reason=Reason(code="idle-advice", message="Idle."),
    )

    async def story(hook: BeforeStop, _heard: Told) -> None:
        hook.look(noticed(advice))
        await asyncio.sleep(0.2)

    assert told(file, story) == []
