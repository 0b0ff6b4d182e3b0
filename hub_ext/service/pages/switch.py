"""`/switch/<lease>`: another profile for a server that runs; works without scripts."""

from ...errors import RefusedError
from ...i18n import _
from ...lease import LeaseId, OpenLease, SwitchOffer, SwitchSheet
from ..api.waiting import choices, switched
from ..books import formats
from .overview import PageHandler, Route


class SwitchPage(PageHandler):
    """The choice, and what came of it."""

    async def get(self, lease_id: str) -> None:
        """Show what the server could have instead, each with what it would mean now."""
        lease, found = await self._choices(lease_id)
        form = {"xsrf": self.xsrf_token.decode()}
        await self.show(
            "switch.html", lambda: {**_sheet(lease, found), **form}, title=_("Change the profile")
        )

    async def post(self, lease_id: str) -> None:
        """Let the change wait for its capacity, and show what waits."""
        _lease, found = await self._choices(lease_id)
        picked = self.get_body_argument("offer", "")
        choice = next((one.choice for one in found.offers if _value(one) == picked), None)
        if choice is None:
            raise _not_offered()
        await switched(self.core, self.settings["pins"], self.caller, LeaseId(lease_id), choice)
        self.redirect(f"{self.hub_auth.base_url}queue")

    async def _choices(self, lease_id: str) -> tuple[OpenLease, SwitchSheet]:
        caller = self.caller
        return await self.core.run(lambda core, now: choices(caller, core, lease_id, now))


def _sheet(lease: OpenLease, found: SwitchSheet) -> dict[str, object]:
    """Put lease and offers into words."""
    return {
        "lease_id": lease.id,
        "server": formats.server_name(lease.key.server),
        "has": found.has,
        "offers": [
            {
                "value": _value(offer),
                "title": _("{title} for team {team}").format(title=offer.title, team=offer.team),
                "standing": offer.standing_text,
                "price": offer.price_text,
                "why": offer.words,
            }
            for offer in found.offers
        ],
    }


def _value(offer: SwitchOffer) -> str:
    return f"{offer.choice.profile}/{offer.team}"


def _not_offered() -> RefusedError:
    return RefusedError(
        "no-such-offer",
        _("This profile is not offered for this server now. Reload the page and choose again."),
    )


def handlers(prefix: str) -> list[Route]:
    """Route of this page below `prefix`, which ends in a slash."""
    return [(rf"{prefix}switch/([^/]+)", SwitchPage)]
