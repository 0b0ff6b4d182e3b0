"""Reads from a cluster what the demands on Kueue are checked against; it changes nothing."""

import asyncio
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from ..errors import RefusedError
from .answers import MissingError, NotServedError
from .api import Api
from .demands import Cluster
from .objects import GROUP, VERSION, Body
from .paging import listed
from .rights import Roles, writers

_KUEUE = f"/apis/{GROUP}/{VERSION}"
_RIGHTS = "/apis/rbac.authorization.k8s.io/v1"
_FILE = "controller_manager_config.yaml"


async def inspect(api: Api, homes: frozenset[str], kueue_namespace: str) -> Cluster:
    """Read flavors, queues, namespaces, Kueue's configuration and who may write Workloads.

    Raises
    ------
    UnreachableError
        When the API server does not answer, or Kueue is not installed.
    RefusedError
        When even the queues may not be read.
    """
    namespaces, flavors, queues, local = await asyncio.gather(
        _allowed(api, "/api/v1/namespaces"),
        listed(api, f"{_KUEUE}/resourceflavors"),
        listed(api, f"{_KUEUE}/clusterqueues"),
        listed(api, f"{_KUEUE}/localqueues"),
    )
    return Cluster(
        namespaces,
        flavors,
        queues,
        local,
        await _configuration(api, kueue_namespace),
        await _allowed(api, "/api/v1/limitranges"),
        await _writers(api, homes),
    )


async def _configuration(api: Api, namespace: str) -> Body | None:
    """Read the ConfigMap that Kueue was started with; None where we may not, or it has another."""
    try:
        maps = await listed(api, f"/api/v1/namespaces/{namespace}/configmaps")
    except (RefusedError, NotServedError, MissingError):
        return None
    for one in maps:
        text = (one.get("data") or {}).get(_FILE)
        if text is not None:
            return _parsed(text)
    return None


def _parsed(text: str) -> Body | None:
    try:
        content: Any = YAML(typ="safe", pure=True).load(text)
    except YAMLError:
        return None
    return content if isinstance(content, dict) else None


async def _allowed(api: Api, path: str) -> tuple[Body, ...] | None:
    """Read what we may; None where we may not."""
    try:
        return await listed(api, path)
    except RefusedError:
        return None


async def _writers(api: Api, homes: frozenset[str]) -> frozenset[str] | None:
    try:
        found = await asyncio.gather(
            *(
                listed(api, f"{_RIGHTS}/{kind}")
                for kind in ("clusterroles", "roles", "clusterrolebindings", "rolebindings")
            )
        )
    except RefusedError:
        return None
    return writers(Roles(*found), homes)
