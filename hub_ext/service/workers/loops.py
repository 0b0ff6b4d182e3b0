"""Turns the governor's recurring work: compare with the hub, judge idleness, carry out intents.

A pass that fails is counted, told and tried again; only the loss of the ledger ends the loops.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from ...admission.calling import Plan, plan
from ...admission.forecast import forecast
from ...errors import FencedError, GpuCommonsError
from ...i18n import _
from ...kube.api import Api
from ...kube.leaseless import Servers
from ...kube.standing import Standing
from ...lease import LeaseId
from ..basis.hub import HubClient
from ..books.config import Settings
from ..core.governor import Governor
from ..core.runner import CoreRunner
from ..core.stream import Stream
from ..queueing.calling_in import Sight
from .cull import Culler
from .ending import work_endings
from .intents import work_intents
from .kueuework import KueueWork
from .reconcile import Reconciler
from .starts import Starter
from .steps import Step
from .telling import Teller
from .unleasedgpus import Leaseless
from .unused import stop_unused

_LOG = logging.getLogger(__name__)

AT_NEWS = frozenset({"queue", "calls", "reservations", "starts", "kueue"})
"""Loops that also turn at once when any lease has changed: people wait for them."""

DEMANDS_S = 120.0
"""Between two looks at how Kueue is set up, in seconds: people change it by hand, and seldom."""

PAST_DAYS_PAUSE_S = 0.05
"""Between two turns that read past days, in seconds."""

TRIES = 3
"""A plan that was overtaken is made again so often; then it is made where nothing overtakes it."""

Pass = Callable[[], Awaitable[object]]


@dataclass
class Beat:
    """How one loop stands. Seconds are of the monotonic clock; `words` tell the newest failure."""

    every_s: float
    passes: int = 0
    failures: int = 0
    last_good_s: float | None = None
    last_took_s: float = 0.0
    words: str = ""

    def age_s(self) -> float | None:
        """Seconds since the last good pass; None before the first."""
        return None if self.last_good_s is None else time.monotonic() - self.last_good_s


@dataclass
class Loops:
    """All loops of one governor.

    Parameters
    ----------
    core
        The clock is in there: each act in the core gets one `now`.
    kueue
        Makes what is to be done on Kueue, where that admits; None where the governor does.
    api
        The way to the cluster's API, where servers are pods; whoever opened it closes it.
    """

    core: CoreRunner
    hub: HubClient
    settings: Settings
    kueue: KueueWork | None = None
    api: Api | None = None
    beats: dict[str, Beat] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._culler = Culler()
        pods = None if self.api is None else Standing(self.api)
        self._reconciler = Reconciler(self.core, self.hub, cluster=pods)
        self._teller = Teller(self.core, self.settings)
        self._starter = Starter(self.core, self.hub)
        self._leaseless = None if self.api is None else self._looking_after(self.api)

    def _looking_after(self, api: Api) -> Leaseless:
        """Look after servers without a lease, where servers are pods."""
        single = self.settings.kube_namespace or None
        return Leaseless(self.core, Servers(api), single=single)

    async def run(self) -> None:
        """Run until cancelled.

        Raises
        ------
        FencedError
            When another governor holds the ledger now.
        """
        loops: dict[str, tuple[Pass, float]] = {
            "reconcile": (self._reconciler.compare, self.settings.reconcile_s),
            "cull": (self.cull, self.settings.cycle_s),
            "intents": (self._intents, self.settings.intents_s),
            "reservations": (self._reservations, self.settings.intents_s),
            "queue": (self._queue, self.settings.intents_s),
            "calls": (self._calls, self.settings.intents_s),
            "forecast": (self._forecast, self.settings.cycle_s),
            "starts": (self._starter.begin, self.settings.intents_s),
            "unused": (self._unused, self.settings.cycle_s),
            "budgets": (self._budgets, self.settings.cycle_s),
            "outlooks": (self._outlooks, self.settings.cycle_s),
            "notices": (self._teller.tell, self.settings.intents_s),
            "looks": (self.look, self.settings.look_s),
            **self._on_kueue(),
            **self._on_kubernetes(),
        }
        try:
            async with asyncio.TaskGroup() as group:
                for name, (work, every_s) in loops.items():
                    beat = self.beats[name] = Beat(every_s)
                    stream = self.core.stream if name in AT_NEWS else None
                    group.create_task(_turn(name, work, beat, stream), name=name)
        finally:
            self._starter.cancel()
            self._teller.close()
            if self.kueue is not None:
                self.kueue.cancel()

    def _on_kueue(self) -> dict[str, tuple[Pass, float]]:
        """Loops that only admission by Kueue needs; the watch begins again when it breaks off."""
        if self.kueue is None:
            return {}
        return {
            "kueue": (self.kueue.begin, self.settings.intents_s),
            "kueue-watch": (self.kueue.watch, self.settings.intents_s),
            "kueue-list": (self.kueue.look, self.settings.reconcile_s),
            "kueue-nodes": (self.kueue.look_at_nodes, self.settings.reconcile_s),
            "kueue-demands": (self.kueue.look_at_demands, DEMANDS_S),
        }

    def _on_kubernetes(self) -> dict[str, tuple[Pass, float]]:
        if self._leaseless is None:
            return {}
        return {"leaseless": (self._leaseless.look, self.settings.reconcile_s)}

    async def cull(self) -> None:
        """Look at every live lease once; between two of them others get their turn.

        What idleness brings about waits for the second sweep, when the whole pass is weighed.
        """
        idle = [
            one
            for one in await self.core.run(self._culler.live)
            if await self.core.run(_surveying(self._culler, one))
        ]
        await self.core.run(self._culler.weigh)
        for lease_id in idle:
            await self.core.run(_culling(self._culler, lease_id))
        if self._culler.faults:
            raise GpuCommonsError(
                _("{n} servers could not be judged: {words}").format(
                    n=len(self._culler.faults), words=self._culler.faults[0]
                )
            )

    async def _reservations(self) -> None:
        await self.core.run(lambda governor, now: governor.tend_reservations(now=now))

    async def _queue(self) -> None:
        await self.core.run(lambda governor, now: governor.serve_queue(now=now))

    async def _calls(self) -> None:
        for _try in range(TRIES):
            sight = await self.core.run(lambda governor, now: governor.look_at_calls(now=now))
            if sight is None:
                return
            # Beside the core: many owners and many borrowers take longer than anybody shall wait.
            planned = await asyncio.to_thread(plan, sight.snapshot)
            if await self.core.run(_settling(sight, planned)):
                return
        await self.core.run(lambda governor, now: governor.review_calls(now=now))

    async def _forecast(self) -> None:
        await self.core.run(lambda governor, now: governor.look_at_waits(now=now))
        ground = await self.core.run(lambda governor, now: governor.look_ahead(now=now))
        if ground is not None:
            # Beside the core: many courses of a long queue take longer than anybody shall wait.
            made = await asyncio.to_thread(forecast, ground.snapshot, ground.known)
            await self.core.run(lambda governor, _now: governor.foresee(ground, made))

    async def _budgets(self) -> None:
        await self.core.run(lambda governor, now: governor.tend_budgets(now=now))

    async def _outlooks(self) -> None:
        more = True
        while more:
            more = await self.core.run(lambda governor, now: governor.read_past_days(now=now))
            # A year of days is many turns; people get theirs between two of them.
            await asyncio.sleep(PAST_DAYS_PAUSE_S)

    async def look(self) -> None:
        """Look once at how every GPU is used; between two of them others get their turn."""
        for lease_id in await self.core.run(lambda governor, now: governor.to_look_at(now=now)):
            await self.core.run(_looking(lease_id))
        await self.core.run(lambda governor, now: governor.search_anomalies(now=now))

    async def _unused(self) -> None:
        await stop_unused(self.core, self.hub)

    async def _intents(self) -> None:
        await work_intents(self.core, self.hub, self.settings)
        await work_endings(self.core, self.settings)


def _surveying(culler: Culler, lease_id: LeaseId) -> Callable[[Governor, datetime], bool]:
    return lambda governor, now: culler.survey(governor, lease_id, now)


def _culling(culler: Culler, lease_id: LeaseId) -> Callable[[Governor, datetime], Step]:
    return lambda governor, now: culler.look(governor, lease_id, now)


def _looking(lease_id: LeaseId) -> Callable[[Governor, datetime], object]:
    return lambda governor, now: governor.look_at_use(lease_id, now=now)


def _settling(sight: Sight, planned: Plan) -> Callable[[Governor, datetime], bool]:
    def act(governor: Governor, now: datetime) -> bool:
        return governor.settle_calls(sight, planned, now=now)

    return act


async def _turn(name: str, work: Pass, beat: Beat, stream: Stream | None) -> None:
    if stream is None:
        while True:
            await _pass(name, work, beat)
            await asyncio.sleep(beat.every_s)
    with stream.watcher() as news:
        while True:
            news.clear()
            await _pass(name, work, beat)
            with suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), beat.every_s)


async def _pass(name: str, work: Pass, beat: Beat) -> None:
    began = time.monotonic()
    try:
        await work()
    except FencedError:
        raise
    except GpuCommonsError as error:
        _failed(name, beat, error)
    except Exception as error:  # noqa: BLE001 - a fault of ours must not end the loop unseen
        _LOG.exception("The %s loop met a fault; it goes on", name)
        _failed(name, beat, error)
    else:
        if beat.words:
            _LOG.info("The %s loop works again", name)
        beat.words = ""
        beat.last_good_s = time.monotonic()
    beat.passes += 1
    beat.last_took_s = time.monotonic() - began


def _failed(name: str, beat: Beat, error: Exception) -> None:
    words = str(error) or type(error).__name__
    if words != beat.words:
        # Once a kind, not once a pass: a hub that is away for an hour fills no disk.
        _LOG.warning("The %s loop: %s", name, words)
    beat.words = words
    beat.failures += 1
