"""Opens a lease by hand for a server that runs without one, so that it counts and is charged.

It starts nothing: something must show that the server runs, and which devices it holds.
"""

from datetime import datetime

from pydantic import Field

from ...errors import RefusedError
from ...i18n import _
from ...lease import (
    Actor,
    Ask,
    Choice,
    Device,
    DeviceId,
    LeaseState,
    Liveness,
    OpenLease,
    ProcessRef,
    ProfileName,
    ProjectName,
    ServerKey,
    ServerName,
    Standing,
    TeamName,
    UserName,
    Value,
)
from ...policy.catalogue import Person, Resolved, resolve
from ..basis.refusals import named
from ..basis.words import admin_reason, server_words
from ..books.desk import Desk, Turn
from .closing import promote
from .granting import asked_lease


class Wanted(Value):
    """Which server, and as what; what is None is as in the server's last lease.

    `process` is the server's main process, where somebody knows it.
    """

    user: UserName = Field(min_length=1, max_length=255)
    server: ServerName = ServerName("")
    profile: ProfileName | None = None
    team: TeamName | None = None
    project: ProjectName | None = None
    devices: tuple[DeviceId, ...] = ()
    process: ProcessRef | None = None


def grant(desk: Desk, wanted: Wanted, *, reason: str, actor: Actor, now: datetime) -> OpenLease:
    """Open a running lease for a server that has none.

    Raises
    ------
    RefusedError
        When it has one, nothing shows that it runs, or profile, team or devices are not known,
        do not fit each other, or are held by another lease.
    """
    key = ServerKey(hub=desk.settings.hub, user=wanted.user, server=wanted.server)
    with desk.turn(now, actor) as turn:
        open_one = turn.tx.lease_of(key)
        if open_one is not None:
            raise RefusedError(
                "has-lease",
                _("{server} has the lease {lease} already. Close or move that one.").format(
                    server=server_words(key), lease=open_one.id
                ),
                figures={"lease": open_one.id},
            )
        last = turn.tx.last_ended(key)
        if last is not None and last.assigned_at is None:
            last = None
        resolved = _resolved(desk, wanted, last, now)
        lease = _running(turn, key, resolved, last)
        lease = lease.model_copy(
            update={
                "process": _process(desk, wanted, lease, last),
                "devices": _devices(turn, wanted, resolved, last),
                "reason": admin_reason(actor, reason, "grant"),
            }
        )
        turn.record(lease)
        turn.note(
            "admin.grant",
            lease,
            {"v": 1, "reason": reason, "devices": [device.id for device in lease.devices]},
        )
        promote(turn)
        desk.strangers.discard(key)
        return turn.found(lease.id)


def _resolved(desk: Desk, wanted: Wanted, last: OpenLease | None, now: datetime) -> Resolved:
    policy = desk.book.policy
    profile = wanted.profile or (last.profile if last else None)
    team = wanted.team or (last.team if last else None)
    if profile is None or team is None:
        raise RefusedError(
            "as-what",
            _("This server had no lease before. Say with --profile and --team as what it counts."),
        )
    if team not in policy.teams:
        raise named("no-such-team", _("team"), team, policy.teams)
    project = wanted.project
    if project is None and last is not None and last.team == team:
        project = last.project
    # Whoever administers says the team; membership is for people who ask.
    person = Person(user=wanted.user, groups=policy.teams[team].groups)
    return resolve(policy, person, Choice(profile=profile, team=team, project=project), now)


def _running(turn: Turn, key: ServerKey, resolved: Resolved, last: OpenLease | None) -> OpenLease:
    """Make the lease, by the last attempt's id where there was one: its end will be reported."""
    attempt = last.attempt_id if last is not None else f"by-hand-{turn.desk.new_id()}"
    lease = asked_lease(turn, Ask(attempt_id=attempt, key=key, choice=resolved.choice), resolved)
    metered = resolved.pool is not None
    return lease.model_copy(
        update={
            "state": LeaseState.running,
            # Becomes guaranteed where the team's guarantee has room for it.
            "standing": Standing.borrowed if metered else Standing.unmetered,
            "assigned_at": turn.now,
            "started_at": turn.now,
            "last_seen_at": turn.now,
            "ends_at": turn.now + resolved.lifetime,
            "longest_end_at": turn.now + resolved.longest,
        }
    )


def _process(
    desk: Desk, wanted: Wanted, lease: OpenLease, last: OpenLease | None
) -> ProcessRef | None:
    """Find what shows that the server runs: a process, or the hub's own word."""
    if wanted.process is not None:
        claimed = lease.model_copy(update={"process": wanted.process})
        if desk.alive(claimed) is Liveness.alive:
            return wanted.process
        raise RefusedError(
            "not-running",
            _("Process {pid} does not run on this machine. Name the server's own.").format(
                pid=wanted.process.pid
            ),
        )
    if last is not None and desk.alive(last) is Liveness.alive:
        return last.process
    if lease.key in desk.strangers:
        return None
    raise RefusedError(
        "not-running",
        _(
            "Nothing shows that {server} runs: neither the hub nor a process of its last lease. "
            "Name its process with --pid."
        ).format(server=server_words(lease.key)),
    )


def _devices(
    turn: Turn, wanted: Wanted, resolved: Resolved, last: OpenLease | None
) -> tuple[Device, ...]:
    if resolved.pool is None:
        return ()
    former = last.devices if last is not None else ()
    usable = turn.desk.floor.devices(turn.desk.book.policy, now=turn.now)[0]
    known = {device.id: device for device in (*former, *usable)}
    names = wanted.devices or tuple(device.id for device in former)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise named("no-such-device", _("device"), unknown[0], known)
    found = tuple(known[name] for name in dict.fromkeys(names))
    fits = all(device.pool == resolved.pool and device.part == resolved.part for device in found)
    if not fits or len(found) != max(1, resolved.gpus):
        raise RefusedError(
            "other-devices",
            _(
                "The profile {profile} is {n} x {flavor} of the pool {pool}; the server holds "
                "something else, or it is not known what. Name what it holds with --device."
            ).format(
                profile=resolved.profile,
                n=max(1, resolved.gpus),
                flavor=resolved.flavor,
                pool=resolved.pool,
            ),
        )
    for other in turn.tx.leases():
        both = {device.id for device in other.devices} & set(names)
        if other.holding and both:
            raise RefusedError(
                "device-held",
                _("{device} is held by the lease {lease}. Close that one first.").format(
                    device=min(both), lease=other.id
                ),
                figures={"lease": other.id},
            )
    return found
