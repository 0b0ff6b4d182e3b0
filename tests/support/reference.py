"""Where reference data outside the repository lies, for tests that skip without it."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]


def reference(name: str) -> Path | None:
    """Find a file or folder of `GPU_COMMONS_REFERENCE_DATA`; None where it is not given."""
    default = ROOT.parent / "shared" / "data"
    path = Path(os.environ.get("GPU_COMMONS_REFERENCE_DATA", str(default))) / name
    return path if path.exists() else None
