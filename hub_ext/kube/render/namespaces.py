"""Namespaces of projects, and the second fence around each: what it may hold if all else fails.

The first fence is the governor with Kueue, which says no earlier and says why.
"""

from collections.abc import Iterator, Mapping

from ...admission.levels import may_use
from ...policy.capacity import WHOLE, capacity
from ...policy.model import Policy, Team
from ...units import UNITS_PER_GPU
from ..podterms import PRIORITY_CLASS
from ..quantity import whole
from .homes import Home, homes
from .kinds import Manifest
from .marks import manifest
from .resources import name_of
from .site import Site

__all__ = ["excepted", "fences", "most", "namespaces_of"]

POD_SECURITY = {
    f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "audit", "warn")
}


EXCEPTED = {**POD_SECURITY, "pod-security.kubernetes.io/enforce": "privileged"}
"""No level lets one capability in; an admission policy of ours refuses the rest, see `fabric`."""


def excepted(policy: Policy, home: Home) -> bool:
    """Whether a project may lock memory in place, which Pod Security would refuse."""
    project = None if home.project is None else policy.projects[home.project]
    return project is not None and project.network.security_exception is not None


def namespaces_of(policy: Policy, site: Site) -> Iterator[Manifest]:
    """Render a namespace for each home; the one of a single-namespace site is somebody else's."""
    if site.namespace is not None:
        return
    for home in homes(policy, site):
        labels = {**home.labels, **(EXCEPTED if excepted(policy, home) else POD_SECURITY)}
        yield manifest("Namespace", home.namespace, {}, labels=labels)


def fences(policy: Policy, site: Site) -> Iterator[Manifest]:
    """Render what the servers of a namespace may hold at most, and its largest claim."""
    if site.namespace is not None:
        return
    for home in homes(policy, site):
        hard = {f"requests.{name}": str(count) for name, count in most(policy, home).items()}
        if hard:
            # Batch jobs that wait would count too, and then keep servers out: only ours are meant.
            scope = {"scopeName": "PriorityClass", "operator": "In", "values": [PRIORITY_CLASS]}
            spec = {"hard": hard, "scopeSelector": {"matchExpressions": [scope]}}
            yield manifest(
                "ResourceQuota",
                "gpu-commons",
                {"spec": spec},
                namespace=home.namespace,
                labels=home.labels,
            )
        yield from _claims(policy, home, site)


def _claims(policy: Policy, home: Home, site: Site) -> Iterator[Manifest]:
    """Let no claim be larger than the project's volume, or than a person's home where that is.

    Nothing is said of containers: Kueue adds a LimitRange's figures to leases, and none of them
    would be admitted where the queues hold no CPU.
    """
    volume = None if home.project is None else policy.projects[home.project].volume
    if volume is not None:
        # KubeSpawner claims each home where the server lives, so in the project's namespace.
        size = max(volume.size, 0 if site.home_size is None else whole(site.home_size))
        largest = {"type": "PersistentVolumeClaim", "max": {"storage": str(size)}}
        yield manifest(
            "LimitRange",
            "gpu-commons",
            {"spec": {"limits": [largest]}},
            namespace=home.namespace,
            labels=home.labels,
        )


def most(policy: Policy, home: Home) -> Mapping[str, int]:
    """Most devices of each name that the servers of a home could ever hold; 0 of all others."""
    counts: dict[str, int] = {}
    for pool, rules in policy.pools.items():
        declared = capacity(rules)
        usable = may_use(policy, home.team, pool)
        units = _reach(policy.teams[home.team], pool, policy) if usable else 0
        for kind, count in declared.counts.items():
            each = UNITS_PER_GPU if kind == WHOLE else declared.units_each[kind]
            room = count if units is None else min(count, units // each)
            name = name_of(kind, rules)
            counts[name] = counts.get(name, 0) + room
    return dict(sorted(counts.items()))


def _reach(team: Team, pool: str, policy: Policy) -> int | None:
    """Units that a team may hold at most, borrowed ones included; None is all there are."""
    quota = team.quota[pool]
    if policy.modes.quota != "enforce":
        return None
    if team.over_quota != "borrow":
        return quota.nominal
    return None if quota.borrowing_limit is None else quota.nominal + quota.borrowing_limit
