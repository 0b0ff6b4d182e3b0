"""The policy file as it is found: changed, unchanged, gone, unreadable, or not to be recorded."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Never

import pytest

from hub_ext.errors import LedgerError, PolicyError
from hub_ext.service.core.runner import CoreRunner
from hub_ext.service.core.stream import Stream
from hub_ext.service.workers.watch import PolicyFile, follow, look
from tests.support.governing import POLICY, Site, site_in

SMALLER = POLICY.replace('whole: {nominal: "2"}', 'whole: {nominal: "1"}')


def test_a_file_is_news_once(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    file = PolicyFile(path)
    assert file.changed() is not None
    assert file.changed() is None
    file.forget()
    assert file.changed() is not None


@pytest.mark.parametrize("content", [b"\xff\xfe", b"version: 9", b"[" * 5000, b""])
def test_what_cannot_be_used_is_told_once_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "policy.yaml"
    path.write_bytes(content)
    file = PolicyFile(path)
    with pytest.raises(PolicyError, match=r"policy\.yaml:\d+:\d+: error"):
        file.changed()
    assert file.changed() is None


def test_a_file_that_is_gone_is_told_once_and_is_news_when_it_is_back(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    file = PolicyFile(path)
    with pytest.raises(PolicyError, match="cannot be read"):
        file.changed()
    assert file.changed() is None
    path.write_text(POLICY)
    assert file.changed() is not None


def test_a_pipe_or_a_directory_in_its_place_is_told_once_and_holds_nothing_up(
    tmp_path: Path,
) -> None:
    path = tmp_path / "policy.yaml"
    for make in (os.mkfifo, os.mkdir):
        make(path)
        file = PolicyFile(path)
        with pytest.raises(
            PolicyError, match="the file cannot be read: it is no regular file; restore it"
        ):
            file.changed()
        assert file.changed() is None
        path.rmdir() if path.is_dir() else path.unlink()


def tell(tmp_path: Path, story: Callable[[Site, CoreRunner], Awaitable[None]]) -> None:
    async def told() -> None:
        with site_in(tmp_path) as site:
            core = CoreRunner(site.governor, lambda: site.now, Stream(8))
            try:
                await story(site, core)
            finally:
                await core.close()

    asyncio.run(told())


def test_a_policy_that_could_not_be_recorded_is_taken_at_the_next_look(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"

    async def story(site: Site, core: CoreRunner) -> None:
        path.write_text(POLICY)
        file = PolicyFile(path)
        await look(core, file)
        path.write_text(SMALLER)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(site.ledger, "transaction", full_disk)
            with pytest.raises(LedgerError):
                await look(core, file)
            following = asyncio.create_task(follow(core, file, 0.02))
            await asyncio.sleep(0.2)
            assert site.governor.policy_state.generation == 1
        for _try in range(500):
            await asyncio.sleep(0.02)
            if site.governor.policy_state.generation == 2:
                break
        following.cancel()
        assert site.governor.policy_state.generation == 2

    tell(tmp_path, story)


def full_disk() -> Never:
    raise LedgerError("the disk is full")
