"""How nodes' GPUs are cut and shared, for NVIDIA's mig-parted and device plugin, and node labels.

A node gets a configuration by a label; nothing here labels it, as a new cut ends what runs there.
"""

import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import groupby
from typing import Any, NamedTuple

from ...i18n import _
from ...mig.geometry import Cut, cuts, geometry
from ...policy.model import Node, Policy, Pool
from .. import names
from .kinds import Manifest
from .marks import manifest
from .resources import GPU, SHARED
from .site import Site
from .text import yaml_text

__all__ = [
    "configuration_files",
    "configurations",
    "device_doubts",
    "label_script",
    "mig_configuration",
    "node_labels",
    "plugin_configurations",
]

MIG_LABEL = "nvidia.com/mig.config"
PLUGIN_LABEL = "nvidia.com/device-plugin.config"
"""Labels by which NVIDIA's operator chooses a node's configuration."""

MIG_MAP, PLUGIN_MAP = "gpu-commons-mig-parted", "gpu-commons-device-plugin"
"""Names of the ConfigMaps that the operator is told of."""

HERE = "localhost"
PLAIN = "gc-plain"
"""Configuration of the device plugin where nothing is shared."""

_UNCUT = "all-disabled"
_DIGITS = 8


class _Machine(NamedTuple):
    pool: str
    rules: Pool
    node: Node

    @property
    def cuts(self) -> tuple[Cut, ...]:
        return cuts(self.node)


def configurations(policy: Policy, site: Site) -> Iterator[Manifest]:
    """Render both as ConfigMaps beside NVIDIA's operator, where its namespace is named."""
    if site.device_namespace is None:
        return
    for name, files in configuration_files(policy).items():
        yield manifest("ConfigMap", name, {"data": dict(files)}, namespace=site.device_namespace)


def configuration_files(policy: Policy) -> Mapping[str, Mapping[str, str]]:
    """Give the texts of both by the name of their ConfigMap and the key in it."""
    mig, plugin = mig_configuration(policy), plugin_configurations(policy)
    made = {
        MIG_MAP: {"config.yaml": yaml_text(mig)} if mig else {},
        PLUGIN_MAP: {name: yaml_text(one) for name, one in plugin.items()},
    }
    return {name: files for name, files in made.items() if files}


def mig_configuration(policy: Policy) -> dict[str, Any]:
    """Give mig-parted's configuration: one for each way in which a node's GPUs are cut."""
    made = {
        _geometry_name(one): _mig_devices(one.cuts) for one in _machines(policy) if _can_be_cut(one)
    }
    if not made:
        return {}
    # The operator falls back on this name, and ours takes the place of its own list.
    made[_UNCUT] = [{"devices": "all", "mig-enabled": False}]
    return {"version": "v1", "mig-configs": dict(sorted(made.items()))}


def plugin_configurations(policy: Policy) -> Mapping[str, dict[str, Any]]:
    """Give the device plugin's configurations by name: one for each way of sharing."""
    made: dict[str, dict[str, Any]] = {}
    for one in _machines(policy):
        share = _share(one)
        if share is not None and PLUGIN_LABEL not in one.rules.selector:
            made[_plugin_name(one)] = _plugin(share, one.rules.shared_resource or SHARED)
    if made:
        # What is no longer shared needs a configuration too, else it keeps its last one.
        made[PLAIN] = {"version": "v1", "flags": {"migStrategy": "mixed"}}
    return dict(sorted(made.items()))


def node_labels(policy: Policy) -> Mapping[str, Mapping[str, str]]:
    """Give the labels of every node, by its name."""
    shared = bool(plugin_configurations(policy))
    made: dict[str, dict[str, str]] = {}
    for one in _machines(policy):
        labels = {names.FLAVOR_LABEL: names.label_value(one.pool)}
        if _can_be_cut(one):
            labels[MIG_LABEL] = _geometry_name(one)
        if shared and PLUGIN_LABEL not in one.rules.selector:
            labels[PLUGIN_LABEL] = PLAIN if _share(one) is None else _plugin_name(one)
        made[one.node.name] = labels
    return dict(sorted(made.items()))


