"""The words of a call: why a borrowed device goes back, and as much of whom for as may be told."""

from ..i18n import _
from ..lease import OpenLease, Reason
from ..policy.model import Policy

CALLED_IN = "called-in"
"""Code of a call for another team's guarantee."""


def reason_for(policy: Policy, lease: OpenLease, request: OpenLease) -> Reason:
    """Say to its owner why a lease is called in for a request.

    Another team is named only where the policy says so; nobody's own name ever is.
    """
    figures: dict[str, int | str] = {"pool": str(lease.pool), "for": request.id}
    if lease.team == request.team:
        task = policy.task_types.get(str(request.task_type))
        message = _(
            "A request of the task type {task} in your own team comes before this server, and the "
            "guarantee of team {team} has no room for both."
        ).format(task=task.title if task else request.task_type, team=lease.team)
        return Reason(code="called-in-by-type", message=message, figures=figures)
    if policy.notice.name_teams:
        figures["team"] = request.team
        message = _(
            "This server borrows from pool {pool}, and a request within the guarantee of team "
            "{team} needs it now."
        ).format(pool=lease.pool, team=request.team)
    else:
        message = _(
            "This server borrows from pool {pool}, and a request within another team's guarantee "
            "needs it now."
        ).format(pool=lease.pool)
    return Reason(code=CALLED_IN, message=message, figures=figures)


def given_up(policy: Policy, lease: OpenLease, request: OpenLease) -> Reason:
    """Say to somebody for whom a device was held that an owner gets it; nothing was running."""
    figures: dict[str, int | str] = {"pool": str(lease.pool), "for": request.id}
    whose = _("another team's guarantee")
    if lease.team == request.team:
        whose = _("another project's share")
    elif policy.notice.name_teams:
        figures["team"] = request.team
        whose = _("the guarantee of team {team}").format(team=request.team)
    message = _(
        "What was held for you is borrowed from pool {pool}, and a request within {whose} needs it "
        "before you had started. Your request is back at its old place and goes on waiting."
    ).format(pool=lease.pool, whose=whose)
    return Reason(code="hold-given-up", message=message, figures=figures)


def stopped(reason: Reason) -> Reason:
    """Say after the stop why it came, and how to go on."""
    pool, team = reason.figures.get("pool", ""), reason.figures.get("team")
    if reason.code != CALLED_IN:
        why = _("A request of a higher task type in your own team took its place.")
    elif team is not None:
        why = _("It borrowed from pool {pool}, and team {team} needed its guarantee.")
    else:
        why = _("It borrowed from pool {pool}, and another team needed its guarantee.")
    message = _(
        "The server was stopped. {why} Your files are kept. You can queue again in your old place."
    ).format(why=why.format(pool=pool, team=team))
    return Reason(code="preempted", message=message, figures=reason.figures)


def not_needed() -> Reason:
    """Say why a call was taken back."""
    return Reason(
        code="not-needed",
        message=_("The server is not stopped: what it borrows is not needed any more."),
    )
