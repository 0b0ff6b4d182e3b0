"""Carries out stops that were decided under the lock, through the hub; starts are in `starts`.

Each act may be made again without harm. Its success is never the hub's word: an intent is
settled by the core when the lease closes.
"""

import asyncio
import logging
from datetime import timedelta

from ..errors import UnreachableError
from ..lease import LeaseState, OpenLease, ServerKey
from ..ledger.duties import Intent
from .config import Settings
from .forgotten import END
from .governor import Governor
from .hub import HubClient, HubSaid
from .runner import CoreRunner
from .stops import STOP

_LOG = logging.getLogger(__name__)

MOST_AT_ONCE = 8
"""Stops asked of the hub at the same time; each may take it 10 s."""

_OVER = frozenset({HubSaid.stopped, HubSaid.unknown_server})


async def work_intents(core: CoreRunner, hub: HubClient, settings: Settings) -> None:
    """Make one pass over the open intents: those never tried, and those tried long enough ago."""
    wait = timedelta(seconds=settings.stop_retry_s)
    now = core.now()
    due = [
        intent
        for intent in await core.run(lambda governor, _now: governor.intents())
        if intent.kind == STOP
        # A clock that was set back must not keep a stop from being tried.
        and (intent.tried_at is None or not timedelta(0) <= now - intent.tried_at < wait)
    ]
    gate = asyncio.Semaphore(MOST_AT_ONCE)
    await asyncio.gather(*(_carry_out(core, hub, intent, gate) for intent in due))


async def _carry_out(
    core: CoreRunner, hub: HubClient, intent: Intent, gate: asyncio.Semaphore
) -> None:
    async with gate:
        lease = await core.run(lambda governor, _now: governor.lease(intent.lease_id))
        if lease is None or lease.state is not LeaseState.stopping:
            await core.run(lambda governor, now: governor.settle(intent.id, "moot", now=now))
            return
        # Counted before the act: a crash in between costs one wait, not a second act at once.
        await core.run(lambda governor, now: governor.retried(intent.id, now=now))
        key = ServerKey.model_validate(intent.body["key"])
        if await _starts_anew(core, hub, key, lease):
            _LOG.info("stop of %s: the hub starts it anew, which is left alone", lease.key)
            await core.run(lambda governor, now: governor.look(intent.lease_id, now=now))
            return
        answer = await hub.stop_server(key)
        _LOG.info("stop of %s: the hub says %s %s", lease.key, answer.said, answer.words)
        if answer.said in _OVER:
            # The spawner's report usually came first; where it was lost, this machine looks.
            await core.run(lambda governor, now: governor.look(intent.lease_id, now=now))


async def _starts_anew(core: CoreRunner, hub: HubClient, key: ServerKey, lease: OpenLease) -> bool:
    """Whether the hub is at a later start of the server than the one that is to stop.

    A stop would cancel it, which the hub answers its owner with a bare 500; left alone, they hear
    from us why it has to wait. A stop of the start that is under way itself is made.
    """
    try:
        there = await hub.server(key)
    except UnreachableError:
        # The stop tells what the hub says; nothing is known of a start.
        return False
    if there is None or there.pending != "spawn":
        return False
    if await core.run(lambda governor, _now: _is_forgotten(governor, lease)):
        # The hub had the server stopped before: whatever it starts is another start.
        return True
    asked = lease.stop_asked_at
    return asked is not None and there.started is not None and there.started > asked


def _is_forgotten(governor: Governor, lease: OpenLease) -> bool:
    return any(one.kind == END and one.lease_id == lease.id for one in governor.intents())
