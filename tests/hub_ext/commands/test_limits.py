"""`gpu-commons limits` prints what binds a person, read beside the governor."""

import json
from pathlib import Path

import pytest

from hub_ext.cli import main
from tests.support.governing import POLICY, site_in

BUDGET = 'budgets:\n  month: {team: vision, amount: "36.00", hard: true}\n'


def test_budgets_are_printed_with_what_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "state"
    with site_in(state, policy=POLICY + BUDGET) as site:
        site.run("vera", "one")
        site.later(600)
    assert main(["limits", "vera", "--state", str(state)]) == 0
    printed = capsys.readouterr().out
    assert "Budget month of team vision: EUR 36.00" in printed
    assert "budgets.month" in printed
    assert main(["limits", "vera", "--json", "--state", str(state)]) == 0
    (month,) = json.loads(capsys.readouterr().out)["budgets"]
    assert (month["budget"], month["amount_micro"], month["hard"]) == ("month", 36_000_000, True)


def test_who_has_nothing_open_is_asked_for_their_groups(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "state"
    with site_in(state, policy=POLICY + BUDGET):
        pass
    assert main(["limits", "sam", "--state", str(state)]) != 0
    assert "--group" in capsys.readouterr().err
    assert main(["limits", "sam", "--group", "speech", "--state", str(state)]) == 0
    assert "month" not in capsys.readouterr().out
