"""What of the ledger is told outside, in which words' place, and by which ways of the policy.

It reads and chooses; nothing is sent here. What a person alone is told in JupyterLab of a budget
is left out: the threshold itself is told, once a period.
"""

from collections.abc import Iterator

from ...i18n import _
from ...lease import Cause, Event, Notice, OpenLease, TeamName, UserName
from ...lease.anomalies import Anomaly
from ...lease.outward import OutwardDuty, OutwardKind, OutwardMessage
from ...policy.model import Policy
from ...policy.model.notices import OutwardNotice
from ...units import money_text
from ..books.anomalybook import BEGAN
from ..books.budgetrecord import REACHED
from ..money.budgetsteps import BUDGET_ADVICE

GIVEN, WITHDRAWN = "notice.given", "notice.withdrawn"

KINDS = (GIVEN, WITHDRAWN, REACHED, BEGAN)
"""Events that are told."""

_OF_CAUSE: dict[Cause, OutwardKind] = {
    Cause.culled: "idle",
    Cause.preempted: "recall",
    Cause.expired: "lifetime",
    Cause.admin: "maintenance",
    Cause.budget: "budget",
}


def message(event: Event, seq: int, lease: OpenLease | None, *, hub: str) -> OutwardMessage | None:
    """Make the message of one event; None where nothing is told of it outside.

    Parameters
    ----------
    lease
        The event's lease as it stands now; None where it has none.
    """
    name = f"n-{hub}-{seq}"
    match event.kind:
        case "notice.given" | "notice.withdrawn":
            return None if lease is None else _of_notice(event, name, lease)
        case "budget.reached":
            return _of_budget(event, name, hub)
        case "anomaly.began":
            return _of_anomaly(event, name, hub)
        case _:
            return None


def duties(told: OutwardMessage, policy: Policy) -> Iterator[OutwardDuty]:
    """Give each way and receiver of a message once."""
    for name, route in policy.notices.items():
        if told.kind not in route.kinds:
            continue
        if route.teams and not set(route.teams) & set(told.teams):
            continue
        if route.webhook is not None:
            yield OutwardDuty(message=told, route=name)
        elif told.about != "called_off":
            for to in _receivers(told, route, policy):
                yield OutwardDuty(message=told, route=name, to=to)


def _receivers(told: OutwardMessage, route: OutwardNotice, policy: Policy) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for one in route.mail:
        match one:
            case "owner":
                found.update({told.user: None} if told.user is not None else {})
            case "leads":
                teams = [policy.teams[team] for team in told.teams if team in policy.teams]
                found.update({lead: None for team in teams for lead in team.leads})
            case address:
                found[address] = None
    return tuple(found)


def _of_notice(event: Event, name: str, lease: OpenLease) -> OutwardMessage | None:
    body = event.body
    notice = Notice.model_validate(body["notice"]) if body.get("notice") else None
    if notice is None or notice.cause not in _OF_CAUSE or notice.reason.code == BUDGET_ADVICE:
        return None
    kind = _OF_CAUSE[notice.cause]
    if notice.reason.code.startswith("anomaly"):
        kind = "anomaly"
    off = event.kind == WITHDRAWN
    if off and notice.is_advice:
        return None
    reason = body.get("reason") if off else None
    words = str(reason["message"]) if isinstance(reason, dict) else ""
    return OutwardMessage(
        id=name,
        kind=kind,
        about="called_off" if off else ("advice" if notice.is_advice else "stop"),
        code=notice.reason.code,
        at=event.at,
        hub=lease.key.hub,
        teams=(lease.team,),
        user=lease.key.user,
        server=lease.key.server,
        lease=lease.id,
        stops_at=None if notice.is_advice else notice.stops_at,
        words=words if off else notice.reason.message,
        figures=notice.reason.figures,
    )


def _of_budget(event: Event, name: str, hub: str) -> OutwardMessage:
    body = event.body
    team, project, user = (str(body[x]) if body[x] else None for x in ("team", "project", "user"))
    spent, amount = int(str(body["spent_micro"])), int(str(body["amount_micro"]))
    currency = str(body["currency"])
    words = _("Budget {budget} of {holder}: {spent} of {amount} is spent, {percent} % was reached.")
    return OutwardMessage(
        id=name,
        kind="budget",
        about="reached",
        code=f"budget-{body['act']}",
        at=event.at,
        hub=hub,
        teams=() if team is None else (TeamName(team),),
        user=None if user is None else UserName(user),
        words=words.format(
            budget=body["budget"],
            holder=user or team or project,
            spent=money_text(spent, currency),
            amount=money_text(amount, currency),
            percent=body["at_percent"],
        ),
        figures={
            "budget": str(body["budget"]),
            "at_percent": int(str(body["at_percent"])),
            "spent_micro": spent,
            "amount_micro": amount,
            "currency": currency,
            "act": str(body["act"]),
            "mode": str(body["mode"]),
            "period_start": str(body["period_start"]),
            **({} if project is None else {"project": project}),
        },
    )


def _of_anomaly(event: Event, name: str, hub: str) -> OutwardMessage:
    one = Anomaly.model_validate(event.body["anomaly"])
    figures: dict[str, int | str] = {"anomaly": one.id, "subject": one.subject}
    if one.money_micro is not None:
        figures |= {"money_micro": one.money_micro, "currency": one.currency}
    return OutwardMessage(
        id=name,
        kind="anomaly",
        about="began",
        code=one.kind,
        at=event.at,
        hub=hub,
        teams=one.teams,
        user=one.owner,
        lease=one.leases[0] if len(one.leases) == 1 else None,
        words=one.words,
        figures=figures,
    )
