"""What the policy says about Kubernetes: whether it can act there, and cannot be read in two ways.

Whether a cluster really has these namespaces, classes and claims is not known here.
"""

import re
from collections.abc import Iterator

from ...i18n import _
from ..model import Policy, Pool, Project
from ..model.pools import SharedGpu
from ..problems import Path, Problem, error, quoted, warning

HERE = "localhost"
"""The machine the hub runs on, as nodes are named where there is no cluster."""

OF_THE_CLUSTER = frozenset(
    {"default", "kube-system", "kube-public", "kube-node-lease", "kueue-system"}
)
OWN_PREFIX = "gpu-"
"""Beginning of the namespaces of projects and teams that name none."""

_KEY = re.compile(
    r"([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
)
_VALUE = re.compile(r"([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?")


def check_kube(policy: Policy) -> Iterator[Problem]:
    """Check what is said of Kubernetes in pools, profiles and projects."""
    for name, pool in policy.pools.items():
        yield from _pool(("pools", name), pool)
    yield from _same_machines(policy)
    for name, profile in policy.profiles.items():
        pool_of = policy.pools.get(profile.pool or "")
        if profile.scratch is not None and pool_of is not None and _here(pool_of):
            yield _not_here(("profiles", name, "scratch"))
    taken: dict[str, str] = {}
    for name, project in policy.projects.items():
        yield from _project(("projects", name), name, project)
        if project.namespace is not None:
            first = taken.setdefault(project.namespace, name)
            if first != name:
                yield error(
                    ("projects", name, "namespace"),
                    _("the project {other} has this namespace already").format(other=quoted(first)),
                    _("give each project its own, or leave it out: it keeps their files apart"),
                )


def _here(pool: Pool) -> bool:
    return any(node.name == HERE for node in pool.nodes)


def _not_here(path: Path) -> Problem:
    return error(
        path,
        _("this is for Kubernetes, and {here} is no machine of a cluster").format(here=HERE),
        _("name the machines as `kubectl get nodes` does, or take this away"),
    )


def _pool(path: Path, pool: Pool) -> Iterator[Problem]:
    for field in ("tolerations", "runtime_class", "shared_resource"):
        if getattr(pool, field) and _here(pool):
            yield _not_here((*path, field))
    for key, value in pool.selector.items():
        if not (_KEY.fullmatch(key) and _VALUE.fullmatch(value)):
            yield error(
                (*path, "selector", key),
                _("no machine can carry the label {label}").format(label=quoted(f"{key}={value}")),
                _("write it as `kubectl get nodes --show-labels` shows it"),
            )
    for index, taint in enumerate(pool.tolerations):
        if not _KEY.fullmatch(taint.key):
            yield error(
                (*path, "tolerations", index, "key"),
                _("{key} is no key of a taint").format(key=quoted(taint.key)),
                _("write it as `kubectl describe node` shows it, without value and effect"),
            )
    yield from _shared(path, pool)


def _shared(path: Path, pool: Pool) -> Iterator[Problem]:
    if pool.shared_resource is None:
        return
    cuts = [cut for node in pool.nodes for cut in (node.geometry or ("whole",) * node.gpus)]
    if not any(isinstance(cut, SharedGpu) for cut in cuts):
        yield error(
            (*path, "shared_resource"),
            _("no GPU of this pool is shared"),
            _("write `{share: 4}` in a machine's `geometry`, or take this away"),
        )
    elif pool.shared_resource == "nvidia.com/gpu" and "whole" in cuts:
        yield error(
            (*path, "shared_resource"),
            _("whole GPUs have this name too, so Kubernetes could give a share for a whole one"),
            _("write `nvidia.com/gpu.shared`, or keep shared GPUs in a pool of their own"),
        )


def _same_machines(policy: Policy) -> Iterator[Problem]:
    first: dict[frozenset[tuple[str, str]], str] = {}
    for name, pool in policy.pools.items():
        if not pool.selector:
            continue
        other = first.setdefault(frozenset(pool.selector.items()), name)
        if other != name:
            yield warning(
                ("pools", name, "selector"),
                _("the pool {other} has the same, so Kubernetes cannot tell them apart").format(
                    other=quoted(other)
                ),
                _("select each pool's machines by a label that only they carry"),
            )


def _project(path: Path, name: str, project: Project) -> Iterator[Problem]:
    pins = project.environments.values()
    if pins and all(pin.image is None for pin in pins):
        for field in ("namespace", "volume", "datasets", "pull_secrets"):
            if getattr(project, field):
                yield error(
                    (*path, field),
                    _("this is for Kubernetes, where a directory of one machine cannot be started"),
                    _("give an environment with `image`, or take this away"),
                )
    for field in ("datasets", "pull_secrets"):
        names = getattr(project, field)
        for index, one in enumerate(names):
            if one in names[:index]:
                yield error(
                    (*path, field, index),
                    _("{name} is here twice").format(name=quoted(one)),
                    _("take one of them away"),
                )
    if project.namespace is not None:
        yield from _namespace((*path, "namespace"), name, project.namespace)


def _namespace(path: Path, name: str, namespace: str) -> Iterator[Problem]:
    if namespace in OF_THE_CLUSTER or namespace.startswith("kube-"):
        yield error(
            path,
            _("{namespace} belongs to the cluster itself").format(namespace=quoted(namespace)),
            _("name another, or leave it out: {own} is made then").format(
                own=quoted(OWN_PREFIX + name)
            ),
        )
    elif namespace.startswith(OWN_PREFIX):
        yield error(
            path,
            _("names that begin with {prefix} are for projects and teams that name none").format(
                prefix=quoted(OWN_PREFIX)
            ),
            _("leave it out, which makes {own}, or write another").format(
                own=quoted(OWN_PREFIX + name)
            ),
        )
