"""A hard budget on a real hub: who it does not pay for is told why, and starts when it does."""

from collections.abc import Iterator

import pytest

from tests.e2e.rules import RULES, write_rules
from tests.support.hub import RealHub, governed

pytestmark = [pytest.mark.hub, pytest.mark.timeout(420)]

SMALL = {"profile": "small"}
PEOPLE = ["ada", "ben", "cora"]
TEAM = {"vision": {**RULES["teams"]["vision"], "quota": {"slices": {"nominal": "0.375"}}}}
MODES = {"quota": "enforce", "idle": "observe", "budget": "enforce"}
TERM = {"from": "2026-01-01", "until": "2099-01-01"}
MONEY = {"grant": {"team": "vision", "amount": "4.00", "period": TERM, "hard": True}}
"""A slice for four hours costs EUR 2.00; there are three, and money for two."""


@pytest.fixture
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealHub]:
    folder = tmp_path_factory.mktemp("budget")
    policy = write_rules(folder / "policy.yaml", teams=TEAM, modes=MODES, budgets=MONEY)
    extra = governed(policy, folder / "hub/state")
    with RealHub.running(
        folder / "hub", extra=extra, groups={"vision": PEOPLE}, tiny=True
    ) as running:
        for name in PEOPLE:
            running.person(name).get("/hub/home")
        running.wait(running.healthy, "the governor and its agent")
        yield running


def test_two_are_paid_for_and_the_third_starts_by_itself_when_one_ends_early(
    hub: RealHub,
) -> None:
    for name in ("ada", "ben"):
        hub.start_server(name, SMALL)
    refused = hub.spawn("cora", SMALL)
    assert refused.status == 409
    assert "and budget grant of team vision has EUR 0.0" in refused.json["message"]
    # An hour at EUR 0.50 is not there either; without a GPU all is as ever.
    assert hub.spawn("cora", {"profile": "small", "lifetime": "1h"}).status == 409
    hub.start_server("cora", {"profile": "plain"})
    hub.stop_server("cora")
    waits = hub.spawn("cora", {"profile": "small", "lifetime": "1h", "wait": "start"})
    assert waits.status == 409
    hub.stop_server("ada")
    hub.wait(lambda: hub.ready("cora"), "the server of whom there is money for")
    assert hub.leases()["cora/"].choice.lifetime_s == 3600
