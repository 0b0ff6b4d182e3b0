"""Kueue's own object kinds and webhooks, as JSON, taken from the module that is built.

Only the stored version of each kind is kept: the others need a conversion webhook in a cluster.
"""

import json
from pathlib import Path
from typing import Any

import yaml

CRDS = "crds.json"
WEBHOOKS = "webhooks.json"


def write_manifests(source: Path, folder: Path) -> None:
    """Write both files from the source tree of a Kueue."""
    folder.mkdir(parents=True, exist_ok=True)
    bases = sorted((source / "config" / "components" / "crd" / "bases").glob("*.yaml"))
    kinds = [_stored(yaml.load(path.read_text(), yaml.CSafeLoader)) for path in bases]
    (folder / CRDS).write_text(json.dumps(kinds))
    hooks = source / "config" / "components" / "webhook" / "manifests.yaml"
    (folder / WEBHOOKS).write_text(
        json.dumps(list(yaml.load_all(hooks.read_text(), yaml.CSafeLoader)))
    )


def _stored(kind: dict[str, Any]) -> dict[str, Any]:
    versions = [version for version in kind["spec"]["versions"] if version["storage"]]
    return {**kind, "spec": {**kind["spec"], "versions": versions}}
