"""A governor that behaves, for the Lab panel alone: one lease, long polls, its verbs.

It speaks in the product's own values, runs in a thread, and does what it is told by the test.
"""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.iostream import StreamClosedError
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler

from hub_ext.lease import (
    Activity,
    AttemptId,
    Cause,
    Change,
    Choice,
    Cost,
    Device,
    DeviceId,
    DeviceReading,
    Environment,
    Grant,
    Isolation,
    LeaseId,
    LeaseState,
    LeaseView,
    Notice,
    OpenLease,
    PoolName,
    Problem,
    ProfileName,
    ProjectName,
    Reason,
    ServerKey,
    ServerName,
    Signal,
    Standing,
    SwitchOffer,
    SwitchSheet,
    TeamName,
    UserName,
    Verdict,
    VerdictState,
    WaitsFor,
)
from hub_ext.lease.keeping import KeepSheet
from hub_ext.units import accrue, money_text, settle

OWNER = UserName("alice")
TOKEN = "lab-server-token"
LEASE = LeaseId("lease-7")
CHANGE = LeaseId("lease-8")
MIG = DeviceId("SIM-MIG-2b9c1f5e-6a0d-4c6e-9f5b-0e6f2d1c7a11")
PRICE_MICRO = 4_200_000
GIB = 2**30
DIGEST = "sha256:4f2d8a6c1b7e9035a4f2d8a6c1b7e9035a4f2d8a6c1b7e9035a4f2d8a6c1b7e9"


def a_lease(now: datetime, **changes: Any) -> OpenLease:
    """A MIG device lent by another team, half an hour into its four hours."""
    key = ServerKey(user=OWNER, server=ServerName(""))
    device = Device(
        id=MIG,
        pool=PoolName("h200"),
        node="node-1",
        gpu=0,
        model="h200-141gb",
        mig_profile="1g.18gb",
        start=0,
        size=1,
        simulated=True,
    )
    start = now - timedelta(minutes=30)
    grant = Grant(
        lease_id=LEASE,
        attempt_id=AttemptId("attempt-1"),
        key=key,
        team=TeamName("vision"),
        project=ProjectName("segmentation"),
        profile=ProfileName("mig-small"),
        title="MIG 1g.18gb on H200",
        standing=Standing.borrowed,
        devices=(device,),
        environment=Environment(name="vision-2026", prefix="/envs/vision", digest=DIGEST),
        cpu_millis=2000,
        memory_bytes=8 * GIB,
        ends_at=start + timedelta(hours=4),
        price_micro_per_hour=PRICE_MICRO,
        currency="EUR",
        isolation=Isolation.mig,
        simulated=True,
    )
    lease = OpenLease(
        id=LEASE,
        key=key,
        attempt_id=grant.attempt_id,
        choice=Choice(profile=grant.profile),
        team=grant.team,
        project=grant.project,
        profile=grant.profile,
        pool=PoolName("h200"),
        flavor="mig:1g.18gb",
        units=105,
        devices=(device,),
        standing=grant.standing,
        state=LeaseState.running,
        state_since=start,
        requested_at=start,
        assigned_at=start,
        started_at=start,
        ends_at=grant.ends_at,
        longest_end_at=grant.ends_at + timedelta(hours=4),
        price_micro_per_hour=PRICE_MICRO,
        currency="EUR",
        policy_generation=1,
        grant=grant,
    )
    return lease.model_copy(update=changes)


def without_gpu(lease: OpenLease) -> OpenLease:
    """The same lease for a profile that has no GPU, with no price."""
    assert lease.grant is not None
    grant = lease.grant.model_copy(update={"devices": (), "title": "CPU only"})
    return lease.model_copy(
        update={
            "devices": (),
            "pool": None,
            "units": 0,
            "standing": Standing.unmetered,
            "grant": grant,
            "price_micro_per_hour": None,
        }
    )


def a_change(title: str, **changes: Any) -> Change:
    """A change of profile that waits as number two."""
    waits = Change(
        lease_id=CHANGE,
        title=title,
        state=LeaseState.queued,
        since=datetime.now(UTC),
        position=2,
        words="Your request waits as number 2 for pool h200.",
    )
    return waits.model_copy(update=changes)


def a_keep(now: datetime, **changes: Any) -> KeepSheet:
    """One hour more for EUR 4.20, with some of both limits gone."""
    keep = KeepSheet(
        each_s=3600,
        adds_s=3600,
        until=now + timedelta(hours=1),
        ends_by="",
        server_kept_s=2 * 3600,
        server_limit_s=12 * 3600,
        week_kept_s=6 * 3600,
        week_limit_s=24 * 3600,
        price_micro=PRICE_MICRO,
        price_text="EUR 4.20",
        words="Kept for 2h of 12h on this server, and 6h of 24h within seven days.",
    )
    return keep.model_copy(update=changes)


