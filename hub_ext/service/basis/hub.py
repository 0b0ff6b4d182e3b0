"""The only place that calls the hub's REST API. Every status becomes an answer; it decides nothing.

A hub that does not answer is an answer too: nothing may be concluded from it.
"""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from urllib.parse import quote, urlencode

from tornado.httpclient import AsyncHTTPClient, HTTPError, HTTPRequest, HTTPResponse

from ...errors import UnreachableError
from ...i18n import _
from ...lease import ServerKey, ServerName, UserName

TIMEOUT_S = 30.0
"""Longer than the hub's own limit for a stop, 10 s, after which it answers 202."""

PAGE = 200
"""Users a page: the most that a hub gives by default."""

_PAGINATED = "application/jupyterhub-pagination+json"


class HubSaid(StrEnum):
    """What an answer of the hub means for a server."""

    stopped = "stopped"
    """The hub has it gone. That is the hub's belief, no proof that the process died."""
    stopping = "stopping"
    """The hub is at it."""
    started = "started"
    """The hub has started it."""
    pending = "pending"
    """The hub is starting it, or another start of the same server, whose options stand."""
    unknown_server = "unknown_server"
    """The hub has no such user or server (any more)."""
    busy = "busy"
    """Not now: it is being renamed, or the hub asks for fewer requests."""
    forbidden = "forbidden"
    """Our token does not suffice: the hub's roles are not as `configure()` makes them."""
    away = "away"
    """No answer, or one that says nothing of the server."""


@dataclass(frozen=True)
class HubAnswer:
    """An answer of the hub. `status` is 0 where none came; `words` are for the ledger."""

    said: HubSaid
    status: int
    words: str
    retry_after_s: int | None = None


@dataclass(frozen=True)
class HubServer:
    """A server that is active for the hub: pending or ready."""

    key: ServerKey
    ready: bool
    pending: str | None
    last_activity: datetime | None = None
    """What the hub has seen of use. Only its absence tells something: a person can set it."""
    groups: tuple[str, ...] = ()
    """Hub groups of its owner, as far as the governor's token may see them."""
    started: datetime | None = None
    """When the hub began to start it."""


