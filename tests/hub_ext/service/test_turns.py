"""Turns of the event loop: a burst of connections and requests is taken a few at a time."""

import asyncio
import selectors
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream
from tornado.testing import bind_unused_port

from hub_ext.service.http.turns import MOST_EVENTS, FewAtATime, listen, new_loop
from tests.support.governing import site_in
from tests.support.identities import API, door_to

BURST = 50


@pytest.fixture
def pairs() -> Iterator[list[tuple[socket.socket, socket.socket]]]:
    """Ten connections with something to read on the left end of each."""
    with ExitStack() as opened:
        found = [socket.socketpair() for _n in range(10)]
        for left, right in found:
            opened.enter_context(left)
            opened.enter_context(right)
            right.send(b"x")
        yield found


@pytest.fixture
def few(pairs: list[tuple[socket.socket, socket.socket]]) -> Iterator[FewAtATime]:
    with FewAtATime() as selector:
        for left, _right in pairs:
            selector.register(left, selectors.EVENT_READ)
        yield selector


def turn(selector: FewAtATime) -> set[int]:
    """File numbers that one turn is told of; whatever lies there is read."""
    told = selector.select(0)
    for key, _events in told:
        assert isinstance(key.fileobj, socket.socket)
        key.fileobj.recv(1)
    return {key.fd for key, _events in told}


def test_all_that_is_ready_has_its_turn_and_none_twice(
    few: FewAtATime, pairs: list[tuple[socket.socket, socket.socket]]
) -> None:
    turns = [turn(few) for _n in range(4)]
    assert [len(one) for one in turns] == [MOST_EVENTS, MOST_EVENTS, 2, 0]
    assert set().union(*turns) == {left.fileno() for left, _right in pairs}


def test_who_keeps_sending_does_not_keep_the_others_from_their_turn(
    few: FewAtATime, pairs: list[tuple[socket.socket, socket.socket]]
) -> None:
    told: set[int] = set()
    for _turn in range(3):
        for key, _events in few.select(0):
            told.add(key.fd)  # nothing is read: it is ready again at once
    assert told == {left.fileno() for left, _right in pairs}


def test_what_was_closed_or_is_watched_otherwise_since_is_not_told_of(
    few: FewAtATime, pairs: list[tuple[socket.socket, socket.socket]]
) -> None:
    told = turn(few)
    closed, changed = [left for left, _right in pairs if left.fileno() not in told][:2]
    few.unregister(closed)
    few.modify(changed, selectors.EVENT_WRITE)
    later = [(key.fileobj, events) for _turn in range(3) for key, events in few.select(0)]
    assert closed not in dict(later)
    assert (changed, selectors.EVENT_WRITE) in later
    assert (changed, selectors.EVENT_READ) not in later


def test_a_burst_is_accepted_over_many_turns_and_answered_whole(tmp_path: Path) -> None:
    """Timers run between the turns: none waits until the whole burst is through."""

    async def ask(url: str) -> bytes:
        host, port = url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(f"GET {API}offers HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        return answer

    async def story() -> list[bytes]:
        with site_in(tmp_path) as site:
            async with door_to(site) as door:
                return await asyncio.gather(*(ask(door.url) for _n in range(BURST)))

    with asyncio.Runner(loop_factory=new_loop) as runner:
        answers = runner.run(story())
    assert [one.split()[1] for one in answers] == [b"401"] * BURST


def test_one_turn_takes_one_connection(tmp_path: Path) -> None:
    """Fifty people wait at the door; each turn of the loop lets one in."""
    taken: list[int] = []

    class Counting(HTTPServer):
        def handle_stream(self, _stream: IOStream, _address: tuple[str, int]) -> None:
            taken.append(turns)

    turns = 0

    async def story() -> None:
        nonlocal turns
        listening, port = bind_unused_port()
        close = listen(Counting(lambda _request: None), [listening])
        people = [socket.create_connection(("127.0.0.1", port)) for _n in range(BURST)]
        while len(taken) < BURST:
            turns += 1
            await asyncio.sleep(0)
        close()
        for one in people:
            one.close()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(story())
    assert len(set(taken)) == BURST
