"""`anomalies`: listed and acted upon through the living governor alone."""

import asyncio
import json
from pathlib import Path

import pytest

from hub_ext.cli import main
from hub_ext.lease.anomalies import AnomalySheet
from tests.hub_ext.service.api.stories import at_the_door
from tests.support.governing import site_in
from tests.support.identities import API, Door
from tests.support.odd_site import LONG, pass_time


def test_what_is_odd_is_listed_with_its_money_and_its_owner_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story(door: Door) -> None:
        door.hub.service("c" * 64, "gpu-commons-cli", "custom:gpu-commons:admin")
        site = door.site
        (site.state / "tokens").mkdir()
        (site.state / "tokens/cli").write_text("c" * 64)
        (site.state / "run.json").write_text(json.dumps({"api": f"{door.url}{API.rstrip('/')}"}))

        async def command(*words: str) -> int:
            return await asyncio.to_thread(main, ["anomalies", *words, "--state", str(site.state)])

        assert await command() == 0
        assert capsys.readouterr().out == "nothing is odd now\n"
        grant = site.run("sam")
        pass_time(site, 1.2)
        assert await command("--json") == 0
        [one] = AnomalySheet.model_validate_json(capsys.readouterr().out).open
        assert one.can == ("ask", "notice", "stop")
        assert await command() == 0
        said = capsys.readouterr().out
        assert f"{one.id}  sam" in said
        assert "EUR 4.32" in said
        assert f"{one.id}: Its GPU has not been used since it started." in said
        assert await command(one.id, "--do", "ask", "--reason", "still needed?") == 0
        notice = site.lease(grant).notice
        assert notice is not None
        assert "asks you: still needed?" in notice.reason.message
        capsys.readouterr()
        assert await command(one.id, "--do", "quarantine", "--reason", "no") == 1
        assert "Possible: ask, notice, stop" in capsys.readouterr().err
        assert await command(one.id) == 1
        assert "with --do" in capsys.readouterr().err
        assert await command(one.id, "--do", "ask") == 1
        assert "give a reason" in capsys.readouterr().err

    at_the_door(tmp_path, story, policy=LONG)


def test_without_a_governor_nobody_has_looked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with site_in(tmp_path):
        pass
    assert main(["anomalies", "--state", str(tmp_path)]) == 1
    assert "no governor lives" in capsys.readouterr().err
