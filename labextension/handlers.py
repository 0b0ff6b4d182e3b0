"""The page's only door: one stream of states, profiles to choose from, verbs for the owner.

Everything the governor says passes through here without its token, and nothing is decided here.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, TypeVar

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from jupyter_server.utils import url_path_join
from tornado import web
from tornado.iostream import StreamClosedError

from hub_ext.errors import RefusedError, UnreachableError
from hub_ext.i18n import _
from hub_ext.lease import LeaseId, LeaseView

from .activity import ServerActivity
from .feed import LabFeed
from .notices import SCHEMA, SCHEMA_ID
from .page import BEAT, Link, PageState
from .place import read_place

FEED = "gpu_commons_feed"
"""Key of the feed among the settings of the web application."""

ACTIVITY = "gpu_commons_activity"
"""Key of what the server tells of itself."""

LONGEST_EXTENSION_S = 365 * 86400

T = TypeVar("T")


class FeedHandler(APIHandler):
    """What both doors share: who looks, whose server it is, and refusals as JSON."""

    auth_resource = "gpu-commons"
    # A page that only shows must not keep its server looking busy.
    _track_activity = False

    @property
    def feed(self) -> LabFeed:
        """The server's one feed."""
        feed: LabFeed = self.settings[FEED]
        return feed

    @property
    def visitor(self) -> str:
        """Name of the person behind the request."""
        return str(self.current_user.username)

    @property
    def for_owner(self) -> bool:
        """Whether the person behind the request is the one the lease was granted to."""
        return bool(self.feed.place.user) and self.visitor == self.feed.place.user

    def refuse(self, error: RefusedError) -> None:
        """Answer with the words, figures and status of a refusal."""
        self.set_status(error.status)
        self.finish(
            json.dumps({"code": error.code, "message": error.message, "figures": error.figures})
        )


class StreamHandler(FeedHandler):
    """`GET gpu-commons/stream`: JSON lines, the first at once, then one with each change."""

    _bell: asyncio.Event | None = None
    _gone = False

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Write states until the page goes away."""
        self.set_header("Content-Type", "application/x-ndjson")
        self.set_header("Cache-Control", "no-store")
        # nginx in front of a hub would hold lines back otherwise.
        self.set_header("X-Accel-Buffering", "no")
        try:
            with self.feed.watch(self.visitor) as bell:
                self._bell = bell
                await self._tell(bell)
        except RefusedError as error:
            self.refuse(error)

    async def _tell(self, bell: asyncio.Event) -> None:
        line = self._line()
        while not self._gone:
            try:
                self.write(line)
                await self.flush()
            except StreamClosedError:
                return
            line = await self._next(bell)

    async def _next(self, bell: asyncio.Event) -> bytes:
        """Wait for news, at most until a sign of life is due; a guest gets no other."""
        try:
            await asyncio.wait_for(bell.wait(), self.feed.heartbeat_s)
        except TimeoutError:
            return BEAT
        bell.clear()
        return self._line() if self.for_owner else BEAT

    def _line(self) -> bytes:
        state = self.feed.state
        if self.feed.place.user and not self.for_owner:
            state = PageState(link=Link.guest, words=self.feed.place.user)
        return state.line()

    def on_connection_close(self) -> None:
        """Wake the writer, so that it ends now and not with the next heartbeat."""
        self._gone = True
        if self._bell is not None:
            self._bell.set()


class OwnerHandler(FeedHandler):
    """What the owner alone may ask of the governor through this server."""

    async def passed_on(self, ask: Callable[[LeaseView, LeaseId], Awaitable[T]]) -> T | None:
        """Ask something about the open lease; None where the refusal was answered already."""
        try:
            return await ask(*self._lease())
        except RefusedError as error:
            self.refuse(error)
        except UnreachableError as error:
            self.refuse(
                RefusedError(
                    "governor-unreachable",
                    _("{words}; nothing was changed. Try again in a minute.").format(words=error),
                    status=HTTPStatus.SERVICE_UNAVAILABLE,
                )
            )
        return None

    def _lease(self) -> tuple[LeaseView, LeaseId]:
        place = self.feed.place
        if not place.user or not place.api_url:
            raise RefusedError(
                "no-governor",
                _("No GPU Commons stands behind this server: no lease to change"),
            )
        if not self.for_owner:
            raise RefusedError(
                "not-owner",
                _(
                    "This is the server of {owner}, who alone can stop, extend, keep or change it"
                ).format(owner=place.user),
                status=HTTPStatus.FORBIDDEN,
            )
        view = self.feed.state.view
        if view is None or view.lease is None:
            raise RefusedError(
                "no-lease", _("No lease of this server is open now, so there is nothing to change")
            )
        return view, view.lease.id


class ProfilesHandler(OwnerHandler):
    """`GET gpu-commons/profiles`: what this server could have instead of what it has."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Answer with the governor's list."""
        governor = self.feed.governor
        sheet = await self.passed_on(lambda _view, lease_id: governor.profiles(lease_id))
        if sheet is not None:
            self.set_header("Cache-Control", "no-store")
            self.finish(sheet.model_dump_json())


