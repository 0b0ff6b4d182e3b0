"""Told to another Python: lists the distributions that it sees, and what would make a pin a lie.

The text of this file runs as `<prefix>/bin/python -I -c …`, so it needs Python 3.8 alone and
must not import from this product. It prints one JSON object.
"""

from __future__ import annotations

import hashlib
import json
import re
import site
import sys
import sysconfig
from importlib import metadata
from pathlib import Path
from typing import Any


def _distribution(found: Any) -> dict[str, Any]:  # noqa: ANN401 - the class differs by Python version
    """Describe one distribution; `line` is empty where it does not say its name and version."""
    place = found._path  # noqa: SLF001 - the only way to the file's bytes; locate_file joins text
    try:
        name, version = found.metadata["Name"], found.metadata["Version"]
        origin = json.loads(found.read_text("direct_url.json") or "{}")
    except (ValueError, OSError):
        name, version, origin = None, None, {}
    try:
        record = hashlib.sha256((place / "RECORD").read_bytes()).hexdigest()
    except OSError:
        record = "no-record"
    return {
        "name": re.sub(r"[-_.]+", "-", name or "").lower(),
        "line": f"{name}=={version} {record}" if name and version else "",
        "editable": bool(origin.get("dir_info", {}).get("editable")),
        "place": str(place),
        "parent": str(Path(str(place)).parent),
    }


def _foreign(known: list[str]) -> list[str]:
    """Directories that a .pth put on the import path and whose content no distribution names."""
    own = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), *known}
    return [
        entry
        for entry in sys.path
        if not any(entry == top or entry.startswith(f"{top}/lib-dynload") for top in own)
        and not re.search(r"/python\d+\.zip$", entry)
        and not any(Path(entry).glob("*.dist-info"))
    ]


def _report() -> dict[str, Any]:
    known = site.getsitepackages()
    seen: dict[str, str] = {}
    lines, faults = [], []
    watch = [sys.executable, str(Path(sys.prefix) / "pyvenv.cfg"), *sys.path]
    for found in metadata.distributions():
        one = _distribution(found)
        watch.append(f"{one['place']}/RECORD")
        if not one["line"]:
            faults.append(["broken", one["place"]])
            continue
        # A name further along the path is hidden by the first, as it is from `import`.
        if seen.setdefault(one["name"], one["parent"]) != one["parent"]:
            continue
        if one["editable"]:
            faults.append(["editable", one["line"].split(" ")[0]])
        lines.append(one["line"])
    for top in known:
        watch.extend(str(path) for path in Path(top).glob("*.pth"))
        faults.extend(["editable", str(path)] for path in Path(top).glob("*.egg-link"))
    faults.extend(["foreign", entry] for entry in _foreign(known))
    return {
        "python": ".".join(str(part) for part in sys.version_info[:3]),
        "platform": sysconfig.get_platform(),
        "lines": sorted(lines),
        "faults": faults,
        "watch": watch,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_report()))