def label_script(policy: Policy) -> str:
    """Write commands that label the nodes; run anew, they change nothing."""
    lines = [
        "#!/bin/sh",
        "# Labels by which servers find their pool, and NVIDIA's operator the cut of each node.",
        "# A node whose cut changes must be empty: drain its pool first, gpu-commons device drain.",
        "set -eu",
    ]
    for node, labels in node_labels(policy).items():
        words = [f"{key}={value}" for key, value in labels.items()]
        lines.append(shlex.join(["kubectl", "label", "--overwrite", "node", node, *words]))
    return "\n".join(lines) + "\n"


def device_doubts(policy: Policy) -> Iterator[str]:
    """Say what cannot be had on Kubernetes as the policy has it."""
    for pool, rules in policy.pools.items():
        if any(node.name == HERE for node in rules.nodes):
            yield _(
                "pool {pool}: {here} is no machine of a cluster; name machines as "
                "`kubectl get nodes` does"
            ).format(pool=pool, here=HERE)
    for node, pools in _in_several(policy).items():
        yield _(
            "node {node} is in the pools {pools}, and which of its GPUs are whose is not known on "
            "Kubernetes: it gets no label; give each node to one pool"
        ).format(node=node, pools=", ".join(pools))
    for one in _machines(policy):
        if _shares(one) and _share(one) is None:
            yield _(
                "node {node}: the device plugin shares all whole GPUs of a node alike, so that a "
                "mixture is not rendered; share all of them by the same number, or none"
            ).format(node=one.node.name)


def _machines(policy: Policy) -> Iterator[_Machine]:
    """List the nodes that lie in one pool."""
    several = _in_several(policy)
    for pool, rules in policy.pools.items():
        for node in rules.nodes:
            if node.name != HERE and node.name not in several:
                yield _Machine(pool, rules, node)


def _in_several(policy: Policy) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for pool, rules in policy.pools.items():
        for node in rules.nodes:
            if node.name != HERE:
                found[node.name].append(pool)
    return {node: pools for node, pools in found.items() if len(pools) > 1}


def _can_be_cut(one: _Machine) -> bool:
    """Whether the cut is ours to name: a pool whose selector has the label names its own."""
    return geometry(one.rules.model) is not None and MIG_LABEL not in one.rules.selector


def _geometry_name(one: _Machine) -> str:
    """Name a cut by what it is, so that the same cut has the same name whatever comes before it."""
    text = "|".join("+".join(cut) if isinstance(cut, tuple) else "whole" for cut in one.cuts)
    digest = sha256(f"{one.rules.model}:{text}".encode()).hexdigest()[:_DIGITS]
    return f"gc-{names.label_value(one.pool)[:40].rstrip('.-_')}-{digest}"


def _mig_devices(every: Sequence[Cut]) -> list[dict[str, Any]]:
    numbered = [
        (gpu, tuple(sorted(cut)) if isinstance(cut, tuple) else ()) for gpu, cut in enumerate(every)
    ]
    numbered.sort(key=lambda one: (one[1], one[0]))
    made = []
    for profiles, group in groupby(numbered, key=lambda one: one[1]):
        devices = {name: profiles.count(name) for name in sorted(set(profiles))}
        made.append(
            {
                "devices": [gpu for gpu, _cut in group],
                "mig-enabled": bool(profiles),
                "mig-devices": devices,
            }
        )
    return sorted(made, key=lambda one: int(one["devices"][0]))


def _shares(one: _Machine) -> tuple[int, ...]:
    return tuple(cut.share for cut in one.cuts if not isinstance(cut, str | tuple))


def _share(one: _Machine) -> int | None:
    """Tell by how many every whole GPU of a node is shared; None where none or not all alike."""
    whole = [cut for cut in one.cuts if not isinstance(cut, tuple)]
    found = {None if isinstance(cut, str) else cut.share for cut in whole}
    return found.pop() if len(found) == 1 else None


def _plugin_name(one: _Machine) -> str:
    kept = "-as-gpu" if (one.rules.shared_resource or SHARED) == GPU else ""
    return f"gc-share-{_share(one)}{kept}"


def _plugin(share: int, resource: str) -> dict[str, Any]:
    slicing = {
        "renameByDefault": resource == SHARED,
        # Two shares may be of one GPU, so asking for two never means more.
        "failRequestsGreaterThanOne": True,
        "resources": [{"name": GPU, "replicas": share}],
    }
    return {
        "version": "v1",
        "flags": {"migStrategy": "mixed"},
        "sharing": {"timeSlicing": slicing},
    }
