"""What this product demands of a Kueue, and what of it a cluster does not keep: DESIGN's list.

Each breach says what happens if it stays, and its remedy. Pure: over objects that were read.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ..admission.levels import may_use
from ..i18n import _
from ..policy.model import Policy
from . import names
from .limitdemands import of_homes, of_limits
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
    home_size
        What the hub claims for each person's home; None where it claims none.
    """

    homes: tuple[names.Place, ...]
    flavors: frozenset[str]
    own_writers: frozenset[str]
    home_size: str | None = None


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
        site.home_size,
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
            found = held_back(space, cluster.configuration, default=_name(space) in default)
            yield from _within(needs, _name(space), found)
    yield from of_settings(cluster.configuration)
    for one in cluster.limits or ():
        if _namespace(one) in ours:
            found = of_limits(one, cluster.configuration)
            yield from _within(needs, _namespace(one), found)
            yield from of_homes(one, needs.home_size)
    yield from _writers(cluster, needs)
    yield from _unread(cluster)


def _missing(cluster: Cluster, needs: Expected) -> Iterator[Breach]:
    spaces = None if cluster.namespaces is None else {_name(one) for one in cluster.namespaces}
    queues = {_name(one) for one in cluster.queues}
    local = {(_namespace(one), _name(one)) for one in cluster.local_queues}
    flavors = needs.flavors - {_name(one) for one in cluster.flavors}
    lacking: dict[str, dict[str, set[str]]] = {}
    for home in needs.homes:
        for kind, name, there in (
            (_("namespace"), home.namespace, spaces is None or home.namespace in spaces),
            (_("ClusterQueue"), home.cluster_queue, home.cluster_queue in queues),
            (
                _("LocalQueue"),
                f"{home.namespace}/{home.local_queue}",
                (home.namespace, home.local_queue) in local,
            ),
        ):
            if not there:
                lacking.setdefault(kind, {}).setdefault(name, set()).add(home.cluster_queue)
    if flavors:
        yield _lacks(_("flavor"), flavors, ())
    for kind, named in lacking.items():
        yield _lacks(kind, named, (one for queues in named.values() for one in queues))


def _lacks(kind: str, lacking: Iterable[str], queues: Iterable[str]) -> Breach:
    return Breach(
        "missing",
        Weight.wrong,
        _("not on the cluster: {kind} {names}").format(kind=kind, names=", ".join(sorted(lacking))),
        _("run `gpu-commons render --apply`"),
        frozenset(queues),
    )


def _doors(cluster: Cluster, needs: Expected) -> Iterator[Breach]:
    """Whether each home's queues let its leases in."""
    spaces = {_name(one): labels_of(one) for one in cluster.namespaces or ()}
    queues = {_name(one): _spec(one) for one in cluster.queues}
    local = {(_namespace(one), _name(one)): _spec(one) for one in cluster.local_queues}
    for home in needs.homes:
        door = local.get((home.namespace, home.local_queue))
        if door is not None:
            mine = frozenset({home.cluster_queue})
            yield from (replace(one, queues=mine) for one in _door(home, door))
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
            frozenset({home.cluster_queue}),
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


def _within(needs: Expected, namespace: str, found: Iterator[Breach]) -> Iterator[Breach]:
    """Say that breaches concern the queues of a namespace."""
    mine = frozenset(home.cluster_queue for home in needs.homes if home.namespace == namespace)
    yield from (replace(one, queues=mine) for one in found)


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
