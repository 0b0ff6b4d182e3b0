"""A server tells of itself alone, in few words, and hears no more than that it was taken."""

import json
from pathlib import Path

from tests.hub_ext.service.api.stories import at_the_door
from tests.support.identities import Door

WORD = {"at": "2026-11-30T09:00:00Z", "kernels": 2, "kernels_busy": 0, "terminals": 1}
MINE = "servers/vera/-/activity"


def test_a_server_is_heard_and_told_nothing(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        lease = door.site.lease(door.site.run("vera"))
        answer = await door.call("POST", MINE, "owners-server", WORD)
        assert (answer.code, answer.body) == (204, b"")
        heard = door.site.governor._desk.activity.of(lease, door.site.now)
        assert heard is not None
        assert (heard.kernels, heard.terminals) == (2, 1)

    at_the_door(tmp_path, story)


def test_another_server_of_the_same_person_cannot_speak_for_it(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        door.site.run("vera")
        for token, path in (
            ("owners-other-server", MINE),
            ("owners-server", "servers/vera/two/activity"),
            ("owners-server", "servers/sam/-/activity"),
        ):
            answer = await door.call("POST", path, token, WORD)
            assert (answer.code, json.loads(answer.body)["code"]) == (403, "other-server")
        assert len(door.site.governor._desk.activity) == 0

    at_the_door(tmp_path, story)


def test_what_is_too_long_or_too_often_or_no_word_at_all_is_refused(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        door.site.run("vera")
        wrong = [
            ({**WORD, "output": "x" * 5000}, 413),
            ({**WORD, "output": "secret"}, 400),
            ({**WORD, "kernels": -1}, 400),
            ({**WORD, "kernels": 1e9}, 400),
            ({**WORD, "at": "2026-11-30T09:00:00"}, 400),
        ]
        for word, code in wrong:
            assert (await door.call("POST", MINE, "owners-server", word)).code == code
        assert (await door.call("POST", MINE, "owners-server", WORD)).code == 204
        again = await door.call("POST", MINE, "owners-server", WORD)
        assert (again.code, again.headers["Retry-After"]) == (429, "2")

    at_the_door(tmp_path, story)
