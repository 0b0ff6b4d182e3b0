"""The page of what waits, as served: what it says, what it does, and how it hears of news."""

import asyncio
import json
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

from tornado.httpclient import HTTPResponse

from hub_ext.lease import Cause, LeaseState, UserName, When
from hub_ext.policy.catalogue import Person
from tests.hub_ext.service.api.stories import at_the_door
from tests.support.identities import PREFIX, Door

PAGE = f"{PREFIX}queue"


def words(answer: HTTPResponse) -> str:
    assert answer.code == 200, answer.body
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.body.decode())).split())


def full(door: Door) -> None:
    """Vision's own GPU and the one that it may borrow are taken."""
    door.site.run("viktor")
    door.site.run("viktor", server="second")
    door.site.later(60)


async def submit(door: Door, path: str, token: str, **fields: str) -> HTTPResponse:
    return await door.call(
        "POST",
        f"{PAGE}/{path}",
        token,
        urlencode(fields).encode(),
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )


def test_the_page_says_place_reason_what_is_short_and_what_could_start(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        full(door)
        door.site.waits("viktor", server="third")
        door.site.later(60)
        lease = door.site.waits("vera")
        text = words(await door.call("GET", PAGE, "owner"))
        assert "Number 2 for pool whole: 1 request is before yours." in text
        assert "1 GPU" in text
        assert "Could start at once instead: No GPU, MIG" in text
        assert "starts by itself" in text
        assert "Ask again later" not in text
        assert "Nothing of yours runs." in words(await door.call("GET", PREFIX, "owner"))
        assert lease.id not in words(await door.call("GET", PAGE, "teammate"))
        assert "Nothing of yours waits." in words(await door.call("GET", PAGE, "guest"))

    at_the_door(tmp_path, story)


def test_a_held_device_is_shown_with_its_end_and_the_way_to_start(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        full(door)
        lease = door.site.waits("vera", when=When.hold)
        (blocking, _second) = [
            one for one in door.site.governor.leases() if one.key.user == "viktor"
        ]
        assert blocking.grant is not None
        door.site.stop(blocking.grant)
        door.site.serve()
        answer = await door.call("GET", PAGE, "owner")
        assert "It is your turn" in words(answer)
        assert "Held until 2026-11-30 09:06:00 UTC" in words(answer)
        assert 'href="/hub/spawn/vera"' in answer.body.decode()
        grant = door.site.ask(door.site.asking("vera"))
        assert grant.lease_id == lease.id
        assert "Open the server" in words(await door.call("GET", PAGE, "owner"))

    at_the_door(tmp_path, story)


def test_its_owner_leaves_or_changes_it_and_nobody_else_does(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        full(door)
        lease = door.site.waits("vera", "one")
        for role in ("teammate", "guest", "lead"):
            assert (await submit(door, "cancel", role, lease=lease.id)).code in {403, 404}
        changed = await submit(
            door, "change", "owner", lease=lease.id, offer="one/vision", when="hold"
        )
        assert changed.code == 302
        assert door.site.now_is(lease).when is When.hold
        wrong = await submit(door, "change", "owner", lease=lease.id, offer="", when="never")
        assert wrong.code == 400
        assert (await submit(door, "cancel", "owner", lease=lease.id)).code == 302
        assert door.site.now_is(lease).cause is Cause.cancelled
        text = words(await door.call("GET", PAGE, "owner"))
        assert "Nothing of yours waits." in text
        assert "vera took this request out of the queue." in text

    at_the_door(tmp_path, story)


def test_the_api_lists_own_requests_teams_to_leads_and_all_to_admins(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        full(door)
        lease = door.site.waits("vera")
        seen = {}
        for role in ("owner", "teammate", "lead", "other-lead", "admin"):
            sheet = json.loads((await door.call("GET", "queue", role)).body)
            seen[role] = [one["lease_id"] for one in sheet["tickets"]]
        assert seen == {
            "owner": [lease.id],
            "teammate": [],
            "lead": [lease.id],
            "other-lead": [],
            "admin": [lease.id],
        }
        (ticket,) = json.loads((await door.call("GET", "queue", "owner")).body)["tickets"]
        assert (ticket["position"], ticket["state"]) == (1, "queued")
        assert {one["profile"] for one in ticket["can_start"]} == {"cpu", "small"}
        answer = await door.call("POST", f"leases/{lease.id}/cancel", "owner")
        assert answer.code == 200
        assert door.site.now_is(lease).state is LeaseState.closed

    at_the_door(tmp_path, story)


def test_an_admins_start_waits_for_the_servers_owner_and_shows_on_their_page(
    tmp_path: Path,
) -> None:
    async def story(door: Door) -> None:
        full(door)
        # The spawner asks for the owner, whoever pressed the button on the hub.
        asked = door.site.asking("vera", server="by-admin", when=When.start)
        answer = await door.call("POST", "attempts", "spawner", json.loads(asked.model_dump_json()))
        assert json.loads(answer.body)["code"] == "queued"
        assert "by-admin" in words(await door.call("GET", PAGE, "owner"))
        (ticket,) = json.loads((await door.call("GET", "queue", "admin")).body)["tickets"]
        assert ticket["server"]["user"] == "vera"
        assert "by-admin" not in words(await door.call("GET", PAGE, "admin"))
        left = await door.call("POST", f"leases/{ticket['lease_id']}/cancel", "admin")
        assert left.code == 200
        told = words(await door.call("GET", PAGE, "owner"))
        assert "ada took this request out of the queue." in told

    at_the_door(tmp_path, story)


def test_a_guest_of_a_shared_server_stops_extends_and_reads_nothing_of_it(
    tmp_path: Path,
) -> None:
    async def story(door: Door) -> None:
        grant = door.site.run("vera")
        for verb, body in (
            ("stop", None),
            ("extend", {"seconds": 60}),
            ("keep", None),
            ("cancel", None),
            ("change", {"choice": {"profile": "one"}, "when": "hold"}),
        ):
            answer = await door.call("POST", f"leases/{grant.lease_id}/{verb}", "guest", body)
            assert (answer.code, json.loads(answer.body)["code"]) == (404, "no-such-lease")
        for path in (f"leases/{grant.lease_id}", "servers/vera/-/lease"):
            assert (await door.call("GET", path, "guest")).code == 404
        usage = json.loads((await door.call("GET", "usage?scope=me", "guest")).body)
        assert usage["rows"] == []
        assert door.site.lease(grant).state is LeaseState.running
        for page in ("leases/" + grant.lease_id, "why/vera/-"):
            assert (await door.call("GET", PREFIX + page, "guest")).code == 404

    at_the_door(tmp_path, story)


def test_an_open_page_is_told_of_changes_and_of_nothing_else(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        full(door)
        lease = door.site.waits("vera")
        heard: list[str] = []
        stream = door.client.fetch(
            f"{door.url}{PAGE}/news",
            headers={"Authorization": "token owner"},
            streaming_callback=lambda chunk: heard.append(chunk.decode()),
            request_timeout=20,
            raise_error=False,
        )
        await until(lambda: "event: seen" in "".join(heard))
        await door.core.run(lambda core, now: core.offers(_vera(), now=now))
        await door.call("POST", f"leases/{lease.id}/cancel", "owner")
        await until(lambda: "event: change" in "".join(heard))
        assert "".join(heard).count("event: change") == 1
        door.core.stream.close()
        await stream

    at_the_door(tmp_path, story)


def _vera() -> Person:
    return Person(user=UserName("vera"), groups=("vision",))


async def until(done: Callable[[], bool]) -> None:
    for _look in range(500):
        if done():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it never came")
