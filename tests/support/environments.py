"""Small real virtual environments, with distributions laid in by hand instead of by pip."""

import json
import sys
import venv
from pathlib import Path


def make_environment(prefix: Path) -> Path:
    """Make an empty virtual environment of the running Python, in a tenth of a second."""
    venv.EnvBuilder(symlinks=True, with_pip=False).create(prefix)
    return prefix


def site_packages(prefix: Path) -> Path:
    """Where this prefix keeps its distributions."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return prefix / "lib" / version / "site-packages"


def lay_in(
    prefix: Path,
    name: str,
    version: str,
    body: str = "x = 1\n",
    *,
    origin: dict[str, object] | None = None,
) -> Path:
    """Install a one-module distribution; `origin` becomes its `direct_url.json`."""
    site = site_packages(prefix)
    (site / f"{name}.py").write_text(body)
    info = site / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text(f"{name}.py,len={len(body)},{len(body)}\n")
    if origin:
        (info / "direct_url.json").write_text(json.dumps(origin))
    return info
