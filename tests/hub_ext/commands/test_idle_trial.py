"""`idle trial`: the report and the word that switches a rule on, without a governor too."""

from datetime import timedelta
from pathlib import Path

import pytest

from hub_ext.cli import main
from hub_ext.lease.trying import TrialSheet
from hub_ext.policy.load import loads
from tests.support.governing import POLICY, site_in

TRIED = POLICY.replace("limit: 10m", "limit: 20m").replace("trial: 0s", "trial: 2d")


def test_a_rule_on_trial_is_shown_and_switched_on_with_a_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with site_in(tmp_path) as site:
        site.governor.set_policy(loads(TRIED), now=site.now)
        assert site.governor.policy.idle["gpus"].limit == timedelta(minutes=10)
        state = str(site.state)
    assert main(["idle", "trial", "show", "--state", state]) == 0
    said = capsys.readouterr().out
    assert "gpus: on trial for another 2 d 0 h of 2 d 0 h; the former rule is in force" in said
    assert "limit: 10m -> 20m" in said
    assert "It would have stopped nobody so far." in said
    switch = ["idle", "trial", "switch-on", "gpus", "--state", state, "--reason", "agreed"]
    assert main(switch) == 1
    assert "still on trial for 2d" in capsys.readouterr().err
    assert main([*switch, "--before-its-time"]) == 0
    assert "idle rule gpus acts from now on" in capsys.readouterr().out
    assert main(["idle", "trial", "show", "--json", "--state", state]) == 0
    assert TrialSheet.model_validate_json(capsys.readouterr().out).trials == ()
    assert main(["idle", "trial", "show", "--state", state]) == 0
    assert "no idle rule is on trial" in capsys.readouterr().out


def test_who_checks_a_policy_reads_what_becomes_of_its_rules(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(TRIED)
    assert main(["check", str(file)]) == 0
    assert "tried first, then switched on by hand: gpus 2d" in capsys.readouterr().out
    file.write_text(POLICY)
    assert main(["check", str(file)]) == 0
    assert "new or changed idle rules: acts at once: gpus" in capsys.readouterr().out
