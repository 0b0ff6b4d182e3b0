"""Scenarios that Kueue itself decided, replayed on the embedded engine.

Files of the schemas `kueue-vectors/1` (one decision each) and `kueue-real/1` (recorded from a
running Kueue, step by step).
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import recorded, single
from .reading import Outcome, release

READERS = {"kueue-vectors/1": single.outcomes, "kueue-real/1": recorded.outcomes}


def outcomes(path: Path) -> Iterator[Outcome]:
    """Replay every scenario of one file.

    Raises
    ------
    ValueError
        If the file is of no schema known here.
    """
    content: dict[str, Any] = json.loads(path.read_text())
    schema = content.get("schema")
    if schema not in READERS:
        msg = f"{path}: schema {schema!r} is not one of {', '.join(sorted(READERS))}"
        raise ValueError(msg)
    yield from READERS[schema](content, release(content))


__all__ = ["Outcome", "outcomes"]
