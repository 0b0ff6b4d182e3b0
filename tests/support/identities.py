"""A hub's memory of tokens, and a governor that serves over HTTP to whoever carries one.

The cookie, XSRF and cache rules are JupyterHub's own; only its answer on a token is ours.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from jupyterhub.services.auth import HubOAuth
from tornado.httpclient import AsyncHTTPClient, HTTPResponse
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import HTTPError

from hub_ext.errors import RefusedError, UnreachableError
from hub_ext.lease import Environment
from hub_ext.service.app import application
from hub_ext.service.core.runner import CoreRunner
from hub_ext.service.core.stream import Stream
from hub_ext.service.http.turns import listen
from hub_ext.service.http.web import BaseHandler
from tests.support.governing import Site

ACCESS = "access:services!service=gpu-commons"
PREFIX = "/services/gpu-commons/"
API = f"{PREFIX}api/v1/"


class FakeHubAuth(HubOAuth):
    """Knows tokens by heart. `away` answers as a hub that cannot be reached."""

    def __init__(self) -> None:
        super().__init__(
            api_token="t" * 64,
            base_url=PREFIX,
            oauth_client_id="service-gpu-commons",
            cache_max_age=0,
        )
        self.access_scopes = {ACCESS}
        self.models: dict[str, dict[str, Any]] = {}
        self.away = False

    async def _check_hub_authorization(
        self, url: str, api_token: str, cache_key: str | None = None, *, use_cache: bool = True
    ) -> dict[str, Any] | None:
        if self.away:
            raise HTTPError(500, "Failed to connect to Hub API")
        return self.models.get(api_token)

    def person(
        self,
        token: str,
        name: str,
        *,
        groups: tuple[str, ...] = (),
        scopes: tuple[str, ...] = (),
        admin: bool = False,
        session: bool = False,
    ) -> str:
        """Give somebody a token of their own."""
        self.models[token] = {
            "kind": "user",
            "name": name,
            "groups": list(groups),
            "admin": admin,
            "session_id": "s" if session else None,
            "scopes": [ACCESS, f"access:servers!user={name}", *scopes],
        }
        return token

    def server(self, token: str, name: str, server: str = "", *, admin: bool = False) -> str:
        """Give a server its token."""
        self.models[token] = {
            "kind": "user",
            "name": name,
            "groups": [],
            "admin": admin,
            "session_id": None,
            "scopes": [ACCESS, f"access:servers!server={name}/{server}"],
        }
        return token

    def service(self, token: str, name: str, *scopes: str) -> str:
        """Give a service a token."""
        self.models[token] = {"kind": "service", "name": name, "scopes": [ACCESS, *scopes]}
        return token


@dataclass
class FakePeople:
    """The hub's people: those with tokens of their own, and whoever is `also` there.

    `silent` answers nothing.
    """

    hub: FakeHubAuth
    silent: bool = False
    also: dict[str, tuple[str, ...]] = field(default_factory=dict)

    async def groups_of(self, name: str) -> tuple[str, ...] | None:
        """Groups of somebody; None for nobody."""
        if self.silent:
            raise UnreachableError("the hub does not answer")
        if name in self.also:
            return self.also[name]
        found = [
            tuple(model["groups"])
            for model in self.hub.models.values()
            if model["kind"] == "user" and model["name"] == name
        ]
        return max(found, key=len, default=None)


class AllPinned:
    """Pins that hold, but for environments named in `drifted`."""

    def __init__(self) -> None:
        self.drifted: set[str] = set()
        self.checked: list[str] = []

    def check(self, environment: Environment) -> None:
        """Refuse what drifted."""
        self.checked.append(environment.name)
        if environment.name in self.drifted:
            raise RefusedError("environment-drifted", "It is no longer what was agreed.")

    def located(self, environment: Environment) -> Environment:
        """Put it below /pinned."""
        return environment.model_copy(update={"prefix": f"/pinned/{environment.prefix}"})


@dataclass
class Door:
    """The governor's HTTP side over a site."""

    site: Site
    hub: FakeHubAuth
    core: CoreRunner
    pins: AllPinned
    people: FakePeople
    url: str = ""
    cookie_secret: bytes = b""
    client: AsyncHTTPClient = field(
        default_factory=lambda: AsyncHTTPClient(force_instance=True, max_clients=200)
    )

    async def call(
        self,
        method: str,
        path: str,
        token: str | None = None,
        body: object = None,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> HTTPResponse:
        """Call the API; `path` without a leading slash is below `api/v1/`."""
        sent = dict(headers or {})
        if token is not None:
            sent["Authorization"] = f"token {token}"
        content: bytes | None = None
        if method == "POST":
            content = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
        target = path if path.startswith("/") else API + path
        return await self.client.fetch(
            self.url + target,
            method=method,
            body=content,
            headers=sent,
            raise_error=False,
            follow_redirects=False,
            allow_nonstandard_methods=True,
            request_timeout=30,
        )

    async def xsrf(self, cookie: str) -> tuple[str, str]:
        """Make the token that a page of ours would carry, and its cookie, for a signed-in browser.

        A page makes both with JupyterHub's own code; so does this, in a request of its own.
        """
        answer = await self.call("GET", f"{PREFIX}xsrf-for-tests", headers={"Cookie": cookie})
        value = answer.headers.get_list("Set-Cookie")[0].split(";")[0].removeprefix("_xsrf=")
        return answer.body.decode(), value


class XsrfPage(BaseHandler):
    """A page that shows its token."""

    def get(self) -> None:
        """Show it; JupyterHub sets the cookie."""
        self.finish(self.xsrf_token)


@asynccontextmanager
async def door_to(site: Site) -> AsyncIterator[Door]:
    """Serve a site on a free port of loopback, on the site's own clock."""
    hub, pins = FakeHubAuth(), AllPinned()
    core = CoreRunner(site.governor, lambda: site.now, Stream(site.settings.most_waiters))
    people = FakePeople(hub)
    door = Door(site, hub, core, pins, people)
    served = application(core, site.settings, hub, pins, {}, people)
    served.add_handlers(r".*", [(f"{PREFIX}xsrf-for-tests", XsrfPage)])
    door.cookie_secret = served.settings["cookie_secret"]
    server = HTTPServer(served)
    socket, port = bind_unused_port()
    close = listen(server, [socket])
    door.url = f"http://127.0.0.1:{port}"
    try:
        yield door
    finally:
        close()
        core.stream.close()
        door.client.close()
        await asyncio.wait_for(server.close_all_connections(), 5)
        await core.close()
