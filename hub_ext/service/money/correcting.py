"""Corrects charges: reverses what stands on the books, and states anew what should stand there.

Nothing is changed or taken out. A correction is money without time, and stands in the open month
whatever month it corrects.
"""

from collections import defaultdict
from datetime import UTC, datetime

from ...budget import month_name
from ...errors import RefusedError
from ...i18n import _
from ...lease import Actor, LeaseId, Posting, ProjectName, TeamName
from ...lease.months import Correction, CorrectionLine, CorrectionWish
from ...lease.reserving import CORRECTION
from ...metering import NO_TEAMS, SITE_USER, WAIVED
from ...policy.model import Policy
from ...units import accrue, settle
from ..basis.refusals import named
from ..books.desk import Desk, Turn

Payer = tuple[TeamName, ProjectName | None]


def correct(
    desk: Desk, wanted: CorrectionWish, *, reason: str, actor: Actor, now: datetime
) -> Correction:
    """Put a correction of one charge on the books.

    Raises
    ------
    RefusedError
        When there is no such charge, the policy has no such team or project, or nothing changes.
    """
    policy = desk.book.policy
    with desk.turn(now, actor) as turn:
        original = _original(turn, wanted)
        reference = reference_of(original)
        stands = _stands(original, turn.tx.corrections_of(reference))
        payer, amount = _restated(policy, original, stands, wanted)
        if stands == {payer: amount}:
            raise _nothing_changes()
        lines = [(one, -micro) for one, micro in stands.items()] + [(payer, amount)]
        postings = [
            _posting(turn, original, reference, number, line) for number, line in enumerate(lines)
        ]
        closed = turn.tx.closed_until()
        made = Correction(
            lease_id=original.lease_id,
            start=original.start,
            month=month_name(original.start, policy.timezone),
            closed=closed is not None and original.start < closed,
            lines=tuple(
                CorrectionLine(
                    team=one.team,
                    project=one.project,
                    amount_micro=one.amount_micro or 0,
                    currency=one.currency,
                )
                for one in postings
            ),
            at=now,
            by=actor.name,
            reason=reason,
        )
        turn.tx.correct(postings, made, actor=actor)
        return made


def reference_of(line: Posting) -> str:
    """Name a charge for those that correct it."""
    start, end = (at.astimezone(UTC).isoformat() for at in (line.start, line.end))
    return f"{line.lease_id} {start}/{end}"


def _original(turn: Turn, wanted: CorrectionWish) -> Posting:
    found = turn.tx.charge_at(wanted.lease_id, wanted.start)
    if found is None or found.corrects is not None:
        raise RefusedError(
            "no-such-charge",
            _(
                "No charge of {lease} begins at {start}. Name it as the export does: its lease "
                "and its start."
            ).format(lease=wanted.lease_id, start=wanted.start.isoformat()),
            status=404,
        )
    return found


def _stands(original: Posting, corrections: tuple[Posting, ...]) -> dict[Payer, int]:
    """What stands on the books for a charge now, by who pays it."""
    sums: dict[Payer, int] = defaultdict(int)
    for line in (original, *corrections):
        sums[line.team, line.project] += line.amount_micro or 0
    return {payer: amount for payer, amount in sums.items() if amount}


def _restated(
    policy: Policy, original: Posting, stands: dict[Payer, int], wanted: CorrectionWish
) -> tuple[Payer, int]:
    """Say who pays for it and how much; what the wish leaves away stays as it stands."""
    now_paid = next(iter(stands), (original.team, original.project))
    amount = sum(stands.values())
    if wanted.price_micro_per_hour is not None:
        amount = settle(accrue(wanted.price_micro_per_hour, original.seconds))
    if wanted.waive:
        return (WAIVED, None), amount
    return _payer(policy, wanted, now_paid), amount


def _payer(policy: Policy, wanted: CorrectionWish, now_paid: Payer) -> Payer:
    team, project = now_paid
    if wanted.team is not None:
        if wanted.team not in policy.teams:
            raise named("no-such-team", _("team"), wanted.team, policy.teams)
        team, project = wanted.team, project if wanted.team == team else None
    if wanted.project is not None:
        if wanted.project not in policy.projects:
            raise named("no-such-project", _("project"), wanted.project, policy.projects)
        project = wanted.project
        team = TeamName(policy.projects[project].team)
        if wanted.team not in {None, team}:
            raise RefusedError(
                "other-team",
                _("Project {project} belongs to {team}; name the project alone.").format(
                    project=project, team=team
                ),
                status=400,
            )
    return team, project


def _posting(
    turn: Turn, original: Posting, reference: str, number: int, line: tuple[Payer, int]
) -> Posting:
    (team, project), amount = line
    own = team not in NO_TEAMS and original.user != SITE_USER
    return original.model_copy(
        update={
            "lease_id": LeaseId(f"{original.lease_id}~{turn.tx.head() + 1}-{number}"),
            "user": original.user if own else SITE_USER,
            "team": team,
            "project": project,
            "flavor": CORRECTION,
            "units": 0,
            "start": turn.now,
            "end": turn.now,
            "seconds": 0,
            "price_micro_per_hour": None,
            "amount_micro": amount,
            "bounded": False,
            "corrects": reference,
        }
    )


def _nothing_changes() -> RefusedError:
    return RefusedError(
        "nothing-changes",
        _("That is what stands on the books already. Name another team, project or price."),
        status=400,
    )
