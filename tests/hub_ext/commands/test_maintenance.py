"""`maintenance` on the hub's machine: announced, listed and called off, be the governor dead."""

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hub_ext.cli import main
from hub_ext.commands.instants import instant
from hub_ext.commands.onsite import actor
from hub_ext.errors import GpuCommonsError
from hub_ext.lease import MaintenanceSheet
from hub_ext.ledger.beside import reading
from tests.hub_ext.service.api.stories import at_the_door
from tests.support.governing import POLICY, Site, site_in
from tests.support.identities import API, Door

NOON = datetime(2026, 12, 4, 12, 0, tzinfo=UTC)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    policy = POLICY.replace("timezone: UTC", "timezone: Europe/Zurich")
    with site_in(tmp_path / "state", policy=policy) as opened:
        monkeypatch.setenv("GPU_COMMONS_STATE", str(opened.state))
        yield opened


def maintenance(*words: str) -> int:
    return main(["maintenance", *words])


def listed(capsys: pytest.CaptureFixture[str]) -> MaintenanceSheet:
    capsys.readouterr()
    assert maintenance("list", "--json") == 0
    return MaintenanceSheet.model_validate_json(capsys.readouterr().out)


def test_with_the_governor_dead_it_is_announced_on_the_policys_clock_and_called_off(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.governor.close()
    day = (datetime.now(UTC) + timedelta(days=40)).replace(month=1, day=12)
    day = day if day > datetime.now(UTC) else day.replace(year=day.year + 1)
    words = ("--from", f"{day:%Y-%m-%d}T06:00", "--for", "4h", "--reason", "new disk")
    assert maintenance("announce", "node", "node-2", *words) == 0
    said = capsys.readouterr().out
    assert "No governor lives; this was recorded in its place." in said
    assert f"{day:%Y-%m-%d} 06:00:00 CET" in said
    assert "node node-2" in said
    [one] = listed(capsys).announced
    assert f"{one.start:%H:%M}" == "05:00"
    assert (one.end - one.start, one.by) == (timedelta(hours=4), actor().name)
    assert maintenance("call-off", one.id, "--reason", "no disk") == 0
    assert f"maintenance {one.id} is called off" in capsys.readouterr().out
    assert listed(capsys).announced == ()
    assert maintenance("list") == 0
    assert capsys.readouterr().out == "no maintenance is announced\n"
    with reading(site.state) as tx:
        kinds = ("admin.announce", "admin.call_off")
        told = [(one.kind, one.body["reason"]) for _seq, one in tx.events(kinds=kinds)]
    assert told == [("admin.announce", "new disk"), ("admin.call_off", "no disk")]
    site.governor = site._open()


def test_a_governor_that_lives_announces_it_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story(door: Door) -> None:
        door.hub.service("c" * 64, "gpu-commons-cli", "custom:gpu-commons:admin")
        state = door.site.state
        (state / "tokens").mkdir()
        (state / "tokens/cli").write_text("c" * 64)
        (state / "run.json").write_text(json.dumps({"api": f"{door.url}{API.rstrip('/')}"}))
        words = (
            *("announce", "pool", "mig", "--from", "2026-12-01T06:00Z"),
            *("--until", "2026-12-01T09:00Z", "--reason", "driver", "--state", str(state)),
        )
        assert await asyncio.to_thread(maintenance, *words) == 0
        assert "pool mig" in capsys.readouterr().out
        [one] = door.site.governor.maintenance(now=door.site.now).announced
        assert (one.by, one.reason) == (actor().name, "driver")

    at_the_door(tmp_path, story)


@pytest.mark.parametrize(
    "words",
    [
        ("announce", "pool", "whole", "--from", "soon", "--for", "4h"),
        ("announce", "pool", "whole", "--from", "now", "--for", "long"),
        ("announce", "pool", "nowhere", "--from", "now", "--for", "4h"),
        ("call-off", "m-none"),
    ],
)
def test_rubbish_has_words(
    site: Site, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    site.governor.close()
    assert maintenance(*words, "--reason", "x") == 1
    assert "gpu-commons maintenance: " in capsys.readouterr().err
    site.governor = site._open()


def test_times_are_read_as_people_type_them() -> None:
    zone = "Europe/Zurich"
    assert instant("now", zone, NOON) == NOON
    assert instant("2026-12-04T13:00", zone, NOON) == NOON
    assert instant("2026-12-04T12:00Z", zone, NOON) == NOON
    assert instant("2026-12-04T07:00-05:00", zone, NOON) == NOON
    jumped = instant("2027-03-28T02:30", zone, NOON)
    assert f"{jumped:%H:%M}" == "01:00", "a time that the clock leaves out is when it jumps"
    with pytest.raises(GpuCommonsError, match="is no time"):
        instant("tomorrow", zone, NOON)
