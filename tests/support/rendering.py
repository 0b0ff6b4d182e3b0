"""The policy of a site on Kubernetes, and what is rendered of it, found again by name."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hub_ext.kube.render import Manifest
from hub_ext.kube.render.kinds import place_of
from hub_ext.policy.load import load
from hub_ext.policy.model import Policy
from hub_ext.units import UNITS_PER_GPU

PLACE = Path(__file__).parents[1] / "data/render"


def site_policy() -> Policy:
    """Load the policy that the goldens are made of."""
    return load(PLACE / "policy.yaml").policy


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
