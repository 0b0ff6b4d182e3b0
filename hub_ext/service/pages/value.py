"""`/value/<lease>`: takes what the owner says of a lease on its page; works without scripts."""

from datetime import datetime

from pydantic import ValidationError

from ...lease import LeaseId
from ...lease.value import ValueWish
from ..api.leases import visible
from ..basis.refusals import not_yours
from ..core.governor import Governor
from ..http.problems import bad_body
from .overview import PageHandler, Route


class ValuePage(PageHandler):
    """What was typed, recorded; then the page of the lease again."""

    async def post(self, lease_id: str) -> None:
        """Record it."""
        caller, wanted = self.caller, LeaseId(lease_id)
        wish = self._wish()

        def act(core: Governor, now: datetime) -> None:
            lease = visible(caller, core, wanted)
            if not caller.owns(lease.key):
                raise not_yours()
            core.say(lease.id, wish, actor=caller.actor, now=now)

        await self.core.run(act)
        self.redirect(f"{self.hub_auth.base_url}leases/{wanted}")

    def _wish(self) -> ValueWish:
        try:
            return ValueWish.model_validate(
                {
                    "purpose": self.get_body_argument("purpose", None),
                    "outcome": self.get_body_argument("outcome", None) or None,
                    "link": self.get_body_argument("link", None),
                }
            )
        except ValidationError as error:
            raise bad_body(error) from error


def handlers(prefix: str) -> list[Route]:
    """Route of this page below `prefix`, which ends in a slash."""
    return [(rf"{prefix}value/([^/]+)", ValuePage)]
