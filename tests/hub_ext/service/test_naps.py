"""A governor that was asleep: what lay in its socket is old, and who has gone gets nothing."""

import asyncio
import json
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from hub_ext.lease import Ask, LeaseState, Liveness, OpenLease, Report, ReportKind
from hub_ext.service.basis.naps import AFTER_S, Naps
from tests.support.governing import Site, site_in
from tests.support.identities import API, Door, door_to

ASK = "custom:gpu-commons:ask"


class Steady:
    """A clock that goes on when it is told."""

    def __init__(self) -> None:
        self.now_s = 50.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def steady() -> Steady:
    return Steady()


@pytest.fixture
def naps(steady: Steady) -> Naps:
    naps = Naps(steady)
    naps.tick()
    return naps


def test_who_runs_all_the_time_has_let_nothing_lie(steady: Steady, naps: Naps) -> None:
    for _tick in range(20):
        steady.now_s += 0.3
        naps.tick()
        assert naps.lain_ms() == 0


def test_after_a_nap_what_comes_may_be_as_old_as_the_nap(steady: Steady, naps: Naps) -> None:
    steady.now_s += 60
    assert naps.lain_ms() == 60_000, "also before the loop has ticked again"
    steady.now_s += 1
    assert naps.lain_ms() == 61_000
    for _tick in range(int(AFTER_S)):
        steady.now_s += 1
        naps.tick()
    assert naps.lain_ms() == 0


def test_two_naps_in_a_row_are_one(steady: Steady, naps: Naps) -> None:
    for _nap in range(2):
        steady.now_s += 60
        naps.tick()
    assert naps.lain_ms() == 120_000


def test_who_never_ticked_tells_of_no_nap(steady: Steady) -> None:
    naps = Naps(steady)
    steady.now_s += 60
    assert naps.lain_ms() == 0


def raw(door: Door, path: str, body: str) -> bytes:
    """Write a request as the spawner does."""
    host = urlsplit(door.url).netloc
    head = (
        f"POST {API}{path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: token spawner\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return (head + body).encode()


def put(door: Door, content: bytes) -> socket.socket:
    """Leave a request in the governor's socket; its loop does not run meanwhile."""
    where = urlsplit(door.url)
    assert where.hostname is not None
    connection = socket.create_connection((where.hostname, where.port or 0))
    connection.sendall(content)
    return connection


async def opened(site: Site, asked: Ask, *, stays: bool) -> bool:
    """Whether an ask that lay in the socket is granted; who asked stays, or has gone."""
    async with door_to(site) as door:
        door.hub.service("spawner", "gpu-commons-spawner", ASK)
        connection = put(door, raw(door, "attempts", asked.model_dump_json()))
        if not stays:
            connection.close()
        for _look in range(30):
            if await door.core.run(lambda core, _now: core.leases()):
                break
            await asyncio.sleep(0.05)
        connection.close()
        return bool(await door.core.run(lambda core, _now: core.leases()))


@pytest.mark.parametrize("stays", [True, False])
def test_nothing_is_granted_to_somebody_who_has_gone(tmp_path: Path, *, stays: bool) -> None:
    with site_in(tmp_path / "state") as site:
        asked = site.asking("sam")
        assert asyncio.run(opened(site, asked, stays=stays)) is stays


def test_an_end_that_lay_in_the_socket_is_as_old_as_the_nap(tmp_path: Path) -> None:
    with site_in(tmp_path / "state") as site:
        grant = site.run("sam")
        process = site.lease(grant).process
        assert process is not None

        async def story() -> OpenLease | None:
            async with door_to(site) as door:
                door.hub.service("spawner", "gpu-commons-spawner", ASK)
                steady = Steady()
                door.core.naps = Naps(steady)
                door.core.naps.tick()
                site.later(100)
                told = Report(
                    kind=ReportKind.ended, key=grant.key, liveness=Liveness.gone, asked=True
                )
                site.machine.end(process)
                path = f"attempts/{grant.attempt_id}/reports"
                body = json.loads(told.model_dump_json())
                site.later(3600)
                steady.now_s += 3600
                answer = await door.call("POST", path, "spawner", body)
                assert answer.code == 204
                return await door.core.run(lambda core, _now: core.lease(grant.lease_id))

        closed = asyncio.run(story())
        assert closed is not None
        assert closed.state is LeaseState.closed
        assert closed.closed_at is not None
        assert closed.assigned_at is not None
        assert (closed.closed_at - closed.assigned_at).total_seconds() == 100
