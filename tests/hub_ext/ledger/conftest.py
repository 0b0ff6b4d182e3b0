"""Each story about the ledger is told twice: in a file, and in a real PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hub_ext.ledger.store import Ledger
from tests.support.ledger_places import ENGINES, Place


@pytest.fixture(params=ENGINES)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    server = request.getfixturevalue("postgres") if request.param == "postgres" else None
    place = Place(tmp_path, server)
    yield place
    place.drop()


@pytest.fixture
def ledger(where: Place) -> Iterator[Ledger]:
    opened = where.open()
    yield opened
    opened.close()
