"""`GET why`: how leases and requests stand, to those who may see them."""

from datetime import datetime

from ...i18n import _
from ...lease.why import WhySheet
from ..core.governor import Governor
from ..http.web import BaseHandler
from ..leasing.why import about


class WhyHandler(BaseHandler):
    """`GET why?of=LEASE|USER|USER/SERVER`: without `of`, all that is the caller's own."""

    kinds = frozenset({"person", "server"})
    act = _("ask why")

    async def get(self) -> None:
        """Explain what is open of it and may be seen; nothing where there is none."""
        caller = self.caller
        of = self.get_query_argument("of", caller.name)

        def act(core: Governor, now: datetime) -> WhySheet:
            policy = core.policy
            return core.why(about(of), lambda lease: caller.sees(lease, policy), now=now)

        self.answer(await self.core.run(act))
