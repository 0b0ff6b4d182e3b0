"""A policy as objects of Kubernetes: pure functions, a module for each subject, one front."""

from collections.abc import Iterator

from ...i18n import _
from ...policy.model import Policy
from .admission import admission
from .agent import agent
from .classes import classes
from .configuration import kueue_configuration
from .devices import configurations, device_doubts
from .governor import governor
from .kinds import Manifest, of_kueue, rank
from .namespaces import fences, namespaces_of
from .network import network
from .queues import queues
from .resources import uneven
from .rights import rights
from .site import Site

__all__ = ["Manifest", "Site", "doubts", "kueue_configuration", "rendered"]


def rendered(policy: Policy, site: Site) -> tuple[Manifest, ...]:
    """Render everything that the policy says about a cluster, in the order of making."""
    made = (
        *namespaces_of(policy, site),
        *classes(policy),
        *fences(policy, site),
        *network(policy, site),
        *rights(policy, site),
        *admission(policy, site),
        *queues(policy, site),
        *configurations(policy, site),
        *agent(policy, site),
        *governor(site),
    )
    kept = made if site.engine == "kueue" else (one for one in made if not of_kueue(one))
    return tuple(sorted(kept, key=rank))


def doubts(policy: Policy) -> Iterator[str]:
    """Say what Kubernetes cannot do as the policy has it, and what is done instead."""
    yield from device_doubts(policy)
    for name, pools in uneven(policy).items():
        worths = ", ".join(f"{pool} {units}/840" for pool, units in pools.items())
        yield _(
            "{name} is worth more in one pool than in another ({worths} GPU), and Kueue knows one "
            "figure: batch jobs are counted with the highest; servers are counted exactly"
        ).format(name=name, worths=worths)
