"""Shares of a team's quota: what a person is bound by, and what leads move between projects."""

from datetime import date, datetime
from http import HTTPStatus
from typing import Annotated

from pydantic import Field

from ...errors import RefusedError, UnitError
from ...i18n import _
from ...lease import LimitSheet, MoveSheet, PoolName, ProjectName, ShortText, UserName
from ...policy.catalogue import Person
from ...units import parse_gpus
from ..basis.access import Caller
from ..basis.refusals import not_allowed
from ..books.moving import WantedMove
from ..core.governor import Governor
from ..http.web import BaseHandler
from .hands import ByHand


class MoveQuota(ByHand):
    """`POST teams/{team}/moves`: how many GPUs of which share become whose, from which day on.

    Without a project it is what the team has not shared out. `gpus` is text, as in the policy.
    """

    pool: PoolName
    from_project: ProjectName | None = None
    to_project: ProjectName | None = None
    gpus: Annotated[ShortText, Field(examples=["0.5"])]
    first_day: date | None = None
    until: date | None = None

    def wanted(self) -> WantedMove:
        """Read the GPUs.

        Raises
        ------
        RefusedError
            400 where they are no number of GPUs.
        """
        try:
            units = parse_gpus(self.gpus)
        except UnitError as error:
            raise RefusedError("bad-request", str(error), status=HTTPStatus.BAD_REQUEST) from error
        return WantedMove(
            pool=self.pool,
            from_project=self.from_project,
            to_project=self.to_project,
            units=units,
            first_day=self.first_day,
            until=self.until,
        )


def may_lead(caller: Caller, core: Governor, team: str) -> None:
    """Let in leads of a team and admins; a team that does not exist looks like one of others.

    Raises
    ------
    RefusedError
        403 for everybody else.
    """
    if not caller.admin and team not in caller.leads(core.known_policy):
        raise not_allowed(_("move this team's quota; its leads may"))


class MovesHandler(BaseHandler):
    """`GET` and `POST teams/{team}/moves`: shares of a team's projects, and moves of them."""

    act = _("move a team's quota; its leads may")

    async def get(self, team: str) -> None:
        """Show shares and moves."""
        caller = self.caller

        def act(core: Governor, now: datetime) -> MoveSheet:
            may_lead(caller, core, team)
            return core.moves(team, now=now)

        self.answer(await self.core.run(act))

    async def post(self, team: str) -> None:
        """Record a move."""
        caller, said = self.caller, self.body(MoveQuota)

        def act(core: Governor, now: datetime) -> MoveSheet:
            may_lead(caller, core, team)
            return core.move_quota(
                team,
                said.wanted(),
                reason=said.reason,
                actor=caller.acting(said.by),
                now=now,
            )

        self.answer(await self.core.run(act), HTTPStatus.ACCEPTED)


class LimitsHandler(BaseHandler):
    """`GET limits`: every rule that binds a person."""

    act = _("see limits")

    async def get(self) -> None:
        """Answer for oneself; an admin may name somebody with their groups."""
        person = self._person()
        sheet: LimitSheet = await self.core.run(lambda core, now: core.limits(person, now=now))
        self.answer(sheet)

    def _person(self) -> Person:
        user = self.get_query_argument("user", None)
        if user is not None and self.caller.admin:
            return Person(user=UserName(user), groups=tuple(self.get_query_arguments("group")))
        if self.caller.kind != "person" or (user is not None and user != self.caller.name):
            raise not_allowed(_("see the limits of somebody else"))
        return Person(user=UserName(self.caller.name), groups=self.caller.groups)
