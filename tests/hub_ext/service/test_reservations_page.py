"""Reservations through the API and the page: who sees whose, and what the forms do."""

import json
import re
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest
from tornado.httpclient import HTTPResponse

from hub_ext.lease.reserving import Reservation, ReservationSheet
from tests.hub_ext.service.api.stories import at_the_door
from tests.hub_ext.service.test_reserving import RULES
from tests.support.identities import PREFIX, Door

PAGE = f"{PREFIX}reservations"
WISH = {
    "profile": "one",
    "team": "vision",
    "user": "vera",
    "starts": "2026-12-01T09:00:00",
    "ends": "2026-12-01T12:00:00",
    "reason": "the demo",
}


def words(answer: HTTPResponse) -> str:
    assert answer.code == 200, answer.body
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.body.decode())).split())


async def reserve(door: Door, token: str = "lead", **more: str) -> Reservation:
    answer = await door.call("POST", "reservations", token, {**WISH, **more})
    assert answer.code == 201, answer.body
    return Reservation.model_validate_json(answer.body)


async def sheet(door: Door, token: str, query: str = "") -> ReservationSheet:
    answer = await door.call("GET", f"reservations{query}", token)
    return ReservationSheet.model_validate_json(answer.body)


async def submit(door: Door, path: str, token: str, **fields: str) -> HTTPResponse:
    return await door.call(
        "POST",
        f"{PAGE}/{path}",
        token,
        urlencode(fields).encode(),
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )


def test_owner_lead_and_admin_see_whose_it_is_and_others_that_the_pool_is_reserved(
    tmp_path: Path,
) -> None:
    async def story(door: Door) -> None:
        made = await reserve(door)
        assert made.made_by == "lena"
        for token in ("owner", "lead", "admin"):
            seen = await sheet(door, token)
            assert [one.id for one in seen.reservations] == [made.id]
            assert [one.reservation for one in seen.times] == [made.id]
        for token in ("teammate", "guest", "other-lead"):
            answer = await door.call("GET", "reservations", token)
            seen = ReservationSheet.model_validate_json(answer.body)
            assert seen.reservations == ()
            assert [(one.pool, one.gpus, one.reservation) for one in seen.times] == [
                ("whole", "1", None)
            ]
            assert b"vera" not in answer.body
            assert b"demo" not in answer.body
        assert (await sheet(door, "owner", "?days=1")).times == ()

    at_the_door(tmp_path, story, policy=RULES)


