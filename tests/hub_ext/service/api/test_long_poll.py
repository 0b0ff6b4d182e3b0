"""Held requests: answered at the news, at the end of the wait, and when the service ends."""

import asyncio
import json
from pathlib import Path

from hub_ext.lease import Cause, Notice, Reason
from tests.hub_ext.service.api.stories import at_the_door
from tests.support.identities import Door

LEASE = "servers/vera/-/lease"


async def seq_of(door: Door) -> int:
    seq = json.loads((await door.call("GET", LEASE, "owners-server")).body)["seq"]
    assert isinstance(seq, int)
    return seq


async def until_waiting(door: Door, count: int) -> None:
    for _try in range(200):
        if door.core.stream.waiting == count:
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"{door.core.stream.waiting} wait instead of {count}")


def test_it_is_answered_at_once_on_a_notice(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        grant = door.site.run("vera")
        seq = await seq_of(door)
        held = asyncio.create_task(
            door.call("GET", f"{LEASE}?after={seq}&wait_s=25", "owners-server")
        )
        await until_waiting(door, 1)
        now = door.site.later(1)
        reason = Reason(code="idle", message="It is idle.")
        notice = Notice(cause=Cause.culled, given_at=now, stops_at=now, reason=reason)
        began = asyncio.get_running_loop().time()
        await door.core.run(
            lambda core, at: core.give_notice(grant.lease_id, notice, evidence=None, now=at)
        )
        view = json.loads((await held).body)
        assert asyncio.get_running_loop().time() - began < 5
        assert view["seq"] > seq
        assert view["lease"]["state"] == "noticed"
        assert view["lease"]["notice"]["cause"] == "culled"
        await until_waiting(door, 0)

    at_the_door(tmp_path, story)


def test_it_is_answered_at_once_when_there_is_news_already(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        door.site.run("vera")
        for query in ("", "?after=0&wait_s=25", "?wait_s=25"):
            answer = await asyncio.wait_for(door.call("GET", LEASE + query, "owner"), 10)
            assert json.loads(answer.body)["lease"]["state"] == "running"

    at_the_door(tmp_path, story)


def test_without_news_it_is_answered_at_the_end_of_the_wait_with_fresh_figures(
    tmp_path: Path,
) -> None:
    async def story(door: Door) -> None:
        door.site.run("vera")
        first = json.loads((await door.call("GET", LEASE, "owner")).body)
        held = asyncio.create_task(
            door.call("GET", f"{LEASE}?after={first['seq']}&wait_s=1", "owner")
        )
        await until_waiting(door, 1)
        door.site.later(100)
        last = json.loads((await held).body)
        assert last["seq"] == first["seq"]
        assert last["cost"]["so_far_micro"] == first["cost"]["so_far_micro"] + 100_000

    at_the_door(tmp_path, story)


def test_a_server_without_a_lease_waits_for_its_first(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        assert await seq_of(door) == 0
        held = asyncio.create_task(door.call("GET", f"{LEASE}?after=0&wait_s=25", "owner"))
        await until_waiting(door, 1)
        body = json.loads(door.site.asking("vera").model_dump_json())
        await door.call("POST", "attempts", "spawner", body)
        assert json.loads((await held).body)["lease"]["state"] == "starting"

    at_the_door(tmp_path, story)


def test_too_many_waiters_of_one_server_are_turned_away(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        door.site.run("vera")
        seq = await seq_of(door)
        path = f"{LEASE}?after={seq}&wait_s=2"
        held = [asyncio.create_task(door.call("GET", path, "owner")) for _one in range(3)]
        await until_waiting(door, 3)
        answer = await door.call("GET", path, "owner")
        assert (answer.code, json.loads(answer.body)["code"]) == (429, "too-many-waiting")
        assert {(await one).code for one in held} == {200}

    at_the_door(tmp_path, story, most_waiters=3)


def test_whoever_leaves_waits_no_more(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        door.site.run("vera")
        seq = await seq_of(door)
        _reader, writer = await asyncio.open_connection("127.0.0.1", int(door.url.split(":")[-1]))
        line = f"GET /services/gpu-commons/api/v1/{LEASE}?after={seq}&wait_s=60 HTTP/1.1\r\n"
        writer.write(f"{line}Host: x\r\nAuthorization: token owner\r\n\r\n".encode())
        await until_waiting(door, 1)
        writer.close()
        await until_waiting(door, 0)

    at_the_door(tmp_path, story)


def test_the_end_of_the_service_answers_everybody(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        door.site.run("vera")
        seq = await seq_of(door)
        held = asyncio.create_task(door.call("GET", f"{LEASE}?after={seq}&wait_s=60", "owner"))
        await until_waiting(door, 1)
        door.core.stream.close()
        assert (await asyncio.wait_for(held, 10)).code == 200

    at_the_door(tmp_path, story)
