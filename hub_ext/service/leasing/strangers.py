"""Servers that live on the hub without a lease: adopted where it is known whose, else shown.

The hub may have started them while the governor was away. Nothing is guessed and nothing stopped.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from ...i18n import _
from ...lease import (
    AttemptId,
    Choice,
    Device,
    Event,
    LeaseState,
    OpenLease,
    ProfileName,
    ProjectName,
    Reason,
    ServerKey,
    Standing,
    TeamName,
)
from ...mig.geometry import device_units
from ...policy.catalogue import Person, Resolved, price_at, projects_of, teams_of
from ..basis.machine import FoundServer
from ..books.desk import Desk, Turn
from .closing import promote

UNKNOWN = "server.unknown"
ADOPTED = "server.adopted"

NOT_KNOWN = ProfileName("(unknown)")
"""Profile of a server whose start nobody recorded."""

_BY_US = "adopted-"
"""Begins the attempt id of a server whose own is not known."""


@dataclass(frozen=True)
class Stranger:
    """A live server, with what the hub and this machine know of it."""

    key: ServerKey
    groups: tuple[str, ...] = ()
    found: FoundServer | None = None


class _UnassignedError(Exception):
    """It cannot be adopted; the words say why."""


def unleased(desk: Desk, keys: Collection[ServerKey], *, now: datetime) -> tuple[ServerKey, ...]:
    """Tell which servers have no open lease."""
    with desk.turn(now) as turn:
        known = {lease.key for lease in turn.tx.leases()}
    return tuple(key for key in keys if key not in known)


def note(
    desk: Desk, servers: Iterable[Stranger], *, since: datetime, now: datetime
) -> tuple[ServerKey, ...]:
    """Adopt those whose team is known; keep the others to be shown, each new one with an event.

    Parameters
    ----------
    since
        When the hub was asked: a server whose lease ended after that may be gone already.
    """
    found = {one.key: one for one in servers}
    why: dict[ServerKey, str] = {}
    occupied = set()
    with desk.turn(now) as turn:
        for key in unleased_in(turn, found):
            last = turn.tx.last_ended(key)
            if last is not None and last.state_since >= since:
                continue
            if not _may_be_adopted(desk, key):
                why[key] = _("it may hold a GPU for which no lease is known")
                continue
            try:
                _adopt(turn, found[key], last)
            except _UnassignedError as error:
                why[key] = str(error)
                of_it = found[key].found
                occupied |= set(of_it.devices) if of_it else set()
        for key in sorted(why.keys() - desk.strangers, key=str):
            body: dict[str, object] = {
                "v": 1,
                "key": key.model_dump(mode="json"),
                "words": why[key],
            }
            turn.tx.append(Event(kind=UNKNOWN, at=now, actor=turn.actor, body=body))
    desk.strangers, desk.unassigned, desk.occupied = set(why), why, frozenset(occupied)
    return tuple(sorted(why, key=str))


def _may_be_adopted(desk: Desk, key: ServerKey) -> bool:
    """Whether a server holds no GPU, where that is not seen on this machine: a free one is none."""
    if not desk.settings.on_kubernetes:
        return True
    return desk.gpu_servers is not None and (key.user, key.server) not in desk.gpu_servers


def unleased_in(turn: Turn, keys: Iterable[ServerKey]) -> tuple[ServerKey, ...]:
    """Keys without an open lease, in order."""
    known = {lease.key for lease in turn.tx.leases()}
    return tuple(sorted((key for key in keys if key not in known), key=str))


def adopted_unseen(lease: OpenLease) -> bool:
    """Whether a lease was made for a running server whose ask is still missing."""
    live = lease.state in {LeaseState.running, LeaseState.noticed}
    return live and lease.profile == NOT_KNOWN and lease.grant is None


def is_its_ask(lease: OpenLease, attempt_id: str, resolved: Resolved) -> bool:
    """Whether a late ask is that of an adopted server, which started without a GPU.

    The attempt in the server's environment proves it. Where none could be read it is believed:
    nothing is handed out for it.
    """
    if not adopted_unseen(lease) or lease.pool is not None or resolved.pool is not None:
        return False
    return lease.attempt_id == attempt_id or lease.attempt_id.startswith(_BY_US)


def _adopt(turn: Turn, one: Stranger, last: OpenLease | None) -> OpenLease:
    team, project = _whose(turn.desk, one, last)
    devices = _devices(turn, one)
    lease = _running(turn, one, team, project, devices)
    turn.record(lease)
    body: dict[str, object] = {
        "v": 1,
        "team": team,
        "groups": list(one.groups),
        "devices": [device.id for device in devices],
        "process": one.found.process.model_dump(mode="json") if one.found else None,
    }
    turn.note(ADOPTED, lease, body)
    promote(turn)
    return lease


def _whose(
    desk: Desk, one: Stranger, last: OpenLease | None
) -> tuple[TeamName, ProjectName | None]:
    """Team by the owner's hub groups; of several, the one that its last server counted for."""
    policy = desk.book.known
    if policy is None:
        raise _UnassignedError(_("no policy is in force"))
    teams = teams_of(policy, Person(user=one.key.user, groups=one.groups))
    if not teams:
        raise _UnassignedError(_("its owner is in no group of a team"))
    if last is not None and last.team in teams:
        same = last.project in projects_of(policy, (last.team,))
        return last.team, last.project if same else None
    if len(teams) > 1:
        raise _UnassignedError(
            _("its owner is in several teams: {teams}").format(teams=", ".join(teams))
        )
    return teams[0], None


