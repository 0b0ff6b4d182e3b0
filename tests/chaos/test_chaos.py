"""A minute of faults with a fixed seed, and what must hold of every schedule."""

from pathlib import Path

import pytest

from tests.chaos.invariants import RULES
from tests.chaos.run import Plan, carry_out, report
from tests.chaos.schedule import FaultKind, names, schedule


@pytest.mark.parametrize("seed", [7, 8])
def test_a_seed_gives_the_same_faults_and_requests_each_time(seed: int) -> None:
    once = schedule(seed, seconds=60, people=8)
    assert once == schedule(seed, seconds=60, people=8)
    assert once != schedule(seed + 1, seconds=60, people=8)


@pytest.mark.parametrize(("seconds", "people"), [(60, 8), (600, 50)])
def test_every_kind_of_fault_happens_and_everybody_asks(seconds: int, people: int) -> None:
    happening = schedule(7, seconds=seconds, people=people)
    assert {fault.kind for fault in happening.faults} == set(FaultKind)
    assert {wish.person for wish in happening.wishes} == set(names(people))
    assert [fault.at_s for fault in happening.faults] == sorted(
        fault.at_s for fault in happening.faults
    )
    assert all(fault.at_s < seconds for fault in happening.faults)


def test_the_report_has_one_line_a_rule_and_the_evidence_below() -> None:
    lines = report([(RULES[0], "lease 7")]).splitlines()
    assert lines[:2] == [f"     1  {RULES[0]}", "          lease 7"]
    assert [line.split(None, 1) for line in lines[2:]] == [["0", rule] for rule in RULES[1:]]


@pytest.mark.hub
@pytest.mark.timeout(420)
def test_a_minute_of_chaos_breaks_no_rule(tmp_path: Path) -> None:
    plan = Plan(seed=7, seconds=60, people=8, recovery_s=60, poll_s=3)
    breaches = carry_out(plan, tmp_path / "run")
    assert not breaches, report(breaches)
