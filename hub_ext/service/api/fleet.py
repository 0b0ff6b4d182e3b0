"""Where all that is installed went, for administrators: it tells of every team together."""

from datetime import datetime

from ...i18n import _
from ...lease.fleet import FleetSheet
from ..core.governor import Governor
from ..http.web import BaseHandler
from .figures import scope_of
from .queries import stretch


class FleetHandler(BaseHandler):
    """`GET fleet`: installed, held, out of service and unallocated in a window."""

    act = _("see everybody's usage")

    async def get(self) -> None:
        """Split it."""
        caller = self.caller

        def act(core: Governor, now: datetime) -> FleetSheet:
            policy = core.policy
            scope_of(caller, "all", ())
            start, end = stretch(self, now, policy.timezone, otherwise="month")
            return core.fleet(start, end, now=now)

        self.answer(await self.core.run(act))
