"""A hub whose spawner misbehaves when told to, for the modules that bring no hub of their own."""

from collections.abc import Iterator

import pytest

from tests.e2e.faulty import faulty_hub, nothing_is_left
from tests.support.hub import RealHub


@pytest.fixture(scope="module")
def shared_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealHub]:
    with faulty_hub(tmp_path_factory.mktemp("faulty"), forgotten_s=20) as hub:
        yield hub


@pytest.fixture
def hub(shared_hub: RealHub) -> Iterator[RealHub]:
    """Give the hub to one story, well before and after it, with nothing left behind."""
    shared_hub.wait(shared_hub.healthy, "the governor and its agent", seconds=90)
    yield shared_hub
    shared_hub.wait(shared_hub.healthy, "the governor and its agent", seconds=90)
    nothing_is_left(shared_hub)