class HubClient:
    """Calls one hub with the governor's token.

    Parameters
    ----------
    api_url
        The hub's API, as it is in JUPYTERHUB_API_URL.
    token
        The governor's token.
    hub
        Name of the hub, for the keys of servers.
    """

    def __init__(self, api_url: str, token: str, *, hub: str = "hub") -> None:
        self._url = api_url.rstrip("/")
        self._token = token
        self._hub = hub
        # An instance of our own: the shared one may be replaced or closed by others.
        self._http = AsyncHTTPClient(force_instance=True)

    @property
    def api_url(self) -> str:
        """The hub's API, as servers are told it too."""
        return self._url

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    async def stop_server(self, key: ServerKey) -> HubAnswer:
        """Ask the hub to stop a server; asking again is harmless."""
        try:
            response = await self._fetch("DELETE", _path(key))
        except UnreachableError as error:
            return HubAnswer(HubSaid.away, 0, str(error))
        return HubAnswer(_meaning(response.code), response.code, _words(response))

    async def start_server(self, key: ServerKey, options: Mapping[str, str]) -> HubAnswer:
        """Ask the hub to start a server with these options; asking again starts no second one."""
        # Bare: JupyterHub 5 takes the whole body for the options, and 6 still does.
        body = json.dumps(dict(options)).encode()
        try:
            response = await self._fetch("POST", _path(key), body)
        except UnreachableError as error:
            return HubAnswer(HubSaid.away, 0, str(error))
        later = response.headers.get("Retry-After", "")
        return HubAnswer(
            _start_meaning(response.code),
            response.code,
            _words(response),
            int(later[:6]) if later.isascii() and later.isdecimal() else None,
        )

    async def has_server(self, key: ServerKey) -> bool:
        """Whether the hub still knows a server, running or not; taken for true where it is away.

        A server that was renamed or deleted is unknown; the one without a name is there as long
        as its user is.
        """
        query = "?include_stopped_servers=1" if key.server else ""
        try:
            response = await self._fetch("GET", f"/users/{quote(key.user, safe='')}{query}")
            if response.code == 404:  # noqa: PLR2004 - the user is gone, and every server with them
                return False
            servers = _content(response).get("servers")
        except UnreachableError:
            return True
        return not key.server or not isinstance(servers, dict) or key.server in servers

    async def servers(self) -> tuple[HubServer, ...]:
        """List all active servers of all users, page by page.

        A user may move between pages while they are read, so a server that is missing here is
        looked up with `server` before anything is concluded.

        Raises
        ------
        UnreachableError
            When the hub does not answer, or answers something else than users.
        """
        found: list[HubServer] = []
        async for model in self._active_users():
            found.extend(self._of_user(model))
        return tuple(dict.fromkeys(found))

    async def server(self, key: ServerKey) -> HubServer | None:
        """Look up one server now; None where the hub has no such active server.

        Raises
        ------
        UnreachableError
            When the hub does not answer, or answers something else than a user.
        """
        response = await self._fetch("GET", f"/users/{quote(key.user, safe='')}")
        if response.code == 404:  # noqa: PLR2004 - the user is gone, and every server with them
            return None
        servers = self._of_user(_content(response))
        return next((one for one in servers if one.key == key), None)

    async def has_user(self, name: str) -> bool:
        """Whether the hub knows somebody by this name.

        Raises
        ------
        UnreachableError
            When the hub does not answer, or not as a hub does.
        """
        response = await self._fetch("GET", f"/users/{quote(name, safe='')}")
        if response.code == 404:  # noqa: PLR2004 - what the hub answers for nobody
            return False
        return isinstance(_content(response).get("name"), str)

    async def groups_of(self, name: str) -> tuple[str, ...] | None:
        """Groups of somebody; None where the hub knows nobody by this name.

        Raises
        ------
        UnreachableError
            When the hub does not answer, or not as a hub does.
        """
        response = await self._fetch("GET", f"/users/{quote(name, safe='')}")
        if response.code == 404:  # noqa: PLR2004 - what the hub answers for nobody
            return None
        groups = _content(response).get("groups")
        if not isinstance(groups, list):
            raise _nonsense()
        return tuple(sorted(str(group) for group in groups))

    async def _active_users(self) -> AsyncIterator[Mapping[str, object]]:
        offset = 0
        while True:
            query = urlencode({"state": "active", "offset": offset, "limit": PAGE})
            content = _content(await self._fetch("GET", f"/users?{query}"))
            items, paging = content.get("items"), content.get("_pagination")
            if not isinstance(items, list) or not isinstance(paging, dict):
                raise _nonsense()
            for model in items:
                yield model
            following = paging.get("next")
            if following is None:
                return
            if not isinstance(following, dict) or not isinstance(following.get("offset"), int):
                raise _nonsense()
            if following["offset"] <= offset:
                raise _nonsense()
            offset = following["offset"]

    def _of_user(self, model: Mapping[str, object]) -> list[HubServer]:
        name, servers = model.get("name"), model.get("servers")
        # A model without `servers` means that our token may not see them, not that none runs.
        if not isinstance(name, str) or not isinstance(servers, dict):
            raise _nonsense()
        told = model.get("groups")
        groups = tuple(str(one) for one in told) if isinstance(told, list) else ()
        return [
            HubServer(
                key=ServerKey(hub=self._hub, user=UserName(name), server=ServerName(server)),
                ready=bool(state.get("ready")),
                pending=state.get("pending"),
                last_activity=_instant(state.get("last_activity")),
                groups=groups,
                started=_instant(state.get("started")),
            )
            for server, state in servers.items()
            if not state.get("stopped")
        ]

    async def _fetch(self, method: str, path: str, body: bytes | None = None) -> HTTPResponse:
        request = HTTPRequest(
            f"{self._url}{path}",
            method=method,
            body=body,
            headers={"Authorization": f"token {self._token}", "Accept": _PAGINATED},
            connect_timeout=5.0,
            request_timeout=TIMEOUT_S,
            follow_redirects=False,
        )
        try:
            return await self._http.fetch(request, raise_error=False)
        except (OSError, HTTPError) as error:
            raise UnreachableError(
                _("The hub did not answer: {error}").format(error=error)
            ) from error


def _instant(text: object) -> datetime | None:
    try:
        at = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def _path(key: ServerKey) -> str:
    path = f"/users/{quote(key.user, safe='')}"
    return path + (f"/servers/{quote(key.server, safe='')}" if key.server else "/server")


def _start_meaning(status: int) -> HubSaid:
    match status:
        case 201 | 200:
            return HubSaid.started
        case 202:
            return HubSaid.pending
        case _:
            return _refusal(status)


def _meaning(status: int) -> HubSaid:
    match status:
        case 204 | 200:
            return HubSaid.stopped
        case 202:
            return HubSaid.stopping
        case _:
            return _refusal(status)


def _refusal(status: int) -> HubSaid:
    """Tell what an answer means that did neither start nor stop anything."""
    match status:
        case 404:
            return HubSaid.unknown_server
        # 400: it runs already, or its stop is under way. 409: our own refusal, or the hub's.
        case 400 | 409 | 429:
            return HubSaid.busy
        case 401 | 403:
            return HubSaid.forbidden
        case _:
            return HubSaid.away


def _words(response: HTTPResponse) -> str:
    """Sentence of an error's body, cut; the hub answers errors with a JSON `message`."""
    try:
        message = json.loads(response.body or b"{}").get("message", "")
    except (ValueError, AttributeError):
        message = ""
    return str(message or response.reason or "")[:200]


def _content(response: HTTPResponse) -> Mapping[str, object]:
    if response.code != 200:  # noqa: PLR2004 - nothing else carries a model
        raise UnreachableError(
            _("The hub answered {status} instead of its users: {words}").format(
                status=response.code, words=_words(response)
            )
        )
    try:
        content = json.loads(response.body)
    except ValueError:
        raise _nonsense() from None
    if not isinstance(content, dict):
        raise _nonsense()
    return content


def _nonsense() -> UnreachableError:
    return UnreachableError(_("The hub's answer could not be read."))
