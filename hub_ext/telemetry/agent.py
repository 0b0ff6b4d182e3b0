"""The agent's loop: read, report, keep the list of what to watch.

It decides nothing. While the governor is away it goes on reading, so that no counter starts anew,
keeps what it read in an outbox, and reports within a second of the governor's return: first what is
so now, then what was.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Protocol

from ..errors import NotTakenError, UnreachableError
from ..i18n import _
from ..lease import (
    Device,
    DeviceHolding,
    Inventory,
    LeaseId,
    ProcessSample,
    SampleBatch,
    StrayProcess,
    WatchItem,
    WatchList,
)
from .outbox import Outbox
from .peerclock import PeerClock
from .processes import ProcessMeter
from .prometheus import PrometheusReader
from .sample import Reader, Reading
from .strays import strays

LOG = logging.getLogger("gpu_commons.agent")

FIRST_REST_S = 0.1
LONGEST_REST_S = 0.8
"""Rest between two tries to reach the governor; so a report comes within a second of its return."""


COUNTED_S = 3600.0
"""How long a refused batch is spoken of."""

Holdings = Callable[[], tuple[DeviceHolding, ...]]
"""Says which container of this machine holds which device; UnreachableError where it cannot."""


class Governor(Protocol):
    """Where batches go."""

    async def post(self, batch: SampleBatch) -> WatchList:
        """Hand over one batch.

        Raises
        ------
        UnreachableError
            It was not taken, and may be later.
        NotTakenError
            It never will be.
        """


class Agent:
    """Reads and reports; a simulated node's policy may have several nodes, a real one is one.

    Parameters
    ----------
    reader
        Figures of devices.
    governor
        Where they go.
    node
        Name of this machine.
    period_s
        Seconds between two readings; raised to what the reader's source bears.
    holdings
        Who holds the devices of this machine; None where no kubelet can be asked.
    outbox
        Keeps what the governor did not take; None where that is lost.
    meter
        Figures of servers' processes.
    """

    def __init__(  # noqa: PLR0913 - what it works with, each named at its call
        self,
        reader: Reader,
        governor: Governor,
        *,
        node: str,
        period_s: float,
        holdings: Holdings | None = None,
        outbox: Outbox | None = None,
        meter: ProcessMeter | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reader = reader
        self._meter = meter or ProcessMeter()
        self._governor = governor
        self._node = node
        self._period_s = max(period_s, reader.floor_s)
        self._now, self._steady = now, steady
        self._clock = PeerClock(now, steady)
        self._refused: deque[float] = deque()
        self._watches: dict[str, WatchList] = {}
        self._told: dict[str, tuple[tuple[Device, ...], str]] = {}
        self._away = ""
        self._holdings = holdings
        self._outbox = outbox
        self._mute = ""

    async def run(self, stop: asyncio.Event) -> None:
        """Report each period until `stop` is set."""
        loop = asyncio.get_running_loop()
        while not stop.is_set():
            next_s = loop.time() + self._period_s
            # In a thread: /proc can be slow, and a signal should be heard meanwhile.
            batches = await asyncio.to_thread(self.gather)
            await self._deliver(batches, stop, next_s)
            if self._outbox is not None:
                await self._catch_up(self._outbox, batches, stop, next_s)
            await _rest(stop, next_s - loop.time())

    def gather(self) -> list[SampleBatch]:
        """Read once; one batch for each node."""
        now, clock = self._now(), self._clock.offset()
        watch, held = _merged(self._watches.values()), self._held()
        readings = self._reader.read(watch, now)
        nodes = [reading.inventory.node for reading in readings] or [self._node]
        processes: dict[str, list[ProcessSample]] = {node: [] for node in nodes}
        for sample in self._meter.read(watch, now):
            processes[self._teller(sample.lease_id, nodes)].append(sample)
        by_node: dict[str, Reading] = {reading.inventory.node: reading for reading in readings}
        return [
            SampleBatch(
                node=node,
                source=self._reader.source,
                sent_at=now,
                period_s=self._period_s,
                inventory=by_node[node].inventory if node in by_node else None,
                devices=by_node[node].devices if node in by_node else (),
                processes=tuple(processes[node]),
                health=by_node[node].health if node in by_node else (),
                holdings=held if node == self._node else None,
                strays=self._strays(node, by_node.get(node), held),
                clock=clock,
                refused=self._lately_refused(),
            )
            for node in nodes
        ]

    def _strays(
        self, node: str, reading: Reading | None, held: tuple[DeviceHolding, ...] | None
    ) -> tuple[StrayProcess, ...] | None:
        """Say which processes no lease accounts for; None where that cannot be told.

        Before the governor's first answer every server would look like one without a lease, and
        where servers are containers the kubelet alone knows whose a device is.
        """
        watch = self._watches.get(node)
        if watch is None or reading is None or reading.processes is None:
            return None
        if self._holdings is not None and held is None:
            return None
        return strays(reading.processes, self._meter.whose, watch, held)

    def _held(self) -> tuple[DeviceHolding, ...] | None:
        """Ask who holds this machine's devices; None where there is nobody to ask, or no answer."""
        if self._holdings is None:
            return None
        try:
            found = self._holdings()
        except UnreachableError as error:
            if str(error) != self._mute:
                LOG.warning("%s", error)
            self._mute = str(error)
            return None
        self._mute = ""
        return found

    def _teller(self, lease_id: LeaseId, nodes: list[str]) -> str:
        """Node that tells of a lease's processes: where its devices are, else this machine."""
        for node in nodes:
            watch = self._watches.get(node)
            if watch and any(one.lease_id == lease_id and one.devices for one in watch.leases):
                return node
        return self._node if self._node in nodes else nodes[0]

    async def _deliver(
        self, batches: list[SampleBatch], stop: asyncio.Event, until_s: float
    ) -> None:
        """Try until all are taken, or the next reading is due; those not taken stay in the list."""
        loop = asyncio.get_running_loop()
        rest_s = FIRST_REST_S
        while batches and not stop.is_set():
            batch = batches[0]
            inventory = batch.inventory if self._is_news(batch.inventory) else None
            fresh = batch.model_copy(update={"sent_at": self._now(), "inventory": inventory})
            try:
                self._watches[batch.node] = await self._post(fresh)
            except NotTakenError as error:
                await self._set_aside(batches.pop(0), str(error))
            except UnreachableError as error:
                self._say_away(str(error))
                if loop.time() + rest_s >= until_s:
                    return
                await _rest(stop, rest_s)
                rest_s = min(2 * rest_s, LONGEST_REST_S)
            else:
                if inventory is not None:
                    self._told[batch.node] = (inventory.devices, inventory.problem)
                batches.pop(0)
                self._say_back()

    async def _catch_up(
        self, outbox: Outbox, left: list[SampleBatch], stop: asyncio.Event, until_s: float
    ) -> None:
        """Keep what was not taken; where all was, hand over what was kept before, oldest first."""
        for batch in left:
            # What is there now is asked anew; who held what then is no news, and may be wrong.
            past = batch.model_copy(update={"inventory": None, "holdings": None, "strays": None})
            await asyncio.to_thread(outbox.put, past)
        loop = asyncio.get_running_loop()
        while not left and not stop.is_set() and loop.time() < until_s:
            kept = await asyncio.to_thread(outbox.oldest, self._now())
            if kept is None:
                return
            path, batch = kept
            try:
                await self._governor.post(batch)
            except NotTakenError as error:
                # One that never passes would keep all that follow it from being handed over.
                await self._set_aside(batch, str(error))
            except UnreachableError as error:
                self._say_away(str(error))
                return
            await asyncio.to_thread(outbox.drop, path)

    async def _post(self, batch: SampleBatch) -> WatchList:
        """Hand over what is so now, and compare clocks by the answer."""
        sent_s = self._steady()
        watch = await self._governor.post(batch)
        if watch.at is not None:
            self._clock.heard(watch.at, self._steady() - sent_s)
        return watch

    async def _set_aside(self, batch: SampleBatch, reason: str) -> None:
        """Give a batch up that the governor refused for good; that is counted and told."""
        self._refused.append(self._steady())
        kept = None
        if self._outbox is not None:
            kept = await asyncio.to_thread(self._outbox.set_aside, batch)
        words = _("{reason}. This batch of {node} is set aside{where}; {n} were in the last hour.")
        LOG.warning(
            "%s",
            words.format(
                reason=reason,
                node=batch.node,
                where="" if kept is None else f" ({kept})",
                n=self._lately_refused(),
            ),
        )

    def _lately_refused(self) -> int:
        """Count what was refused for good in the last hour."""
        while self._refused and self._refused[0] < self._steady() - COUNTED_S:
            self._refused.popleft()
        return len(self._refused)

    def _is_news(self, inventory: Inventory | None) -> bool:
        """Whether the governor should be told which devices there are; they seldom change."""
        if inventory is None:
            return False
        changed = self._told.get(inventory.node) != (inventory.devices, inventory.problem)
        watch = self._watches.get(inventory.node)
        return changed or bool(self._away) or (watch is not None and watch.inventory_wanted)

    def _say_away(self, reason: str) -> None:
        if reason != self._away:
            LOG.warning(_("No samples are reported: {reason}. Trying again.").format(reason=reason))
        self._away = reason

    def _say_back(self) -> None:
        if self._away:
            LOG.warning(_("Samples are reported again."))
        self._away = ""


class PrometheusAgent(Agent):
    """Reports for machines that let no agent in; where one does report, that one is believed."""

    def __init__(
        self,
        reader: PrometheusReader,
        governor: Governor,
        *,
        period_s: float,
        outbox: Outbox | None = None,
    ) -> None:
        super().__init__(reader, governor, node="", period_s=period_s, outbox=outbox)
        self._prometheus = reader

    def gather(self) -> list[SampleBatch]:
        """Ask once; one batch for each machine that was read lately."""
        return self._prometheus.batches(self._watches, self._now(), self._clock.offset())


def _merged(watches: Iterable[WatchList]) -> WatchList:
    """All that any node's list names, each lease once with all its devices."""
    items: dict[LeaseId, WatchItem] = {}
    for item in (item for watch in watches for item in watch.leases):
        known = items.get(item.lease_id)
        devices = tuple(dict.fromkeys([*(known.devices if known else ()), *item.devices]))
        items[item.lease_id] = item.model_copy(update={"devices": devices})
    return WatchList(leases=tuple(items.values()))


async def _rest(stop: asyncio.Event, seconds: float) -> None:
    """Wait, but not longer than until the stop."""
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), max(0.0, seconds))
