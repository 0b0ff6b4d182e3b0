"""One Jupyter Server and one governor for the handlers' stories; each story resets the latter."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.lab_governor import LabGovernor
from tests.support.lab_server import LabServer, hub_environment, lab_server


@pytest.fixture(scope="module")
def governor() -> Iterator[LabGovernor]:
    with LabGovernor.serve() as running:
        yield running


@pytest.fixture(scope="module")
def server(governor: LabGovernor, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    folder: Path = tmp_path_factory.mktemp("server")
    with lab_server(folder, hub_environment(governor.url)) as running:
        yield running
