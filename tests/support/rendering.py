"""The policy of a site on Kubernetes, and what is rendered of it, found again by name."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from hub_ext.kube.render import Manifest
from hub_ext.kube.render.kinds import place_of
from hub_ext.policy.model import Policy
from hub_ext.units import UNITS_PER_GPU

PLACE = Path(__file__).parents[1] / "data/render"


def site_data() -> dict[str, Any]:
    """Read the policy that the goldens are made of, as plain data to be changed."""
    data: dict[str, Any] = YAML(typ="safe").load((PLACE / "policy.yaml").read_text("utf-8"))
    return data


def site_policy(*path: str, to: object = None) -> Policy:
    """Load that policy, with one thing at a path changed."""
    data = site_data()
    if path:
        part = data
        for step in path[:-1]:
            part = part.setdefault(step, {})
        part[path[-1]] = to
    return Policy.model_validate(data)


def fabric_policy() -> Policy:
    """Load that policy with one project on the RDMA fabric of the cards."""
    data = site_data()
    data["pools"]["cards"]["rdma"] = {
        "resource": "rdma/hca_shared_devices_a",
        "selector": {"example.org/fabric": "ib-1"},
        "tolerations": [{"key": "example.org/fabric"}],
    }
    data["projects"]["sky-survey"]["network"] = {
        "fabric": "rdma",
        "security_exception": "IPC_LOCK",
    }
    return Policy.model_validate(data)


def without_project(name: str) -> Policy:
    """Load that policy without one of its projects."""
    data = site_data()
    del data["projects"][name]
    return Policy.model_validate(data)


def of_kind(manifests: Iterable[Manifest], kind: str) -> dict[str, dict[str, Any]]:
    """Find all objects of a kind by name, or by `namespace/name`."""
    return {
        f"{namespace}/{name}" if namespace else name: one
        for one in manifests
        for found, namespace, name in [place_of(one)]
        if found == kind
    }


def quotas(manifest: Manifest) -> dict[str, dict[str, int]]:
    """Read an object's quotas in units, by flavor."""
    return {
        flavor["name"]: {
            key: int(value) for key, value in flavor["resources"][0].items() if key != "name"
        }
        for group in manifest["spec"].get("resourceGroups", ())
        for flavor in group["flavors"]
    }


def gpus(number: float) -> int:
    """Give units of so many GPUs."""
    return int(number * UNITS_PER_GPU)
