"""What the whole suite shares: Hypothesis without chance, a PostgreSQL, a browser or a reason."""

import shutil
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.controlplane.fixtures import control_plane, full_control_plane, kubelet
from tests.support.kube_listing import listing
from tests.support.postgres import PostgresServer

__all__ = ["control_plane", "full_control_plane", "kubelet", "postgres"]

settings.register_profile("ci", derandomize=True, max_examples=50, deadline=None)
settings.register_profile("deep", max_examples=1000, deadline=None)
settings.load_profile("ci")

# A run that was started in the background ignores Ctrl-C, and so would every program it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let lanes begin with the modules that mostly wait, as they last minutes."""
    if hasattr(config, "workerinput"):
        long = {
            item.path
            for item in items
            if item.get_closest_marker("hub") or item.get_closest_marker("browser")
        }
        items.sort(key=lambda item: item.path not in long)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what drives a browser where there is none."""
    if item.get_closest_marker("browser") and shutil.which("chromium") is None:
        pytest.skip("no Chromium here (Debian: apt install chromium)")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the scenarios of the contract that a real Kueue was told."""
    kinds = ("passed", "failed", "error", "skipped")
    lines = list(listing(one for kind in kinds for one in terminalreporter.getreports(kind)))
    if lines:
        terminalreporter.section("contract on a real Kueue")
        for line in lines:
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL, started when the first test asks for it; skipped where there is none."""
    with PostgresServer.running() as server:
        yield server
