"""Stops servers that were started for somebody who waited, and to whom nobody comes.

Three witnesses must agree: no page of it is open, its GPU and processes are idle since its start,
and the hub has seen no activity.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from ...errors import UnreachableError
from ...i18n import _
from ...lease import GOVERNOR, Cause, OpenLease, Reason, ServerKey
from ...units import duration_text
from ..basis.hub import HubClient
from ..core.governor import Governor
from ..core.runner import CoreRunner

Act = Callable[[Governor, datetime], None]

SETTLING = timedelta(minutes=1)
"""The hub notes activity of its own while a server comes up."""


async def stop_unused(core: CoreRunner, hub: HubClient) -> None:
    """Look at each such server once more, through the hub, and intend its stop."""
    for lease in await core.run(lambda governor, now: governor.unused(now=now)):
        try:
            server = await hub.server(lease.key)
        except UnreachableError:
            continue
        seen = server.last_activity if server is not None else None
        if seen is None or lease.started_at is None:
            continue
        if seen > lease.started_at + SETTLING:
            await core.run(_note(lease.key))
        else:
            await core.run(_stop(lease))


def _note(key: ServerKey) -> Act:
    return lambda governor, now: governor.visited(key, now=now)


def _stop(lease: OpenLease) -> Act:
    def act(governor: Governor, now: datetime) -> None:
        present = governor.lease(lease.id)
        if present is None or not present.autostarted:
            return
        reason = Reason(
            code="never-used",
            message=_(
                "The server was started for you when its turn came, and nobody used it for "
                "{span}, so it was stopped for others. Ask again when you need it."
            ).format(span=duration_text(governor.policy.notice.never_used)),
        )
        governor.ask_stop(lease.id, cause=Cause.never_used, reason=reason, actor=GOVERNOR, now=now)

    return act
