"""Waste as people meet it: hours of readings, a stop for idleness, and what that is worth."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path

import pytest

from hub_ext.cli import main
from hub_ext.lease import GOVERNOR, Cause, LeaseState, Notice, Reason
from hub_ext.lease.waste import WasteSheet
from hub_ext.service.money.usage import Scope
from tests.hub_ext.service.api.stories import at_the_door
from tests.support.governing import START, Site, site_in
from tests.support.identities import API, Door
from tests.support.odd_site import GIB, LONG, pass_time

ALL = Scope("all")


def waste(site: Site, *by: str, scope: Scope = ALL) -> WasteSheet:
    end = site.now + timedelta(days=40)
    return site.governor.waste(
        scope,
        START - timedelta(days=30),
        end,
        by=by or ("team",),  # type: ignore[arg-type]
        now=site.now,
    )


def found(made: WasteSheet) -> dict[str, tuple[int, int]]:
    return {
        one.kind: (one.unit_s // 840, sum(amount.micro for amount in one.amounts))
        for one in made.totals
        if one.unit_s
    }


def test_idle_hoarded_and_busy_hours_are_told_apart(tmp_path: Path) -> None:
    with site_in(tmp_path / "state", policy=LONG) as site:
        site.run("vera")
        pass_time(site, 1, gpu=80, memory=80 * GIB)
        pass_time(site, 1, gpu=0, memory=0)
        pass_time(site, 0.5, gpu=2, memory=80 * GIB)
        pass_time(site, 0.5, gpu=None, memory=None)
        assert found(waste(site)) == {"idle": (3600, 3_600_000), "hoarded": (1800, 1_800_000)}
        (row, _other) = waste(site, "team", "user", "model", "month").rows
        assert row.names == {
            "team": "vision",
            "user": "vera",
            "model": "h200-141gb",
            "month": "2026-11",
        }
        assert found(waste(site, scope=Scope("me", user="viktor"))) == {}


@pytest.mark.parametrize(("life", "saved_s"), [("7d", 8 * 3600), ("3h", 3 * 3600 - 2 * 3600)])
def test_a_stop_for_idleness_is_worth_what_was_left_of_the_life_and_a_day_at_most(
    tmp_path: Path, life: str, saved_s: int
) -> None:
    with site_in(
        tmp_path / "state", policy=LONG.replace("default: 7d", f"default: {life}")
    ) as site:
        grant = site.run("vera")
        pass_time(site, 1, gpu=80)
        pass_time(site, 0.5)
        why = Reason(code="idle", message="idle")
        notice = Notice(cause=Cause.culled, given_at=site.now, stops_at=site.now, reason=why)
        site.governor.give_notice(grant.lease_id, notice, evidence=None, now=site.now)
        pass_time(site, 0.5)
        site.governor.ask_stop(
            grant.lease_id, cause=Cause.culled, reason=why, actor=GOVERNOR, now=site.now
        )
        site.stop(grant)
        made = waste(site)
        assert found(made) == {"idle": (1800, 1_800_000), "notice": (1800, 1_800_000)}
        (saved,) = made.saved
        assert (saved.unit_s // 840, saved.amounts[0].micro) == (saved_s, saved_s * 1_000)
        assert saved.names == {"team": "vision"}


@pytest.mark.parametrize("comes", [True, False])
def test_what_is_held_for_somebody_who_waited_is_told(tmp_path: Path, comes: bool) -> None:
    with site_in(tmp_path / "state") as site:
        first = site.run("vera", "two")
        lease = site.waits("viktor", "two")
        site.stop(first)
        site.serve()
        assert site.now_is(lease).state is LeaseState.held
        site.later(60)
        if comes:
            site.run("viktor", "two")
        assert found(waste(site)) == {"queue": (120, 120_000)}
        site.later(60)
        seconds = 120 if comes else 240
        assert found(waste(site)) == {"queue": (seconds, seconds * 1_000)}


def test_the_command_prints_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def story(door: Door) -> None:
        door.hub.service("c" * 64, "gpu-commons-cli", "custom:gpu-commons:admin")
        site = door.site
        (site.state / "tokens").mkdir()
        (site.state / "tokens/cli").write_text("c" * 64)
        (site.state / "run.json").write_text(json.dumps({"api": f"{door.url}{API.rstrip('/')}"}))

        async def command(*words: str) -> int:
            return await asyncio.to_thread(main, ["waste", *words, "--state", str(site.state)])

        site.run("vera")
        pass_time(site, 1, gpu=80)
        pass_time(site, 1)
        assert await command("--by", "team,profile") == 0
        said = capsys.readouterr().out
        assert "vision  one      held, idle  1       1.0        EUR 3.60" in said
        assert "held in all: 2.0 GPU-hours, of which 2.0 were measured; EUR 7.20" in said
        assert "saved by stopping what was idle: 0.0 GPU-hours, -" in said
        assert "An estimate" in said
        assert await command("--team", "speech", "--json") == 0
        assert WasteSheet.model_validate_json(capsys.readouterr().out).rows == ()
        assert await command("--by", "team,team") == 1
        assert "at most once" in capsys.readouterr().err

    at_the_door(tmp_path, story, policy=LONG)


def test_without_a_governor_nobody_has_readings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with site_in(tmp_path):
        pass
    assert main(["waste", "--state", str(tmp_path)]) == 1
    assert "no governor lives" in capsys.readouterr().err
