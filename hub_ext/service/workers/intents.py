"""Carries out stops that were decided under the lock, through the hub; starts are in `starts`.

Each act may be made again without harm. Its success is never the hub's word: an intent is
settled by the core when the lease closes.
"""

import asyncio
import logging
from datetime import datetime, timedelta

from ...errors import UnreachableError
from ...lease import LeaseState, OpenLease, ServerKey
from ...ledger.duties import Intent
from ..basis.hub import HubClient, HubSaid
from ..books.config import Settings
from ..core.governor import Governor
from ..core.runner import CoreRunner
from ..leasing.forgotten import END
from ..reclaim.stops import STOP
from .lastlook import still_stands

_LOG = logging.getLogger(__name__)

MOST_AT_ONCE = 10
"""Stops asked of the hub at the same time; each may take it 10 s."""

SAME_START = timedelta(seconds=1)
"""Some databases of a hub keep whole seconds."""

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
    """Make one stop: read the hub's record, look at the evidence once more, and ask."""
    async with gate:
        lease = await core.run(lambda governor, _now: governor.lease(intent.lease_id))
        key = ServerKey.model_validate(intent.body["key"])
        other = lease is not None and await _is_another_start(core, hub, key, lease)
        turn = await core.run(lambda governor, now: _turn(governor, intent, other=other, now=now))
        if not turn:
            return
        answer = await hub.stop_server(key)
        _LOG.info(
            "stop of %s%s: the hub says %s %s", key, _decided(intent), answer.said, answer.words
        )
        if answer.said in _OVER:
            # The spawner's report usually came first; where it was lost, this machine looks.
            await core.run(lambda governor, now: governor.look(intent.lease_id, now=now))


def _turn(governor: Governor, intent: Intent, *, other: bool, now: datetime) -> bool:
    """Whether the hub is to be asked now; counted before, so that a crash costs one wait."""
    lease = governor.lease(intent.lease_id)
    if lease is None or lease.state is not LeaseState.stopping:
        governor.settle(intent.id, "moot", now=now)
        return False
    if not other and intent.tried_at is None and not still_stands(governor, lease, now):
        _LOG.info("stop of %s%s is taken back: it is used again", lease.key, _decided(intent))
        return False
    governor.retried(intent.id, now=now)
    if other:
        _LOG.info("stop of %s: the hub has another start of it, left alone", lease.key)
        governor.look(intent.lease_id, now=now)
    return not other


def _decided(intent: Intent) -> str:
    decision = intent.body.get("decision")
    return f", decision {decision}" if decision else ""


async def _is_another_start(
    core: CoreRunner, hub: HubClient, key: ServerKey, lease: OpenLease
) -> bool:
    """Whether the hub has a later start of the server than the one that is to stop.

    A stop would hit what its owner has just started, or cancel its start, which the hub answers
    them with a bare 500; left alone, they hear from us why it has to wait. A stop of the start that
    is under way itself is made.
    """
    try:
        there = await hub.server(key)
    except UnreachableError:
        # The stop tells what the hub says; nothing is known of a start.
        return False
    if there is None:
        return False
    if there.pending == "spawn" and await core.run(lambda core, _now: _is_forgotten(core, lease)):
        # The hub had the server stopped before: whatever it starts is another start.
        return True
    return _is_later(there.started, lease)


def _is_later(began: datetime | None, lease: OpenLease) -> bool:
    """Whether a start began after the lease's own; where that is unknown, after its stop."""
    if began is None:
        return False
    if lease.hub_started_at is not None:
        # Both by the hub's clock.
        return began - lease.hub_started_at > SAME_START
    return lease.stop_asked_at is not None and began > lease.stop_asked_at


def _is_forgotten(governor: Governor, lease: OpenLease) -> bool:
    return any(one.kind == END and one.lease_id == lease.id for one in governor.intents())