def _devices(turn: Turn, one: Stranger) -> tuple[Device, ...]:
    """Devices that its environment names, where each is in service and nobody else's."""
    names = one.found.devices if one.found is not None else ()
    usable, _drift = turn.desk.floor.devices(turn.desk.book.policy, now=turn.now)
    known = {device.id: device for device in usable}
    absent = [name for name in names if name not in known]
    if absent:
        raise _UnassignedError(
            _("it uses {devices}, which no pool has now").format(devices=", ".join(absent))
        )
    holders = {
        device.id: lease for lease in turn.tx.leases() if lease.holding for device in lease.devices
    }
    shared = [name for name in names if name in holders]
    if shared:
        raise _UnassignedError(
            _("it uses {device}, which the lease {lease} holds").format(
                device=shared[0], lease=holders[shared[0]].id
            )
        )
    found = tuple(known[name] for name in dict.fromkeys(names))
    if len({(device.pool, device.part) for device in found}) > 1 or (
        len(found) > 1 and found[0].part is not None
    ):
        raise _UnassignedError(_("it uses devices of several kinds"))
    return found


def _running(
    turn: Turn,
    one: Stranger,
    team: TeamName,
    project: ProjectName | None,
    devices: tuple[Device, ...],
) -> OpenLease:
    """Make the lease of a server that runs. Its end is not known, so it has none."""
    policy, lease_id = turn.desk.book.policy, turn.desk.new_id()
    pool = devices[0].pool if devices else None
    flavor = "none" if pool is None else devices[0].part or f"gpu-{len(devices)}"
    attempt = one.found.attempt_id if one.found is not None else f"{_BY_US}{lease_id}"
    return OpenLease(
        id=lease_id,
        key=one.key,
        attempt_id=AttemptId(attempt),
        choice=Choice(profile=NOT_KNOWN, team=team, project=project),
        team=team,
        project=project,
        profile=NOT_KNOWN,
        pool=pool,
        flavor=flavor,
        units=sum(device_units(device) for device in devices),
        devices=devices,
        # Becomes guaranteed where the team's guarantee has room for it.
        standing=Standing.borrowed if pool is not None else Standing.unmetered,
        state=LeaseState.running,
        state_since=turn.now,
        requested_at=turn.now,
        assigned_at=turn.now,
        started_at=turn.now,
        last_seen_at=turn.now,
        price_micro_per_hour=None
        if pool is None
        else price_at(policy, pool, flavor, turn.now, "borrowed"),
        currency=policy.currency,
        policy_generation=turn.desk.book.state.generation,
        process=one.found.process if one.found is not None else None,
        reason=Reason(
            code="adopted",
            message=_(
                "This server was found running without a lease and counts for team {team} from "
                "now on. What it was started as is not known{gpu}."
            ).format(
                team=team,
                gpu="" if one.found is not None else _(", nor whether it uses a GPU"),
            ),
        ),
    )
