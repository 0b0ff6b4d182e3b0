"""What may be reserved of a pool, and had alone: whether the rest of the policy lets it be."""

from collections.abc import Iterator

from ...i18n import _
from ...units import Units, quota_text
from ..capacity import capacity
from ..model import Policy
from ..problems import Path, Problem, error, quoted, warning


def check_reserving(policy: Policy) -> Iterator[Problem]:
    """Check `reservable` and `exclusive` of every pool."""
    for name, pool in policy.pools.items():
        path: Path = ("pools", name)
        if pool.reservable is not None:
            yield from _reservable(policy, name, path)
        if "node" in pool.exclusive:
            yield from _shared_nodes(policy, name, path)
        if pool.exclusive and not policy.projects:
            yield warning(
                (*path, "exclusive"),
                _("no project is there that could have anything alone"),
                _("add a project under `projects`, or leave this out"),
            )


def _reservable(policy: Policy, name: str, path: Path) -> Iterator[Problem]:
    pool = policy.pools[name]
    most = Units(pool.reservable.most if pool.reservable is not None else 0)
    there = Units(capacity(pool).units)
    if most > there:
        yield warning(
            (*path, "reservable", "most"),
            _("{most} GPUs may be reserved, and the pool has {there}").format(
                most=quota_text(most), there=quota_text(there)
            ),
            _("write at most what the machines have"),
        )
    quotas = (team.quota.get(name) for team in policy.teams.values())
    if not any(quota is not None and quota.nominal for quota in quotas):
        yield warning(
            (*path, "reservable"),
            _("no team has a guarantee here, so nothing can be reserved"),
            _("a reservation lies inside its team's `nominal`; give a team some"),
        )


def _shared_nodes(policy: Policy, name: str, path: Path) -> Iterator[Problem]:
    """Find machines that another pool has GPUs of: nobody can have those alone."""
    for index, node in enumerate(policy.pools[name].nodes):
        others = [
            other
            for other, pool in policy.pools.items()
            if other != name and any(one.name == node.name for one in pool.nodes)
        ]
        for other in others:
            yield error(
                (*path, "nodes", index, "name"),
                _("{node} is also in pool {other}, so nobody can have it alone").format(
                    node=quoted(node.name), other=quoted(other)
                ),
                _("take `node` out of `exclusive`, or the machine out of one of the pools"),
            )
