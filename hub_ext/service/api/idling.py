"""Whether idle stops are held, and an administrator's word that ends it."""

from http import HTTPStatus

from ...i18n import _
from ..web import BaseHandler
from .hands import ByHand


class IdleHandler(BaseHandler):
    """`GET idle`: whether they are held, and why."""

    kinds = frozenset()
    act = _("see how idleness is acted on; administrators may")

    async def get(self) -> None:
        """Show it."""
        self.answer(await self.core.run(lambda core, now: core.idleness(now=now)))


class ReleaseHandler(BaseHandler):
    """`POST idle/release`: let them go on."""

    kinds = frozenset()
    act = _("let idle stops go on; administrators may")

    async def post(self) -> None:
        """Record it; who is idle still is told within seconds, and gets the whole notice."""
        said = self.body(ByHand)
        actor = self.caller.acting(said.by)
        sheet = await self.core.run(
            lambda core, now: core.release_idle(reason=said.reason, actor=actor, now=now)
        )
        self.answer(sheet, HTTPStatus.ACCEPTED)
