"""An ask from the event loop's side: the environment's pin is checked before the core decides.

Measuring an environment may take seconds on a cold disk, so it is never done under the lock.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Protocol

from ...errors import RefusedError
from ...lease import Ask, Environment, Grant, ServerKey
from ..basis.refusals import policy_moved
from ..core.governor import Governor
from ..core.runner import CoreRunner
from ..leasing.attempts import AwaitedError, Checks, UncheckedError

_ROUNDS = 3
"""How often the policy may name yet another environment while one is being checked."""


QUOTA_S = 1.5
"""How long an ask waits for Kueue's word, in seconds: the spawner itself waits 2 s in all."""


class PinChecks(Protocol):
    """What is wanted of `images.pins.Pins`."""

    def check(self, environment: Environment) -> None:
        """Raise RefusedError where the environment is not what its pin says."""

    def located(self, environment: Environment) -> Environment:
        """Return the environment with an absolute prefix."""


class AskerGoneError(Exception):
    """Whoever asked has given up; nothing was decided or recorded."""


async def answer(
    core: CoreRunner, pins: PinChecks, asked: Ask, *, gone: Callable[[], bool] = lambda: False
) -> Grant:
    """Ask the core; check each environment that it names, and ask again.

    Parameters
    ----------
    gone
        Whether nobody waits for the answer any more; asked in the core's thread, just before it
        decides.

    Raises
    ------
    RefusedError
        With figures and what to do next.
    AskerGoneError
        When nobody waits for it any more.
    """

    def act(governor: Governor, now: datetime) -> Grant:
        if gone():
            raise AskerGoneError
        return governor.ask_for_quota(asked, checks, last=False, now=now)

    checks: dict[Environment, Environment | RefusedError] = {}
    for _round in range(_ROUNDS):
        try:
            return await core.run(act)
        except UncheckedError as unchecked:
            environment = unchecked.environment
            checks[environment] = await asyncio.to_thread(_checked, pins, environment)
        except AwaitedError as awaited:
            return await _with_quota(core, asked, checks, awaited.key)
    raise policy_moved()


async def _with_quota(core: CoreRunner, asked: Ask, checks: Checks, key: ServerKey) -> Grant:
    """Ask again at each news of the server, until Kueue has answered or nobody waits longer."""
    loop = asyncio.get_running_loop()
    until = loop.time() + QUOTA_S
    with core.stream.waiter(key) as news:
        while (left_s := until - loop.time()) > 0 and not core.stream.closed:
            news.clear()
            try:
                return await core.run(partial(_asked, asked=asked, checks=checks, last=False))
            except AwaitedError:
                with suppress(TimeoutError):
                    await asyncio.wait_for(news.wait(), left_s)
    return await core.run(partial(_asked, asked=asked, checks=checks, last=True))


def _asked(governor: Governor, now: datetime, *, asked: Ask, checks: Checks, last: bool) -> Grant:
    return governor.ask_for_quota(asked, checks, last=last, now=now)


def _checked(pins: PinChecks, environment: Environment) -> Environment | RefusedError:
    try:
        pins.check(environment)
    except RefusedError as refusal:
        return refusal
    return pins.located(environment)
