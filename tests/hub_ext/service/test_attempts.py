"""Whose lease an attempt is: every case of a repeated, new, late or unknown attempt, as a story."""

from pathlib import Path

import pytest

from hub_ext.errors import RefusedError
from hub_ext.lease import (
    Cause,
    Environment,
    LeaseState,
    Liveness,
    Report,
    ReportKind,
    Standing,
    UserName,
)
from hub_ext.ledger.samples import Samples
from hub_ext.ledger.store import Ledger
from hub_ext.policy.catalogue import Person
from hub_ext.service.core.governor import Governor
from hub_ext.service.leasing.attempts import UncheckedError
from tests.support.governing import POLICY, START, Site, settings_in


def refused(site: Site, user: str, profile: str = "one", **how: object) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        site.ask(site.asking(user, profile, **how))  # type: ignore[arg-type]
    assert caught.value.status < 500
    assert caught.value.message.endswith((".", "?"))
    return caught.value


def test_a_start_inside_the_guarantee_gets_its_device_and_everything_with_it(site: Site) -> None:
    grant = site.ask(site.asking("vera"))
    lease = site.lease(grant)
    assert lease.state is LeaseState.starting
    assert lease.standing is Standing.guaranteed
    assert lease.grant == grant
    assert [device.id for device in grant.devices] == site.held()
    assert (grant.team, grant.project, grant.title) == ("vision", "maps", "One GPU")
    assert (grant.cpu_millis, grant.memory_bytes) == (2000, 2 * 2**30)
    assert grant.price_micro_per_hour == 3_600_000
    assert grant.simulated
    assert grant.labels["gpu-commons.dev/lease"] == grant.lease_id


def test_a_lost_answer_is_repeated_word_for_word(site: Site) -> None:
    asked = site.asking("vera")
    first = site.ask(asked)
    site.later(3)
    assert site.ask(asked) == first
    site.started(first)
    assert site.ask(asked) == first
    assert len(site.governor.leases()) == 1


def test_a_new_attempt_ends_a_start_that_never_came_up(site: Site) -> None:
    first = site.ask(site.asking("vera"))
    site.later(20)
    second = site.ask(site.asking("vera"))
    assert second.lease_id != first.lease_id
    ended = site.lease(first)
    assert (ended.state, ended.cause) == (LeaseState.closed, Cause.failed)
    assert site.held() == [device.id for device in second.devices]


def test_a_new_attempt_is_refused_while_the_spawner_sees_the_former_process(site: Site) -> None:
    first = site.ask(site.asking("vera"))
    for former in (Liveness.alive, Liveness.unknown):
        refusal = refused(site, "vera", former=former)
        assert refusal.code == "still-alive"
    assert site.lease(first).state is LeaseState.starting


def test_a_new_attempt_is_refused_while_this_machine_sees_the_process(site: Site) -> None:
    grant = site.run("vera")
    assert refused(site, "vera", former=Liveness.gone).code == "still-alive"
    assert site.lease(grant).state is LeaseState.running


def test_a_running_server_that_is_gone_makes_room_for_its_next_start(site: Site) -> None:
    grant = site.run("vera")
    process = site.lease(grant).process
    assert process is not None
    site.later(600)
    site.governor.seen(grant.lease_id, Liveness.alive, now=site.now)
    site.later(30)
    site.machine.end(process)
    again = site.ask(site.asking("vera"))
    lost = site.lease(grant)
    assert (lost.state, lost.cause) == (LeaseState.closed, Cause.lost)
    assert lost.closed_at is not None
    assert (site.now - lost.closed_at).total_seconds() == 30
    assert site.lease(again).state is LeaseState.starting


def test_where_this_machine_cannot_look_the_spawners_gone_is_believed(site: Site) -> None:
    grant = site.run("vera")
    site.machine.blind = True
    assert refused(site, "vera", former=Liveness.unknown).code == "still-alive"
    site.ask(site.asking("vera", former=Liveness.gone))
    assert site.lease(grant).cause is Cause.lost


def test_a_start_while_the_former_server_stops_is_refused_with_the_reason(site: Site) -> None:
    grant = site.run("vera")
    site.ended(grant, Liveness.alive)
    refusal = refused(site, "vera", former=Liveness.gone)
    assert refusal.code == "still-stopping"
    assert refusal.retry_after_s
    assert "stopped by its owner" in refusal.message
    assert site.held() == [device.id for device in grant.devices]


def test_a_stopping_server_whose_process_this_machine_sees_gone_is_over(site: Site) -> None:
    grant = site.run("vera")
    site.ended(grant, Liveness.unknown)
    assert site.lease(grant).state is LeaseState.stopping
    process = site.lease(grant).process
    assert process is not None
    site.machine.end(process)
    again = site.ask(site.asking("vera"))
    assert site.lease(grant).state is LeaseState.closed
    assert site.lease(again).state is LeaseState.starting


