"""The pages behind a real hub: sign-in by its own cookie, and figures of a server that runs."""

from pathlib import Path

import pytest

from tests.e2e.rules import GROUPS, write_rules
from tests.support.hub import RealHub, governed

pytestmark = pytest.mark.hub
PAGES = "/services/gpu-commons/"


def test_people_sign_in_with_the_hub_and_see_what_is_theirs(tmp_path: Path) -> None:
    rules = write_rules(tmp_path / "policy.yaml")
    extra = governed(rules, tmp_path / "hub/state")
    with RealHub.running(tmp_path / "hub", extra=extra, groups=GROUPS, tiny=True) as hub:
        hub.wait(hub.healthy, "the governor to hear of the devices")
        ada, ben, admin = hub.person("ada"), hub.person("ben"), hub.person("admin")
        first = ada.get(PAGES)
        assert first.status == 200
        assert "Signed in as ada" in first.text
        assert "Nothing of yours runs." in first.text

        hub.start_server("ada", {"profile": "small"})
        running = ada.get(PAGES)
        assert "EUR 0.50 / h" in running.text
        assert "Small slice" in running.text
        assert "simulated" in running.text
        assert 'href="/user/ada/"' in running.text
        assert "It was not stopped." in ada.get(f"{PAGES}why/ada/-").text

        assert ada.get(f"{PAGES}team/vision").status == 403
        assert ada.get(f"{PAGES}admin").status == 403
        team = ben.get(f"{PAGES}team/vision")
        assert team.status == 200
        assert "ada" in team.text
        assert ben.get(f"{PAGES}why/ada/-").status == 200
        everything = admin.get(f"{PAGES}admin")
        assert everything.status == 200
        assert "2 of 3 devices free" in everything.text

        hub.stop_server("ada")
        hub.wait(lambda: "Nothing of yours runs." in ada.get(PAGES).text, "the lease to be closed")
        assert "Why it ended" in ada.get(f"{PAGES}why/ada/-").text
