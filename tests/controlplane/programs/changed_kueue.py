"""The one line of Kueue that is changed: where it reads the certificate of its metrics from.

Kueue 0.17 reads it from a fixed folder of the machine even with metrics off, and exits without
it. A test must not write there, so its `main` package is built with a variable in that place.
"""

import shutil
from pathlib import Path

VARIABLE = "KUEUE_METRICS_CERTS"
"""Environment variable of the built Kueue: folder of `tls.crt` and `tls.key`."""

FIXED = 'metricsCertPath := "/etc/kueue/metrics/certs"'
_FREE = f'metricsCertPath := os.Getenv("{VARIABLE}")'


def write_changed_kueue(source: Path, pinned: Path, folder: Path) -> None:
    """Write the changed `main` package as the only one of a module with the same pins.

    Parameters
    ----------
    source
        Kueue's own source tree.
    pinned
        Folder of the `go.mod` and `go.sum` that Kueue is taken from.

    Raises
    ------
    ValueError
        If this version of Kueue has no such line, or more than one.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("go.mod", "go.sum"):
        shutil.copyfile(pinned / name, folder / name)
    texts = {
        path.name: path.read_text()
        for path in (source / "cmd" / "kueue").glob("*.go")
        if not path.name.endswith("_test.go")
    }
    if sum(text.count(FIXED) for text in texts.values()) != 1:
        raise ValueError(f"{source} does not hold {FIXED!r} once: look how it reads it now")
    for name, text in texts.items():
        (folder / name).write_text(text.replace(FIXED, _FREE))
