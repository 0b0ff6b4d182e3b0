"""Ends processes that the hub has forgotten, by an intent that may be worked on again and again.

Only what carries the lease's own mark on this machine is signalled, and the record comes first.
"""

import asyncio
import logging
import signal
from contextlib import suppress
from datetime import timedelta

import psutil

from ...lease import LeaseState, Liveness, ProcessRef
from ...ledger.duties import Intent
from ..basis import machine
from ..books.config import Settings
from ..core.runner import CoreRunner
from ..leasing.forgotten import END

_LOG = logging.getLogger(__name__)


async def work_endings(core: CoreRunner, settings: Settings) -> None:
    """Make one pass: ask politely once `forgotten_s` are over, insist `stop_retry_s` later."""
    for intent in await core.run(lambda governor, _now: governor.intents()):
        if intent.kind == END and _due(intent, core, settings):
            await _carry_out(core, intent)


def _due(intent: Intent, core: CoreRunner, settings: Settings) -> bool:
    since, wait = intent.created_at, settings.forgotten_s
    if intent.tried_at is not None:
        since, wait = intent.tried_at, settings.stop_retry_s
    # A clock that was set back must not keep a process for ever.
    return not timedelta(0) <= core.now() - since < timedelta(seconds=wait)


async def _carry_out(core: CoreRunner, intent: Intent) -> None:
    await core.run(lambda governor, now: governor.look(intent.lease_id, now=now))
    lease = await core.run(lambda governor, _now: governor.lease(intent.lease_id))
    if lease is None or lease.state is not LeaseState.stopping:
        await core.run(lambda governor, now: governor.settle(intent.id, "moot", now=now))
        return
    processes = await asyncio.to_thread(machine.marked, lease)
    if not processes:
        return
    number = signal.SIGTERM if intent.tries == 0 else signal.SIGKILL
    await core.run(lambda governor, now: governor.signalled(intent, processes, number, now=now))
    await asyncio.to_thread(send, processes, number)
    _LOG.warning("%s sent to what is left of %s", number.name, lease.key)


def send(processes: tuple[ProcessRef, ...], number: signal.Signals) -> None:
    """Signal processes, each only while it is still the very one."""
    for process in processes:
        with suppress(psutil.Error, OSError):
            if machine.liveness(process) is Liveness.alive:
                psutil.Process(process.pid).send_signal(number)
