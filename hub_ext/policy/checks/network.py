"""Networks of projects: whether they can act, and never lead where a cloud keeps credentials."""

from collections.abc import Iterator

from ...i18n import _
from ...lease import Isolation
from ..catalogue import may_choose
from ..isolation import best_of
from ..model import Policy, Project, flavor_kind
from ..model.network import Network, blocked
from ..problems import Path, Problem, error, quoted, warning
from .kube import HERE


def check_network(policy: Policy) -> Iterator[Problem]:
    """Check what every project's servers may reach."""
    for name, pool in policy.pools.items():
        if pool.rdma is not None and pool.vgpu is None and not _whole_in(policy, name):
            yield warning(
                ("pools", name, "rdma"),
                _("nobody may choose a whole GPU or machine here, and less gets no fabric"),
                _("offer a profile of whole GPUs in this pool, or take `rdma` away"),
            )
    for name, project in policy.projects.items():
        if project.network != Network():
            yield from _network(("projects", name, "network"), project, policy)
    on_one_machine = policy.pools and all(
        node.name == HERE for pool in policy.pools.values() for node in pool.nodes
    )
    for name, task in policy.task_types.items():
        if task.bandwidth is not None and on_one_machine:
            yield error(
                ("task_types", name, "bandwidth"),
                _("this is for Kubernetes, and {here} is no machine of a cluster").format(
                    here=HERE
                ),
                _("name the machines as `kubectl get nodes` does, or take this away"),
            )


def check_single(policy: Policy, namespace: str) -> Iterator[Problem]:
    """Check what cannot hold where the servers of all projects live in one namespace.

    Parameters
    ----------
    namespace
        Theirs. It is somebody else's: nothing of it is rendered, its Pod Security neither.
    """
    for name, project in policy.projects.items():
        if project.network.security_exception is not None:
            yield error(
                ("projects", name, "network", "security_exception"),
                _(
                    "all servers live in {namespace}, whose Pod Security cannot be opened for one "
                    "project alone"
                ).format(namespace=quoted(namespace)),
                _("give each project a namespace of its own, or take `fabric` and this away"),
            )
        if project.namespace is not None:
            yield warning(
                ("projects", name, "namespace"),
                _("all servers live in {namespace}, so nothing lives here").format(
                    namespace=quoted(namespace)
                ),
                _("take it away, or give each project a namespace of its own"),
            )


def _whole_in(policy: Policy, pool: str) -> bool:
    """Whether some team may choose a profile of a pool whose GPUs are nobody else's."""
    return any(
        best_of(policy, pool, kind) in {Isolation.gpu, Isolation.node}
        and any(may_choose(policy, team, name) for team in policy.teams)
        for name, profile in policy.profiles.items()
        if profile.pool == pool and (kind := flavor_kind(profile.flavor)) != "none"
    )


def _network(path: Path, project: Project, policy: Policy) -> Iterator[Problem]:
    pins = project.environments.values()
    if pins and all(pin.image is None for pin in pins):
        yield error(
            path,
            _("this is for Kubernetes, where a directory of one machine cannot be started"),
            _("give an environment with `image`, or take this away"),
        )
    network = project.network
    for index, cidr in enumerate(network.cidrs):
        here: Path = (*path, "cidrs", index)
        if blocked(cidr):
            yield error(
                here,
                _("in {cidr} clouds tell a machine its own credentials").format(cidr=quoted(cidr)),
                _("take it away; no server may reach it"),
            )
        if cidr in network.cidrs[:index]:
            yield error(
                here, _("{name} is here twice").format(name=quoted(cidr)), _("take one away")
            )
    yield from _fabric(path, network, policy)
    if network.reach == "open" and (network.cidrs or not network.internet):
        field = "cidrs" if network.cidrs else "internet"
        yield warning(
            (*path, field),
            _("`reach: open` reaches every address already"),
            _("take it away, or write `reach: team`"),
        )


def _fabric(path: Path, network: Network, policy: Policy) -> Iterator[Problem]:
    if network.fabric is None:
        if network.security_exception is not None:
            yield error(
                (*path, "security_exception"),
                _("nothing here needs it, and it would open the namespace"),
                _("take it away, or name the `fabric`"),
            )
        return
    if network.security_exception is None:
        yield error(
            (*path, "fabric"),
            _(
                "RDMA locks memory in place, for which a server needs the capability IPC_LOCK; Pod "
                "Security `restricted` and `baseline` refuse it"
            ),
            _("write `security_exception: IPC_LOCK` beside it, or take it away"),
        )
    if all(pool.rdma is None for pool in policy.pools.values()):
        yield error(
            (*path, "fabric"),
            _("no pool is on such a fabric"),
            _("say `rdma` of a pool, with the resource of its device plugin"),
        )