def offers() -> tuple[SwitchOffer, ...]:
    """Two other profiles: one that is there, one to wait for."""
    team = TeamName("vision")
    plain = SwitchOffer(
        choice=Choice(profile=ProfileName("plain"), team=team),
        title="CPU only",
        flavor_title="no GPU",
        team=team,
        standing=Standing.unmetered,
        standing_text="no quota needed",
        price_text="no charge for GPUs",
        words="It takes no GPU.",
    )
    card = SwitchOffer(
        choice=Choice(profile=ProfileName("card"), team=team, project=ProjectName("segmentation")),
        title="Whole card",
        flavor_title="1 x H200 141 GB",
        team=team,
        standing=Standing.would_queue,
        standing_text="would wait",
        price_text="EUR 4.20 an hour",
        words="The team holds 2 of its 2 guaranteed GPUs.",
    )
    return (plain, card)


class LabGovernor:
    """What the test may set, and what the extension did.

    Attributes
    ----------
    asks
        (after, wait_s) of every long poll, in order.
    calls
        (verb, body) of every wish that was taken.
    told
        What the server told of itself, oldest first.
    refusal
        When set, every request is answered with it.
    speed
        How much faster than life the cost grows.
    """

    def __init__(self) -> None:
        now = datetime.now(UTC)
        self.url = ""
        self.lease: OpenLease | None = a_lease(now)
        self.ended: OpenLease | None = None
        self.verdict: Verdict | None = _verdict(now)
        self.waits_for: WaitsFor | None = None
        self.keep: KeepSheet | None = a_keep(now)
        self.readings: tuple[DeviceReading, ...] = (_reading(now),)
        self.extend_max_s = 3 * 3600
        self.switch_offers: tuple[SwitchOffer, ...] = offers()
        self.switch_to: Change | None = None
        self.refusal: Problem | None = None
        self.silent = False
        self.speed = 1
        self.asks: list[tuple[int, int]] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.told: list[Activity] = []
        self.stopped = threading.Event()
        self._began = now
        self._seq = 1
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news: set[asyncio.Event] = set()

    def change(self, **fields: Any) -> None:
        """Set attributes, and answer whoever waits."""
        for name, value in fields.items():
            assert hasattr(self, name), name
            setattr(self, name, value)
        self._seq += 1
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._ring)

    def announce(self, cause: Cause, words: str, *, in_s: int, code: str = "") -> Notice:
        """Give notice of a stop."""
        assert self.lease is not None
        now = datetime.now(UTC)
        notice = Notice(
            cause=cause,
            given_at=now,
            stops_at=now + timedelta(seconds=in_s),
            reason=Reason(code=code or cause.value, message=words),
        )
        self.change(
            lease=self.lease.model_copy(update={"state": LeaseState.noticed, "notice": notice})
        )
        return notice

    def call_off(self) -> None:
        """Withdraw the notice."""
        assert self.lease is not None
        self.change(
            lease=self.lease.model_copy(update={"state": LeaseState.running, "notice": None})
        )

    def view(self) -> LeaseView:
        """What the extension is told now."""
        now = datetime.now(UTC)
        lease = self.lease
        left = None
        if lease is not None and lease.ends_at is not None:
            left = max(0, int((lease.ends_at - now).total_seconds()))
        return LeaseView(
            seq=self._seq,
            now=now,
            server=ServerKey(user=OWNER, server=ServerName("")),
            lease=lease,
            ended=self.ended,
            cost=None if lease is None else self._cost(lease, now),
            time_left_s=left,
            extend_max_s=0 if lease is None else self.extend_max_s,
            can_stop=lease is not None,
            readings=self.readings if lease is not None and lease.devices else (),
            verdict=self.verdict if lease is not None and lease.devices else None,
            simulated=True,
            isolation=Isolation.mig,
            change=self.switch_to,
            waits_for=self.waits_for,
            keep=self.keep if lease is not None and lease.devices else None,
        )

    def take(self, verb: str, body: dict[str, Any]) -> None:
        """Do what was wished, as a governor would."""
        self.calls.append((verb, body))
        assert self.lease is not None
        if verb == "stop":
            self.change(lease=self.lease.model_copy(update={"state": LeaseState.stopping}))
            self.stopped.set()
        elif verb == "extend":
            assert self.lease.ends_at is not None
            by = timedelta(seconds=body["seconds"])
            self.extend_max_s -= body["seconds"]
            self.change(lease=self.lease.model_copy(update={"ends_at": self.lease.ends_at + by}))
        elif verb == "switch":
            chosen = Choice.model_validate(body["choice"])
            (offer,) = (one for one in self.switch_offers if one.choice == chosen)
            self.change(switch_to=a_change(offer.title))
        elif verb == "cancel":
            self.change(switch_to=None)
        else:
            until = datetime.now(UTC) + timedelta(hours=1)
            self.lease = self.lease.model_copy(update={"kept_until": until})
            self.call_off()

    async def news(self, after: int, wait_s: int) -> None:
        """Wait for an event newer than `after`, at most so long."""
        self.asks.append((after, wait_s))
        if self._seq > after or wait_s == 0:
            return
        bell = asyncio.Event()
        self._news.add(bell)
        try:
            await asyncio.wait_for(bell.wait(), wait_s)
        except TimeoutError:
            return
        finally:
            self._news.discard(bell)

    def _cost(self, lease: OpenLease, now: datetime) -> Cost:
        price = lease.price_micro_per_hour
        if price is None:
            return Cost(
                as_of=now,
                price_micro_per_hour=None,
                so_far_micro=None,
                currency="EUR",
                rate_text="not priced",
                so_far_text="not priced",
            )
        seconds = 1800 + int((now - self._began).total_seconds() * self.speed)
        so_far = settle(accrue(price, seconds))
        return Cost(
            as_of=now,
            price_micro_per_hour=price,
            so_far_micro=so_far,
            currency="EUR",
            rate_text=f"{money_text(price, 'EUR')} / h",
            so_far_text=money_text(so_far, "EUR"),
        )

    def _ring(self) -> None:
        for bell in self._news:
            bell.set()

    def _run(self, ready: threading.Event, done: threading.Event) -> None:
        async def main() -> None:
            self._loop = asyncio.get_running_loop()
            base = "/services/gpu-commons/api/v1"
            routes = [
                (rf"{base}/servers/alice/-/lease", _Lease, {"governor": self}),
                (rf"{base}/servers/alice/-/activity", _Activity, {"governor": self}),
                (rf"{base}/leases/{LEASE}/(stop|extend|keep|switch)", _Verb, {"governor": self}),
                (rf"{base}/leases/{CHANGE}/(cancel)", _Verb, {"governor": self}),
            ]
            server = HTTPServer(Application(routes))
            sockets = bind_sockets(0, "127.0.0.1")
            server.add_sockets(sockets)
            self.url = f"http://127.0.0.1:{sockets[0].getsockname()[1]}{base}"
            ready.set()
            await asyncio.to_thread(done.wait)
            self._ring()
            server.stop()
            await server.close_all_connections()

        asyncio.run(main())

    @classmethod
    @contextmanager
    def serve(cls) -> Iterator["LabGovernor"]:
        """Answer on a free port until the block ends."""
        governor = cls()
        ready, done = threading.Event(), threading.Event()
        thread = threading.Thread(target=governor._run, args=(ready, done), daemon=True)
        thread.start()
        assert ready.wait(10)
        try:
            yield governor
        finally:
            done.set()
            thread.join(10)