def test_a_conflict_is_a_problem_with_figures_and_rubbish_a_bad_request(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        await reserve(door)
        again = await door.call("POST", "reservations", "lead", WISH)
        problem = json.loads(again.body)
        assert (again.code, problem["code"]) == (409, "reservation-beyond-guarantee")
        assert problem["figures"]["reserved"] == "1 GPU"
        for change in (
            {"starts": "soon"},
            {"starts": "2026-12-01T09:00:00Z"},
            {"zone": "Mars/Olympus"},
            {"profile": "none"},
            {"ends": "0001-01-01T00:00:00"},
            {"starts": "9999-12-31T23:59:00", "ends": "9999-12-31T23:59:59"},
            {"weekly_until": "9999-12-31"},
        ):
            answer = await door.call("POST", "reservations", "lead", {**WISH, **change})
            assert answer.code == 400, (change, answer.body)

    at_the_door(tmp_path, story, policy=RULES)


@pytest.mark.parametrize(
    ("token", "code"), [("owner", 200), ("lead", 200), ("admin", 200), ("other-lead", 404)]
)
def test_who_may_see_it_may_call_it_off(tmp_path: Path, token: str, code: int) -> None:
    async def story(door: Door) -> None:
        made = await reserve(door)
        answer = await door.call("POST", f"reservations/{made.id}/cancel", token, {})
        assert answer.code == code
        left = await sheet(door, "owner")
        assert bool(left.reservations) == (code == 404)

    at_the_door(tmp_path, story, policy=RULES)


def test_the_page_shows_the_week_and_names_only_to_those_who_may_know(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        await reserve(door, weekly_until="2026-12-08")
        own = words(await door.call("GET", PAGE, "owner"))
        assert "Week of 2026-11-30" in own
        assert "09:00 to 12:00 1 GPU of whole yours" in own
        assert "2026-12-01 09:00 for 3h, UTC, weekly until 2026-12-08" in own
        assert "vera, team vision" in words(await door.call("GET", PAGE, "lead"))
        other = words(await door.call("GET", PAGE, "guest"))
        assert "09:00 to 12:00 1 GPU of whole reserved" in other
        assert "vera" not in other
        later = words(await door.call("GET", f"{PAGE}?week=2026-W50", "owner"))
        assert "Week of 2026-12-07" in later
        assert "2026-12-08 09:00 UTC" in later
        for rubbish in ("2026-W99", "9999-W52", "0001-W01", "<b>"):
            answer = await door.call("GET", f"{PAGE}?{urlencode({'week': rubbish})}", "owner")
            assert "Week of 2026-11-30" in words(answer)

    at_the_door(tmp_path, story, policy=RULES)


def test_one_time_of_a_weekly_one_is_left_out_on_the_page(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        made = await reserve(door, weekly_until="2026-12-08")
        assert "Leave one time out" in words(await door.call("GET", PAGE, "owner"))
        answer = await submit(door, "skip", "owner", reservation=made.id, day="2026-12-08")
        assert answer.code in {200, 302}, answer.body
        page = words(await door.call("GET", PAGE, "owner"))
        assert "weekly until 2026-12-08, but not on 2026-12-08" in page
        later = words(await door.call("GET", f"{PAGE}?week=2026-W50", "owner"))
        assert "Nothing of your pools is reserved in this week." in later
        assert (await submit(door, "skip", "owner", reservation=made.id, day="x")).code == 400
        assert (
            await submit(door, "skip", "guest", reservation=made.id, day="2026-12-01")
        ).code == 404
        again = await door.call(
            "POST", f"reservations/{made.id}/skip", "owner", {"day": "2026-12-08"}
        )
        assert (again.code, json.loads(again.body)["code"]) == (409, "no-such-time")

    at_the_door(tmp_path, story, policy=RULES)


def test_whose_groups_the_hub_cannot_tell_is_not_guessed(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        fields = {
            "profile": "one",
            "team": "vision",
            "starts": "2026-12-01T09:00",
            "ends": "2026-12-01T12:00",
        }
        for user, token, code in (
            ("sue", "lead", "not-a-member"),
            ("nobody", "lead", "not-a-member"),
            ("nobody", "other-lead", "not-your-team"),
        ):
            answer = await door.call("POST", "reservations", token, {**fields, "user": user})
            assert (answer.code, json.loads(answer.body)["code"]) == (403, code)
        door.people.silent = True
        answer = await door.call("POST", "reservations", "lead", {**fields, "user": "vera"})
        assert (answer.code, json.loads(answer.body)["code"]) == (409, "hub-unreachable")

    at_the_door(tmp_path, story, policy=RULES)


def test_the_form_is_for_those_with_the_right_and_does_what_the_api_does(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        assert "There is nothing that you may reserve" in words(
            await door.call("GET", PAGE, "owner")
        )
        page = words(await door.call("GET", PAGE, "lead"))
        assert "One GPU for team vision" in page
        assert "leads reserve; at most 3 GPUs reserved at once" in page
        answer = await submit(
            door,
            "make",
            "lead",
            offer="one/vision",
            user="vera",
            starts="2026-12-01T09:00",
            ends="2026-12-01T12:00",
            weekly_until="",
            when="start",
            reason="demo",
        )
        assert answer.code in {200, 302}, answer.body
        (made,) = (await sheet(door, "owner")).reservations
        assert (made.key.user, made.when.value, made.reason) == ("vera", "start", "demo")
        refused = await submit(
            door,
            "make",
            "lead",
            offer="two/vision",
            user="vera",
            starts="2026-12-01T09:00",
            ends="2026-12-01T12:00",
        )
        assert refused.code == 409
        assert b"guaranteed" in refused.body
        unread = await submit(door, "make", "lead", offer="one/vision", starts="soon", ends="")
        assert unread.code == 400
        await submit(door, "cancel", "owner", reservation=made.id)
        assert (await sheet(door, "owner")).reservations == ()

    at_the_door(tmp_path, story, policy=RULES)


def test_in_its_time_the_page_says_how_it_stands_and_leads_to_the_start(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        await reserve(door, starts="2026-11-30T10:00:00", ends="2026-11-30T12:00:00")
        door.site.later(3600)
        door.site.governor.tend_reservations(now=door.site.now)
        answer = await door.call("GET", PAGE, "owner")
        assert "GPUs are held for it; its time ends at 2026-11-30 12:00:00 UTC." in words(answer)
        assert 'href="/hub/spawn/vera"' in answer.body.decode()
        queue = words(await door.call("GET", f"{PREFIX}queue", "owner"))
        assert "Held until 2026-11-30 10:15:00 UTC." in queue
        mine = words(await door.call("GET", PREFIX, "owner"))
        assert "A reservation of yours has begun. GPUs are held for it" in mine
        assert "has begun" not in words(await door.call("GET", PREFIX, "teammate"))
        grant = door.site.run("vera")
        door.site.governor.tend_reservations(now=door.site.now)
        assert "has begun" not in words(await door.call("GET", PREFIX, "owner"))
        assert "in use; its time ends at" in words(await door.call("GET", PAGE, "owner"))
        assert door.site.lease(grant).reservation is not None

    at_the_door(tmp_path, story, policy=RULES)
