"""Shares of a team's projects and the quota that was moved, in the words of the team's page."""

from ...i18n import _
from ...lease import MoveRow, MoveSheet, ShareRow
from ...policy.model import Policy
from ..books import formats


def sheet(found: MoveSheet, policy: Policy) -> dict[str, object]:
    """Put shares and moves into rows; pools and projects are what the form offers."""
    team = policy.teams[found.team]
    projects = [name for name, one in policy.projects.items() if one.team == found.team]
    # Without projects there is nothing to share out, and with nothing moved nothing to say.
    shared = [one for one in found.shares if projects]
    return {
        "shares": [_share(one) for one in shared],
        "moves": [_move(one) for one in found.moves],
        "pools": list(team.quota),
        "projects": projects,
    }


def _share(one: ShareRow) -> dict[str, str]:
    return {
        "project": one.project or _("not shared out"),
        "pool": one.pool,
        "policy": formats.gpus(one.policy_units),
        "today": formats.gpus(one.units),
    }


def _move(one: MoveRow) -> dict[str, str]:
    move = one.move
    states = {
        "to come": _("to come"),
        "in force": _("in force"),
        "over": _("over"),
        "void": _("void: {why}").format(why=one.words),
    }
    days = (
        _("from {first} on").format(first=move.first_day.isoformat())
        if move.until is None
        else _("{first} to before {until}").format(
            first=move.first_day.isoformat(), until=move.until.isoformat()
        )
    )
    return {
        "what": _("{gpus} of {pool}").format(gpus=formats.gpus(move.units), pool=move.pool),
        "giver": move.from_project or _("not shared out"),
        "taker": move.to_project or _("not shared out"),
        "days": days,
        "state": states[one.state],
        "by": move.by,
        "reason": move.reason,
    }
