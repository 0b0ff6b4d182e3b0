"""A site on one of the engines, whose books must agree with their events at its end."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.governing import Site, site_in
from tests.support.ledger_places import Place


@contextmanager
def true_site(request: pytest.FixtureRequest, folder: Path, policy: str) -> Iterator[Site]:
    """Run a site on the engine that is the fixture's parameter."""
    server = request.getfixturevalue("postgres") if request.param == "postgres" else None
    place = Place(folder / "state", server)
    with site_in(place.state, policy=policy, ledger_url=place.url or "") as opened:
        yield opened
    assert place.verify().difference == ""
    place.drop()