class _Answers(RequestHandler):
    """What both answer alike: the wrong token, silence, and refusals."""

    governor: LabGovernor

    def initialize(self, governor: LabGovernor) -> None:
        self.governor = governor

    def prepare(self) -> None:
        if self.governor.silent:
            self.set_status(502)
            self.finish("bad gateway")
        elif self.request.headers.get("Authorization") != f"token {TOKEN}":
            self.problem(
                Problem(title="Forbidden", status=403, detail="unknown token", code="forbidden")
            )
        elif self.governor.refusal is not None:
            self.problem(self.governor.refusal)

    def problem(self, problem: Problem) -> None:
        self.set_status(problem.status)
        self.finish(problem.model_dump_json())


class _Lease(_Answers):
    async def get(self) -> None:
        await self.governor.news(
            int(self.get_query_argument("after")), int(self.get_query_argument("wait_s"))
        )
        self.set_header("Content-Type", "application/json")
        # The extension may have asked anew meanwhile, and left this question.
        with suppress(StreamClosedError):
            await self.finish(self.governor.view().model_dump_json())


class _Activity(_Answers):
    def post(self) -> None:
        self.governor.told.append(Activity.model_validate_json(self.request.body))
        self.set_status(204)


class _Verb(_Answers):
    def get(self, verb: str) -> None:
        if verb != "switch":
            self.set_status(405)
            return
        sheet = SwitchSheet(
            lease_id=LEASE, has="MIG 1g.18gb on H200", offers=self.governor.switch_offers
        )
        self.finish(sheet.model_dump_json())

    def post(self, verb: str) -> None:
        self.governor.take(verb, json.loads(self.request.body))
        self.set_status(202)
        self.finish(self.governor.view().model_dump_json())


def _reading(now: datetime) -> DeviceReading:
    return DeviceReading(
        device=MIG,
        title="MIG 1g.18gb on H200",
        at=now,
        util_percent=64,
        memory_used_bytes=11 * GIB,
        memory_total_bytes=18 * GIB,
        source="simulated",
    )


def _verdict(now: datetime) -> Verdict:
    return Verdict(
        state=VerdictState.active,
        rule="gpu",
        at=now,
        quiet_since=None,
        limit_s=1800,
        signals=(
            Signal(
                name=f"gpu {MIG}",
                state="active",
                value="64 %",
                window_s=1800,
                age_s=2,
                source="simulated",
            ),
            Signal(
                name="cpu", state="quiet", value="3 %", window_s=1800, age_s=2, source="process"
            ),
        ),
        words="In use.",
        decision="l-5f2e8c1a9b3d7e60.2",
    )
