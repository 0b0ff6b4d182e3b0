"""Whether idle stops are held, which idle rules are on trial, and administrators' words on both."""

from http import HTTPStatus

from ...i18n import _
from ...lease.trying import SwitchOn
from ..http.web import BaseHandler
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


class SwitchOnByHand(ByHand):
    """`POST idle/trials/{rule}/switch-on`: why, and whether before its time."""

    wanted: SwitchOn = SwitchOn()


class TrialsHandler(BaseHandler):
    """`GET idle/trials`: rules on trial, and whom they would have stopped."""

    kinds = frozenset()
    act = _("see idle rules on trial; administrators may")

    async def get(self) -> None:
        """Show them."""
        self.answer(await self.core.run(lambda core, now: core.idle_trials(now=now)))


class SwitchOnHandler(BaseHandler):
    """`POST idle/trials/{rule}/switch-on`: let one act."""

    kinds = frozenset()
    act = _("switch an idle rule on; administrators may")

    async def post(self, rule: str) -> None:
        """Record it; the rule acts from the next pass on."""
        said = self.body(SwitchOnByHand)
        actor, early = self.caller.acting(said.by), said.wanted.before_its_time
        sheet = await self.core.run(
            lambda core, now: core.switch_idle_on(
                rule, before_its_time=early, reason=said.reason, actor=actor, now=now
            )
        )
        self.answer(sheet, HTTPStatus.ACCEPTED)
