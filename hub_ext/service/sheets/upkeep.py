"""Maintenance and exemptions on the pages: what is announced, who is exempt, and the choices."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from ...admission.announced import maintenance_words
from ...i18n import _
from ...lease import Device, Exemption, Maintenance, OpenLease, Place
from ...policy.model import Policy
from ..books import formats
from ..core.governor import Governor


@dataclass(frozen=True)
class Upkeep:
    """What is announced and who is exempt at one instant, and what can be chosen."""

    maintenance: tuple[Maintenance, ...]
    exemptions: tuple[Exemption, ...]
    policy: Policy | None
    devices: tuple[Device, ...]
    leases: tuple[OpenLease, ...]
    now: datetime


def gather(governor: Governor, now: datetime) -> Upkeep:
    """Read it, in the core's thread."""
    rows = governor.device_sheet(now=now).devices
    return Upkeep(
        maintenance=governor.maintenance(now=now).announced,
        exemptions=governor.exemptions(now=now).exemptions,
        policy=governor.known_policy,
        devices=tuple(row.device for row in rows),
        leases=governor.leases(),
        now=now,
    )


def sheet(upkeep: Upkeep) -> dict[str, object]:
    """Put it into words, with the choices of both forms."""
    policy = upkeep.policy
    zone = policy.timezone if policy is not None else "UTC"
    return {
        "zone": zone,
        "maintenance": [
            {
                "id": one.id,
                "of": _place(one.place).format(name=one.name),
                "start": formats.instant(one.start, zone),
                "end": formats.instant(one.end, zone),
                "on": one.closes(upkeep.now),
                "by": one.by,
                "reason": one.reason,
            }
            for one in upkeep.maintenance
        ],
        "exemptions": [
            {
                "id": one.id,
                "of": _subject(one, upkeep.leases),
                "until": formats.instant(one.until, zone),
                "by": one.by,
                "reason": one.reason,
            }
            for one in upkeep.exemptions
        ],
        "spots": _spots(upkeep),
        "subjects": (
            ("person", _("person")),
            ("team", _("team")),
            ("project", _("project")),
            ("lease", _("lease")),
        ),
    }


def sentences(upkeep: Upkeep, user: str, teams: Iterable[str]) -> tuple[str, ...]:
    """Say to one person what is announced, and which exemptions cover them."""
    policy = upkeep.policy
    if policy is None:
        return ()
    mine = [lease for lease in upkeep.leases if lease.key.user == user]
    names = {("person", user)} | {("team", team) for team in teams}
    names |= {
        ("project", name) for name, project in policy.projects.items() if project.team in teams
    }
    names |= {("lease", lease.id) for lease in mine}
    exempt = [one for one in upkeep.exemptions if (one.subject, one.name) in names]
    return (
        *(maintenance_words(one, policy.timezone) for one in upkeep.maintenance),
        *(
            _("{whom} is exempt from the idle rules until {until}: {why} ({by}).").format(
                whom=_subject(one, upkeep.leases).capitalize(),
                until=formats.instant(one.until, policy.timezone),
                why=one.reason.rstrip("."),
                by=one.by,
            )
            for one in exempt
        ),
    )


def _place(place: Place) -> str:
    return {
        "pool": _("pool {name}"),
        "node": _("machine {name}"),
        "device": _("device {name}"),
    }[place]


def _subject(one: Exemption, leases: Iterable[OpenLease]) -> str:
    if one.subject == "lease":
        keys = [lease.key for lease in leases if lease.id == one.name]
        whose = f" ({formats.server_name(keys[0].server)}, {keys[0].user})" if keys else ""
        return _("lease {name}").format(name=one.name) + whose
    return {
        "person": _("person {name}"),
        "team": _("team {name}"),
        "project": _("project {name}"),
    }[one.subject].format(name=one.name)


def _spots(upkeep: Upkeep) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """Pools, machines and devices, as a form lists them: group, then value and words."""
    pools = sorted(upkeep.policy.pools) if upkeep.policy is not None else []
    declared = upkeep.policy.pools.values() if upkeep.policy is not None else ()
    nodes = {node.name for pool in declared for node in pool.nodes}
    nodes |= {device.node for device in upkeep.devices}
    return (
        (_("Pools"), tuple((f"pool/{name}", name) for name in pools)),
        (_("Machines"), tuple((f"node/{name}", name) for name in sorted(nodes))),
        (
            _("Devices"),
            tuple(
                (f"device/{one.id}", f"{one.node}, GPU {one.gpu}, {one.part or one.model}")
                for one in upkeep.devices
            ),
        ),
    )
