"""Quotas as Kueue has them: pools are flavors of one resource, teams cohorts, projects queues.

The figures are those of `admission.levels`, so that both engines decide on the same ones.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...admission.levels import may_use, pool_nodes, queue_of, team_node
from ...admission.quota import Node
from ...policy.capacity import capacity
from ...policy.model import Policy
from .. import names
from .homes import Home, homes, teams_alone
from .kinds import Manifest
from .marks import manifest
from .site import Site

__all__ = ["queues"]

Nodes = Mapping[str, Mapping[str, Node]]
"""Quotas by pool, then by level, as the embedded engine has them."""


def queues(policy: Policy, site: Site) -> Iterator[Manifest]:
    """Render flavors, cohorts and queues; a team without a pool has no queue."""
    nodes = {pool: _nodes(policy, pool) for pool in policy.pools}
    yield from _flavors(policy)
    yield _site_cohort(policy, nodes)
    alone = teams_alone(policy)
    for team in policy.teams:
        if team not in alone and _pools(policy, team):
            yield _team_cohort(policy, team, nodes)
    for home in homes(policy, site):
        if _pools(policy, home.team):
            yield _cluster_queue(policy, home, nodes)
            yield _local_queue(home)


def _nodes(policy: Policy, pool: str) -> dict[str, Node]:
    """Give a pool's quotas; where quota is not enforced, no limit may hold anybody back."""
    nodes = pool_nodes(policy, pool)
    if policy.modes.quota == "enforce":
        return nodes
    return {
        name: replace(node, borrowing_limit=None, lending_limit=None)
        for name, node in nodes.items()
    }


def _flavors(policy: Policy) -> Iterator[Manifest]:
    for name, pool in policy.pools.items():
        labels = {**pool.selector, names.FLAVOR_LABEL: names.label_value(name)}
        spec = {"nodeLabels": dict(sorted(labels.items()))}
        yield manifest("ResourceFlavor", names.flavor(name), {"spec": spec})


def _site_cohort(policy: Policy, nodes: Nodes) -> Manifest:
    """Give the root what no team is guaranteed: it is there to be borrowed."""
    rest = {
        pool: Node(max(0, capacity(rules).units - sum(one.nominal for one in nodes[pool].values())))
        for pool, rules in policy.pools.items()
    }
    return manifest("Cohort", names.SITE_COHORT, {"spec": _groups(rest)})


def _team_cohort(policy: Policy, team: str, nodes: Nodes) -> Manifest:
    spec: dict[str, Any] = {"parentName": names.SITE_COHORT}
    spec |= _groups({pool: _of_team(nodes[pool], team) for pool in _pools(policy, team)})
    labels = {names.LABEL_TEAM: names.label_value(team)}
    return manifest("Cohort", names.team_cohort(team), {"spec": spec}, labels=labels)


def _cluster_queue(policy: Policy, home: Home, nodes: Nodes) -> Manifest:
    above = names.SITE_COHORT if home.project is None else names.team_cohort(home.team)
    quotas = {pool: _of_home(policy, home, pool, nodes) for pool in _pools(policy, home.team)}
    spec = {
        "cohortName": above,
        "queueingStrategy": "BestEffortFIFO",
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": home.namespace}},
        # With our numbers Kueue can so take only what was called in, and nothing from teammates.
        "preemption": {
            "reclaimWithinCohort": "LowerPriority",
            "withinClusterQueue": "Never",
            "borrowWithinCohort": {"policy": "Never"},
        },
        **_groups(quotas),
    }
    return manifest("ClusterQueue", home.cluster_queue, {"spec": spec}, labels=home.labels)


def _local_queue(home: Home) -> Manifest:
    return manifest(
        "LocalQueue",
        home.local_queue,
        {"spec": {"clusterQueue": home.cluster_queue}},
        namespace=home.namespace,
        labels=home.labels,
    )


def _pools(policy: Policy, team: str) -> tuple[str, ...]:
    return tuple(pool for pool in policy.pools if may_use(policy, team, pool))


def _of_team(nodes: Mapping[str, Node], team: str) -> Node:
    """Quota of a team with projects: where it shares it out, what is left of it."""
    return nodes.get(team_node(team)) or nodes[team]


def _of_home(policy: Policy, home: Home, pool: str, nodes: Nodes) -> Node:
    if home.project is None:
        return nodes[pool][home.team]
    queue = queue_of(policy, home.team, home.project, pool)
    # A project without a share holds nothing of its own: its requests fit the team's subtree.
    return Node(0) if queue == home.team else nodes[pool][queue]


def _groups(quotas: Mapping[str, Node]) -> dict[str, Any]:
    if not quotas:
        return {}
    flavors = [
        {"name": names.flavor(pool), "resources": [{"name": names.UNIT, **_quota(node)}]}
        for pool, node in quotas.items()
    ]
    return {"resourceGroups": [{"coveredResources": [names.UNIT], "flavors": flavors}]}


def _quota(node: Node) -> dict[str, str]:
    figures = {
        "nominalQuota": node.nominal,
        "borrowingLimit": node.borrowing_limit,
        "lendingLimit": node.lending_limit,
    }
    return {name: str(units) for name, units in figures.items() if units is not None}
