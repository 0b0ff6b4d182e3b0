"""The one line of Kueue that is changed: where it reads the certificate of its metrics from.

Kueue 0.17 reads it from a fixed folder of the machine even with metrics off, and exits without
it. A test must not write there, so the compiler is given that file with a variable in its place.
"""

import json
from pathlib import Path

VARIABLE = "KUEUE_METRICS_CERTS"
"""Environment variable of the built Kueue: folder of `tls.crt` and `tls.key`."""

FIXED = 'metricsCertPath := "/etc/kueue/metrics/certs"'
_FREE = f'metricsCertPath := os.Getenv("{VARIABLE}")'


def write_overlay(source: Path, folder: Path) -> Path:
    """Write the changed file and the description of it that `go build -overlay` takes.

    Raises
    ------
    ValueError
        If this version of Kueue has no such line, or more than one.
    """
    original = source / "cmd" / "kueue" / "main.go"
    text = original.read_text()
    if text.count(FIXED) != 1:
        raise ValueError(f"{original} does not hold {FIXED!r} once: look how it reads it now")
    folder.mkdir(parents=True, exist_ok=True)
    changed = folder / "main.go"
    changed.write_text(text.replace(FIXED, _FREE))
    description = folder / "overlay.json"
    description.write_text(json.dumps({"Replace": {str(original): str(changed)}}))
    return description
