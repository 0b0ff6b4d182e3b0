"""`idle`: whether stops are held, and the word that lets them go on, without a governor too."""

from pathlib import Path

import pytest

from hub_ext.cli import main
from hub_ext.lease import LeaseId
from hub_ext.lease.idling import IdleSheet
from tests.support.governing import site_in


def test_held_stops_are_shown_and_released_with_a_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with site_in(tmp_path) as site:
        state = str(site.state)
        fallen = dict.fromkeys((LeaseId(f"l-{number}") for number in range(6)), site.now)
        assert site.governor.weigh_idleness(frozenset(fallen), fallen, now=site.now).held
    assert main(["idle", "show", "--state", state]) == 0
    said = capsys.readouterr().out
    assert "nobody is stopped as idle since" in said
    assert "6 of 6 servers with a GPU turned idle together" in said
    assert main(["idle", "release", "--reason", "the network is mended", "--state", state]) == 0
    assert "idle stops are not held" in capsys.readouterr().out
    assert main(["idle", "show", "--json", "--state", state]) == 0
    assert IdleSheet.model_validate_json(capsys.readouterr().out).held is None
    assert main(["idle", "release", "--reason", "again", "--state", state]) == 1
    assert "not held" in capsys.readouterr().err
