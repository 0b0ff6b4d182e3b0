"""Steps of a budget that let small profiles start alone, and that hold until a day."""

from datetime import timedelta
from pathlib import Path

import pytest

from hub_ext.errors import PolicyError, RefusedError
from hub_ext.lease import Actor, Cause
from hub_ext.policy.load import loads
from tests.support.governing import POLICY, Site, site_in

ENFORCE = POLICY.replace("idle: enforce", "idle: enforce, budget: enforce")
ADMIN = Actor(kind="user", name="root", admin=True)

SMALL = """\
budgets:
  month:
    {team: vision, amount: "3.60", steps: [{at: 25, act: small_only, gpus: "0.125"}]}
"""
UNTIL = """\
budgets:
  month:
    {team: vision, amount: "3.60",
     steps: [{at: 25, act: no_new, until: 2026-12-01}]}
"""
"""It is 30 November, nine o'clock."""


def refused(site: Site, user: str, profile: str) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        site.ask(site.asking(user, profile))
    return caught.value


def test_only_small_profiles_start_once_so_much_is_spent(tmp_path: Path) -> None:
    with site_in(tmp_path / "state", policy=ENFORCE + SMALL) as site:
        first = site.run("vera")
        site.later(15 * 60)
        said = refused(site, "viktor", "one")
        assert said.figures["why"] == "budget-small-only"
        assert "nothing new takes more than 0.125 GPU: EUR 0.90 of EUR 3.60" in said.message
        assert "Choose a smaller profile" in said.message
        assert site.run("viktor", "small").profile == "small"
        with pytest.raises(RefusedError) as caught:
            site.governor.extend(first.lease_id, seconds=600, actor=ADMIN, now=site.now)
        assert caught.value.code == "budget-small-only"
        site.governor.tend_budgets(now=site.now)
        notice = site.lease(first).notice
        assert notice is not None
        assert "only small profiles start" in notice.reason.message
        assert notice.cause is Cause.budget


def test_a_step_holds_until_its_day_and_no_longer(tmp_path: Path) -> None:
    long = ENFORCE.replace("{default: 1h, longest: 2h}", "{default: 20h, longest: 30h}")
    # A term, so that no new month gives money back.
    term = UNTIL.replace("steps:", "period: {from: 2026-11-01, until: 2027-02-01}, steps:")
    with site_in(tmp_path / "other", policy=long + term) as site:
        site.run("vera")
        site.later(3600)
        said = refused(site, "viktor", "small")
        assert said.figures["why"] == "budget-no-new"
        assert "That holds until" in said.message
        site.now = (site.now + timedelta(days=1)).replace(hour=0, minute=0)
        site.report_devices()
        assert site.run("viktor", "small").profile == "small"


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("{at: 25, act: small_only}", "says what `small_only` lets start"),
        ('{at: 25, act: tell, gpus: "1"}', "says what `small_only` lets start"),
        ("{at: 25, act: no_new, until: 2028-01-01}", "not within the term"),
    ],
)
def test_what_says_nothing_is_found_by_check(step: str, words: str) -> None:
    rules = f"""\
budgets:
  grant:
    {{team: vision, amount: "3.60", period: {{from: 2026-11-01, until: 2027-02-01}},
      steps: [{step}]}}
"""
    with pytest.raises(PolicyError, match=words):
        loads(ENFORCE + rules)
