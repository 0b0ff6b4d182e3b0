"""An ask from the event loop's side: the environment's pin is checked before the core decides.

Measuring an environment may take seconds on a cold disk, so it is never done under the lock.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from ..errors import RefusedError
from ..lease import Ask, Environment, Grant
from .attempts import UncheckedError
from .governor import Governor
from .refusals import policy_moved
from .runner import CoreRunner

_ROUNDS = 3
"""How often the policy may name yet another environment while one is being checked."""


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
        return governor.ask(asked, now=now, checks=checks)

    checks: dict[Environment, Environment | RefusedError] = {}
    for _round in range(_ROUNDS):
        try:
            return await core.run(act)
        except UncheckedError as unchecked:
            environment = unchecked.environment
            checks[environment] = await asyncio.to_thread(_checked, pins, environment)
    raise policy_moved()


def _checked(pins: PinChecks, environment: Environment) -> Environment | RefusedError:
    try:
        pins.check(environment)
    except RefusedError as refusal:
        return refusal
    return pins.located(environment)
