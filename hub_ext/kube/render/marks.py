"""The mark on everything that is rendered: by it we find again what is ours, and nothing else."""

import json
from hashlib import sha256
from typing import Any

from ..names import LABEL_MANAGED_BY, MANAGED_BY, PREFIX
from .kinds import KINDS, Manifest

__all__ = ["ANNOTATION_CONTENT", "LABEL_RENDERED", "RENDERED", "content_digest", "manifest"]

LABEL_RENDERED = f"{PREFIX}/rendered"
"""On what `gpu-commons render` writes. Leases' own objects carry other labels of ours, not this."""

RENDERED = "policy"
"""Its value: what it was rendered from."""

ANNOTATION_CONTENT = f"{PREFIX}/content"
"""Digest of an object as it was rendered: it tells a changed policy from a changed cluster."""

_DIGITS = 16


def manifest(
    kind: str,
    name: str,
    body: dict[str, Any],
    *,
    namespace: str | None = None,
    labels: dict[str, str] | None = None,
) -> Manifest:
    """Make one object with our marks on it.

    Parameters
    ----------
    kind
        One of `kinds.KINDS`.
    body
        All but version, kind and metadata.
    labels
        On top of ours.
    """
    own = {
        LABEL_MANAGED_BY: MANAGED_BY,
        LABEL_RENDERED: RENDERED,
        **(labels or {}),
    }
    about: dict[str, Any] = {"name": name}
    if namespace is not None:
        about["namespace"] = namespace
    about["labels"] = dict(sorted(own.items()))
    made = {"apiVersion": KINDS[kind].version, "kind": kind, "metadata": about, **body}
    about["annotations"] = {ANNOTATION_CONTENT: content_digest(made)}
    return made


def content_digest(made: Manifest) -> str:
    """Digest an object without its annotations, whatever the order of its keys."""
    about = {key: value for key, value in made["metadata"].items() if key != "annotations"}
    text = json.dumps({**made, "metadata": about}, sort_keys=True, ensure_ascii=True)
    return sha256(text.encode()).hexdigest()[:_DIGITS]
