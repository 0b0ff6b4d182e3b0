"""My limits, and the shares on a team's page, as served: who sees them, and what the form does."""

import re
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

from tornado.httpclient import HTTPResponse

from hub_ext.policy.load import loads
from hub_ext.units import UNITS_PER_GPU
from tests.hub_ext.service.api.stories import at_the_door
from tests.hub_ext.service.test_sharing import SHARED
from tests.support.identities import PREFIX, Door


def words(answer: HTTPResponse) -> str:
    assert answer.code == 200, answer.body
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.body.decode())).split())


async def move(door: Door, token: str, **fields: str) -> HTTPResponse:
    given = {
        "pool": "whole",
        "from_project": "maps",
        "to_project": "birds",
        "gpus": "1",
        "reason": "a deadline",
        **fields,
    }
    return await door.call(
        "POST",
        f"{PREFIX}team/vision/move",
        token,
        urlencode(given).encode(),
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )


def shared(door: Door) -> None:
    door.site.governor.set_policy(loads(SHARED), now=door.site.now)


def birds(door: Door) -> int:
    """GPUs of the project birds today."""
    sheet = door.site.governor.moves("vision", now=door.site.now)
    return sum(one.units for one in sheet.shares if one.project == "birds") // UNITS_PER_GPU


def test_my_limits_have_a_section_for_each_subject(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        shared(door)
        page = await door.call("GET", f"{PREFIX}limits", "owner")
        text = words(page)
        assert "Every rule that binds you as a member of vision" in text
        assert "Pool whole: 1 GPU guaranteed, 0 GPUs held now" in text
        assert "teams.vision.quota.whole" in text
        assert "Task types open to you" in text
        assert "Training: weight 500" in text
        assert "Service" not in text
        kept = "you may keep one for 30m each time, 12h / 1d in all, and all of yours for 1d / 2d"
        assert kept in text
        assert page.body.count(b"<h2") == 8
        assert "speech" not in text
        nobody = words(await door.call("GET", f"{PREFIX}limits", "admin"))
        assert "no GPU is open to you" in nobody

    at_the_door(tmp_path, story)


def test_a_lead_moves_quota_with_the_form_and_sees_it_listed(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        shared(door)
        before = words(await door.call("GET", f"{PREFIX}team/vision", "lead"))
        assert "maps whole 1 GPU 1 GPU" in before
        assert "No quota was moved." in before
        answer = await move(door, "lead")
        assert (answer.code, answer.headers["Location"]) == (302, f"{PREFIX}team/vision#shares")
        after = words(await door.call("GET", f"{PREFIX}team/vision", "lead"))
        assert "1 GPU of whole maps birds from 2026-11-30 on in force lena a deadline" in after
        assert birds(door) == 1

    at_the_door(tmp_path, story)


def test_nobody_else_moves_it_and_nothing_odd_is_recorded(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        shared(door)
        for role in ("owner", "teammate", "other-lead", "guest"):
            assert (await move(door, role)).code == 403
        odd = (
            ({"reason": " "}, "Say why"),
            ({"gpus": "many"}, "many"),
            ({"gpus": "m" * 300}, "mmm"),
            ({"first_day": "soon"}, "2026-12-01"),
            ({"gpus": "2"}, "cannot be moved"),
            ({"to_project": "maps"}, "Name two"),
        )
        for fields, said in odd:
            answer = await move(door, "lead", **fields)
            assert 400 <= answer.code < 500
            assert said in unescape(answer.body.decode())
        assert birds(door) == 0
        assert (await move(door, "admin")).code == 302
        assert birds(door) == 1

    at_the_door(tmp_path, story)


def test_a_team_without_projects_has_no_form(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        page = await door.call("GET", f"{PREFIX}team/speech", "other-lead")
        assert b"/move" not in page.body

    at_the_door(tmp_path, story)
