"""A governor that behaves, in a thread of the test: it grants while devices are free, remembers
attempts, takes reports, can be slow, ill or away. Its rules are the least that its clients need.
"""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler

from hub_ext.lease import (
    Ask,
    AttemptId,
    Device,
    DeviceId,
    Environment,
    Grant,
    Isolation,
    LeaseId,
    Liveness,
    Offer,
    OfferSheet,
    PodTerms,
    PoolName,
    Problem,
    ProfileName,
    ProjectName,
    Reason,
    Report,
    ReportKind,
    Standing,
    TeamName,
    UserName,
)

TOKEN = "f" * 64
PREFIX = "/services/gpu-commons/api/v1"
AT = datetime(2026, 11, 30, 14, 5, 9, tzinfo=UTC)


def offer(profile: str = "cpu", **changes: Any) -> Offer:
    """Make one offer; a profile whose name is not `cpu…` has a MIG device."""
    gpu = not profile.startswith("cpu")
    fields: dict[str, Any] = {
        "profile": ProfileName(profile),
        "title": f"Profile {profile}",
        "team": TeamName("vision"),
        "project": None,
        "pool": PoolName("main") if gpu else None,
        "pool_model": "h200-141gb" if gpu else None,
        "flavor": "1g.18gb" if gpu else "none",
        "flavor_title": "MIG 1g.18gb on H200 141 GB" if gpu else "no GPU",
        "standing": Standing.guaranteed if gpu else Standing.unmetered,
        "reason": Reason(code="inside", message="Inside the guarantee of vision: 1 of 2 held."),
        "free": 3 if gpu else None,
        "isolation": Isolation.mig if gpu else Isolation.none,
        "found": gpu,
        "environment": None,
        "cpu_millis": 2000,
        "memory_bytes": 4 * 2**30,
        "lifetime_default_s": 4 * 3600,
        "lifetime_longest_s": 12 * 3600,
        "price_micro_per_hour": 800_000 if gpu else None,
        "price_micro_default": 3_200_000 if gpu else None,
        "price_text": "EUR 0.80 an hour" if gpu else "no charge for GPUs",
        "currency": "EUR",
        "simulated": gpu,
    }
    return Offer(**{**fields, **changes})


