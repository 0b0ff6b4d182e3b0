"""Which nodes lack the labels by which servers find their pool: said, and left to people.

A label may cut a node's GPUs anew, which ends what runs there, so nothing here writes one.
"""

from collections.abc import Iterator, Mapping

from ..errors import RefusedError
from ..i18n import _
from .applying import Cluster

__all__ = ["unlabelled"]

_NODES = "/api/v1/nodes"


async def unlabelled(cluster: Cluster, wanted: Mapping[str, Mapping[str, str]]) -> tuple[str, ...]:
    """Say for each node of the policy what it lacks in the cluster.

    Raises
    ------
    UnreachableError
        When the cluster does not answer.
    """
    if not wanted:
        return ()
    try:
        answer = await cluster.get(_NODES)
    except RefusedError as refused:
        return (_("nodes could not be looked at: {words}").format(words=refused.message),)
    found = {
        str(one["metadata"]["name"]): one["metadata"].get("labels") or {}
        for one in answer.get("items") or []
    }
    return tuple(
        line for node, labels in wanted.items() for line in _lacking(node, labels, found.get(node))
    )


def _lacking(
    node: str, wanted: Mapping[str, str], found: Mapping[str, str] | None
) -> Iterator[str]:
    if found is None:
        yield _("node {node} of the policy is not in the cluster").format(node=node)
        return
    missing = [f"{key}={value}" for key, value in wanted.items() if found.get(key) != value]
    if missing:
        yield _(
            "node {node} lacks {labels}; look at `gpu-commons render --part nodes` and run it"
        ).format(node=node, labels=", ".join(missing))
