"""Requests as they really come: rubbish, too large, twice, by cookie, while something is away."""

import asyncio
import json
import time
from datetime import datetime
from pathlib import Path

import pytest
from tornado.web import create_signed_value

from hub_ext.lease import Health, LeaseState, Liveness, Report, ReportKind
from hub_ext.service.core.governor import Governor
from tests.hub_ext.service.api.stories import at_the_door
from tests.support.governing import POLICY
from tests.support.identities import API, PREFIX, Door

RUBBISH = [
    b"",
    b"{",
    b"[]",
    b"null",
    b'"text"',
    b"\xff\xfe",
    b'{"attempt_id": 5}',
    b'{"attempt_id": "abcdefgh", "key": {"user": "x"}, "choice": {"profile": "one"}, "more": 1}',
    b"[" * 100_000,
    b'{"attempt_id": "' + b"a" * 5000 + b'"}',
    b'{"attempt_id": "a b c d e f", "key": {"user": "x"}, "choice": {"profile": "one"}}',
    (
        b'{"attempt_id": "abcdefgh", "key": {"user": "x"}, "choice": {"profile": "one", '
        b'"lifetime_s": 1e400}}'
    ),
    b'{"attempt_id": "abcdefgh", "key": {"user": "x"}, "choice": {"profile": "\\u0000\\ud800"}}',
]


def problem(body: bytes) -> dict[str, object]:
    found = json.loads(body)
    assert isinstance(found, dict)
    return found


