"""What an administrator does to one lease by hand, whether the governor lives or a command acts.

Each act is one transaction with an event `admin.<verb>` that says who and why. Shares and limits
do not bind an administrator; devices and proofs do, and where one is given up, it is said.
"""

from datetime import datetime

from ...errors import RefusedError
from ...i18n import _
from ...lease import (
    NEEDS_PROOF,
    Actor,
    Cause,
    LeaseId,
    LeaseState,
    Liveness,
    OpenLease,
    ProjectName,
    Standing,
    TeamName,
    Value,
)
from ...policy.catalogue import may_use, projects_of
from ...policy.model import Policy
from ..basis.refusals import lease_over, named, process_lives
from ..basis.words import admin_reason
from ..books.desk import Desk
from ..books.kueuebook import metered
from ..reclaim import stops
from .closing import End, charges, close, promote
from .reporting import look

_LIVE = frozenset({LeaseState.running, LeaseState.noticed})


def close_by_hand(
    desk: Desk, lease_id: LeaseId, *, reason: str, actor: Actor, now: datetime
) -> OpenLease:
    """Ask for the end of a lease: it closes when its server is proved gone, perhaps at once.

    Raises
    ------
    RefusedError
        When there is no such lease, or it has closed.
    """
    with desk.turn(now, actor) as turn:
        lease = turn.found(lease_id)
        if not lease.open:
            raise lease_over(lease)
        turn.note("admin.close", lease, {"v": 1, "reason": reason})
        if lease.state is not LeaseState.stopping:
            why = admin_reason(actor, reason)
            lease = stops.stop(turn, lease, cause=Cause.admin, reason=why)
    if lease.state is LeaseState.stopping and lease.process is not None:
        look(desk, lease_id, now=now)
    with desk.turn(now) as turn:
        return turn.found(lease_id)


def force_release(
    desk: Desk, lease_id: LeaseId, *, reason: str, actor: Actor, now: datetime
) -> OpenLease:
    """Close a lease without proof that its server is gone; its devices are free at once.

    Charged until its server was last known to live. A process that this machine sees is no case
    for it: the next server would share the device with it.

    Raises
    ------
    RefusedError
        When there is no such open lease, or its process is seen to live.
    """
    with desk.turn(now, actor) as turn:
        lease = turn.found(lease_id)
        if not lease.open:
            raise lease_over(lease)
        seen = desk.alive(lease) if lease.state in NEEDS_PROOF else Liveness.gone
        if seen is Liveness.alive:
            raise process_lives(lease)
        body: dict[str, object] = {
            "v": 1,
            "reason": reason,
            "seen": seen.value,
            "devices": [device.id for device in lease.devices],
        }
        turn.note("admin.force_release", lease, body)
        at = lease.last_seen_at if lease.state in _LIVE else None
        end = End(
            Cause.admin,
            at=at,
            reason=admin_reason(actor, reason, "release"),
            bounded=at is not None,
        )
        return close(turn, lease, end)


class Destination(Value):
    """Whose a lease becomes. Without a project: the same where it is the team's, else its first."""

    team: TeamName
    project: ProjectName | None = None


def move(
    desk: Desk,
    lease_id: LeaseId,
    wanted: Destination,
    *,
    reason: str,
    actor: Actor,
    now: datetime,
) -> OpenLease:
    """Let another team or project hold a running lease from now on; what was before stays paid.

    Raises
    ------
    RefusedError
        When it does not run, the policy has no such team or project, the team may not use the
        pool, nothing would change, or its quota is Kueue's to give.
    """
    policy = desk.book.policy
    with desk.turn(now, actor) as turn:
        lease = turn.found(lease_id)
        if lease.state not in _LIVE:
            raise lease_over(lease) if not lease.open else _not_running(lease)
        into = _destination(policy, lease, wanted)
        if desk.kueue is not None and metered(lease):
            raise _kueue_keeps(lease)
        body: dict[str, object] = {
            "v": 1,
            "reason": reason,
            "from": {"team": lease.team, "project": lease.project},
            "to": {"team": into[0], "project": into[1]},
        }
        turn.note("admin.move", lease, body)
        # A line of no length would stand where the next one begins.
        lines = [line for line in charges(desk, lease, now) if line.start < line.end]
        turn.tx.post(lines, at=now, actor=actor)
        unmetered = lease.standing is Standing.unmetered
        moved = lease.model_copy(
            update={
                "team": into[0],
                "project": into[1],
                "charged_until": now if lease.pool is not None else None,
                # Becomes guaranteed below where the team's guarantee has room for it.
                "standing": Standing.unmetered if unmetered else Standing.borrowed,
            }
        )
        turn.record(moved)
        promote(turn)
        return turn.found(lease_id)


def _destination(
    policy: Policy, lease: OpenLease, wanted: Destination
) -> tuple[TeamName, ProjectName | None]:
    team, project = wanted.team, wanted.project
    if team not in policy.teams:
        raise named("no-such-team", _("team"), team, policy.teams)
    if lease.pool is not None and (lease.pool not in policy.pools):
        raise named("no-such-pool", _("pool"), lease.pool, policy.pools)
    if lease.pool is not None and not may_use(policy, team, lease.pool):
        raise RefusedError(
            "pool-not-for-team",
            _(
                "The team {team} has no quota in the pool {pool} of this lease. Give it some in "
                "the policy, or choose another team."
            ).format(team=team, pool=lease.pool),
        )
    own = projects_of(policy, (team,))
    if project is not None and project not in own:
        raise named("not-its-project", _("project of this team"), project, own)
    kept = lease.project if lease.project in own else (own[0] if own else None)
    into = (team, project or kept)
    if into == (lease.team, lease.project):
        raise RefusedError(
            "nothing-to-move", _("The lease is of that team and project already; nothing changed.")
        )
    return into


def _kueue_keeps(lease: OpenLease) -> RefusedError:
    """Say why a lease stays where it is: Kueue cannot hand quota over under a server that runs."""
    return RefusedError(
        "kueue-keeps-quota",
        _(
            "Kueue admitted this lease with the quota of {whose}, and moves none while the server "
            "runs. Let its owner stop it, or close the lease, and start it again for the other "
            "team or project; its files are kept."
        ).format(whose=lease.team if lease.project is None else f"{lease.team}, {lease.project}"),
    )


def _not_running(lease: OpenLease) -> RefusedError:
    return RefusedError(
        "not-running",
        _(
            "The lease is {state}; only one whose server runs can be moved. Wait or close it."
        ).format(state=lease.state.value),
    )
