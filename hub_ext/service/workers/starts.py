"""Starts servers through the hub for people whose turn has come, as often as it takes.

Success is never the hub's word: a start is done when the spawner claims the lease. Whatever the
hub answers is a value; the hold bounds how long it is tried.
"""

import asyncio
import logging
from datetime import datetime, timedelta
from functools import partial

from ...lease import Choice, LeaseState, OpenLease, ServerKey
from ...ledger.duties import Intent
from ...units import duration_text
from ..basis.hub import HubAnswer, HubClient, HubSaid
from ..core.governor import Governor
from ..core.runner import CoreRunner
from ..queueing.tickets import START

_LOG = logging.getLogger(__name__)

MOST_AT_ONCE = 16
"""Starts asked of the hub at the same time; it answers each within seconds."""

LONGEST_PAUSE_S = 15
"""A hold lasts minutes, so a hub that is away is asked again at least so often."""


def pause_s(tries: int) -> int:
    """Seconds to wait after so many tries: 1, 2, 4, 8, then 15."""
    return min(1 << min(max(0, tries - 1), 4), LONGEST_PAUSE_S)


def options_of(choice: Choice) -> dict[str, str]:
    """Write a choice as the spawner reads it; who waited goes on waiting if it fails."""
    options = {"profile": str(choice.profile), "wait": "start"}
    if choice.team is not None:
        options["team"] = choice.team
    if choice.project is not None:
        options["project"] = choice.project
    if choice.lifetime_s is not None:
        options["lifetime"] = duration_text(timedelta(seconds=choice.lifetime_s))
    if choice.task_type is not None:
        options["task_type"] = choice.task_type
    if choice.only_guaranteed:
        options["borrow"] = "no"
    if choice.alone is not None:
        options["alone"] = choice.alone
    return options


class Starter:
    """Makes starts side by side; one that takes long keeps no other from being made."""

    def __init__(self, core: CoreRunner, hub: HubClient) -> None:
        self._core = core
        self._hub = hub
        self._under_way: dict[int, asyncio.Task[None]] = {}
        self._not_before: dict[int, datetime] = {}

    async def begin(self) -> None:
        """Begin what is due and not under way."""
        now = self._core.now()
        intents = await self._core.run(lambda governor, _now: governor.intents())
        starts = [intent for intent in intents if intent.kind == START]
        known = {intent.id for intent in starts}
        self._not_before = {key: at for key, at in self._not_before.items() if key in known}
        for intent in starts:
            room = len(self._under_way) < MOST_AT_ONCE
            if room and intent.id not in self._under_way and self._due(intent, now):
                task = asyncio.create_task(self._make(intent), name=f"start-{intent.id}")
                self._under_way[intent.id] = task
                task.add_done_callback(partial(self._over, intent.id))

    async def settle(self) -> None:
        """Wait until what is under way is over."""
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)

    def cancel(self) -> None:
        """Let go of what is under way; the intents stay and are taken up again."""
        for task in self._under_way.values():
            task.cancel()

    def _due(self, intent: Intent, now: datetime) -> bool:
        if intent.id in self._not_before and now < self._not_before[intent.id]:
            return False
        if intent.tried_at is None:
            return True
        # A clock that was set back must not keep a start from being tried.
        return not timedelta(0) <= now - intent.tried_at < timedelta(seconds=pause_s(intent.tries))

    def _over(self, number: int, task: "asyncio.Task[None]") -> None:
        self._under_way.pop(number, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            _LOG.warning("A start for somebody who waited failed: %s", error)

    async def _make(self, intent: Intent) -> None:
        lease = await self._core.run(lambda governor, _now: governor.lease(intent.lease_id))
        if lease is None or lease.state is not LeaseState.held:
            await self._core.run(lambda governor, now: governor.settle(intent.id, "moot", now=now))
            return
        # Counted before the act: a crash in between costs one wait, not a second act at once.
        await self._core.run(lambda governor, now: governor.retried(intent.id, now=now))
        answer = await self._ask_hub(intent, lease)
        _LOG.info("start of %s: the hub says %s %s", lease.key, answer.said, answer.words)
        if answer.retry_after_s is not None:
            pause = timedelta(seconds=min(answer.retry_after_s, 4 * LONGEST_PAUSE_S))
            self._not_before[intent.id] = self._core.now() + pause

        def told(governor: Governor, now: datetime) -> None:
            governor.start_answered(intent, answer, now=now)

        await self._core.run(told)

    async def _ask_hub(self, intent: Intent, lease: OpenLease) -> HubAnswer:
        key = ServerKey.model_validate(intent.body["key"])
        if not await self._hub.has_server(key):
            # The hub would make a server of that name anew, for somebody who deleted it.
            return HubAnswer(HubSaid.unknown_server, 404, "")
        choice = Choice.model_validate(intent.body["choice"])
        return await self._hub.start_server(lease.key, options_of(choice))
