"""`reserve` on the hub's machine: made, listed and called off, be the governor alive or dead."""

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hub_ext.cli import main
from hub_ext.commands.onsite import actor
from tests.hub_ext.service.api.stories import at_the_door
from tests.hub_ext.service.test_reserving import RULES
from tests.support.governing import Site, site_in
from tests.support.identities import API, Door


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with site_in(tmp_path / "state", policy=RULES) as opened:
        monkeypatch.setenv("GPU_COMMONS_STATE", str(opened.state))
        yield opened


def reserve(*words: str) -> int:
    return main(["reserve", *words])


MAKE = ("make", "sam/demo", "--team", "speech", "--profile", "one")


def test_with_the_governor_dead_one_is_made_listed_and_called_off(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.governor.close()
    assert reserve("list") == 0
    assert capsys.readouterr().out == "nothing is reserved\n"
    day = datetime.now(UTC) + timedelta(days=2)
    words = ("--from", f"{day:%Y-%m-%d}T09:00", "--for", "3h", "--reason", "demo")
    assert reserve(*MAKE, *words) == 0
    said = capsys.readouterr().out
    assert "No governor lives; this was recorded in its place." in said
    assert f"is made: {day:%Y-%m-%d} 09:00 for 3h, UTC" in said
    assert reserve("list", "--json") == 0
    (one,) = json.loads(capsys.readouterr().out)
    assert (one["made_by"], one["reason"]) == (actor().name, "demo")
    assert reserve("cancel", one["id"]) == 0
    assert "is called off" in capsys.readouterr().out
    until = f"{day + timedelta(days=21):%Y-%m-%d}"
    left_out = [f"{day + timedelta(days=days):%Y-%m-%d}" for days in (7, 14)]
    weekly = ("--weekly-until", until, "--skip", left_out[0])
    assert reserve(*MAKE, *words, *weekly) == 1
    assert "reserved 14d ahead" in capsys.readouterr().err
    until = f"{day + timedelta(days=8):%Y-%m-%d}"
    assert reserve(*MAKE, *words, "--weekly-until", until) == 0
    capsys.readouterr()
    assert reserve("list", "--json") == 0
    (one,) = json.loads(capsys.readouterr().out)
    assert reserve("skip", one["id"], left_out[0]) == 0
    assert f"weekly until {until}, but not on {left_out[0]}" in capsys.readouterr().out
    assert reserve("cancel", one["id"]) == 0
    capsys.readouterr()
    assert reserve("list") == 0
    assert capsys.readouterr().out == "nothing is reserved\n"
    site.governor = site._open()


def test_a_governor_that_lives_makes_it_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story(door: Door) -> None:
        door.people.also["sam"] = ("speech",)
        door.hub.service("c" * 64, "gpu-commons-cli", "custom:gpu-commons:admin")
        state = door.site.state
        (state / "tokens").mkdir()
        (state / "tokens/cli").write_text("c" * 64)
        (state / "run.json").write_text(json.dumps({"api": f"{door.url}{API.rstrip('/')}"}))
        at = ("--state", str(state))
        words = ("--from", "2026-12-01T09:00", "--until", "2026-12-01T12:00", "--reason", "demo")
        made = (*MAKE, *words, "--weekly-until", "2026-12-08", "--start", *at)
        assert await asyncio.to_thread(reserve, *made) == 0
        assert "is made: 2026-12-01 09:00 for 3h, UTC, weekly until 2026-12-08" in (
            capsys.readouterr().out
        )
        (one,) = door.site.governor.reserved(door.site.now, door.site.now)[0]
        assert (str(one.key), one.made_by, one.when.value) == ("sam/demo", actor().name, "start")
        assert await asyncio.to_thread(reserve, "skip", one.id, "2026-12-08", *at) == 0
        assert "but not on 2026-12-08" in capsys.readouterr().out
        stranger = (MAKE[0], "vera", *MAKE[2:], *words, *at)
        assert await asyncio.to_thread(reserve, *stranger) == 1
        assert "Reserve for a member" in capsys.readouterr().err
        assert await asyncio.to_thread(reserve, "list", *at) == 0
        assert "sam/demo" in capsys.readouterr().out
        assert await asyncio.to_thread(reserve, "list", "--team", "vision", *at) == 0
        assert capsys.readouterr().out == "nothing is reserved\n"
        assert await asyncio.to_thread(reserve, "cancel", one.id, *at) == 0
        assert door.site.governor.reserved(door.site.now, door.site.now)[0] == ()

    at_the_door(tmp_path, story, policy=RULES)


@pytest.mark.parametrize(
    "words",
    [
        (*MAKE, "--from", "soon", "--for", "4h"),
        (*MAKE, "--from", "2026-12-01T09:00Z", "--for", "4h"),
        (*MAKE, "--from", "2026-12-01T09:00", "--for", "long"),
        (*MAKE, "--from", "2026-12-01T09:00", "--for", "4h", "--weekly-until", "friday"),
        (*MAKE, "--from", "2026-12-01T09:00", "--for", "4h", "--zone", "Mars/Olympus"),
        ("cancel", "r-none"),
    ],
)
def test_rubbish_has_words(
    site: Site, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    site.governor.close()
    assert reserve(*words) == 1
    assert "gpu-commons reserve: " in capsys.readouterr().err
    site.governor = site._open()
