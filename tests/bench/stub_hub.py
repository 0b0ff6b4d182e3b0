"""The few routes of a hub that a culler needs, in a process of their own, on loopback alone.

It prints its port, and for each line that it reads what it has seen since the last one, as JSON.
"""

import asyncio
import json
import re
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

HOST = "127.0.0.1"
TOKEN = "bench-token"
FEW, MOST = 50, 200
"""Users a page: JupyterHub's default, and the most that it gives."""

FRESH_S = 2.0
"""A server that was read so long before its stop was read for that stop."""

_SERVER = re.compile(r"/hub/api/users/([^/]+)/servers?(?:/[^/]*)?")
_USER = re.compile(r"/hub/api/users/([^/]+)")


def name_of(number: int) -> str:
    """Name a user."""
    return f"user-{number:05d}"


@dataclass
class Seen:
    """What the stub saw. `unread` are stops of a server that was not read freshly before."""

    listed: int = 0
    read: int = 0
    most_at_once: int = 0
    unread: int = 0
    stopped: list[str] = field(default_factory=list)


class Stub:
    """Serves `users` users with a server each, of whom the first `idle` were last active long ago.

    After `stops` stops the last `back` of the idle ones are active again.
    """

    def __init__(self, users: int, idle: int, stop_s: float, back: int) -> None:
        now = datetime.now(UTC)
        self._users = [_user(number, now, idle=number < idle) for number in range(users)]
        self._stop_s = stop_s
        self._back = range(idle - back, idle)
        self._read_at: dict[str, float] = {}
        self._at_once = 0
        self.seen = Seen()

    def come_back(self) -> None:
        """Let those who come back be active now."""
        stamp = _stamp(datetime.now(UTC))
        for number in self._back:
            user = self._users[number]
            user["last_activity"] = user["servers"][""]["last_activity"] = stamp

    async def answer(self, method: str, target: str) -> tuple[int, Any]:
        """Answer one request."""
        parts = urlsplit(target)
        path = parts.path.rstrip("/")
        if method == "GET" and path == "/hub/api":
            return 200, {"version": "6.1.1"}
        if method == "GET" and path == "/hub/api/users":
            return 200, self._page(parse_qs(parts.query), parts.query)
        if method == "GET" and (found := _USER.fullmatch(path)):
            return self._one(unquote(found[1]))
        if method == "DELETE" and (found := _SERVER.fullmatch(path)):
            return await self._stop(unquote(found[1]))
        return 404, {"message": "no such route"}

    def _page(self, query: dict[str, list[str]], _text: str) -> dict[str, Any]:
        self.seen.listed += 1
        offset = int(query.get("offset", ["0"])[0])
        limit = min(int(query.get("limit", [str(FEW)])[0]), MOST)
        total, after = len(self._users), offset + limit
        paging: dict[str, Any] = {"offset": offset, "limit": limit, "total": total, "next": None}
        if after < total:
            state = query.get("state", ["ready"])[0]
            url = f"/hub/api/users?state={state}&offset={after}&limit={limit}"
            paging["next"] = {"offset": after, "limit": limit, "url": url}
        return {"items": self._users[offset:after], "_pagination": paging}

    def _one(self, name: str) -> tuple[int, Any]:
        self.seen.read += 1
        self._read_at[name] = time.monotonic()
        found = next((one for one in [self._users[int(name[-5:])]] if one["name"] == name), None)
        return (404, {"message": "no such user"}) if found is None else (200, found)

    async def _stop(self, name: str) -> tuple[int, Any]:
        fresh = time.monotonic() - self._read_at.get(name, -FRESH_S) < FRESH_S
        self.seen.unread += not fresh
        self._at_once += 1
        self.seen.most_at_once = max(self.seen.most_at_once, self._at_once)
        await asyncio.sleep(self._stop_s)
        self._at_once -= 1
        self.seen.stopped.append(name)
        self._users[int(name[-5:])]["servers"] = {}
        return 204, None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        try:
            while head := await _head(reader):
                (method, target, _), headers = head
                status, body = 403, {"message": "forbidden"}
                if headers.get("authorization") in {f"token {TOKEN}", f"Bearer {TOKEN}"}:
                    status, body = await self.answer(method, target)
                writer.write(_response(status, body, headers["host"]))
                await writer.drain()
                if headers.get("connection", "").lower() == "close":
                    return
        except ConnectionError:
            return
        finally:
            writer.close()


async def _head(reader: asyncio.StreamReader) -> tuple[list[str], dict[str, str]] | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin1").split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    headers = {key.strip().lower(): value.strip() for key, _, value in pairs}
    await reader.readexactly(int(headers.get("content-length", 0)))
    return first.split(" ", 2), headers


def _response(status: int, body: Any, host: str) -> bytes:
    if isinstance(body, dict) and (following := body.get("_pagination", {}).get("next")):
        # The stock culler follows the address that the hub gives.
        following["url"] = f"http://{host}{following['url']}"
    data = b"" if body is None else json.dumps(body).encode()
    length = "" if body is None else f"Content-Length: {len(data)}\r\n"
    return f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n{length}\r\n".encode() + data


def _user(number: int, now: datetime, *, idle: bool) -> dict[str, Any]:
    name = name_of(number)
    stamp = _stamp(now - (timedelta(hours=2) if idle else timedelta(seconds=30)))
    server = {
        "name": "",
        "full_name": f"{name}/",
        "last_activity": stamp,
        "started": _stamp(now - timedelta(hours=5)),
        "pending": None,
        "ready": True,
        "stopped": False,
        "url": f"/user/{name}/",
        "user_options": {"profile": "gpu-small", "image": "lab:latest"},
        "progress_url": f"/hub/api/users/{name}/server/progress",
    }
    return {
        "kind": "user",
        "name": name,
        "groups": [],
        "last_activity": stamp,
        "servers": {"": server},
    }


def _stamp(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


class StubHub:
    """The stub as a child of a benchmark."""

    def __init__(self, users: int, *, idle: int = 0, stop_ms: int = 0, back: int = 0) -> None:
        words = [str(one) for one in (users, idle, stop_ms, back)]
        self._child = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.stub_hub", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._child.stdout is not None
        self.url = f"http://{HOST}:{int(self._child.stdout.readline())}/hub/api"

    def __enter__(self) -> Self:
        return self

    def ask(self, word: str) -> Seen:
        """Say `back` or `seen`; answer what was seen so far."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(f"{word}\n")
        self._child.stdin.flush()
        return Seen(**json.loads(self._child.stdout.readline()))

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._child.kill()
        self._child.communicate(timeout=30)


async def main(users: int, idle: int, stop_ms: int, back: int) -> None:
    """Serve until standard input ends."""
    stub = Stub(users, idle, stop_ms / 1000, back)
    server = await asyncio.start_server(stub.serve, HOST, 0, limit=1 << 20, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    while word := (await asyncio.to_thread(sys.stdin.readline)).strip():
        if word == "back":
            stub.come_back()
        print(json.dumps(asdict(stub.seen)), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*(int(word) for word in sys.argv[1:])))
