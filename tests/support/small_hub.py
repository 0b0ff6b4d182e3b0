"""A small hub that behaves: people, servers, pages, permissions and faults, over real HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application, RequestHandler

TOKEN = "g" * 64


@dataclass
class SmallHub:
    """State of the hub. `servers` maps user to server name to ready, pending or stopped."""

    servers: dict[str, dict[str, str]] = field(default_factory=dict)
    groups: dict[str, list[str]] = field(default_factory=dict)
    page: int = 2
    status: int | None = None
    """Answer everything with this status instead."""
    body: bytes | None = None
    """Answer everything with this body instead."""
    on_page: Callable[[int], None] = lambda _offset: None
    calls: list[str] = field(default_factory=list)
    url: str = ""

    started: list[tuple[str, str, object]] = field(default_factory=list)
    """User, server and body of each start that was asked for."""
    retry_after: str = ""

    def model(self, user: str, *, stopped: bool = False) -> dict[str, object]:
        """A user as the hub shows them: only active servers, unless all are asked for."""
        return {
            "name": user,
            "kind": "user",
            "groups": self.groups.get(user, []),
            "servers": {
                name: {
                    "name": name,
                    "ready": state == "ready",
                    "pending": None if state == "ready" else state,
                    "stopped": False,
                }
                for name, state in self.servers[user].items()
                if stopped or state != "stopped"
            },
        }

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["SmallHub"]:
        """Serve on a free port of loopback."""
        socket, port = bind_unused_port()
        server = HTTPServer(
            Application(
                [
                    (r"/hub/api/users", _Users, {"hub": self}),
                    (r"/hub/api/users/([^/]+)", _User, {"hub": self}),
                    (r"/hub/api/users/([^/]+)/servers?(?:/([^/]+))?", _Server, {"hub": self}),
                ]
            )
        )
        server.add_socket(socket)
        self.url = f"http://127.0.0.1:{port}/hub/api"
        try:
            yield self
        finally:
            server.stop()
            await server.close_all_connections()
            await asyncio.sleep(0)


class _Handler(RequestHandler):
    def initialize(self, hub: SmallHub) -> None:
        self.hub = hub

    def prepare(self) -> None:
        self.hub.calls.append(f"{self.request.method} {self.request.path}")
        if self.request.headers.get("Authorization") != f"token {TOKEN}":
            self._end(403, {"message": "not you"})
        elif self.hub.status is not None:
            if self.hub.retry_after:
                self.set_header("Retry-After", self.hub.retry_after)
            self._end(self.hub.status, {"message": "as told"})
        elif self.hub.body is not None:
            self.finish(self.hub.body)

    def _end(self, status: int, content: object) -> None:
        self.set_status(status)
        self.finish(json.dumps(content))


class _Users(_Handler):
    def get(self) -> None:
        offset = int(self.get_argument("offset"))
        users = sorted(
            user
            for user, servers in self.hub.servers.items()
            if any(state != "stopped" for state in servers.values())
        )
        items = [self.hub.model(user) for user in users[offset : offset + self.hub.page]]
        end = offset + self.hub.page
        following = {"offset": end, "limit": self.hub.page} if end < len(users) else None
        self._end(200, {"items": items, "_pagination": {"total": len(users), "next": following}})
        self.hub.on_page(offset)


class _User(_Handler):
    def get(self, user: str) -> None:
        if user not in self.hub.servers:
            self._end(404, {"message": "no such user"})
        else:
            stopped = self.get_argument("include_stopped_servers", "0") != "0"
            self._end(200, self.hub.model(user, stopped=stopped))


class _Server(_Handler):
    def post(self, user: str, server: str | None) -> None:
        name = server or ""
        self.hub.started.append((user, name, json.loads(self.request.body)))
        if user not in self.hub.servers:
            self._end(404, {"message": "no such user"})
            return
        state = self.hub.servers[user].get(name, "stopped")
        if state == "ready":
            self._end(400, {"message": f"{user}'s server is already running"})
        elif state == "stopped":
            self.hub.servers[user][name] = "ready"
            self.set_status(201)
        else:
            self.set_status(202)

    def delete(self, user: str, server: str | None) -> None:
        servers = self.hub.servers.get(user, {})
        name = server or ""
        if user not in self.hub.servers or (server and server not in servers):
            self._end(404, {"message": "no such server"})
        elif servers.get(name) == "slow":
            self.set_status(202)
        else:
            servers[name] = "stopped"
            self.set_status(204)
