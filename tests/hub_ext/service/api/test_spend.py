"""Spend as a script asks for it: words, pages that fit together, tags, and clear refusals."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.hub_ext.service.api.stories import at_the_door
from tests.support.governing import POLICY
from tests.support.identities import Door


async def told(door: Door, path: str, role: str = "admin") -> Any:
    answer = await door.call("GET", path, role)
    assert answer.code == 200, answer.body
    return json.loads(answer.body)


def spend_of(site_hours: int, door: Door) -> None:
    """Vera and Sam each hold a GPU for so many hours."""
    for user in ("vera", "sam"):
        door.site.report_devices()
        grant = door.site.run(user)
        door.site.later(site_hours * 3600)
        door.site.stop(grant)


def test_spend_is_told_apart_by_several_words(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        spend_of(1, door)
        found = await told(door, "spend?scope=all&window=month&aggregate=team,model")
        assert [(row["names"], row["amounts"][0]["micro"]) for row in found["rows"]] == [
            ({"team": "speech", "model": "h200-141gb"}, 3_600_000),
            ({"team": "vision", "model": "h200-141gb"}, 3_600_000),
        ]
        assert found["total"]["amounts"] == [{"currency": "EUR", "micro": 7_200_000}]
        assert found["rows"][1]["owners"] == ["lena"]
        mine = await told(door, "spend?window=7d&aggregate=user", "owner")
        assert [row["names"] for row in mine["rows"]] == [{"user": "vera"}]

    at_the_door(tmp_path, story)


def test_pages_of_one_answer_fit_together_while_more_is_charged(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        spend_of(1, door)
        asked = "spend?scope=all&aggregate=team&limit=1"
        first = await told(door, asked)
        spend_of(1, door)
        second = await told(door, f"{asked}&cursor={first['next_cursor']}")
        assert second["total"] == first["total"]
        assert second["as_of"] == first["as_of"]
        assert [page["rows"][0]["names"]["team"] for page in (first, second)] == [
            "speech",
            "vision",
        ]
        assert second["next_cursor"] is None
        sums = [page["rows"][0]["amounts"][0]["micro"] for page in (first, second)]
        assert sum(sums) == first["total"]["amounts"][0]["micro"]

    at_the_door(tmp_path, story)


def test_a_cursor_is_of_one_question_and_of_one_person(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        spend_of(1, door)
        asked = "spend?scope=all&aggregate=team&limit=1"
        cursor = (await told(door, asked))["next_cursor"]
        cases = {
            f"spend?scope=all&aggregate=user&limit=1&cursor={cursor}": "bad-cursor",
            f"{asked}&cursor={cursor}x": "bad-cursor",
            f"{asked}&cursor={quote('ü%')}": "bad-cursor",
            f"{asked}&cursor=": "bad-cursor",
        }
        for path, code in cases.items():
            answer = await door.call("GET", path, "admin")
            assert (answer.code, json.loads(answer.body)["code"]) == (400, code)
        answer = await door.call("GET", f"{asked}&cursor={cursor}", "lead")
        assert answer.code in {400, 403}
        door.site.restart()

    at_the_door(tmp_path, story)


def test_who_has_an_answer_already_is_told_so(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        spend_of(1, door)
        asked = "spend?scope=all&window=2026-11&aggregate=team&limit=1"
        first = await door.call("GET", asked, "admin")
        tag = {"If-None-Match": first.headers["ETag"]}
        door.site.later(60)
        again = await door.call("GET", asked, "admin", headers=tag)
        assert (again.code, again.body) == (304, b"")
        # The page that was kept names a page that can still be fetched.
        cursor = json.loads(first.body)["next_cursor"]
        assert (await door.call("GET", f"{asked}&cursor={cursor}", "admin")).code == 200
        spend_of(1, door)
        assert (await door.call("GET", asked, "admin", headers=tag)).code == 200

    at_the_door(tmp_path, story)


def test_rubbish_is_refused_with_what_can_be_asked(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        cases = {
            "spend?aggregate=nobody": "aggregate names",
            "spend?aggregate=team,team": "aggregate names",
            "spend?aggregate=team,": "aggregate names",
            "spend?limit=0": "limit is",
            "spend?limit=1001": "limit is",
            "spend?window=ages": "is no stretch of time",
            "spend?window=2026-11-08,2026-11-01": "is no stretch of time",
            "spend?scope=everybody": "scope is",
        }
        for path, words in cases.items():
            answer = await door.call("GET", path, "owner")
            assert answer.code == 400, path
            assert words in json.loads(answer.body)["detail"]

    at_the_door(tmp_path, story)


def test_spend_is_explained_in_five_sheets(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        spend_of(1, door)
        scope = "scope=team:vision"
        changes = await told(door, f"spend/changes?{scope}&window=2h", "lead")
        assert [row["main"] for row in changes["rows"]] == ["hours"]
        assert changes["total"]["change_micro"] == 3_600_000
        models = await told(door, f"spend/models?{scope}", "lead")
        assert models["rows"][0]["row"]["owners"] == ["lena"]
        dear = await told(door, f"spend/dearest?{scope}&limit=1", "lead")
        assert (dear["leases"], dear["rows"][0]["user"]) == (1, "vera")
        value = await told(door, f"value?{scope}", "lead")
        assert value["without_purpose"]["leases"] == 1
        owners = await told(door, f"spend/owners?{scope}&window=2026-11", "lead")
        assert [(row["pool"], row["team"]) for row in owners["rows"]] == [("whole", "vision")]
        assert owners["months"] == ["2026-11"]

    at_the_door(tmp_path, story)


def test_an_open_month_is_held_against_as_much_of_the_month_before(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        found = await told(door, "spend/changes?window=month")
        # 30 November 09:00 is 29 days and 9 hours into the month.
        assert found["end"] == "2026-11-30T09:00:00Z"
        assert found["before_start"] == "2026-10-01T00:00:00Z"
        assert found["before_end"] == "2026-10-30T09:00:00Z"
        over = await told(door, "spend/changes?window=2026-10")
        assert (over["before_start"], over["before_end"]) == (
            "2026-09-01T00:00:00Z",
            "2026-10-01T00:00:00Z",
        )

    at_the_door(tmp_path, story)


def test_leads_are_told_of_no_people_where_the_policy_keeps_them(tmp_path: Path) -> None:
    kept = POLICY.replace("notice: {", "statement: {members: false}\nnotice: {")

    async def story(door: Door) -> None:
        spend_of(1, door)
        for path in ("spend", "spend/changes"):
            for word in ("user", "lease"):
                asked = f"{path}?scope=team:vision&aggregate=project,{word}"
                answer = await door.call("GET", asked, "lead")
                assert (answer.code, json.loads(answer.body)["code"]) == (403, "no-people")
                assert (await door.call("GET", asked, "admin")).code == 200
        dear = await told(door, "spend/dearest?scope=team:vision", "lead")
        assert [row["user"] for row in dear["rows"]] == [None]
        assert b"vera" not in (await door.call("GET", "value?scope=team:vision", "lead")).body
        mine = await told(door, "spend?aggregate=user,lease", "owner")
        assert mine["rows"][0]["names"]["user"] == "vera"

    at_the_door(tmp_path, story, policy=kept)
