"""The composition root: one process is put together here, serves, and leaves in order.

It alone reads the wall clock and the environment. Nothing is decided here.
"""

import asyncio
import hashlib
import logging
import signal
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from jupyterhub.services.auth import HubOAuth, HubOAuthCallbackHandler
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler

from ..errors import FencedError, GpuCommonsError, LedgerError
from ..i18n import _
from ..images.pins import Pins
from ..kube.api import Api
from ..kube.demands import breaches, expected
from ..kube.inspecting import inspect
from ..kube.nodes import offers
from ..kube.queuedemands import Breach
from ..kube.render.site import Site
from ..kube.workloads import Workloads
from ..ledger.samples import Samples
from ..ledger.store import Ledger
from ..parent import watch_parent
from ..policy.model import Policy
from ..statedir import StateDir
from .api.figures import MetricsHandler
from .api.frozen import Frozen
from .api.routes import API, OPEN_ROUTES, ROUTES
from .basis import machine
from .basis.clock import Clock, wall_clock
from .basis.clockwatch import ClockWatch
from .basis.hub import HubClient
from .books.config import Settings
from .core.governor import Governor
from .core.runner import CoreRunner
from .core.stream import Stream
from .http.members import People
from .http.sized import SizedApplication
from .http.turns import listen, share_evenly
from .http.web import NotFoundHandler
from .openapi import OpenApiHandler
from .pages import anomalies as anomalypage
from .pages import keep as keeppage
from .pages import money as moneypages
from .pages import overview as pages
from .pages import reserving as reservingpage
from .pages import shares as sharepages
from .pages import sitewide as sitepages
from .pages import switch as switchpage
from .pages import upkeep as upkeeppage
from .pages import value as valuepage
from .pages import waiting as queuepage
from .workers.asking import PinChecks
from .workers.kueuework import KueueWork
from .workers.loops import Loops
from .workers.watch import PolicyFile, follow, look

_LOG = logging.getLogger(__name__)

T = TypeVar("T")

_RETRY_S = 0.2
_LEAVE_S = 2.0
"""How long requests in progress may take when the service ends."""

_DRAINED = 64
"""A body so many times too large is cut off; below that it is read to its end and refused."""

_TOKEN_CACHE_S = 60
"""How long the hub's word on a token is kept: a removed token works for at most a minute."""


class CallbackHandler(HubOAuthCallbackHandler):
    """Where the hub sends a browser after its sign-in."""

    @property
    def hub_auth(self) -> HubOAuth:
        """The hub's own way to tell whose token it is."""
        return self.settings["hub_auth"]


def application(
    core: CoreRunner,
    settings: Settings,
    hub_auth: HubOAuth,
    pins: PinChecks,
    beats: Mapping[str, Any],
    people: People,
) -> Application:
    """Mount every route below the service's prefix."""
    prefix = hub_auth.base_url
    rules: list[Any] = [
        *((_pattern(prefix, API + route.path), route.handler) for route in ROUTES),
        *((_pattern(prefix, route.path), route.handler) for route in OPEN_ROUTES),
        (_pattern(prefix, "metrics"), MetricsHandler),
        (_pattern(prefix, "openapi.json"), OpenApiHandler),
        (_pattern(prefix, "oauth_callback"), CallbackHandler),
        *pages.handlers(prefix),
        *moneypages.handlers(prefix),
        *sitepages.handlers(prefix),
        *queuepage.handlers(prefix),
        *switchpage.handlers(prefix),
        *reservingpage.handlers(prefix),
        *keeppage.handlers(prefix),
        *sharepages.handlers(prefix),
        *upkeeppage.handlers(prefix),
        *anomalypage.handlers(prefix),
        *valuepage.handlers(prefix),
    ]
    # The same after each restart, so that nobody has to sign in again; never the token itself.
    secret = hashlib.sha256(b"gpu-commons cookie " + hub_auth.api_token.encode()).digest()
    return SizedApplication(
        rules,
        most_body_bytes=settings.most_body_bytes,
        core=core,
        governor_settings=settings,
        hub_auth=hub_auth,
        pins=pins,
        beats=beats,
        frozen=Frozen(time.monotonic),
        people=people,
        cookie_secret=secret,
        default_handler_class=NotFoundHandler,
        log_function=_log_request,
    )


def _pattern(prefix: str, path: str) -> str:
    parts = ["([^/]+)" if part.startswith("{") else part for part in path.split("/")]
    return prefix + "/".join(parts)


def _log_request(handler: RequestHandler) -> None:
    request = handler.request
    _LOG.debug(
        "%s %s %s %.0f ms",
        handler.get_status(),
        request.method,
        request.path,
        1000 * request.request_time(),
    )