class VerbHandler(OwnerHandler):
    """`POST gpu-commons/{stop,extend,keep,switch,stay}`: the governor decides and acts."""

    @web.authenticated
    @authorized
    async def post(self, verb: str) -> None:
        """Pass the wish on; 202 says that the governor took it."""
        if await self.passed_on(lambda view, lease_id: self._wish(verb, view, lease_id)):
            self.set_status(HTTPStatus.ACCEPTED)
            self.finish(json.dumps({"accepted": verb}))

    async def _wish(self, verb: str, view: LeaseView, lease_id: LeaseId) -> bool:
        act = self.feed.governor.act
        match verb:
            case "stay":
                await act(self._change(view), "cancel", {})
            case "switch":
                await act(lease_id, verb, {"choice": self._choice()})
            case "extend":
                await act(lease_id, verb, {"seconds": self._seconds()})
            case _:
                await act(lease_id, verb, {})
        return True

    def _change(self, view: LeaseView) -> LeaseId:
        """Give the request that waits to replace the lease."""
        if view.change is None:
            raise RefusedError(
                "no-change", _("No change of profile is under way, so there is none to leave")
            )
        return view.change.lease_id

    def _choice(self) -> dict[str, object]:
        choice = self._said("choice")
        if not isinstance(choice, dict):
            raise RefusedError(
                "bad-choice",
                _("Say what to change to, for example {example}").format(
                    example='{"choice": {"profile": "small"}}'
                ),
                status=HTTPStatus.BAD_REQUEST,
            )
        return choice

    def _said(self, field: str) -> object:
        """Give a field of the body; None where there is none or the body is no JSON object."""
        try:
            body = self.get_json_body()
        except web.HTTPError:
            return None
        return body.get(field) if isinstance(body, dict) else None

    def _seconds(self) -> int:
        seconds = self._said("seconds")
        if type(seconds) is not int or not 0 < seconds <= LONGEST_EXTENSION_S:
            raise RefusedError(
                "bad-extension",
                _("Say by how many whole seconds to extend, for example {example}").format(
                    example='{"seconds": 3600}'
                ),
                status=HTTPStatus.BAD_REQUEST,
            )
        return seconds


class InputHandler(OwnerHandler):
    """`POST gpu-commons/input`: a person did something in a page of this server that is seen."""

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Note it for the owner alone; a guest's input is not theirs."""
        if self.for_owner:
            self.settings[ACTIVITY].noted_input()
        self.set_status(HTTPStatus.NO_CONTENT)


def load(serverapp: Any) -> None:  # noqa: ANN401 - untyped ServerApp
    """Register the handlers and the notice event on a Jupyter Server."""
    bus = serverapp.event_logger
    bus.register_event_schema(SCHEMA)

    def emit(event: dict[str, str | int]) -> None:
        bus.emit(schema_id=SCHEMA_ID, data=event)

    application = serverapp.web_app
    feed = application.settings[FEED] = LabFeed(read_place(os.environ), emit, parent=serverapp)
    application.settings[ACTIVITY] = ServerActivity(
        serverapp.kernel_manager,
        application.settings.get("terminal_manager"),
        feed.governor.tell,
        parent=serverapp,
    )
    base = application.settings["base_url"]
    application.add_handlers(
        ".*$",
        [
            (url_path_join(base, "gpu-commons", "stream"), StreamHandler),
            (url_path_join(base, "gpu-commons", "profiles"), ProfilesHandler),
            (url_path_join(base, "gpu-commons", "input"), InputHandler),
            (url_path_join(base, "gpu-commons", "(stop|extend|keep|switch|stay)"), VerbHandler),
        ],
    )


def start(serverapp: Any) -> None:  # noqa: ANN401 - untyped ServerApp
    """Start the feed's task; it is kept beside the feed so that it is not collected."""
    settings = serverapp.web_app.settings
    loop = asyncio.get_running_loop()
    settings[f"{FEED}_task"] = loop.create_task(settings[FEED].run())
    place = settings[FEED].place
    if place.user and place.api_url and place.token:
        settings[f"{ACTIVITY}_task"] = loop.create_task(settings[ACTIVITY].run())
