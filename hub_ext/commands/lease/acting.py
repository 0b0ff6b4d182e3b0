"""Acts on a lease by hand: through the living governor, or, where none lives, in its place."""

import argparse
from collections.abc import Callable
from datetime import UTC, datetime
from urllib.parse import quote

import psutil
from pydantic import ValidationError

from ...errors import GpuCommonsError
from ...i18n import _
from ...lease import (
    Actor,
    DeviceId,
    LeaseId,
    LeaseState,
    LeaseView,
    OpenLease,
    ProcessRef,
    ProfileName,
    ProjectName,
    ServerName,
    TeamName,
    UserName,
    utc_text,
)
from ...ledger.beside import reading
from ...service.api.hands import ByHand, GrantByHand, MoveByHand, ProlongByHand
from ...service.core.governor import Governor
from ...service.leasing.adopting import Wanted
from ...service.leasing.hands import Destination
from ...units import parse_duration
from ..acts import Act, carry_out
from ..instants import instant, zone_of
from ..onsite import Onsite, actor, onsite, reason_of

_OnLease = Callable[[Governor, datetime], OpenLease]


def act(args: argparse.Namespace) -> None:
    """Carry out one act, and say what became of the lease.

    Raises
    ------
    GpuCommonsError
        When it is refused, or a governor lives and does not answer.
    """
    site, who, reason = onsite(args.state), actor(), reason_of(args.reason)
    done = carry_out(site, _wanted(site, args, reason, who))
    lease = done.value.lease or done.value.ended
    if lease is None:
        raise GpuCommonsError(_("the governor's answer has no lease; run `gpu-commons lease list`"))
    print(_outcome(args.verb, lease, alone=done.alone))


def _viewed(by_hand: _OnLease) -> Callable[[Governor, datetime], LeaseView]:
    """Show the lease that an act of the core gives, as its API does."""
    return lambda core, now: core.view_of(by_hand(core, now).id, now=now)


def _wanted(site: Onsite, args: argparse.Namespace, reason: str, who: Actor) -> Act[LeaseView]:
    if args.verb == "grant":
        server = _server(args)
        return Act(
            "grants",
            GrantByHand(reason=reason, by=who.name, wanted=server),
            LeaseView,
            _viewed(lambda core, now: core.adopt(server, reason=reason, actor=who, now=now)),
        )
    lease = LeaseId(args.lease)
    path = f"leases/{quote(lease, safe='')}/{args.verb}"
    if args.verb == "extend":
        until = _until(site, args)
        return Act(
            f"leases/{quote(lease, safe='')}/prolong",
            ProlongByHand(reason=reason, by=who.name, until=until),
            LeaseView,
            _viewed(
                lambda core, now: core.prolong(lease, until, reason=reason, actor=who, now=now)
            ),
        )
    if args.verb == "move":
        project = None if args.project is None else ProjectName(args.project)
        into = Destination(team=TeamName(args.team), project=project)
        return Act(
            path,
            MoveByHand(reason=reason, by=who.name, into=into),
            LeaseView,
            _viewed(lambda core, now: core.move(lease, into, reason=reason, actor=who, now=now)),
        )

    def by_hand(core: Governor, now: datetime) -> OpenLease:
        end = core.close_by_hand if args.verb == "close" else core.force_release
        return end(lease, reason=reason, actor=who, now=now)

    return Act(path, ByHand(reason=reason, by=who.name), LeaseView, _viewed(by_hand))


def _until(site: Onsite, args: argparse.Namespace) -> datetime:
    now = datetime.now(UTC)
    if args.until:
        return instant(args.until, zone_of(site), now)
    with reading(site.state, url=site.ledger_url) as tx:
        lease = tx.lease(LeaseId(args.lease))
    return (lease.ends_at if lease and lease.ends_at else now) + parse_duration(args.by)


def _server(args: argparse.Namespace) -> Wanted:
    user, _slash, server = args.server.partition("/")
    try:
        return Wanted(
            user=UserName(user),
            server=ServerName(server),
            profile=args.profile and ProfileName(args.profile),
            team=args.team and TeamName(args.team),
            project=args.project and ProjectName(args.project),
            devices=tuple(DeviceId(one) for one in args.device),
            process=None if args.pid is None else _process(args.pid),
        )
    except ValidationError as error:
        raise GpuCommonsError(
            _("{server} names no server; write USER or USER/SERVER").format(
                server=repr(args.server)
            )
        ) from error


def _process(pid: int) -> ProcessRef:
    try:
        born = psutil.Process(pid).create_time()
    except psutil.Error as error:
        raise GpuCommonsError(
            _("there is no process {pid} on this machine").format(pid=pid)
        ) from error
    return ProcessRef(pid=pid, created_us=round(born * 1_000_000))


def _outcome(verb: str, lease: OpenLease, *, alone: bool) -> str:
    if verb in {"close", "force-release"}:
        return _ended(verb, lease, alone=alone)
    at = _("no end") if lease.ends_at is None else utc_text(lease.ends_at)
    return {
        "move": _("lease {lease} is {team}'s from now on, {standing}"),
        "extend": _("lease {lease} ends {at}"),
        "grant": _("lease {lease} is open for {server}"),
    }[verb].format(
        lease=lease.id, team=lease.team, standing=lease.standing.value, at=at, server=lease.key
    )


def _ended(verb: str, lease: OpenLease, *, alone: bool) -> str:
    if verb == "force-release":
        devices = ", ".join(device.id for device in lease.devices) or _("no device")
        return _(
            "lease {lease} is closed without proof; free again: {devices}. If its process still "
            "lives somewhere, it shares them with whoever comes next."
        ).format(lease=lease.id, devices=devices)
    if lease.state is LeaseState.closed:
        return _("lease {lease} is closed").format(lease=lease.id)
    if not alone:
        return _("lease {lease} is stopping; the governor asks the hub now").format(lease=lease.id)
    return _(
        "lease {lease} is stopping and keeps its devices: its process is not proved gone. The next "
        "governor asks the hub. If you know that it is gone, `gpu-commons lease force-release "
        "{lease}` closes it."
    ).format(lease=lease.id)
