"""The policy in force: swapped whole, numbered, told in people's own words, kept when wrong."""

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.errors import PolicyError
from hub_ext.lease import Actor, Standing
from hub_ext.policy.load import loads
from hub_ext.service.books.difference import difference
from tests.support.governing import POLICY, Site

ADA = Actor(kind="user", name="ada", admin=True)
SMALLER = POLICY.replace('whole: {nominal: "2"}', 'whole: {nominal: "1"}')


def kinds(site: Site) -> list[str]:
    with site.ledger.transaction() as tx:
        return [event.kind for _seq, event in tx.events() if event.kind.startswith("policy.")]


def test_a_new_text_is_a_generation_with_its_difference_and_its_whole_text(site: Site) -> None:
    number = site.governor.set_policy(loads(SMALLER), now=site.now, actor=ADA)
    assert number == 2
    with site.ledger.transaction() as tx:
        newest = tx.generations(1)[0]
    assert newest.text == SMALLER
    assert newest.actor == ADA
    assert newest.summary == "teams.speech.quota.whole.nominal: 2 -> 1"


def test_a_restart_with_the_same_text_is_no_change(site: Site) -> None:
    site.restart()
    assert site.governor.policy_state.generation == 1
    assert kinds(site) == ["policy.applied"]


def test_back_to_an_older_text_is_a_new_generation(site: Site) -> None:
    for text, number in ((SMALLER, 2), (POLICY, 3)):
        assert site.governor.set_policy(loads(text), now=site.now) == number


def test_a_wrong_text_is_told_once_and_leaves_the_old_one_in_force(site: Site) -> None:
    error = PolicyError(("policy.yaml:3:1: error: teams.vision: wrong; mend it",))
    for _time in range(3):
        site.governor.refuse_policy(error, now=site.now)
    assert site.governor.policy_state.generation == 1
    assert site.governor.policy_state.problem == error.findings
    assert kinds(site) == ["policy.applied", "policy.refused"]
    health = site.governor.health(now=site.now)
    assert health.status == "degraded"
    assert [one.figures for one in health.problems] == [{"findings": 1, "first": "policy.yaml:3:1"}]
    site.governor.set_policy(loads(POLICY), now=site.now)
    assert site.governor.policy_state.problem == ()


def test_present_leases_keep_what_a_smaller_quota_would_not_give_and_are_named(site: Site) -> None:
    grant = site.run("sam", "two")
    site.governor.set_policy(loads(SMALLER), now=site.now)
    assert site.lease(grant).grant == grant
    with site.ledger.transaction() as tx:
        summary = tx.generations(1)[0].summary
    assert "team speech holds 2 GPUs in pool whole, more than the 1" in summary


def test_a_guarantee_that_grew_covers_what_was_borrowed(site: Site) -> None:
    site.run("vera")
    borrowed = site.run("viktor")
    assert site.lease(borrowed).standing is Standing.borrowed
    larger = POLICY.replace('whole: {nominal: "1", borr', 'whole: {nominal: "2", borr')
    larger = larger.replace('whole: {nominal: "2"}', 'whole: {nominal: "1"}')
    site.governor.set_policy(loads(larger), now=site.now)
    assert site.lease(borrowed).standing is Standing.guaranteed


def test_a_difference_speaks_of_entries_by_their_own_names() -> None:
    moved = POLICY.replace(
        "{name: node-2, gpus: 3}", "{name: node-1, gpus: 1}, {name: node-2, gpus: 4}"
    )
    assert difference(POLICY, moved) == (
        "pools.whole.nodes[node-2].gpus: 3 -> 4",
        "pools.whole.nodes[node-1].name: absent -> node-1",
        "pools.whole.nodes[node-1].gpus: absent -> 1",
    )


def test_comments_are_no_difference_of_meaning() -> None:
    assert difference(POLICY, f"# new\n{POLICY}") == ("comments or order only",)
    assert difference(None, POLICY) == ("first policy",)


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_two_texts_have_a_difference(old: str, new: str) -> None:
    assert difference(old, new)
