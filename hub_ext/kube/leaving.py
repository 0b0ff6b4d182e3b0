"""What is rendered no more: taken away, unless somebody's server still needs it.

Kueue forgets the leases of a queue that is being deleted, and would give their GPUs out again; so
a queue with leases stays, holds nothing and lets nobody in, until they have ended.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from copy import deepcopy
from typing import Any

from .difference import Cluster, Difference, Spot
from .names import LABEL_MANAGED_BY, LABEL_PROJECT, LABEL_TEAM, SITE_COHORT
from .render.kinds import KINDS, Manifest
from .render.marks import ANNOTATION_CONTENT, LABEL_RENDERED, content_digest
from .render.network import SINGLE_USER

__all__ = ["leaving", "still_fenced"]

Home = tuple[str, str, str]
"""Namespace, team and project to which something belongs."""


async def leaving(
    cluster: Cluster, gone: Mapping[Spot, Manifest], rendered: AbstractSet[Spot]
) -> tuple[Difference, ...]:
    """Say what becomes of objects that are ours and are rendered no more, in order.

    Raises
    ------
    GpuCommonsError
        When the cluster cannot be asked for servers.
    """
    here = {spot: one for spot, one in gone.items() if "deletionTimestamp" not in one["metadata"]}
    busy = frozenset(spot for spot, one in here.items() if _counts(one))
    used = await _used(cluster, here, busy, rendered)
    order = list(KINDS)
    found: list[Difference] = []
    for spot in sorted(here, key=lambda spot: (-order.index(spot[0]), *spot[1:])):
        if spot in busy:
            patch = _drained(here[spot], rendered)
            found += [Difference("drain", spot, patch={"spec": patch})] if patch else []
        elif _home(spot, here[spot]) not in used:
            found.append(_away(spot))
        elif spot[0] == "Namespace" or (spot[0] == "LocalQueue" and _shared(spot[1], rendered)):
            # One line for all that stays there.
            found.append(Difference("wait", spot))
    return tuple(found)


def still_fenced(one: Manifest, found: Manifest | None, left: Iterable[Difference]) -> Manifest:
    """Let a binding go on to hold where it held, as long as servers live there.

    Parameters
    ----------
    one
        An object as rendered; any that is no binding is given back as it is.
    found
        The same as the cluster has it.
    left
        What becomes of what is rendered no more.
    """
    if one["kind"] != "ValidatingAdmissionPolicyBinding" or found is None:
        return one
    waiting = {spot[2] for act, spot in ((d.act, d.spot) for d in left) if act == "wait"}
    here, there = set(_spaces(one)), set(_spaces(found))
    both = sorted(here | (there & waiting))
    if both == sorted(here):
        return one
    made = deepcopy(one)
    _selected(made)["values"] = both
    made["metadata"]["annotations"] = {ANNOTATION_CONTENT: content_digest(made)}
    return made


def _selected(binding: Manifest) -> dict[str, Any]:
    where = binding["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"]
    found: dict[str, Any] = where[0]
    return found


def _spaces(binding: Manifest) -> list[str]:
    try:
        return list(_selected(binding)["values"])
    except (KeyError, IndexError, TypeError):
        # Somebody changed it beyond recognition: it is mended to what is rendered.
        return []


def _away(spot: Spot) -> Difference:
    if spot[0] != "Namespace":
        return Difference("remove", spot)
    labels = {LABEL_RENDERED: None, LABEL_MANAGED_BY: None}
    return Difference("release", spot, patch={"metadata": {"labels": labels}})


def _shared(namespace: str, rendered: AbstractSet[Spot]) -> bool:
    """Whether others live in a namespace, too."""
    return any(namespace == one for _kind, one, _name in rendered)


def _counts(one: Manifest) -> bool:
    """Whether a queue has Workloads that hold quota, or wait for it."""
    return one["kind"] == "ClusterQueue" and _has_leases(one)


def _has_leases(queue: Manifest) -> bool:
    status = queue.get("status") or {}
    figures = ("reservingWorkloads", "admittedWorkloads", "pendingWorkloads")
    return any(status.get(key) for key in figures)


def _drained(queue: Manifest, rendered: AbstractSet[Spot]) -> dict[str, Any]:
    """Give the fields that make a queue hold nothing; none where it is so already."""
    spec, name = queue["spec"], queue["metadata"]["name"]
    above = spec.get("cohortName") or SITE_COHORT
    if ("Cohort", "", name) in rendered:
        # The team got projects: what it had is counted in its cohort.
        above = name
    elif ("Cohort", "", above) not in rendered:
        above = SITE_COHORT
    groups = [
        {**group, "flavors": [_empty(flavor) for flavor in group["flavors"]]}
        for group in spec.get("resourceGroups") or []
    ]
    wanted = {"cohortName": above, "stopPolicy": "Hold", "resourceGroups": groups}
    return {} if all(spec.get(key) == value for key, value in wanted.items()) else wanted


def _empty(flavor: Mapping[str, Any]) -> dict[str, Any]:
    resources = [{"name": one["name"], "nominalQuota": "0"} for one in flavor["resources"]]
    return {"name": flavor["name"], "resources": resources}


def _home(spot: Spot, one: Manifest) -> Home:
    labels = one["metadata"].get("labels") or {}
    namespace = spot[2] if spot[0] == "Namespace" else spot[1]
    return namespace, str(labels.get(LABEL_TEAM, "")), str(labels.get(LABEL_PROJECT, ""))


async def _used(
    cluster: Cluster,
    here: Mapping[Spot, Manifest],
    busy: AbstractSet[Spot],
    rendered: AbstractSet[Spot],
) -> frozenset[Home]:
    """Find homes with servers, or whose queue still counts leases."""
    homes = {_home(spot, one) for spot, one in here.items() if _home(spot, one)[0]}
    found = {
        _home(spot, one)
        for spot, one in here.items()
        # A project that moved keeps its ClusterQueue: a lease that was admitted at the old door
        # counts there, and Kueue would not find it after its next start.
        if spot[0] == "LocalQueue"
        and (_has_leases(one) or ("ClusterQueue", "", one["spec"]["clusterQueue"]) in busy)
    }
    for home in sorted(homes - found):
        selector = _selector(home, shared=_shared(home[0], rendered))
        query: dict[str, str | int | bool] = {"labelSelector": selector, "limit": 1}
        answer = await cluster.get(f"/api/v1/namespaces/{home[0]}/pods", query)
        if answer.get("items"):
            found.add(home)
    return frozenset(found)


def _selector(home: Home, *, shared: bool) -> str:
    """Select servers of a home; in a namespace of others too, by their labels."""
    _namespace, team, project = home
    wanted = dict(SINGLE_USER)
    if shared:
        wanted |= {LABEL_TEAM: team, LABEL_PROJECT: project}
    return ",".join(f"{key}={value}" for key, value in wanted.items() if value)
