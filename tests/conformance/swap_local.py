"""A pytest plugin: the hub's own suites meet our local spawner in place of their mock one.

A governor that grants everything runs in a thread. It must come before the suites' conftest.
"""

from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from jupyterhub.tests import mocking

from spawner.local import GovernedLocalSpawner
from tests.support.governor import TOKEN, FakeGovernor

GOVERNOR = FakeGovernor.running()
FAKE = GOVERNOR.__enter__()
FOLDER = Path(mkdtemp(prefix="conformance-"))
(FOLDER / "token").write_text(TOKEN)


class Swapped(GovernedLocalSpawner, mocking.MockSpawner):
    """Ours, with the mock's command and its memory of tokens."""

    def __init__(self, *words: Any, **settings: Any) -> None:
        super().__init__(*words, **settings)
        self.governor_url = FAKE.url
        self.token_file = str(FOLDER / "token")
        self.state_dir = str(FOLDER / "state")


mocking.MockSpawner = Swapped


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the governor with the run."""
    GOVERNOR.__exit__(None, None, None)
