"""Anomalies, for leads of their teams and for admins; what they do about one, with a reason."""

from collections.abc import Collection
from datetime import datetime
from http import HTTPStatus

from ...i18n import _
from ...lease import Actor
from ...lease.anomalies import Anomaly, AnomalyAct, AnomalySheet
from ...policy.model import Policy
from ..anomalies.acts import Deed, can
from ..basis.access import Caller
from ..basis.refusals import not_allowed
from ..core.governor import Governor
from ..http.web import BaseHandler
from .hands import ByHand


class DeedByHand(ByHand):
    """`POST anomalies/{anomaly}/act`: what is done about it."""

    act: AnomalyAct


def teams_of(caller: Caller, policy: Policy | None) -> Collection[str] | None:
    """Teams whose anomalies somebody sees; None for all.

    Raises
    ------
    RefusedError
        Who leads no team sees none.
    """
    if caller.admin:
        return None
    leads = caller.leads(policy)
    if not leads:
        raise not_allowed(_("see anomalies; leads of a team may"))
    return leads


def seen_by(caller: Caller, core: Governor, *, now: datetime) -> AnomalySheet:
    """Show what a caller may see, each with what they may do about it."""
    teams = teams_of(caller, core.known_policy)
    sheet = core.anomalies(teams, now=now)
    return sheet.model_copy(
        update={
            "open": tuple(_shown(one, teams) for one in sheet.open),
            "ended": tuple(_shown(one, teams) for one in sheet.ended),
        }
    )


def do(
    caller: Caller, core: Governor, anomaly_id: str, said: DeedByHand, *, now: datetime
) -> AnomalySheet:
    """Carry out what a caller wants done, and show what they may see then."""
    teams = teams_of(caller, core.known_policy)
    actor: Actor = caller.acting(said.by)
    deed = Deed(act=said.act, reason=said.reason, actor=actor, teams=teams)
    core.act_on_anomaly(anomaly_id, deed, now=now)
    return seen_by(caller, core, now=now)


def _shown(one: Anomaly, teams: Collection[str] | None) -> Anomaly:
    """Say what may be done; leases of other teams are named to no lead."""
    mine = teams is None or set(one.teams) <= set(teams)
    acts = () if one.ended else can(one, admin=teams is None)
    return one.model_copy(update={"can": acts, "leases": one.leases if mine else ()})


class AnomaliesHandler(BaseHandler):
    """`GET anomalies`: what is odd now, and what was lately."""

    act = _("see anomalies")

    async def get(self) -> None:
        """Show them."""
        caller = self.caller
        self.answer(await self.core.run(lambda core, now: seen_by(caller, core, now=now)))


class DeedHandler(BaseHandler):
    """`POST anomalies/{anomaly}/act`: do something about one."""

    act = _("act on anomalies")

    async def post(self, anomaly_id: str) -> None:
        """Carry it out; what follows is a notice, an outage or an end of its own."""
        caller, said = self.caller, self.body(DeedByHand)
        sheet = await self.core.run(lambda core, now: do(caller, core, anomaly_id, said, now=now))
        self.answer(sheet, HTTPStatus.ACCEPTED)
