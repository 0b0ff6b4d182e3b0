"""The harness itself, on a hub without our parts: what it starts works and does not outlive it."""

import signal
from pathlib import Path

import pytest

from tests.support.hub import HUB55, RealHub

pytestmark = pytest.mark.hub

PLAIN = 'c.JupyterHub.spawner_class = "simple"\n'


def test_a_person_starts_a_tiny_server_by_form_and_a_script_stops_it(tmp_path: Path) -> None:
    with RealHub.running(tmp_path / "hub", extra=PLAIN, tiny=True) as hub:
        ada = hub.person("ada")
        assert ada.get("/hub/spawn").status == 200
        hub.wait(lambda: hub.ready("ada"), "ada's server")
        assert ada.get("/user/ada/api").json == {"version": "tiny"}
        hub.start_server("ada", {"any": 1}, server="second")
        hub.stop_server("ada", server="second")
        hub.end(signal.SIGKILL)
        hub.start()
        assert hub.ready("ada")
        everything = hub.processes()
        assert len(everything) >= 3
    assert [process for process in everything if process.is_running()] == []


@pytest.mark.hub55
def test_the_older_hub_runs_too(tmp_path: Path) -> None:
    with RealHub.running(tmp_path / "hub", extra=PLAIN, tiny=True, python=HUB55) as hub:
        assert hub.rest("GET", "/").json["version"] == "5.5.4"
        hub.add_users("ada")
        hub.start_server("ada")
        everything = hub.processes()
    assert [process for process in everything if process.is_running()] == []
