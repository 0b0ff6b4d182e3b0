"""Makes what is to be done on Kueue, and brings back what is seen there; outside the core's thread.

Each act may be made again without harm. Whether it had its effect is what is seen, never the
answer to the call.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from datetime import datetime
from functools import partial

from ...errors import FencedError, GpuCommonsError, RefusedError, UnreachableError
from ...kube.calls import Calls
from ...kube.engine import Gone, Seen
from ...kube.nodes import NodeOffer
from ...kube.queuedemands import Breach
from ...lease import LeaseId
from ...policy.model import Policy
from ..books.kueuebook import WATCH, WRITE
from ..core.governor import Governor
from ..core.runner import CoreRunner
from ..kueue.acts import Act, Do

_LOG = logging.getLogger(__name__)

MOST_AT_ONCE = 16
"""Acts made side by side; no two of them on one lease."""

SEEN_S = 5.0
"""How long an act that was made may take to be seen, before it is made again, in seconds."""

MOST_REST_S = 0.5
"""Longest rest between two looks at what is to be done, in seconds."""

LONGEST_PAUSE_S = 15.0
"""Kueue that is away is asked again at least so often."""

REFUSED_PAUSE_S = 60.0
"""What was refused needs somebody's hand, so it is tried again less often."""


Offers = Callable[[], Awaitable[tuple[NodeOffer, ...]]]
Inspect = Callable[[Policy], Awaitable[tuple[Breach, ...]]]