class GovernorService:
    """One governor's process, from its start to its end.

    Parameters
    ----------
    environment
        What the hub tells a managed service: JUPYTERHUB_SERVICE_URL, JUPYTERHUB_API_URL, …
    clock
        The wall clock; tests may give another.
    """

    def __init__(
        self, settings: Settings, environment: Mapping[str, str], *, clock: Clock = wall_clock
    ) -> None:
        self._settings = settings
        self._environment = environment
        self._clock = clock
        self._stop = asyncio.Event()
        self._fault: str | None = None
        self.port: int | None = None

    async def run(self, *, ready: Callable[[], None] = lambda: None) -> int:
        """Serve until a signal, the parent's end or the loss of the ledger; return the status.

        Raises
        ------
        LedgerError
            When another governor keeps the ledger.
        GpuCommonsError
            When another process keeps the port.
        """
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, self._stop.set)
        watch_parent(lambda: loop.call_soon_threadsafe(self._stop.set))
        StateDir(self._settings.state)
        thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="core")

        async def open_core() -> Governor:
            return await loop.run_in_executor(thread, self._open_core)

        governor = await self._patiently(open_core, LedgerError)
        stream = Stream(self._settings.most_waiters)
        core = CoreRunner(
            governor,
            self._clock,
            stream,
            thread=thread,
            watch=ClockWatch(self._clock),
            on_fenced=self._fenced,
        )
        try:
            await self._serve(core, ready)
        finally:
            await core.close()
        if self._fault is not None:
            _LOG.error("%s", self._fault)
        return 0 if self._fault is None else 1

    async def _serve(self, core: CoreRunner, ready: Callable[[], None]) -> None:
        given = self._settings
        file = PolicyFile(given.policy, given.state, given.kube_namespace)
        await look(core, file)
        hub = HubClient(
            self._environment.get("JUPYTERHUB_API_URL", ""),
            self._environment.get("JUPYTERHUB_API_TOKEN", ""),
            hub=self._settings.hub,
        )
        # One for all that asks the cluster.
        api = _cluster(given)
        try:
            await self._answer(core, file, hub, api, ready)
        finally:
            if api is not None:
                await api.close()
            hub.close()

    async def _answer(
        self,
        core: CoreRunner,
        file: PolicyFile,
        hub: HubClient,
        api: Api | None,
        ready: Callable[[], None],
    ) -> None:
        """Listen, and do the recurring work, until the stop."""
        kueue = None if api is None else self._kueue(core, api)
        loops = Loops(core, hub, self._settings, kueue, api)
        pins = Pins(base=self._settings.policy.parent, state=self._settings.state)
        auth = HubOAuth(cache_max_age=_TOKEN_CACHE_S)
        server = HTTPServer(
            application(core, self._settings, auth, pins, loops.beats, hub),
            # Bodies above the limit are read and thrown away, so that the refusal is heard.
            max_body_size=_DRAINED * self._settings.most_body_bytes,
        )
        close = await self._listen(server)
        share_evenly()
        ready()
        work = asyncio.gather(
            loops.run(), follow(core, file, self._settings.policy_poll_s), core.naps.watch()
        )
        work.add_done_callback(lambda _work: self._stop.set())
        await self._stop.wait()
        close()
        await self._leave(core, server, work)

    def _kueue(self, core: CoreRunner, api: Api) -> KueueWork | None:
        """Open the way to Kueue, where that admits."""
        settings = self._settings
        if settings.engine != "kueue":
            return None
        namespace = settings.kube_namespace or None
        workloads = Workloads(api, self._clock, namespace=namespace)
        return KueueWork(core, workloads, partial(offers, api), partial(_inspected, api, settings))

    async def _listen(self, server: HTTPServer) -> Callable[[], None]:
        url = urlsplit(self._environment.get("JUPYTERHUB_SERVICE_URL") or "http://127.0.0.1:0")

        async def bind() -> list[socket.socket]:
            return bind_sockets(url.port or 0, address=url.hostname or "127.0.0.1")

        sockets = await self._patiently(bind, OSError)
        close = listen(server, sockets)
        self.port = sockets[0].getsockname()[1]
        _LOG.info("the governor listens on %s port %s", url.hostname, self.port)
        return close

    async def _leave(
        self, core: CoreRunner, server: HTTPServer, work: "asyncio.Future[Any]"
    ) -> None:
        """Answer those that wait, end the recurring work."""
        core.stream.close()
        work.cancel()
        try:
            await work
        except asyncio.CancelledError:
            pass
        except (GpuCommonsError, BaseExceptionGroup) as error:
            self._fault = self._fault or str(error)
        try:
            await asyncio.wait_for(server.close_all_connections(), _LEAVE_S)
        except TimeoutError:
            _LOG.warning("some requests were cut off")

    def _open_core(self) -> Governor:
        settings = self._settings
        ledger = Ledger.open(settings.state, hub=settings.hub, url=settings.ledger_url or None)
        samples = Samples.open(settings.state)
        samples.write_aside()
        return Governor(ledger, samples, settings, alive=machine.probe)

    async def _patiently(self, act: Callable[[], Awaitable[T]], wrong: type[Exception]) -> T:
        """Try until a former governor, whose hub is gone, has left its port and ledger."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._settings.takeover_s
        while True:
            try:
                return await act()
            except wrong as error:
                if loop.time() >= until or self._stop.is_set():
                    if isinstance(error, GpuCommonsError):
                        raise
                    raise GpuCommonsError(
                        _("the address is in use: {error}; end the process that has it").format(
                            error=error
                        )
                    ) from error
                await asyncio.sleep(_RETRY_S)

    def _fenced(self, error: FencedError) -> None:
        self._fault = str(error)
        self._stop.set()


def _cluster(settings: Settings) -> Api | None:
    """Open the way to the cluster's API, where servers are pods."""
    if not settings.on_kubernetes:
        return None
    return Api(Path(settings.kubeconfig) if settings.kubeconfig else None)


async def _inspected(api: Api, settings: Settings, policy: Policy) -> tuple[Breach, ...]:
    """Look whether Kueue keeps what a policy rests on, as far as the governor may look."""
    given = {"hub_namespace": settings.kube_hub_namespace, "namespace": settings.kube_namespace}
    # How large homes are is for the hub to know; `doctor`, beside it, looks at them.
    named = {key: value for key, value in given.items() if value}
    site = Site.model_validate({**named, "home_size": None})
    needs = expected(policy, site)
    spaces = frozenset(home.namespace for home in needs.homes)
    return tuple(breaches(await inspect(api, spaces, site.kueue_namespace), needs))
