"""A pytest plugin: writes the names of all tests that passed to the file `CONFORMANCE_PASSES`."""

import os
import re
from pathlib import Path

import pytest

_AT = re.compile(r" at 0x[0-9a-f]+")


class Passes:
    """Gathers what passed."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that passed; how a fixture ended afterwards is not the test's."""
        if report.when == "call" and report.passed:
            self.names.add(short(report.location[0], report.nodeid))

    def pytest_sessionfinish(self) -> None:
        """Write the names, one a line, in order."""
        file = Path(os.environ["CONFORMANCE_PASSES"])
        file.write_text("".join(f"{name}\n" for name in sorted(self.names)))


def short(file: str, nodeid: str) -> str:
    """Name a test without the folders above its file, and without addresses in memory."""
    return _AT.sub("", f"{Path(file).name}::{nodeid.partition('::')[2]}")


def pytest_configure(config: pytest.Config) -> None:
    """Begin to gather."""
    config.pluginmanager.register(Passes())
