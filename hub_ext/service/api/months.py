"""Months and corrections: reviewed, closed, made.

For admins and the command line on the hub's machine alone; each act carries its reason.
"""

from http import HTTPStatus

from ...i18n import _
from ...lease.months import CorrectionWish
from ..http.web import BaseHandler
from .hands import ByHand


class CorrectByHand(ByHand):
    """`POST corrections`: which charge, and what it should have been."""

    wanted: CorrectionWish


class MonthDoor(BaseHandler):
    """What all of these share: admins alone come here."""

    kinds = frozenset()
    act = _("close months and correct charges; administrators may")


class MonthsHandler(MonthDoor):
    """`GET months`: those that are closed, and the next one as it stands."""

    async def get(self) -> None:
        """Show them."""
        self.answer(await self.core.run(lambda core, now: core.months(now=now)))


class CloseMonthHandler(MonthDoor):
    """`POST months/{month}/close`: it is closed for good."""

    async def post(self, month: str) -> None:
        """Close it, or say what stands in the way."""
        said = self.body(ByHand)
        actor = self.caller.acting(said.by)
        closed = await self.core.run(
            lambda core, now: core.close_month(month, reason=said.reason, actor=actor, now=now)
        )
        self.answer(closed, HTTPStatus.ACCEPTED)


class CorrectionsHandler(MonthDoor):
    """`POST corrections`: a reversal and a restatement in the open month."""

    async def post(self) -> None:
        """Put it on the books."""
        said = self.body(CorrectByHand)
        actor = self.caller.acting(said.by)
        made = await self.core.run(
            lambda core, now: core.correct_charge(
                said.wanted, reason=said.reason, actor=actor, now=now
            )
        )
        self.answer(made, HTTPStatus.ACCEPTED)
