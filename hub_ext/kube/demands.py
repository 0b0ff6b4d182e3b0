"""What this product demands of a Kueue, and what of it a cluster does not keep: DESIGN's list.

Each breach says what happens if it stays, and its remedy. Pure: over objects that were read.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ..admission.levels import may_use
from ..i18n import _
from ..policy.model import Policy
from . import names
from .limitdemands import of_limits
from .objects import Body
from .queuedemands import Breach, Weight, of_flavor, of_queue
from .render.homes import homes
from .render.site import Site, user_of
from .selectors import labels_of, selects
from .settingdemands import held_back, of_settings

__all__ = ["Breach", "Cluster", "Expected", "Weight", "breaches", "expected"]

_CLUSTERS_OWN = "system:serviceaccount:kube-system:"
"""The controllers of Kubernetes itself, which clean up whatever is deleted."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """What was read of a cluster. None is what we may not read, or what is not there.

    Parameters
    ----------
    configuration
        Kueue's own configuration.
    limits
        LimitRanges.
    writers
        Who may write Workloads where leases are.
    """

    namespaces: tuple[Body, ...] | None = ()
    flavors: tuple[Body, ...] = ()
    queues: tuple[Body, ...] = ()
    local_queues: tuple[Body, ...] = ()
    configuration: Body | None = None
    limits: tuple[Body, ...] | None = ()
    writers: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Expected:
    """What the policy needs there.

    Parameters
    ----------
    homes
        Namespace, LocalQueue and ClusterQueue of every project, and of every team without.
    flavors
        ResourceFlavors of the pools.
    own_writers
        Users who write Workloads by right: the governor and Kueue.
    """

    homes: tuple[names.Place, ...]
    flavors: frozenset[str]
    own_writers: frozenset[str]


def expected(policy: Policy, site: Site) -> Expected:
    """Say what a policy needs of the cluster that a site is."""
    return Expected(
        tuple(
            names.Place(home.namespace, home.local_queue, home.cluster_queue)
            for home in homes(policy, site)
            # A team that may use no pool has no queue either.
            if any(may_use(policy, home.team, pool) for pool in policy.pools)
        ),
        frozenset(names.flavor(pool) for pool in policy.pools),
        frozenset(
            {
                user_of(site.hub_namespace, site.governor),
                user_of(site.kueue_namespace, site.kueue),
            }
        ),
    )


def breaches(cluster: Cluster, needs: Expected) -> Iterator[Breach]:
    """Name every demand that is not kept, the gravest kinds first."""
    yield from _missing(cluster, needs)
    flavors = {_name(one): one for one in cluster.flavors}
    for name in sorted(needs.flavors & flavors.keys()):
        yield from of_flavor(flavors[name])
    wanted = {home.cluster_queue for home in needs.homes}
    for queue in cluster.queues:
        if _name(queue) in wanted:
            yield from of_queue(queue)
    yield from _doors(cluster, needs)
    default = {_namespace(one) for one in cluster.local_queues if _name(one) == "default"}
    ours = {home.namespace for home in needs.homes}
    for space in cluster.namespaces or ():
        if _name(space) in ours:
            yield from held_back(space, cluster.configuration, default=_name(space) in default)
    yield from of_settings(cluster.configuration)
    yield from _limits(cluster, ours)
    yield from _writers(cluster, needs)
    yield from _unread(cluster)


def _missing(cluster: Cluster, needs: Expected) -> Iterator[Breach]:
    local = {(_namespace(one), _name(one)) for one in cluster.local_queues}
    wanted = {
        _("namespace"): set()
        if cluster.namespaces is None
        else {home.namespace for home in needs.homes} - {_name(one) for one in cluster.namespaces},
        _("flavor"): needs.flavors - {_name(one) for one in cluster.flavors},
        _("ClusterQueue"): {home.cluster_queue for home in needs.homes}
        - {_name(one) for one in cluster.queues},
        _("LocalQueue"): {
            f"{home.namespace}/{home.local_queue}"
            for home in needs.homes
            if (home.namespace, home.local_queue) not in local
        },
    }
    for kind, lacking in wanted.items():
        if lacking:
            yield Breach(
                "missing",
                Weight.wrong,
                _("not on the cluster: {kind} {names}").format(
                    kind=kind, names=", ".join(sorted(lacking))
                ),
                _("run `gpu-commons render --apply`"),
            )


def _doors(cluster: Cluster, needs: Expected) -> Iterator[Breach]:
    """Whether each home's queues let its leases in."""
    spaces = {_name(one): labels_of(one) for one in cluster.namespaces or ()}
    queues = {_name(one): _spec(one) for one in cluster.queues}
    local = {(_namespace(one), _name(one)): _spec(one) for one in cluster.local_queues}
    for home in needs.homes:
        door = local.get((home.namespace, home.local_queue))
        if door is not None:
            yield from _door(home, door)
        queue, labels = queues.get(home.cluster_queue), spaces.get(home.namespace)
        if queue is None or labels is None or selects(queue.get("namespaceSelector"), labels):
            continue
        yield Breach(
            "namespace",
            Weight.wrong,
            _("{queue} takes nothing from namespace {namespace}").format(
                queue=home.cluster_queue, namespace=home.namespace
            ),
            _("let its namespaceSelector select that namespace"),
        )


def _door(home: names.Place, door: Body) -> Iterator[Breach]:
    named = {"local": home.local_queue, "namespace": home.namespace}
    if door.get("clusterQueue") != home.cluster_queue:
        yield Breach(
            "door",
            Weight.wrong,
            _("LocalQueue {local} of {namespace} leads to {found}, not to {queue}").format(
                **named, found=door.get("clusterQueue"), queue=home.cluster_queue
            ),
            _("run `gpu-commons render --apply`"),
        )
    if door.get("stopPolicy", "None") != "None":
        yield Breach(
            "stopped",
            Weight.wrong,
            _("LocalQueue {local} of {namespace} is stopped").format(**named),
            _("set its stopPolicy to None"),
        )


def _unread(cluster: Cluster) -> Iterator[Breach]:
    """Say what could not be looked at: a check that was not made is never a good sign."""
    unread = {
        "namespaces-unread": (cluster.namespaces, _("the namespaces")),
        "limits-unread": (cluster.limits, _("the LimitRanges of the servers' namespaces")),
        "writers-unread": (cluster.writers, _("who else may write Workloads")),
    }
    for code, (found, what) in unread.items():
        if found is None:
            yield Breach(
                code,
                Weight.doubt,
                _("{what} could not be read").format(what=what),
                _("run `gpu-commons doctor` as somebody who may"),
            )


def _limits(cluster: Cluster, ours: set[str]) -> Iterator[Breach]:
    for one in cluster.limits or ():
        if _namespace(one) in ours:
            yield from of_limits(one, cluster.configuration)


def _writers(cluster: Cluster, needs: Expected) -> Iterator[Breach]:
    others = sorted(
        one
        for one in (cluster.writers or frozenset()) - needs.own_writers
        if not one.startswith(_CLUSTERS_OWN)
    )
    if others:
        yield Breach(
            "writers",
            Weight.doubt,
            _("these may write our Workloads too: {names}").format(names=", ".join(others[:8])),
            _("apply the admission policy of `gpu-commons render`, or take the right away"),
        )


def _name(body: Body) -> str:
    return str((body.get("metadata") or {}).get("name", ""))


def _namespace(body: Body) -> str:
    return str((body.get("metadata") or {}).get("namespace", ""))


def _spec(body: Body) -> Body:
    return body.get("spec") or {}
