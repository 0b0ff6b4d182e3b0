"""A real hub with a GPU that nobody uses: told to its lead, its owner asked, then over."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.rules import GROUPS, write_rules
from tests.support.hub import RealHub, governed

pytestmark = [pytest.mark.hub, pytest.mark.timeout(300)]
PAGES = "/services/gpu-commons/"


def odd(hub: RealHub) -> dict[str, dict[str, Any]]:
    """What is odd now, by kind."""
    done = hub.command("anomalies", "--json", "--state", str(hub.state))
    assert done.returncode == 0, done.stdout + done.stderr
    return {one["kind"]: one for one in json.loads(done.stdout)["open"]}


def test_a_gpu_that_nobody_uses_is_told_its_owner_is_asked_and_reads_it(tmp_path: Path) -> None:
    rules = write_rules(tmp_path / "policy.yaml", anomalies={"never_used": "6s", "settle": "1s"})
    settings = {"cycle_s": 0.5, "reconcile_s": 2, "intents_s": 0.2, "period_s": 0.5, "look_s": 0.5}
    extra = governed(rules, tmp_path / "hub/state", settings=settings)
    with RealHub.running(tmp_path / "hub", extra=extra, groups=GROUPS, tiny=True) as hub:
        hub.wait(hub.healthy, "the governor to hear of the devices")
        hub.start_server("ada", {"profile": "small"})
        assert "never_used" not in odd(hub)
        hub.wait(lambda: "never_used" in odd(hub), "its GPU to be told as never used")
        found = odd(hub)["never_used"]
        assert found["owner"] == "ada"
        assert found["money_micro"] is not None
        page = hub.person("ben").get(f"{PAGES}anomalies").text
        assert "Its GPU has not been used since it started." in page
        words = ("--do", "ask", "--reason", "Do you still need it?")
        done = hub.command("anomalies", found["id"], *words, "--state", str(hub.state))
        assert done.returncode == 0, done.stdout + done.stderr
        assert "asks you: Do you still need it?" in hub.person("ada").get(PAGES).text
        hub.stop_server("ada")
        hub.wait(lambda: "never_used" not in odd(hub), "it to be over with its lease")
