"""Budgets that mean nothing, or not what was meant, are found before they act."""

import pytest

from hub_ext.errors import PolicyError
from hub_ext.policy.load import loads
from tests.support.governing import POLICY

MONTH = 'team: vision, amount: "100"'
STEP = "steps: [{at: 100, act: no_new}]"


def text(*budgets: str) -> str:
    lines = [f"  b{n}: {{{one}}}\n" for n, one in enumerate(budgets)]
    return "".join((POLICY, "budgets:\n", *lines))


def warnings(policy: str) -> list[str]:
    return [f"{one.path}: {one.message}" for one in loads(policy).warnings if "b0" in one.path]


def test_sound_budgets_of_one_holder_have_no_finding() -> None:
    sound = text(
        f"{MONTH}, currency: EUR, hard: true, {STEP}",
        f"{MONTH}, each: person, {STEP}",
        f"{MONTH}, period: {{from: 2026-11-01, until: 2026-12-01}}, {STEP}",
        f"{MONTH}, period: {{from: 2026-12-01, until: 2027-03-01}}, {STEP}",
        f'project: maps, amount: "5", {STEP}',
    )
    assert warnings(sound) == []


@pytest.mark.parametrize(
    ("budgets", "words"),
    [
        (('amount: "100"',), "give either `team` or `project`"),
        ((f"{MONTH}, project: maps",), "give either `team` or `project`"),
        (('team: visoin, amount: "1"',), "did you mean 'vision'"),
        (('project: map, amount: "1"',), "there is no project 'map'"),
        (('team: vision, amount: "0"',), "spent before anybody starts"),
        ((f"{MONTH}, currency: USD",), "the amount is in 'USD', and all prices are in 'EUR'"),
        ((f"{MONTH}, period: {{from: 2026-12-01, until: 2026-12-01}}",), "before it begins"),
        ((f"{MONTH}, period: year",), "'year' is none of the words"),
        (
            (f"{MONTH}, steps: [{{at: 90, act: no_new}}, {{at: 90, act: no_new}}]",),
            "the step at 90 percent comes after the one at 90",
        ),
        (
            (f"{MONTH}, steps: [{{at: 50, act: no_new}}, {{at: 90, act: guaranteed_only}}]",),
            "'guaranteed_only' at 90 percent is milder than 'no_new'",
        ),
        ((f"{MONTH}, hard: true, steps: [{{at: 101, act: no_new}}]",), "never spent to 101"),
        ((f"{MONTH}, {STEP}", f"{MONTH}, {STEP}"), "'b0' is the same holder's budget of a month"),
        (
            (
                f"{MONTH}, period: {{from: 2026-11-01, until: 2026-12-02}}, {STEP}",
                f"{MONTH}, period: {{from: 2026-12-01, until: 2027-03-01}}, {STEP}",
            ),
            "'b0' of the same holder still holds on 2026-12-01",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_at_its_place(budgets: tuple[str, ...], words: str) -> None:
    with pytest.raises(PolicyError, match=words) as caught:
        loads(text(*budgets))
    assert "budgets.b" in str(caught.value)


def test_a_budget_that_only_counts_is_pointed_out() -> None:
    assert warnings(text(MONTH)) == [
        "budgets.b0: it has no step and is not hard, so it only counts"
    ]


def test_a_hard_budget_names_what_it_keeps_from_starting_for_lack_of_a_price() -> None:
    unpriced = text(f"{MONTH}, hard: true").replace("  - {pool: whole, from: 2026-01-01", "  - #")
    unpriced = "\n".join(line for line in unpriced.splitlines() if "- #" not in line) + "\n"
    (found,) = warnings(unpriced)
    assert "'one', 'two' have no price" in found
    of_project = unpriced.replace("team: vision, amount", "project: maps, amount")
    assert "'one', 'two' have no price" in warnings(of_project)[0]
