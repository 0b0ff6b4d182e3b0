"""How far a lease is kept apart from others on the same hardware, and what a project needs.

The class follows from how GPUs are shared; whether a server is held to its devices by force is
for whoever starts it to say.
"""

from ..lease import Isolation, Value
from ..lease.reserving import Alone
from .cuda import too_old, version
from .model import FlavorKind, Policy

_OF_KIND = {
    "gpu": Isolation.gpu,
    "mig": Isolation.mig,
    "share": Isolation.time_slice,
    "none": Isolation.none,
}


class Short(Value):
    """One need of a project that a pool's flavor does not meet: what it takes and what there is."""

    what: str
    needs: str
    has: str | None


def isolation_of(
    policy: Policy, pool: str | None, kind: FlavorKind, alone: Alone | None
) -> Isolation:
    """Class of a lease, by its pool, the kind of its flavor and what it shares with nobody."""
    if pool is not None and policy.pools[pool].vgpu is not None:
        return Isolation.vgpu
    if alone == "node":
        return Isolation.node
    return Isolation.gpu if alone == "gpu" else _OF_KIND[kind]


def best_of(policy: Policy, pool: str, kind: FlavorKind) -> Isolation:
    """Strongest class that somebody can get in a pool, alone where that is allowed."""
    ways: tuple[Alone | None, ...] = (None, *policy.pools[pool].exclusive)
    return max(
        (isolation_of(policy, pool, kind, alone) for alone in ways), key=lambda one: one.rank
    )


def shortfalls(
    policy: Policy, project: str | None, pool: str, isolation: Isolation
) -> tuple[Short, ...]:
    """Tell which needs of a project are not met in a pool by a lease of this class."""
    if project is None or project not in policy.projects:
        return ()
    needs, rules = policy.projects[project].needs, policy.pools[pool]
    found = []
    if isolation.rank < needs.isolation.rank:
        found.append(Short(what="isolation", needs=needs.isolation.value, has=isolation.value))
    for what, least, there in (
        ("driver", needs.driver, rules.driver),
        ("toolkit", needs.toolkit, rules.toolkit),
    ):
        if least is not None and (there is None or too_old(there, version(least))):
            found.append(Short(what=what, needs=least, has=there))
    return tuple(found)