@dataclass
class FakeGovernor:
    """State of the fake; set fields to change how it behaves, read them to see what it was told."""

    url: str = ""
    room: int = 2
    """GPU leases that fit at once."""
    offers: list[Offer] = field(default_factory=lambda: [offer("cpu"), offer("mig-small")])
    message: Reason | None = None
    environment: Environment | None = None
    simulated: bool = True
    pod_of: Callable[[Ask, Offer], PodTerms] | None = None
    """Makes the terms of pods, as a governor of a cluster does."""
    delay_s: float = 0.0
    fail_next: int = 0
    """That many requests are answered with 500."""
    nonsense: bool = False
    refuse_with: Problem | None = None
    asks: list[Ask] = field(default_factory=list)
    reports: list[tuple[AttemptId, Report]] = field(default_factory=list)
    grants: dict[str, Grant] = field(default_factory=dict)
    """By attempt: what was granted and has not ended."""
    buried: set[str] = field(default_factory=set)
    _loop: asyncio.AbstractEventLoop | None = None
    _server: HTTPServer | None = None
    _port: int = 0

    # -- what it does ----------------------------------------------------------------------

    def ask(self, ask: Ask) -> Grant | Problem:
        """Grant, repeat a grant, or refuse."""
        self.asks.append(ask)
        if self.refuse_with is not None:
            return self.refuse_with
        if ask.attempt_id in self.grants:
            return self.grants[ask.attempt_id]
        if ask.attempt_id in self.buried:
            return _problem("attempt-over", "This attempt has already ended. Start again.")
        if any(grant.key == ask.key for grant in self.grants.values()):
            if ask.former is not Liveness.gone:
                return _problem("still-alive", "An earlier process still runs. Wait.", 15)
            self._end(next(one for one, grant in self.grants.items() if grant.key == ask.key))
        return self._decide(ask)

    def _decide(self, ask: Ask) -> Grant | Problem:
        chosen = next((one for one in self.offers if one.profile == ask.choice.profile), None)
        if chosen is None:
            names = ", ".join(one.profile for one in self.offers)
            return _problem("unknown-profile", f"There is no such profile; there are {names}.", 0)
        held = sum(bool(grant.devices) for grant in self.grants.values())
        if chosen.pool is not None and held >= self.room:
            words = f"{held} of {self.room} devices are held & <b>busy</b>. Try again later."
            return _problem("would-queue", words, 60)
        grant = self._grant(ask, chosen, held)
        self.grants[ask.attempt_id] = grant
        return grant

    def report(self, attempt: AttemptId, report: Report) -> None:
        """Note a report; a proved end frees the device."""
        self.reports.append((attempt, report))
        if report.kind is ReportKind.ended:
            self.buried.add(attempt)
            if report.liveness is Liveness.gone:
                self._end(attempt)

    def sheet(self, user: str) -> OfferSheet:
        """Everything that is offered, whoever asks."""
        return OfferSheet(
            user=UserName(user),
            at=AT,
            teams=(TeamName("vision"),),
            projects=(ProjectName("atlas"),),
            offers=tuple(self.offers),
            simulated=True,
            policy_generation=1,
            message=self.message,
        )

    def _end(self, attempt: str) -> None:
        self.grants.pop(attempt, None)

    def _grant(self, ask: Ask, chosen: Offer, index: int) -> Grant:
        device = Device(
            id=DeviceId(f"SIM-MIG-{index}"),
            pool=PoolName("main"),
            node="localhost",
            gpu=0,
            model="h200-141gb",
            mig_profile="1g.18gb",
            simulated=self.simulated,
        )
        return Grant(
            lease_id=LeaseId(f"lease-{len(self.asks)}"),
            attempt_id=AttemptId(ask.attempt_id),
            key=ask.key,
            team=TeamName("vision"),
            project=None,
            profile=chosen.profile,
            title=chosen.title,
            standing=chosen.standing,
            devices=() if chosen.pool is None else (device,),
            environment=self.environment,
            cpu_millis=chosen.cpu_millis,
            memory_bytes=chosen.memory_bytes,
            ends_at=AT + timedelta(hours=4),
            price_micro_per_hour=chosen.price_micro_per_hour,
            currency="EUR",
            isolation=chosen.isolation,
            simulated=self.simulated and chosen.pool is not None,
            pod=None if self.pod_of is None else self.pod_of(ask, chosen),
        )

    # -- how it is reached --------------------------------------------------------------------

    @classmethod
    @contextmanager
    def running(cls) -> Iterator["FakeGovernor"]:
        """Serve on a free port of 127.0.0.1 for the length of a `with` block."""
        fake = cls()
        ready = threading.Event()

        async def serve() -> None:
            fake._loop = asyncio.get_running_loop()
            stop = asyncio.Event()
            fake._stop = stop
            fake._listen()
            ready.set()
            await stop.wait()
            fake._deafen()

        thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
        thread.start()
        assert ready.wait(10)
        try:
            yield fake
        finally:
            assert fake._loop is not None
            fake._loop.call_soon_threadsafe(fake._stop.set)
            thread.join(10)

    _stop: asyncio.Event = field(default_factory=asyncio.Event)

    @contextmanager
    def away(self) -> Iterator[None]:
        """Answer nobody for the length of a `with` block; the port stays its own."""
        self._run(self._deafen)
        try:
            yield
        finally:
            self._run(self._listen)

    def ended(self) -> list[Report]:
        """Reports of ends, in the order they came."""
        return [report for _, report in self.reports if report.kind is ReportKind.ended]

    def wait_for_reports(self, count: int, seconds: float = 10.0) -> list[Report]:
        """Wait until so many reports have come, and return them."""
        deadline = time.monotonic() + seconds
        while len(self.reports) < count:
            assert time.monotonic() < deadline, f"{self.reports} are not {count}"
            time.sleep(0.02)
        return [report for _, report in self.reports]

    def wait_for_ask(self, seconds: float = 10.0) -> None:
        """Wait until an ask has been decided."""
        deadline = time.monotonic() + seconds
        while not self.asks:
            assert time.monotonic() < deadline, "nobody asked"
            time.sleep(0.02)
        time.sleep(0.05)

    def _run(self, what: Any) -> None:
        done = threading.Event()
        assert self._loop is not None
        self._loop.call_soon_threadsafe(what)
        self._loop.call_soon_threadsafe(done.set)
        assert done.wait(10)

    def _listen(self) -> None:
        sockets = bind_sockets(self._port, "127.0.0.1")
        self._port = sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}{PREFIX}"
        self._server = HTTPServer(
            Application(
                [
                    (f"{PREFIX}/attempts", _Asks, {"fake": self}),
                    (f"{PREFIX}/attempts/([^/]+)/reports", _Reports, {"fake": self}),
                    (f"{PREFIX}/offers", _Offers, {"fake": self}),
                ]
            )
        )
        self._server.add_sockets(sockets)

    def _deafen(self) -> None:
        assert self._server is not None
        self._server.stop()


class _Handler(RequestHandler):
    fake: FakeGovernor

    def initialize(self, fake: FakeGovernor) -> None:
        self.fake = fake

    async def prepare(self) -> None:
        if self.fake.delay_s:
            await asyncio.sleep(self.fake.delay_s)
        if self.request.headers.get("Authorization") != f"token {TOKEN}":
            self.set_status(401)
            self.finish(_problem("sign-in", "This needs a token.").model_dump_json())
        elif self.fake.fail_next > 0:
            self.fake.fail_next -= 1
            self.set_status(500)
            self.finish("ill")
        elif self.fake.nonsense:
            self.finish(json.dumps({"hello": "world"}))

    def answer(self, value: Grant | OfferSheet | Problem) -> None:
        """Answer with a value, or with a problem and its status."""
        if isinstance(value, Problem):
            self.set_status(value.status)
        self.finish(value.model_dump_json())

    def log_request(self) -> None:
        """Keep the test's output readable."""


class _Asks(_Handler):
    def post(self) -> None:
        self.answer(self.fake.ask(Ask.model_validate_json(self.request.body)))


class _Reports(_Handler):
    def post(self, attempt: str) -> None:
        self.fake.report(AttemptId(attempt), Report.model_validate_json(self.request.body))
        self.set_status(204)


class _Offers(_Handler):
    def get(self) -> None:
        self.answer(self.fake.sheet(self.get_argument("user")))


def _problem(code: str, words: str, retry_after_s: int | None = None) -> Problem:
    return Problem(
        title="Conflict", status=409, detail=words, code=code, retry_after_s=retry_after_s
    )
