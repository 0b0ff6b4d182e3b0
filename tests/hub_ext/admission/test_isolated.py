"""A project that needs to be kept apart is never served by less, and is told what there is."""

from typing import Any

import pytest

from hub_ext.admission.decide import Admitted, Decision, Denied, offers
from hub_ext.lease import Standing
from hub_ext.policy.model import Policy
from tests.support.pools import Commons, make_policy, person, team


def site(mode: str = "enforce", **needs: str) -> Policy:
    """A team with whole GPUs and MIG devices, and a project with needs."""
    quota = {"whole": {"nominal": "2"}, "cut": {"nominal": "0.5"}}
    projects: dict[str, Any] = {"maps": {"team": "a", "needs": needs}, "birds": {"team": "a"}}
    return make_policy({"a": team(quota, name="a")}, mode=mode, projects=projects)


def refusal(decision: Decision) -> Denied:
    assert isinstance(decision, Denied)
    return decision


@pytest.mark.parametrize("mode", ["observe", "advise", "enforce"])
def test_an_offer_below_the_need_is_denied_with_both_classes(mode: str) -> None:
    commons = Commons(site(mode, isolation="gpu"))
    answer = refusal(commons.asks("ann", "a", "half", project="maps"))
    assert answer.reason.code == "isolation-below-need"
    assert (answer.reason.figures["needs"], answer.reason.figures["has"]) == ("gpu", "mig")
    assert answer.reason.message.startswith(
        "The project maps needs a whole GPU at least; this is a MIG device of its own. "
        "Choose one of: "
    )
    assert isinstance(commons.asks("ann", "a", "one", project="maps"), Admitted)
    assert isinstance(commons.asks("alf", "a", "half", project="birds"), Admitted)


@pytest.mark.parametrize("what", ["driver", "toolkit"])
def test_a_pool_that_is_too_old_or_does_not_say_is_denied_with_both_versions(what: str) -> None:
    needs = {what: "570.133.20"}
    policy = site(**needs)
    unsaid = refusal(Commons(policy).asks("ann", "a", "one", project="maps"))
    assert unsaid.reason.code == f"{what}-below-need"
    assert "570.133.20 or newer; pool whole does not say its own" in unsaid.reason.message
    assert "No profile of this team meets that" in unsaid.reason.message
    old = policy.pools["whole"].model_copy(update={what: "550.54.15"})
    pools = {**policy.pools, "whole": old}
    older = refusal(
        Commons(policy.model_copy(update={"pools": pools})).asks("ann", "a", "one", project="maps")
    )
    assert "570.133.20 or newer; pool whole has 550.54.15" in older.reason.message
    new = policy.pools["whole"].model_copy(update={what: "580.65.06"})
    pools = {**policy.pools, "whole": new}
    newer = Commons(policy.model_copy(update={"pools": pools}))
    assert isinstance(newer.asks("ann", "a", "one", project="maps"), Admitted)


def test_the_form_shows_what_the_project_may_not_have_as_denied() -> None:
    sheet = offers(Commons(site(isolation="gpu")).snapshot, person("ann", "a"))
    standings = {str(one.profile): one.standing for one in sheet.offers}
    assert standings["half"] is Standing.denied
    assert standings["one"] is Standing.guaranteed