def test_rubbish_gets_a_clear_400_and_grants_nothing(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        for body in RUBBISH:
            answer = await door.call("POST", "attempts", "spawner", body)
            assert answer.code == 400, body[:80]
            assert problem(answer.body)["code"] in {"bad-request", "unknown-profile"}
            assert b"Traceback" not in answer.body
        assert door.site.governor.leases() == ()

    at_the_door(tmp_path, story)


@pytest.mark.parametrize("tail", ["extend", "stop", "keep"])
def test_rubbish_on_a_lease_leaves_it_alone(tmp_path: Path, tail: str) -> None:
    async def story(door: Door) -> None:
        grant = door.site.run("vera")
        for body in (
            {"seconds": -5},
            {"seconds": "60"},
            {"seconds": True},
            {"seconds": 10**30},
            {"hours": 1},
        ):
            answer = await door.call("POST", f"leases/{grant.lease_id}/{tail}", "teammate", body)
            assert answer.code in {400, 404}
        assert door.site.lease(grant).state is LeaseState.running

    at_the_door(tmp_path, story)


def test_a_body_above_the_limit_is_refused_with_the_limit(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        answer = await door.call("POST", "attempts", "spawner", b"x" * 5000)
        assert answer.code == 413
        assert problem(answer.body)["figures"] == {"most_bytes": 4000}

    at_the_door(tmp_path, story, most_body_bytes=4000)


def test_a_body_far_above_the_limit_is_heard_out_and_refused_in_words(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        for size in (4001, 4000 + 65536, 5_000_000):
            answer = await door.call("POST", "attempts", "spawner", b"x" * size)
            assert answer.code == 413
            assert "more than 4000 bytes" in str(problem(answer.body)["detail"])
        assert (await door.call("GET", "leases", "owner")).code == 200

    at_the_door(tmp_path, story, most_body_bytes=4000)


def test_a_name_too_long_for_the_ledger_is_refused_in_words(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        grant = door.site.run("vera")
        for length, code in ((255, 404), (256, 400), (4000, 400)):
            door.hub.person(f"long-{length}", "v" * length, groups=("vision",))
            stop = f"leases/{grant.lease_id}/stop"
            answer = await door.call("POST", stop, f"long-{length}")
            assert answer.code == code
        assert "more than 255 characters" in str(problem(answer.body)["detail"])
        assert door.site.lease(grant).state is LeaseState.running

    at_the_door(tmp_path, story)


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("PUT", "usage", 405),
        ("DELETE", "leases", 405),
        ("PUT", "policy", 405),
        ("GET", "nothing", 404),
        ("GET", "leases/a/b/c", 404),
        ("POST", f"{PREFIX}healthz", 405),
        ("GET", "/elsewhere", 404),
    ],
)
def test_unknown_routes_and_methods_are_problems_too(
    tmp_path: Path, method: str, path: str, code: int
) -> None:
    async def story(door: Door) -> None:
        answer = await door.call(method, path, "admin")
        assert answer.code == code
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert problem(answer.body)["status"] == code

    at_the_door(tmp_path, story)


def test_a_refusal_carries_code_figures_and_when_to_ask_again(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        door.site.run("sam", "two")
        door.site.run("vera")
        body = json.loads(door.site.asking("viktor").model_dump_json())
        answer = await door.call("POST", "attempts", "spawner", body)
        found = problem(answer.body)
        assert (answer.code, found["code"]) == (409, "would-queue")
        assert found["type"] == "https://gpu-commons.dev/problems/would-queue"
        assert found["figures"]
        assert answer.headers["Retry-After"] == str(found["retry_after_s"])

    at_the_door(tmp_path, story)


def test_an_ask_and_its_reports_travel_the_whole_way(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        asked = json.loads(door.site.asking("vera").model_dump_json())
        first = await door.call("POST", "attempts", "spawner", asked)
        again = await door.call("POST", "attempts", "spawner", asked)
        assert (first.code, first.body) == (200, again.body)
        grant = json.loads(first.body)
        key = door.site.asking("vera").key
        for kind, liveness in ((ReportKind.started, "alive"), (ReportKind.ended, "gone")):
            told = Report(kind=kind, key=key, liveness=Liveness(liveness), asked=True)
            path = f"attempts/{grant['attempt_id']}/reports"
            answer = await door.call("POST", path, "spawner", json.loads(told.model_dump_json()))
            assert (answer.code, answer.body) == (204, b"")
        view = json.loads((await door.call("GET", f"leases/{grant['lease_id']}", "owner")).body)
        assert (view["ended"]["cause"], view["lease"]) == ("user", None)

    at_the_door(tmp_path, story)


PINNED = POLICY.replace(
    "maps: {team: vision}",
    "maps: {team: vision, environments: {main: {prefix: envs/maps, digest: "
    f"'sha256:{'a' * 64}'}}}}}}",
)


def test_an_environment_is_checked_before_each_grant_and_placed_in_offers(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        asked = json.loads(door.site.asking("vera", "cpu").model_dump_json())
        granted = json.loads((await door.call("POST", "attempts", "spawner", asked)).body)
        assert granted["environment"]["prefix"] == "/pinned/envs/maps"
        offers = json.loads((await door.call("GET", "offers", "owner")).body)["offers"]
        assert {offer["environment"]["prefix"] for offer in offers} == {"/pinned/envs/maps"}
        door.pins.drifted.add("main")
        asked = json.loads(door.site.asking("viktor").model_dump_json())
        refused = await door.call("POST", "attempts", "spawner", asked)
        assert (refused.code, problem(refused.body)["code"]) == (409, "environment-drifted")
        assert door.pins.checked == ["main", "main"]

    at_the_door(tmp_path, story, policy=PINNED)


def test_a_hub_that_is_away_lets_nobody_in_and_says_so(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        door.hub.away = True
        answer = await door.call("GET", "leases", "owner")
        assert (answer.code, problem(answer.body)["code"]) == (503, "hub-unreachable")
        health = await door.call("GET", f"{PREFIX}healthz")
        assert health.code == 200

    at_the_door(tmp_path, story)


def test_a_ledger_that_cannot_be_written_grants_nothing(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        door.site.ledger._connection.close()
        body = json.loads(door.site.asking("vera").model_dump_json())
        answer = await door.call("POST", "attempts", "spawner", body)
        assert answer.code in {500, 503}
        assert b"granted" in answer.body or problem(answer.body)["code"] == "internal"

    at_the_door(tmp_path, story)


def cookie(door: Door, role: str) -> str:
    """Sign a token into the cookie as HubOAuth does after a sign-in."""
    name = door.hub.cookie_name
    secret = door.cookie_secret
    return f"{name}={create_signed_value(secret, name, role).decode()}"


def test_a_browser_without_the_pages_token_changes_nothing(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        grant = door.site.run("vera")
        path = f"leases/{grant.lease_id}/stop"
        signed = cookie(door, "owner")
        forged = await door.call("POST", path, headers={"Cookie": signed})
        assert (forged.code, problem(forged.body)["code"]) == (403, "sign-in-again")
        assert door.site.lease(grant).state is LeaseState.running
        page = await door.call("GET", "leases", headers={"Cookie": signed})
        assert page.code == 200

    at_the_door(tmp_path, story)


def test_a_browser_with_the_pages_token_may_act(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        grant = door.site.run("vera")
        signed = cookie(door, "owner")
        xsrf, given = await door.xsrf(signed)
        headers = {"Cookie": f"{signed}; _xsrf={given}", "X-Xsrftoken": xsrf}
        done = await door.call("POST", f"leases/{grant.lease_id}/stop", headers=headers)
        assert done.code == 202
        assert door.site.lease(grant).state is LeaseState.stopping

    at_the_door(tmp_path, story)


@pytest.mark.parametrize(
    "query",
    ["after=x", "after=-1", "wait_s=1.5", "wait_s=1e3", "after=" + "9" * 400, "wait_s=%00"],
)
def test_rubbish_in_a_query_is_a_clear_400(tmp_path: Path, query: str) -> None:
    async def story(door: Door) -> None:
        answer = await door.call("GET", f"servers/vera/-/lease?{query}", "owner")
        assert answer.code == 400
        assert problem(answer.body)["code"] == "bad-request"

    at_the_door(tmp_path, story)


@pytest.mark.parametrize(
    "query",
    [
        "scope=team:",
        "scope=x",
        "window=1y",
        "start=yesterday",
        "start=2026-11-30T10:00:00",
        "start=2026-12-01T00:00:00Z&end=2026-11-01T00:00:00Z",
        "window=0d",
        "start=9999-12-31T23:59:59-23:59",
        "end=0001-01-01T00:00:00%2B23:59",
    ],
)
def test_rubbish_in_a_report_is_a_clear_400(tmp_path: Path, query: str) -> None:
    async def story(door: Door) -> None:
        answer = await door.call("GET", f"{API}usage?{query}", "admin")
        assert answer.code == 400

    at_the_door(tmp_path, story)


def test_however_many_ask_for_health_the_core_looks_once_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[datetime] = []
    look = Governor.health

    def slowly(governor: Governor, *, now: datetime) -> Health:
        looks.append(now)
        time.sleep(0.1)
        return look(governor, now=now)

    monkeypatch.setattr(Governor, "health", slowly)

    async def story(door: Door) -> None:
        answers = await asyncio.gather(*(door.call("GET", f"{PREFIX}healthz") for _ in range(40)))
        assert {answer.code for answer in answers} == {200}
        assert len(looks) < 10
        before = len(looks)
        await door.call("GET", f"{PREFIX}healthz")
        assert len(looks) == before + 1

    at_the_door(tmp_path, story)