class KueueWork:
    """The worker and the watch of one governor.

    Parameters
    ----------
    offers
        Reads what the machines of the cluster offer; None where only agents tell.
    inspect
        Looks whether Kueue keeps what a policy rests on; None where nobody can look.
    pause_s
        First pause after a call that failed, in seconds; it doubles each time.
    """

    def __init__(
        self,
        core: CoreRunner,
        workloads: Calls,
        offers: Offers | None = None,
        inspect: Inspect | None = None,
        *,
        pause_s: float = 1.0,
    ) -> None:
        self._core = core
        self._workloads = workloads
        self._offers = offers
        self._inspect = inspect
        self._pause_s = pause_s
        self._broken = self._more = self._ended = False
        self._again: asyncio.Task[None] | None = None
        self._rests_until = 0.0
        self._under_way: dict[LeaseId, asyncio.Task[None]] = {}
        self._not_before: dict[tuple[object, ...], float] = {}
        self._tries: dict[tuple[object, ...], int] = {}

    async def begin(self) -> None:
        """Begin what is to be done and not under way."""
        await self._hear()
        acts, now_s = await self._wanted(), asyncio.get_running_loop().time()
        known = {_mark(act) for act in acts}
        self._not_before = {
            mark: at_s for mark, at_s in self._not_before.items() if mark in known or at_s > now_s
        }
        self._tries = {mark: count for mark, count in self._tries.items() if mark in known}
        for act in acts:
            if act.lease_id in self._under_way or self._not_before.get(_mark(act), 0.0) > now_s:
                continue
            if len(self._under_way) >= MOST_AT_ONCE:
                self._more = True
            else:
                task = asyncio.create_task(self._make(act), name=f"{act.do}-{act.lease_id}")
                self._under_way[act.lease_id] = task
                task.add_done_callback(partial(self._over, act.lease_id))

    async def _wanted(self) -> tuple[Act, ...]:
        """Ask the core what is to be done; a long look leaves it as much time for others."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(min(MOST_REST_S, max(0.0, self._rests_until - loop.time())))
        began = loop.time()
        acts = await self._core.run(lambda governor, now: governor.kueue_acts(now=now))
        self._rests_until = 2 * loop.time() - began
        return acts

    async def settle(self) -> None:
        """Wait until what is under way is over."""
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)

    def cancel(self) -> None:
        """Let go of what is under way; what is still wanted is worked out again."""
        self._ended = True
        for task in (*self._under_way.values(), *((self._again,) if self._again else ())):
            task.cancel()

    async def look(self) -> None:
        """List all Workloads once.

        Raises
        ------
        UnreachableError
            When the API does not answer; that is noted.
        """
        since = await self._core.run(lambda governor, _now: governor.kueue_stamp())
        try:
            every = await self._workloads.all()
        except (UnreachableError, RefusedError) as error:
            await self._failed(WATCH, error)
            raise UnreachableError(str(error)) from error
        await self._core.run(lambda governor, now: governor.kueue_listed(every, since, now=now))

    async def look_at_nodes(self) -> None:
        """Read what the machines of the cluster offer.

        Raises
        ------
        UnreachableError, RefusedError
            When they cannot be read; what was read before stands.
        """
        if self._offers is not None:
            offers = await self._offers()
            await self._core.run(lambda governor, _now: governor.take_offers(offers))

    async def look_at_demands(self) -> None:
        """Look whether Kueue keeps what promises rest on; a queue that does not is not used.

        Raises
        ------
        UnreachableError, RefusedError
            When it cannot be looked at; what was found before stands.
        """
        policy = await self._core.run(lambda governor, _now: governor.known_policy)
        if self._inspect is not None and policy is not None:
            found = await self._inspect(policy)
            await self._core.run(lambda governor, now: governor.kueue_inspected(found, now=now))

    async def watch(self) -> None:
        """List, then follow each change; it goes on for as long as somebody waits.

        Raises
        ------
        UnreachableError
            When not even the list can be had; begun again, it is asked for again.
        """
        await self.look()
        async with aclosing(self._workloads.watch()) as changes:
            async for news in changes:
                await self._core.run(partial(_saw, news))

    async def close(self) -> None:
        """Close the connections."""
        await self._workloads.close()

    async def _hear(self) -> None:
        """List all while changes cannot be followed, and once more after the gap."""
        broken = bool(self._workloads.away)
        if broken or self._broken:
            self._broken = True
            with suppress(UnreachableError):
                await self.look()
                self._broken = broken

    def _over(self, lease_id: LeaseId, task: "asyncio.Task[None]") -> None:
        self._under_way.pop(lease_id, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            _LOG.warning("What was to be done on Kueue failed: %s", error)
        if self._more and not self._ended:
            self._more = False
            self._again = asyncio.create_task(self._begin_again(), name="kueue-again")

    async def _begin_again(self) -> None:
        """Begin what had no room; what fails here is begun by the next pass, and told by it."""
        with suppress(GpuCommonsError):
            await self.begin()

    async def _make(self, act: Act) -> None:
        mark, loop = _mark(act), asyncio.get_running_loop()
        self._tries[mark] = self._tries.get(mark, 0) + 1
        if act.intent is not None:
            number = act.intent.id
            # Counted before the act: a crash in between costs one wait, not a second act at once.
            await self._core.run(lambda governor, now: governor.retried(number, now=now))
        try:
            await self._call(act)
        except UnreachableError as error:
            pause_s = self._pause_s * 2.0 ** min(self._tries[mark] - 1, 4)
            self._not_before[mark] = loop.time() + min(pause_s, LONGEST_PAUSE_S)
            # Deleting needs no webhook: where it fails, nothing can be seen either.
            unseen = act.do in {Do.drop, Do.renew}
            await self._failed(WATCH if unseen else WRITE, error)
        except RefusedError as error:
            self._not_before[mark] = loop.time() + REFUSED_PAUSE_S
            words = error.message
            await self._core.run(lambda core, now: core.kueue_refused(act, words, now=now))
        else:
            self._not_before[mark] = loop.time() + SEEN_S
            await self._core.run(lambda core, now: core.kueue_done(act, now=now))

    async def _call(self, act: Act) -> None:
        lease_id, there = act.lease_id, self._workloads
        match act.do:
            case Do.make:
                if act.wanted is not None:
                    await there.create(act.wanted)
            case Do.drop | Do.renew:
                await there.delete(lease_id)
            case Do.park | Do.wake:
                await there.set_active(lease_id, act.do is Do.wake)
            case Do.renumber:
                await there.renumber(lease_id, act.number)
            case Do.touch:
                # The same number again would change nothing, and so wake nobody.
                await there.renumber(lease_id, act.number - 1)
                await there.renumber(lease_id, act.number)
            case Do.keep:
                await there.keep(lease_id)
            case Do.ready:
                await there.pods_ready(lease_id)

    async def _failed(self, what: str, error: GpuCommonsError) -> None:
        words = str(error)
        # Whatever could not be seen is listed by the next pass.
        self._broken = self._broken or what == WATCH
        try:
            await self._core.run(lambda core, now: core.kueue_failed(what, words, now=now))
        except FencedError:
            raise
        except GpuCommonsError:
            _LOG.exception("That Kueue is away could not be recorded")


def _mark(act: Act) -> tuple[object, ...]:
    return (act.do, act.lease_id, act.number, act.marks)


def _saw(news: Seen | Gone, core: Governor, now: datetime) -> None:
    core.kueue_saw(news, now=now)
