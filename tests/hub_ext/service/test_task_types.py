"""What a server is for, from the ask to the ledger, the view, the idle rule and the queue."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hub_ext.errors import RefusedError
from hub_ext.idle import rule_for
from hub_ext.lease import Actor, Ask, LeaseState, OpenLease, Reason, When
from hub_ext.policy.load import loads
from hub_ext.service.workers.starts import options_of
from spawner.options import read_options
from tests.hub_ext.service.test_sharing import SHARED
from tests.support.governing import Site, site_in

VERA = Actor(kind="user", name="vera")
TYPED = SHARED.replace("title: One GPU, pool", "task_type: training, title: One GPU, pool")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with site_in(tmp_path, policy=TYPED) as made:
        yield made


def wish(site: Site, user: str, profile: str = "one", **chosen: Any) -> Ask:
    """Ask with more in the choice."""
    when = chosen.pop("when", None)
    asked = site.asking(user, profile, when=when, server=chosen.pop("server", ""))
    return asked.model_copy(update={"choice": asked.choice.model_copy(update=chosen)})


def waiting(site: Site, user: str, **chosen: Any) -> OpenLease:
    """Let a wish wait."""
    asked = wish(site, user, when=When.start, **chosen)
    with pytest.raises(RefusedError):
        site.ask(asked)
    lease = site.governor.view(asked.key, now=site.now).lease
    assert lease is not None
    return lease


def test_the_default_of_the_profile_is_on_record_and_shown(site: Site) -> None:
    grant = site.run("vera")
    assert site.lease(grant).task_type == "training"
    assert site.governor.view(grant.key, now=site.now).task_title == "Training"
    assert grant.labels["gpu-commons.dev/task-type"] == "training"


def test_without_one_it_is_unlabelled(site: Site) -> None:
    grant = site.run("vera", "small")
    assert site.lease(grant).task_type is None
    assert site.governor.view(grant.key, now=site.now).task_title == ""
    assert "gpu-commons.dev/task-type" not in grant.labels


def test_a_type_of_others_is_refused_with_the_open_ones_and_nothing_is_recorded(site: Site) -> None:
    with pytest.raises(RefusedError) as caught:
        site.ask(wish(site, "vera", task_type="service"))
    assert (caught.value.code, caught.value.status) == ("task-type-not-open", 403)
    assert "You can choose: 'training'." in caught.value.message
    assert site.governor.leases() == ()


def test_a_service_has_its_own_idle_rule_and_keeps_it(site: Site) -> None:
    grant = site.ask(wish(site, "sam", task_type="service"))
    site.started(grant)
    lease = site.lease(grant)
    found = rule_for(site.governor.policy, "gpu", lease.task_type)
    assert found is not None
    assert found[0] == "calm"
    kept = site.governor.keep(lease.id, actor=VERA, now=site.now)
    assert kept.kept_until is not None
    assert kept.kept_until - site.now == found[1].keep.each


def test_another_type_is_another_wish_and_none_is_the_same(site: Site) -> None:
    site.run("viktor")
    site.run("viktor", server="second")
    first = waiting(site, "vera")
    again = waiting(site, "vera", task_type="training")
    assert (again.id, again.task_type) == (first.id, "training")
    other_profile = waiting(site, "vera", profile="two")
    assert other_profile.id != first.id


def test_a_wish_to_wait_for_the_guarantee_can_be_taken_back_in_its_place(site: Site) -> None:
    site.run("viktor")
    patient = waiting(site, "vera", only_guaranteed=True)
    assert patient.reason is not None
    assert patient.reason.code == "only-guaranteed"
    assert site.serve() == 0
    (ticket,) = site.governor.tickets(lambda _lease: True, now=site.now)
    assert ticket.only_guaranteed
    assert ticket.reason.message.startswith("You chose to wait for the guarantee")
    choice = patient.choice.model_copy(update={"only_guaranteed": False})
    changed = site.governor.change(patient.id, choice, When.hold, actor=VERA, now=site.now)
    assert (changed.id, changed.requested_at) == (patient.id, patient.requested_at)
    assert site.serve() == 1
    held = site.now_is(patient)
    assert (held.state, held.standing) == (LeaseState.held, "borrowed")


def test_a_policy_without_the_type_closes_a_request_that_named_it(site: Site) -> None:
    site.run("viktor")
    site.run("viktor", server="second")
    named = waiting(site, "vera", task_type="training")
    without = TYPED.replace("task_type: training, ", "").replace("training: {", "drill: {")
    site.governor.set_policy(loads(without), now=site.now)
    site.serve()
    closed = site.now_is(named)
    assert closed.state is LeaseState.closed
    assert isinstance(closed.reason, Reason)
    assert closed.reason.code == "unknown-task-type"


def test_a_request_that_named_none_follows_the_policy(site: Site) -> None:
    site.run("viktor")
    site.run("viktor", server="second")
    unnamed = waiting(site, "vera")
    site.governor.set_policy(loads(TYPED.replace("task_type: training, ", "")), now=site.now)
    site.serve()
    assert (site.now_is(unnamed).state, site.now_is(unnamed).task_type) == (LeaseState.queued, None)


def test_a_start_for_somebody_who_waited_says_the_same_again(site: Site) -> None:
    choice = wish(site, "vera", task_type="training", only_guaranteed=True).choice
    read = read_options(options_of(choice))
    assert read.choice(choice.profile) == choice
