"""A site for each story, told twice: with the ledger in a file, and in a real PostgreSQL.

And a browser for a module that shows pages.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.support.chromium import launched
from tests.support.governing import Site, site_in
from tests.support.ledger_places import ENGINES, Place


@pytest.fixture(params=ENGINES)
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    server = request.getfixturevalue("postgres") if request.param == "postgres" else None
    place = Place(tmp_path / "state", server)
    with site_in(place.state, ledger_url=place.url or "") as opened:
        yield opened
    place.drop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser
