"""The admin page's forms for maintenance, exemptions and idle stops: each with its reason.

They work without JavaScript; what is refused is answered as a page with its words.
"""

from collections.abc import Callable
from datetime import datetime
from http import HTTPStatus

from pydantic import ValidationError

from ...errors import RefusedError
from ...i18n import _
from ...reservation import instant_of
from ..core.governor import Governor
from ..devices.maintaining import Announcement
from ..reclaim.exempting import ExemptionWish
from .overview import MOST_REASON, PageHandler, Route, only_admins


class ActPage(PageHandler):
    """What these forms share: an admin, a reason, and the way back to the admin page."""

    back = ""

    async def prepare(self) -> None:
        """Let in administrators alone."""
        await super().prepare()
        if not self._finished and not self.caller.admin:
            raise only_admins()

    async def do(self, act: Callable[[Governor, datetime], object]) -> None:
        """Carry it out and show the admin page again."""
        await self.core.run(act)
        self.redirect(f"{self.hub_auth.base_url}admin#{self.back}")

    @property
    def reason(self) -> str:
        """Why, as the form says it."""
        reason = self.get_body_argument("reason", "").strip()[:MOST_REASON]
        if not reason:
            raise RefusedError(
                "no-reason",
                _("Say in a few words why; it is recorded with your name."),
                status=HTTPStatus.BAD_REQUEST,
            )
        return reason

    def instant(self, name: str, core: Governor) -> datetime:
        """An instant of the form, on the policy's clock."""
        try:
            return instant_of(
                datetime.fromisoformat(self.get_body_argument(name, "")).replace(tzinfo=None),
                core.policy.timezone,
            )
        except ValueError as error:
            raise _unfilled() from error


class AnnouncePage(ActPage):
    """`/admin/maintenance`: announce it."""

    back = "maintenance"

    async def post(self) -> None:
        """Record it; the notices follow within seconds."""
        place, _slash, name = self.get_body_argument("spot", "").partition("/")
        reason, actor = self.reason, self.caller.actor

        def act(core: Governor, now: datetime) -> object:
            times = {"start": self.instant("start", core), "end": self.instant("end", core)}
            try:
                wanted = Announcement.model_validate({"place": place, "name": name, **times})
            except ValidationError as error:
                raise _unfilled() from error
            return core.announce(wanted, reason=reason, actor=actor, now=now)

        await self.do(act)


class CallOffPage(ActPage):
    """`/admin/maintenance/call-off`: it does not come, or ends now."""

    back = "maintenance"

    async def post(self) -> None:
        """Record it; its notices are taken back within seconds."""
        wanted, reason = self.get_body_argument("id", ""), self.reason
        actor = self.caller.actor
        await self.do(lambda core, now: core.call_off(wanted, reason=reason, actor=actor, now=now))


class ExemptPage(ActPage):
    """`/admin/exemptions`: exempt somebody or something."""

    back = "exemptions"

    async def post(self) -> None:
        """Record it; a notice for idleness is taken back within seconds."""
        subject = self.get_body_argument("subject", "")
        name = self.get_body_argument("name", "").strip()
        reason, actor = self.reason, self.caller.actor

        def act(core: Governor, now: datetime) -> object:
            said = {"subject": subject, "name": name, "until": self.instant("until", core)}
            try:
                wanted = ExemptionWish.model_validate(said)
            except ValidationError as error:
                raise _unfilled() from error
            return core.exempt(wanted, reason=reason, actor=actor, now=now)

        await self.do(act)


class EndExemptionPage(ActPage):
    """`/admin/exemptions/end`: it ends now."""

    back = "exemptions"

    async def post(self) -> None:
        """Record it; the idle rule holds again at once."""
        wanted, reason = self.get_body_argument("id", ""), self.reason
        actor = self.caller.actor
        await self.do(
            lambda core, now: core.end_exemption(wanted, reason=reason, actor=actor, now=now)
        )


class ReleaseIdlePage(ActPage):
    """`/admin/idle/release`: idle stops that are held go on."""

    async def post(self) -> None:
        """Record it; who is still idle is told within seconds."""
        reason, actor = self.reason, self.caller.actor
        await self.do(lambda core, now: core.release_idle(reason=reason, actor=actor, now=now))


class SwitchOnPage(ActPage):
    """`/admin/idle/switch-on`: an idle rule on trial acts from now on."""

    back = "idle-trials"

    async def post(self) -> None:
        """Record it; before the end of its trial only where the form says so."""
        rule, early = self.get_body_argument("rule", ""), self.get_body_argument("early", "")
        reason, actor = self.reason, self.caller.actor
        await self.do(
            lambda core, now: core.switch_idle_on(
                rule, before_its_time=early == "yes", reason=reason, actor=actor, now=now
            )
        )


def _unfilled() -> RefusedError:
    return RefusedError(
        "bad-request",
        _("Something in the form is missing or cannot be read. Go back and fill in all of it."),
        status=HTTPStatus.BAD_REQUEST,
    )


def handlers(prefix: str) -> list[Route]:
    """Routes of the forms below `prefix`, which ends in a slash."""
    return [
        (rf"{prefix}admin/maintenance", AnnouncePage),
        (rf"{prefix}admin/maintenance/call-off", CallOffPage),
        (rf"{prefix}admin/exemptions", ExemptPage),
        (rf"{prefix}admin/exemptions/end", EndExemptionPage),
        (rf"{prefix}admin/idle/release", ReleaseIdlePage),
        (rf"{prefix}admin/idle/switch-on", SwitchOnPage),
    ]
