"""Files that hold what the product makes: a test compares, and rewrites them when told to."""

import os
from collections.abc import Mapping
from pathlib import Path

REWRITE = "GPU_COMMONS_REWRITE_GOLDENS"
"""Set to 1, goldens become what is made now; look at the difference before it is committed."""


def matches(place: Path, made: Mapping[str, str]) -> None:
    """Compare files under a directory with what is made now, by name and text."""
    if os.environ.get(REWRITE) == "1":
        for file in place.rglob("*.*"):
            file.unlink()
        for name, text in made.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text, "utf-8")
    kept = {
        file.relative_to(place).as_posix(): file.read_text("utf-8")
        for file in place.rglob("*.*")
        if file.is_file()
    }
    assert kept == dict(made), f"if this is right, rewrite the goldens with {REWRITE}=1"
