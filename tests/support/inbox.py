"""A governor that only takes samples: keeps what came, answers with a list, refuses when told."""

from collections.abc import Callable
from datetime import datetime

from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application, RequestHandler

from hub_ext.lease import SampleBatch, WatchList

TOKEN = "a" * 64


class InboxGovernor:
    """Serves `POST /api/v1/samples` on loopback while it is open."""

    def __init__(self) -> None:
        self.batches: list[SampleBatch] = []
        self.watch = WatchList(leases=())
        self.refusal: tuple[int, str] | None = None
        self.rubbish = False
        self.clock: Callable[[], datetime] | None = None
        self._server: HTTPServer | None = None
        probe, self.port = bind_unused_port()
        probe.close()

    @property
    def url(self) -> str:
        """Base of the API, as an agent is told it."""
        return f"http://127.0.0.1:{self.port}/api/v1"

    def open(self) -> None:
        """Listen; needs a running loop."""
        self._server = HTTPServer(Application([("/api/v1/samples", _Samples, {"inbox": self})]))
        self._server.listen(self.port, "127.0.0.1")

    async def close(self) -> None:
        """Stop listening and cut connections, as a governor that dies."""
        if self._server is not None:
            self._server.stop()
            await self._server.close_all_connections()
            self._server = None


class _Samples(RequestHandler):
    def initialize(self, inbox: InboxGovernor) -> None:
        self.inbox = inbox

    def post(self) -> None:
        if self.request.headers.get("Authorization") != f"token {TOKEN}":
            self.set_status(403)
            self.write({"detail": "this token may not report samples"})
            return
        if self.inbox.refusal is not None:
            status, detail = self.inbox.refusal
            self.set_status(status)
            self.write({"detail": detail})
            return
        self.inbox.batches.append(SampleBatch.model_validate_json(self.request.body))
        self.set_header("Content-Type", "application/json")
        at = None if self.inbox.clock is None else self.inbox.clock()
        watch = self.inbox.watch.model_copy(update={"at": at})
        self.write("<html>" if self.inbox.rubbish else watch.model_dump_json())
