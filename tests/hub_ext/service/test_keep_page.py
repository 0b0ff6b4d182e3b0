"""The form with which a lead lets somebody keep servers for longer, and the command beside it."""

import json
import re
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest
from tornado.httpclient import HTTPResponse

from hub_ext.cli import main
from tests.hub_ext.service.api.stories import at_the_door
from tests.support.governing import site_in
from tests.support.identities import PREFIX, Door


def words(answer: HTTPResponse) -> str:
    assert answer.code == 200, answer.body
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.body.decode())).split())


async def grant(door: Door, token: str, **fields: str) -> HTTPResponse:
    given = {"user": "vera", "more": "8h", "days": "7", "reason": "a deadline", **fields}
    return await door.call(
        "POST",
        f"{PREFIX}team/vision/keep",
        token,
        urlencode(given).encode(),
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )


def test_a_lead_grants_more_with_the_form_and_sees_it_with_its_end(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        before = words(await door.call("GET", f"{PREFIX}team/vision", "lead"))
        assert "Nobody may keep a server for longer than the policy says." in before
        answer = await grant(door, "lead")
        assert (answer.code, answer.headers["Location"]) == (302, f"{PREFIX}team/vision#keeps")
        after = words(await door.call("GET", f"{PREFIX}team/vision", "lead"))
        assert re.search(r"vera 8h more 2026-12-07 09:00[^ ]* UTC lena a deadline", after)

    at_the_door(tmp_path, story)


def test_nobody_else_grants_and_nothing_odd_is_recorded(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        for role in ("owner", "teammate", "other-lead", "guest"):
            assert (await grant(door, role)).code == 403
        odd = (
            ({"reason": " "}, "Say who"),
            ({"user": " "}, "Say who"),
            ({"user": "v" * 256}, "of that length"),
            ({"more": "much"}, "is no duration"),
            ({"more": "8d"}, "at most 7d"),
            ({"days": "0"}, "1 to 31"),
            ({"days": "many"}, "1 to 31"),
            ({"days": "9" * 40}, "1 to 31"),
        )
        for fields, said in odd:
            answer = await grant(door, "lead", **fields)
            assert 400 <= answer.code < 500
            assert said in unescape(answer.body.decode())
        assert door.site.governor.keep_grants("vision", now=door.site.now).grants == ()
        assert (await grant(door, "admin", user="<b>vera</b>")).code == 302
        page = await door.call("GET", f"{PREFIX}team/vision", "lead")
        assert b"<b>vera" not in page.body

    at_the_door(tmp_path, story)


def test_the_command_grants_lists_and_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with site_in(tmp_path / "state") as site:
        monkeypatch.setenv("GPU_COMMONS_STATE", str(site.state))
        site.governor.close()
        assert (
            main(["keep", "grant", "vision", "vera", "8h", "--for", "7d", "--reason", "due"]) == 0
        )
        assert re.search(r"vera +8h", capsys.readouterr().out)
        assert main(["keep", "list", "vision", "--json"]) == 0
        (found,) = json.loads(capsys.readouterr().out)["grants"]
        assert (found["user"], found["more_s"], found["reason"]) == ("vera", 8 * 3600, "due")
        wrong = (
            (["grant", "vision", "vera", "8d", "--for", "7d", "--reason", "due"], "at most 7d"),
            (["grant", "none", "vera", "8h", "--for", "7d", "--reason", "due"], "no team 'none'"),
            (["grant", "vision", "vera", "8h", "--for", "40d", "--reason", "due"], "31 days"),
            (["list", "none"], "no team 'none'"),
        )
        for words_of, said in wrong:
            assert main(["keep", *words_of]) == 1
            assert said in capsys.readouterr().err
        site.governor = site._open()
