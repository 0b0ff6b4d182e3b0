"""A step of a budget is put on the record once a period, whatever is done and however often."""

from collections import Counter
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from hub_ext.errors import RefusedError
from hub_ext.lease import Grant
from hub_ext.service.books.budgetrecord import REACHED
from tests.support.governing import POLICY, Site, site_in

STEPS = """\
budgets:
  month:
    {team: vision, amount: "3.60",
     steps: [{at: 10, act: tell}, {at: 50, act: guaranteed_only}, {at: 90, act: no_new}]}
  each:
    {team: vision, each: person, amount: "1.80", steps: [{at: 20, act: tell}]}
"""
RULES = (
    POLICY.replace("idle: enforce", "idle: enforce, budget: enforce").replace(
        "{default: 1h, longest: 2h}", "{default: 90h, longest: 99h}"
    )
    + STEPS
)

acts = st.lists(
    st.sampled_from(["run", "stop", "tend", "tend", "restart", "minutes", "hours", "month"]),
    min_size=4,
    max_size=14,
)


def reached(site: Site) -> list[tuple[object, ...]]:
    with site.ledger.transaction() as tx:
        events = [event for _seq, event in tx.events(kinds=(REACHED,), limit=500)]
    names = ("budget", "user", "period_start", "at_percent")
    return [tuple(event.body[name] for name in names) for event in events]


def standing(site: Site) -> set[tuple[object, ...]]:
    """Steps that stand now, by what is spent."""
    found: set[tuple[object, ...]] = set()
    with site.governor._desk.turn(site.now) as turn:
        for one in turn.budgets(turn.policy):
            for holder in one.holders if one.start <= site.now < one.end else ():
                for step in one.steps:
                    if one.of(holder).spent_micro * 100 >= step.at_percent * one.amount_micro:
                        whose = holder or None
                        found.add((one.name, whose, one.start.isoformat(), step.at_percent))
    return found


@settings(max_examples=12)
@given(acts)
def test_property_14_each_threshold_fires_once_a_period_also_over_restarts(
    tmp_path_factory: object, told: list[str]
) -> None:
    state = Path(tmp_path_factory.mktemp("site"))  # type: ignore[attr-defined]
    with site_in(state / "state", policy=RULES) as site:
        grants: list[Grant] = []
        for act in told:
            site.later(1)
            match act:
                case "run" if not grants:
                    with suppress(RefusedError):
                        grants.append(site.run("vera"))
                case "stop" if grants:
                    site.stop(grants.pop())
                case "restart":
                    site.restart()
                case "minutes":
                    site.later(600)
                case "hours":
                    site.later(3600)
                case "month":
                    site.now = (site.now.replace(day=1) + timedelta(days=32)).replace(day=1)
                    site.report_devices()
                case _:
                    pass
            site.governor.tend_budgets(now=site.now)
            found = reached(site)
            assert max(Counter(found).values(), default=1) == 1
            assert standing(site) <= set(found)