def test_a_stopping_server_that_nobody_can_look_at_stays(site: Site) -> None:
    grant = site.run("vera")
    site.ended(grant, Liveness.unknown)
    site.machine.blind = True
    assert refused(site, "vera", former=Liveness.gone).code == "still-stopping"


def test_a_late_ask_after_its_report_is_refused(site: Site) -> None:
    asked = site.asking("vera")
    told = Report(kind=ReportKind.ended, key=asked.key, liveness=Liveness.gone, refused=True)
    site.governor.report(asked.attempt_id, told, now=site.now)
    with pytest.raises(RefusedError, match="already ended") as caught:
        site.ask(asked)
    assert caught.value.code == "attempt-over"
    assert site.governor.leases() == ()


def test_the_attempt_of_a_closed_lease_is_over_for_good(site: Site) -> None:
    asked = site.asking("vera")
    grant = site.ask(asked)
    site.started(grant)
    site.stop(grant)
    with pytest.raises(RefusedError) as caught:
        site.ask(asked)
    assert caught.value.code == "attempt-over"


def test_a_second_server_of_the_same_person_is_its_own_lease(site: Site) -> None:
    first, second = site.run("sam"), site.run("sam", server="two")
    assert first.lease_id != second.lease_id
    assert len(set(site.held())) == 2


def test_a_bad_choice_leaves_a_running_server_alone(site: Site) -> None:
    grant = site.run("vera")
    site.machine.blind = True
    refusal = refused(site, "vera", "nonsense")
    assert refusal.code == "unknown-profile"
    assert site.lease(grant).state is LeaseState.running


def test_what_would_wait_is_refused_with_figures_and_closed_as_not_queued(site: Site) -> None:
    site.run("sam", "two")
    site.run("vera")
    refusal = refused(site, "viktor")
    assert (refusal.code, refusal.status) == ("would-queue", 409)
    assert refusal.figures["why"]
    assert refusal.retry_after_s
    view = site.governor.view(site.asking("viktor").key, now=site.now)
    assert view.ended is not None
    assert (view.ended.cause, view.ended.devices) == (Cause.not_queued, ())
    assert view.ended.reason is not None
    assert view.ended.reason.figures


def test_what_is_never_allowed_is_denied_with_403(site: Site) -> None:
    refusal = refused(site, "sam", "small")
    assert refusal.status == 403
    assert site.governor.leases() == ()


def test_who_asks_cannot_choose_the_hub_in_the_key(site: Site) -> None:
    asked = site.asking("vera")
    other = asked.model_copy(update={"key": asked.key.model_copy(update={"hub": "elsewhere"})})
    assert site.ask(other).key.hub == "hub"


def test_a_profile_without_a_gpu_holds_no_device_and_no_quota(site: Site) -> None:
    grant = site.run("vera", "cpu")
    lease = site.lease(grant)
    assert (lease.standing, lease.units, lease.devices) == (Standing.unmetered, 0, ())
    assert grant.price_micro_per_hour is None


PINNED = POLICY.replace(
    "maps: {team: vision}",
    "maps: {team: vision, environments: {main: {prefix: envs/maps, digest: "
    f"'sha256:{'a' * 64}'}}}}}}",
)


def test_an_environment_is_checked_before_and_a_drifted_one_is_refused(site: Site) -> None:
    site.policy_text = PINNED
    site.restart()
    asked = site.asking("vera")
    with pytest.raises(UncheckedError) as unchecked:
        site.ask(asked)
    environment = unchecked.value.environment
    drifted = RefusedError("environment-drifted", "It is no longer what was agreed.")
    with pytest.raises(RefusedError) as caught:
        site.governor.ask(asked, now=site.now, checks={environment: drifted})
    assert caught.value.code == "environment-drifted"
    ended = site.governor.view(asked.key, now=site.now).ended
    assert ended is not None
    assert (ended.cause, ended.reason.code if ended.reason else "") == (
        Cause.denied,
        "environment-drifted",
    )
    located = environment.model_copy(update={"prefix": "/somewhere/envs/maps"})
    grant = site.governor.ask(asked, now=site.now, checks={environment: located})
    assert isinstance(grant.environment, Environment)
    assert grant.environment.prefix == "/somewhere/envs/maps"


def test_without_a_policy_nothing_is_granted(tmp_path: Path) -> None:
    governor = Governor(Ledger.open(tmp_path), Samples.open(tmp_path), settings_in(tmp_path))
    with pytest.raises(RefusedError) as caught:
        governor.offers(Person(user=UserName("vera"), groups=("vision",)), now=START)
    assert caught.value.code == "no-policy"
    assert governor.health(now=START).status == "failing"
    governor.close()


def test_silent_nodes_have_no_device_to_hand_out(site: Site) -> None:
    site.later(86400)
    refusal = refused(site, "vera")
    assert refusal.code in {"would-queue", "no-device-found"}
    site.report_devices()
    assert site.ask(site.asking("vera")).devices
