"""A place for a ledger, told twice: a file, and a real PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.ledger_places import ENGINES, Place


@pytest.fixture(params=ENGINES)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    server = request.getfixturevalue("postgres") if request.param == "postgres" else None
    place = Place(tmp_path, server)
    yield place
    place.drop()
