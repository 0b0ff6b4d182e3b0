"""The driver for tests, compiled once a run, and a reader of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hub_ext.telemetry import guarded
from hub_ext.telemetry.guarded import GuardedNvml
from tests.support.nvml import PERIOD_S, FakeDriver, compile_stub


@pytest.fixture(scope="session")
def nvml_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_stub(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def driver(nvml_library: Path, tmp_path: Path) -> Iterator[FakeDriver]:
    fake = FakeDriver(nvml_library, tmp_path / "world")
    yield fake
    fake.world.hang = 0
    for gpu in fake.world.gpu:
        gpu.hang = 0
    # ctypes keeps views of the map alive in the test's own names; the file goes with the folder.


@pytest.fixture
def reader(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> Iterator[GuardedNvml]:
    monkeypatch.setattr(guarded, "FIRST_REST_S", 0.1)
    made = GuardedNvml(node="node-1", period_s=PERIOD_S, environment=driver.environment)
    made._rest_s = 0.1
    yield made
    driver.world.hang = 0
    made.close()
