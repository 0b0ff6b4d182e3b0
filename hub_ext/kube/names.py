"""What everything is called on Kubernetes: the one home of each name, label and key.

Names come from the policy, so two teams must never share one: whatever cannot be written as it
stands, or could be read in two ways, carries a hash of its exact parts.
"""

import re
from dataclasses import dataclass
from hashlib import sha256

from ..admission.tree import UNIT

__all__ = [
    "ATTEMPT_ANNOTATION",
    "FIELD_MANAGER",
    "FLAVOR_LABEL",
    "LABEL_HUB",
    "LABEL_LEASE",
    "LABEL_MANAGED_BY",
    "LABEL_POOL",
    "LABEL_PROJECT",
    "LABEL_SERVER",
    "LABEL_TASK_TYPE",
    "LABEL_TEAM",
    "LABEL_USER",
    "LOCAL_QUEUE",
    "MANAGED_BY",
    "PREFIX",
    "SITE_COHORT",
    "UNIT",
    "Place",
    "cluster_queue",
    "flavor",
    "label_value",
    "lease_labels",
    "place",
    "project_namespace",
    "team_cohort",
    "team_namespace",
]

PREFIX = "gpu-commons.dev"
"""Domain of our labels, annotations and resource."""

LABEL_HUB = f"{PREFIX}/hub"
LABEL_LEASE = f"{PREFIX}/lease"
LABEL_TEAM = f"{PREFIX}/team"
LABEL_PROJECT = f"{PREFIX}/project"
LABEL_POOL = f"{PREFIX}/pool"
LABEL_USER = f"{PREFIX}/user"
LABEL_SERVER = f"{PREFIX}/server"
LABEL_TASK_TYPE = f"{PREFIX}/task-type"

ATTEMPT_ANNOTATION = f"{PREFIX}/attempt"
"""Of a pod: which start made it. It is there from the beginning, also without a lease."""

FLAVOR_LABEL = LABEL_POOL
"""Node label by which a Workload's selector names its flavor; nodes carry it with the pool."""

LABEL_MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGED_BY = "gpu-commons"
"""Its value on everything that we write."""

FIELD_MANAGER = "gpu-commons"
"""Who we are to server-side apply."""

LOCAL_QUEUE = "gpu-commons"
"""The LocalQueue of a project's own namespace. Never `default`: Kueue would then also gate every
notebook's own pod there, behind its own lease."""

SITE_COHORT = "gc-site"
"""The root: every team's cohort or queue hangs below it."""

MOST = 63
"""Longest label value and namespace; queues and flavors keep to it, as they become labels too."""

_HASH = 8
_DNS_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
_LABEL_VALUE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?")
_TEAM = "team-"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a lease's Workload and pod live, and through which queues it asks."""

    namespace: str
    local_queue: str
    cluster_queue: str


def place(team: str, project: str | None, *, single: str | None = None) -> Place:
    """Give the place of a lease.

    Parameters
    ----------
    team, project
        Whose it is; without a project it lives in the team's own namespace.
    single
        The one namespace of a site that has no namespace for each project; there the LocalQueues
        carry the names of their ClusterQueues.
    """
    queue = cluster_queue(team, project)
    if single is not None:
        return Place(single, queue, queue)
    own = team_namespace(team) if project is None else project_namespace(project)
    return Place(own, LOCAL_QUEUE, queue)


def project_namespace(project: str) -> str:
    """Give the namespace of a project, where the policy names no other."""
    # A project called `team-x` must not live in the namespace of team x.
    return _joined("gpu-", project, exact=not project.startswith(_TEAM))


def team_namespace(team: str) -> str:
    """Give the namespace of a team's leases without a project."""
    return _joined(f"gpu-{_TEAM}", team)


def cluster_queue(team: str, project: str | None = None) -> str:
    """Give the ClusterQueue of a project, or of a team's leases without one.

    The dot is what no part has in a name that is written as it stands: with a hyphen the project
    `c` of team `a-b` would ask at the queue of project `b-c` of team `a`.
    """
    if project is None:
        return _joined("gc-", team, exact=team != "site")
    return _joined("gc-", team, project)


def team_cohort(team: str) -> str:
    """Give the Cohort that holds the quota of a team with projects."""
    return _joined("gc-", team, exact=team != "site")


def flavor(pool: str) -> str:
    """Give the ResourceFlavor of a pool."""
    return _joined("gc-", pool)


def label_value(text: str) -> str:
    """Write any text as a label value: as it stands where that is allowed, else with its hash.

    An empty value is allowed, and stays.
    """
    if not text or (len(text) <= MOST and _LABEL_VALUE.fullmatch(text)):
        return text
    return _hashed("", text, (text,))


def lease_labels(lease_id: str, team: str, project: str | None, pool: str | None) -> dict[str, str]:
    """Give the labels of everything that belongs to a lease: its Workload, its pod."""
    named = {LABEL_LEASE: lease_id, LABEL_TEAM: team, LABEL_PROJECT: project, LABEL_POOL: pool}
    return {
        LABEL_MANAGED_BY: MANAGED_BY,
        **{key: label_value(value) for key, value in named.items() if value},
    }


def _joined(prefix: str, *parts: str, exact: bool = True) -> str:
    """Join parts by dots where the result is unmistakable, else by hyphens with a hash behind."""
    name = prefix + ".".join(parts)
    if exact and len(name) <= MOST and all(_DNS_LABEL.fullmatch(part) for part in parts):
        return name
    return _hashed(prefix, "-".join(parts).lower(), parts)


def _hashed(prefix: str, text: str, parts: tuple[str, ...]) -> str:
    digest = sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    room = MOST - len(prefix) - _HASH - 1
    readable = re.sub(r"[^A-Za-z0-9]+", "-", text)[:room].strip("-")
    return f"{prefix}{readable}-{digest}" if readable else f"{prefix}{digest}"
