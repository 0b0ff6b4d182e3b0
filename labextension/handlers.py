"""The page's only door: one stream of states, and three verbs for the server's owner.

Everything the governor says passes through here without its token, and nothing is decided here.
"""

import asyncio
import json
import os
from http import HTTPStatus
from typing import Any

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from jupyter_server.utils import url_path_join
from tornado import web
from tornado.iostream import StreamClosedError

from hub_ext.errors import RefusedError, UnreachableError
from hub_ext.i18n import _

from .feed import LabFeed
from .notices import SCHEMA, SCHEMA_ID
from .page import BEAT, Link, PageState
from .place import read_place

FEED = "gpu_commons_feed"
"""Key of the feed among the settings of the web application."""

LONGEST_EXTENSION_S = 365 * 86400


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


class VerbHandler(FeedHandler):
    """`POST gpu-commons/{stop,extend,keep}`: the owner asks, the governor decides and acts."""

    @web.authenticated
    @authorized
    async def post(self, verb: str) -> None:
        """Pass the wish on; 202 says that the governor took it."""
        try:
            await self._pass_on(verb)
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
        else:
            self.set_status(HTTPStatus.ACCEPTED)
            self.finish(json.dumps({"accepted": verb}))

    async def _pass_on(self, verb: str) -> None:
        place = self.feed.place
        if not place.user or not place.api_url:
            raise RefusedError(
                "no-governor",
                _("No GPU Commons stands behind this server: no lease to change"),
            )
        if not self.for_owner:
            raise RefusedError(
                "not-owner",
                _("This is the server of {owner}, who alone can stop, extend or keep it").format(
                    owner=place.user
                ),
                status=HTTPStatus.FORBIDDEN,
            )
        view = self.feed.state.view
        if view is None or view.lease is None:
            raise RefusedError(
                "no-lease", _("No lease of this server is open now, so there is nothing to change")
            )
        figures = {"seconds": self._seconds()} if verb == "extend" else {}
        await self.feed.governor.act(view.lease.id, verb, figures)

    def _seconds(self) -> int:
        try:
            body = self.get_json_body()
        except web.HTTPError:
            body = None
        seconds = body.get("seconds") if isinstance(body, dict) else None
        if type(seconds) is not int or not 0 < seconds <= LONGEST_EXTENSION_S:
            raise RefusedError(
                "bad-extension",
                _("Say by how many whole seconds to extend, for example {example}").format(
                    example='{"seconds": 3600}'
                ),
                status=HTTPStatus.BAD_REQUEST,
            )
        return seconds


def load(serverapp: Any) -> None:  # noqa: ANN401 - untyped ServerApp
    """Register the handlers and the notice event on a Jupyter Server."""
    bus = serverapp.event_logger
    bus.register_event_schema(SCHEMA)

    def emit(event: dict[str, str | int]) -> None:
        bus.emit(schema_id=SCHEMA_ID, data=event)

    application = serverapp.web_app
    application.settings[FEED] = LabFeed(read_place(os.environ), emit, parent=serverapp)
    base = application.settings["base_url"]
    application.add_handlers(
        ".*$",
        [
            (url_path_join(base, "gpu-commons", "stream"), StreamHandler),
            (url_path_join(base, "gpu-commons", "(stop|extend|keep)"), VerbHandler),
        ],
    )


def start(serverapp: Any) -> None:  # noqa: ANN401 - untyped ServerApp
    """Start the feed's task; it is kept beside the feed so that it is not collected."""
    settings = serverapp.web_app.settings
    settings[f"{FEED}_task"] = asyncio.get_running_loop().create_task(settings[FEED].run())
