"""Devices that belong to one project: whether they exist, are its team's, and can be chosen."""

from collections import Counter
from collections.abc import Iterator

from ...i18n import _
from ...units import gpus_text
from ..capacity import WHOLE, capacities
from ..catalogue import may_choose, may_use, profile_size
from ..model import DevicePin, Policy, flavor_name
from ..problems import Path, Problem, error, nearest, quoted


def check_devices(policy: Policy) -> Iterator[Problem]:
    """Check the pin of each project, then what all pins together take of a pool and a team."""
    sound: dict[str, DevicePin] = {}
    for name, project in policy.projects.items():
        pin = project.device
        if pin is None:
            continue
        problems = list(_alone(policy, name, project.team, pin))
        yield from problems
        if not problems:
            sound[name] = pin
    yield from _together(policy, sound)
    yield from _of_teams(policy, sound)


def _alone(policy: Policy, name: str, team: str, pin: DevicePin) -> Iterator[Problem]:
    path: Path = ("projects", name, "device")
    if pin.pool not in policy.pools:
        yield error(
            (*path, "pool"),
            _("there is no pool {pool}").format(pool=quoted(pin.pool)),
            nearest(pin.pool, list(policy.pools)),
        )
        return
    if not may_use(policy, team, pin.pool):
        yield error(
            (*path, "pool"),
            _("the team {team} may not use the pool {pool}").format(
                team=quoted(team), pool=quoted(pin.pool)
            ),
            _("give it quota there, or name another pool"),
        )
        return
    taking = [
        label
        for label, profile in policy.profiles.items()
        if profile.pool == pin.pool
        and flavor_name(profile.flavor) == pin.flavor
        and may_choose(policy, team, label)
    ]
    if not taking:
        yield error(
            path,
            _("no profile of its team takes {flavor} of pool {pool}").format(
                flavor=quoted(pin.flavor), pool=quoted(pin.pool)
            ),
            _("offer such a profile, or pin what one takes"),
        )


def _together(policy: Policy, pins: dict[str, DevicePin]) -> Iterator[Problem]:
    there = capacities(policy)
    wanted = Counter[tuple[str, str]]()
    for name, pin in pins.items():
        kind = pin.mig or WHOLE
        wanted[pin.pool, kind] += pin.devices
        has = there[pin.pool].counts.get(kind, 0)
        if wanted[pin.pool, kind] > has:
            yield error(
                ("projects", name, "device", "count"),
                _("pool {pool} has {has} of {kind}, and projects pin {wanted}").format(
                    pool=quoted(pin.pool), has=has, kind=kind, wanted=wanted[pin.pool, kind]
                ),
                _("pin fewer, or cut more of them"),
            )


def _of_teams(policy: Policy, pins: dict[str, DevicePin]) -> Iterator[Problem]:
    """What nobody else can use has to be inside the guarantee of whoever keeps it."""
    units = Counter[tuple[str, str]]()
    for name, pin in pins.items():
        team = policy.projects[name].team
        units[team, pin.pool] += pin.count * _size(policy, pin)
        nominal = policy.teams[team].quota[pin.pool].nominal
        if units[team, pin.pool] > nominal:
            yield error(
                ("projects", name, "device", "count"),
                _(
                    "projects of team {team} pin {pinned} GPU of pool {pool}, and {nominal} is "
                    "guaranteed to it"
                ).format(
                    team=quoted(team),
                    pinned=gpus_text(units[team, pin.pool]),
                    pool=quoted(pin.pool),
                    nominal=gpus_text(nominal),
                ),
                _("pin fewer, or raise its `nominal`"),
            )


def _size(policy: Policy, pin: DevicePin) -> int:
    return next(
        profile_size(policy, profile)
        for profile in policy.profiles.values()
        if profile.pool == pin.pool and flavor_name(profile.flavor) == pin.flavor
    )
