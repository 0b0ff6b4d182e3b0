"""Profiles: entries that fit a declared device, and that somebody can really have."""

from collections.abc import Iterator, Mapping

from ...i18n import _
from ...lease import share_name
from ...mig.geometry import geometry, table
from ..capacity import WHOLE, Capacity, capacities, gpus_words
from ..catalogue import may_choose, may_use, profile_size
from ..model import GpuFlavor, MigFlavor, Policy, Profile, ShareFlavor, cpu_millis
from ..problems import Path, Problem, error, listed, nearest, quoted, warning


def check_profiles(policy: Policy) -> Iterator[Problem]:
    """Check every profile by itself."""
    titles: dict[str, str] = {}
    there = capacities(policy)
    for name, profile in policy.profiles.items():
        path: Path = ("profiles", name)
        first = titles.setdefault(profile.title, name)
        if first != name:
            yield warning(
                (*path, "title"),
                _("the profile {first} has the same title").format(first=quoted(first)),
                _("say what tells them apart"),
            )
        if cpu_millis(profile) == 0:
            yield error((*path, "cpu"), _("a server needs some CPU"), _("write at least '0.1'"))
        if profile.memory == 0:
            yield error(
                (*path, "memory"), _("a server needs some memory"), _("write for example 2GiB")
            )
        yield from _teams(policy, path, profile)
        yield from _flavor(policy, path, profile, there)


def _teams(policy: Policy, path: Path, profile: Profile) -> Iterator[Problem]:
    for index, team in enumerate(profile.teams or ()):
        if team not in policy.teams:
            yield error(
                (*path, "teams", index),
                _("there is no team {team}").format(team=quoted(team)),
                nearest(team, list(policy.teams)),
            )
        elif profile.pool in policy.pools and not may_use(policy, team, str(profile.pool)):
            yield warning(
                (*path, "teams", index),
                _("the team {team} may not use the pool {pool}").format(
                    team=quoted(team), pool=quoted(profile.pool)
                ),
                _("give it quota there, or take it from this list"),
            )


def _flavor(
    policy: Policy, path: Path, profile: Profile, capacity: Mapping[str, Capacity]
) -> Iterator[Problem]:
    if profile.pool is None:
        return
    if profile.pool not in policy.pools:
        yield error(
            (*path, "pool"),
            _("there is no pool {pool}").format(pool=quoted(profile.pool)),
            nearest(profile.pool, list(policy.pools)),
        )
        return
    pool = policy.pools[profile.pool]
    there = capacity[profile.pool]
    if not there.sound:
        return
    match profile.flavor:
        case GpuFlavor(gpus=count) if count > there.most_whole:
            yield error(
                (*path, "flavor", "gpus"),
                _("no machine of the pool {pool} has {n} whole GPUs").format(
                    pool=quoted(profile.pool), n=count
                ),
                _ask_for(there),
            )
        case MigFlavor(mig=mig) if mig not in there.counts:
            yield error((*path, "flavor", "mig"), *_no_slot(pool.model, profile.pool, mig, there))
        case ShareFlavor(share=count) if share_name(count) not in there.counts:
            yield error(
                (*path, "flavor", "share"),
                _("no GPU of the pool {pool} is shared by {n}").format(
                    pool=quoted(profile.pool), n=count
                ),
                _ask_for(there),
            )
        case _:
            return


def _no_slot(model: str, pool: str, mig: str, there: Capacity) -> tuple[str, str]:
    shape = geometry(model)
    if shape is None:
        return (
            _("{model} has no MIG data, so it has no MIG profile").format(model=quoted(model)),
            _("write `gpus: 1`; models that can be cut: {models}").format(
                models=listed(sorted(table()))
            ),
        )
    if mig not in shape.profiles:
        return (
            _("{model} has no MIG profile {mig}").format(model=quoted(model), mig=quoted(mig)),
            nearest(mig, list(shape.profiles)),
        )
    return (
        _("no GPU of the pool {pool} is cut into {mig}").format(pool=quoted(pool), mig=quoted(mig)),
        _ask_for(there),
    )


def _ask_for(there: Capacity) -> str:
    slots = [kind for kind in there.counts if kind != WHOLE]
    if there.most_whole and slots:
        return _("ask for {n} GPUs at most, or for {slots}").format(
            n=there.most_whole, slots=listed(slots)
        )
    if there.most_whole:
        return _("ask for {n} at most").format(n=there.most_whole)
    return _("the pool has {slots}").format(slots=listed(slots))


def check_profile_limits(policy: Policy) -> Iterator[Problem]:
    """Find profiles that no team can ever start; the policy's names and cuts must be right."""
    there = capacities(policy)
    for name, profile in policy.profiles.items():
        path: Path = ("profiles", name)
        teams = [team for team in policy.teams if may_choose(policy, team, name)]
        if not teams:
            yield warning(
                path,
                _("no team may choose this profile"),
                _("give a team quota in its pool, or take the profile away"),
            )
            continue
        if profile.pool is None:
            continue
        size = profile_size(policy, profile)
        limits = {
            team: _most(policy, team, profile.pool, there[profile.pool].units) for team in teams
        }
        if all(size > limit for limit in limits.values()):
            made = error if policy.modes.quota == "enforce" else warning
            yield made(
                path,
                _("it takes {size}, more than any team can ever hold: {limits}").format(
                    size=gpus_words(size),
                    limits=", ".join(
                        f"{quoted(team)} {gpus_words(limit)}" for team, limit in limits.items()
                    ),
                ),
                _("raise `nominal`, `borrowing_limit` or `largest_request` of a team"),
            )


def _most(policy: Policy, team: str, pool: str, declared: int) -> int:
    """Units that one lease of a team can have at most, with nothing else in use."""
    rules = policy.teams[team]
    quota = rules.quota[pool]
    most = declared
    if rules.over_quota != "borrow":
        most = min(most, quota.nominal)
    elif quota.borrowing_limit is not None:
        most = min(most, quota.nominal + quota.borrowing_limit)
    return most if rules.largest_request is None else min(most, rules.largest_request)
