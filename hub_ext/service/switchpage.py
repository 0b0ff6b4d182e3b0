"""`/switch/<lease>`: another profile for a server that runs; works without scripts."""

from datetime import datetime

from ..i18n import _
from ..lease import Choice, LeaseId, OfferSheet, OpenLease, ProfileName, Standing, TeamName
from ..policy.catalogue import Person
from . import formats
from .api.leases import own
from .api.waiting import switched
from .governor import Governor
from .pages import PageHandler, Route


class SwitchPage(PageHandler):
    """The choice, and what came of it."""

    async def get(self, lease_id: str) -> None:
        """Show what the server could have instead, each with what it would mean now."""
        caller = self.caller

        def act(core: Governor, now: datetime) -> tuple[OpenLease, OfferSheet]:
            lease = own(caller, core, lease_id)
            groups = caller.groups if caller.name == lease.key.user else lease.groups
            return lease, core.offers(Person(user=lease.key.user, groups=groups), now=now)

        lease, sheet = await self.core.run(act)
        form = {"xsrf": self.xsrf_token.decode()}
        await self.show(
            "switch.html", lambda: {**_sheet(lease, sheet), **form}, title=_("Change the profile")
        )

    async def post(self, lease_id: str) -> None:
        """Let the change wait for its capacity, and show what waits."""
        profile, _slash, team = self.get_body_argument("offer", "").partition("/")
        choice = Choice(profile=ProfileName(profile), team=TeamName(team) if team else None)
        await switched(self.core, self.settings["pins"], self.caller, LeaseId(lease_id), choice)
        self.redirect(f"{self.hub_auth.base_url}queue")


def _sheet(lease: OpenLease, sheet: OfferSheet) -> dict[str, object]:
    """Put lease and offers into words; what it has already is left out."""
    return {
        "lease_id": lease.id,
        "server": formats.server_name(lease.key.server),
        "has": lease.grant.title if lease.grant else lease.profile,
        "offers": [
            {
                "value": f"{offer.profile}/{offer.team}",
                "title": _("{title} for team {team}").format(title=offer.title, team=offer.team),
                "standing": formats.standing_words(offer.standing),
                "price": offer.price_text,
                "why": offer.reason.message,
            }
            for offer in sheet.offers
            if offer.standing is not Standing.denied
            and (offer.profile, offer.team) != (lease.profile, lease.team)
        ],
    }


def handlers(prefix: str) -> list[Route]:
    """Route of this page below `prefix`, which ends in a slash."""
    return [(rf"{prefix}switch/([^/]+)", SwitchPage)]
