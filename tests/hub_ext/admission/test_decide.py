"""Stories of one request meeting a pool: what it is told, and what it may hold."""

from datetime import timedelta
from typing import Any

import pytest

from hub_ext.admission.decide import Admitted, Denied, Queued, decide, standing_of
from hub_ext.lease import (
    Cause,
    Device,
    DeviceId,
    LeaseState,
    Notice,
    PoolName,
    Reason,
    ServerKey,
    ServerName,
    Standing,
    UserName,
)
from hub_ext.policy.model import Policy
from tests.support.pools import NOON, Commons, all_devices, make_lease, make_policy, request, team


def three_teams(mode: str = "enforce") -> Policy:
    """Four whole GPUs: vision holds 2 and borrows, nlp holds 1 and waits, audio holds 1, denies."""
    return make_policy(
        {
            "vision": team({"whole": {"nominal": "2", "borrowing_limit": "1"}}, name="vision"),
            "nlp": team(
                {"whole": {"nominal": "1"}, "cut": {"nominal": "0.5"}}, over="queue", name="nlp"
            ),
            "audio": team({"whole": {"nominal": "1"}}, over="deny", name="audio"),
        },
        mode=mode,
    )


def test_inside_the_guarantee_it_is_guaranteed() -> None:
    commons = Commons(three_teams())
    answer = commons.asks("ann", "vision", "one")
    assert isinstance(answer, Admitted)
    assert answer.standing is Standing.guaranteed
    assert answer.reason.code == "guaranteed"
    assert "2 GPUs of pool whole" in answer.reason.message
    assert answer.reason.figures["nominal_gpus"] == "2"
    assert len(answer.devices) == 1


def test_beyond_it_a_borrower_borrows_up_to_its_limit_and_then_waits() -> None:
    commons = Commons(three_teams())
    first = [commons.asks(f"v{n}", "vision", "one") for n in range(4)]
    assert [standing_of(one) for one in first] == [
        Standing.guaranteed,
        Standing.guaranteed,
        Standing.borrowed,
        Standing.would_queue,
    ]
    last = first[-1]
    assert isinstance(last, Queued)
    assert last.reason.code == "borrowing-limit"
    assert last.reason.figures["short_units"] == 840
    assert last.reason.figures["soonest_end"] == "2026-11-30 16:00:00 UTC"
    assert last.retry_after_s == 4 * 3600 - 3 * 60
    assert "The first of them ends in 3h57m at the latest." in last.reason.message
    assert "1 GPU beyond its 2 GPUs" in last.reason.message
    assert "Stop a server" in last.reason.message


def test_a_request_that_straddles_the_guarantee_is_borrowed_whole() -> None:
    commons = Commons(three_teams())
    commons.asks("ann", "vision", "one")
    answer = commons.asks("bob", "vision", "two")
    assert standing_of(answer) is Standing.borrowed


def test_a_team_that_never_borrows_waits_and_one_that_denies_is_told_so() -> None:
    commons = Commons(three_teams())
    commons.asks("n1", "nlp", "one")
    waits = commons.asks("n2", "nlp", "one")
    assert isinstance(waits, Queued)
    assert waits.reason.code == "guarantee-used"
    commons.asks("a1", "audio", "one")
    denied = commons.asks("a2", "audio", "one")
    assert isinstance(denied, Denied)
    assert denied.reason.code == "over-guarantee"
    assert "refuses what exceeds" in denied.reason.message


def test_an_owner_whose_share_is_lent_waits_with_the_borrowers_end() -> None:
    lenders = make_policy(
        {
            "rich": team({"whole": {"nominal": "3"}}, name="rich"),
            "poor": team({"whole": {"nominal": "0"}}, name="poor"),
        },
        whole=3,
    )
    commons = Commons(lenders)
    assert standing_of(commons.asks("p1", "poor", "two")) is Standing.borrowed
    answer = commons.asks("r1", "rich", "two")
    assert isinstance(answer, Queued)
    assert answer.reason.code == "guarantee-lent"
    assert "covers this" in answer.reason.message
    assert answer.reason.figures["soonest_end"] == "2026-11-30 16:00:00 UTC"


def test_nothing_new_is_lent_while_an_owner_waits_in_the_pool() -> None:
    lenders = make_policy(
        {
            "rich": team({"whole": {"nominal": "3"}}, name="rich"),
            "poor": team({"whole": {"nominal": "0"}}, name="poor"),
        },
        whole=3,
    )
    commons = Commons(lenders)
    commons.asks("p1", "poor", "one")
    commons.waits("r1", "rich", "two")
    answer = commons.asks("p2", "poor", "one")
    assert isinstance(answer, Queued)
    assert answer.reason.code == "owner-waits"
    assert standing_of(commons.asks("r2", "rich", "one")) is Standing.would_queue, (
        "r1 is ahead, and its two devices on one machine are spoken for"
    )


def test_nobody_passes_a_request_that_is_ahead_and_fits() -> None:
    policy = make_policy({"a": team({"whole": {"nominal": "2"}}, name="a")}, whole=2)
    commons = Commons(policy)
    commons.asks("u1", "a", "one")
    commons.waits("u2", "a", "one")
    answer = commons.asks("u3", "a", "one")
    assert isinstance(answer, Queued)
    commons.waits("u4", "a", "one", priority=-5)
    first = next(lease for lease in commons.leases if lease.key.user == "u2")
    asked = request(policy, "u2", "a", "one", at=first.requested_at)
    mine = decide(commons.snapshot, asked.model_copy(update={"lease_id": first.id}))
    assert standing_of(mine) is Standing.guaranteed


def test_what_can_never_be_is_denied_with_the_most_it_can_be() -> None:
    policy = make_policy({"a": team({"whole": {"nominal": "1"}}, over="queue", name="a")}, whole=4)
    answer = Commons(policy).asks("u", "a", "two")
    assert isinstance(answer, Denied)
    assert answer.reason.code == "beyond-limits"
    assert answer.reason.figures["potential_gpus"] == "1"


def test_a_pool_for_another_team_is_never_lent() -> None:
    policy = make_policy(
        {
            "a": team({"whole": {"nominal": "1"}}, name="a"),
            "b": team({"cut": {"nominal": "0.5"}}, name="b"),
        }
    )
    reserved = policy.model_copy(
        update={
            "pools": {
                **policy.pools,
                "whole": type(policy.pools["whole"]).model_validate(
                    {
                        "model": "h200-141gb",
                        "for": {"team": "b"},
                        "nodes": [{"name": "node-1", "gpus": 2}],
                    }
                ),
            }
        }
    )
    asked = request(policy, "u", "a", "one")
    for mode in ("observe", "enforce"):
        modes = policy.modes.model_copy(update={"quota": mode})
        snapshot = Commons(reserved.model_copy(update={"modes": modes})).snapshot
        answer = decide(snapshot, asked)
        assert isinstance(answer, Denied)
        assert answer.reason.code == "pool-not-for-team"
        assert "reserved for another team" in answer.reason.message


def test_free_units_without_room_are_a_reason_of_their_own() -> None:
    big = make_policy(
        {"a": team({"cut": {"nominal": "1.875"}}, name="a")},
        cuts=(("1g.18gb",) * 7, ("3g.71gb", "3g.71gb")),
    )
    fragmented = Commons(big)
    fragmented.asks("u1", "a", "half")
    fragmented.asks("u2", "a", "half")
    answer = fragmented.asks("u3", "a", "half")
    assert isinstance(answer, Queued)
    assert answer.reason.code == "no-room"
    assert "7 x 1g.18gb on node-3" in answer.reason.message
    assert answer.reason.figures["soonest_end"] == "2026-11-30 16:00:00 UTC"


def test_two_gpus_on_two_machines_are_no_room_for_two() -> None:
    policy = make_policy({"a": team({"whole": {"nominal": "4"}}, name="a")}, whole=4)
    commons = Commons(policy)
    commons.leases = [
        make_lease(request(policy, f"u{n}", "a", "one"), devices=(device,))
        for n, device in enumerate(
            device for device in commons.devices if device.pool == "whole" and device.gpu == 0
        )
    ]
    answer = commons.asks("v", "a", "two")
    assert isinstance(answer, Queued)
    assert answer.reason.code == "no-room"
    assert "on node-1, 1 x whole GPU on node-2" in answer.reason.message


def test_where_no_agent_has_reported_it_waits_and_says_so() -> None:
    commons = Commons(three_teams(), devices=())
    commons.notes = ("node-1 GPU 0 (h200-141gb): no agent has reported this machine",)
    answer = commons.asks("ann", "vision", "one")
    assert isinstance(answer, Queued)
    assert answer.reason.code == "no-device-found"
    assert "no agent has reported" in answer.reason.message
    assert answer.reason.figures == {
        "pool": "whole",
        "declared": 4,
        "found": 0,
        "retry_after_s": 60,
    }


def test_a_profile_without_a_gpu_is_always_admitted() -> None:
    commons = Commons(three_teams(), devices=())
    answer = commons.asks("ann", "vision", "cpu")
    assert isinstance(answer, Admitted)
    assert answer.standing is Standing.unmetered
    assert answer.devices == ()


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        ({"most_leases_per_person": 1}, "most-leases-per-person"),
        ({"most_leases": 2}, "most-leases"),
        ({"largest_request": "1"}, "largest-request"),
    ],
)
def test_caps_are_gates_with_their_own_reason(limits: dict[str, Any], code: str) -> None:
    policy = make_policy({"a": team({"whole": {"nominal": "4"}}, name="a", **limits)})
    commons = Commons(policy)
    commons.asks("ann", "a", "one")
    commons.asks("bob", "a", "one")
    asked = request(policy, "ann", "a", "two")
    other = asked.model_copy(
        update={"key": ServerKey(user=UserName("ann"), server=ServerName("second"))}
    )
    answer = decide(commons.snapshot, other)
    assert isinstance(answer, Queued | Denied)
    assert answer.reason.code == code
    assert isinstance(answer, Denied) == (code == "largest-request")


def test_its_own_former_lease_does_not_stand_in_the_way() -> None:
    policy = make_policy({"a": team({"whole": {"nominal": "1"}}, over="queue", name="a")}, whole=1)
    commons = Commons(policy)
    commons.asks("ann", "a", "one")
    assert standing_of(commons.asks("ann", "a", "one")) is Standing.guaranteed


@pytest.mark.parametrize("mode", ["observe", "advise"])
def test_where_quota_is_not_enforced_a_free_device_is_given_and_the_rule_recorded(
    mode: str,
) -> None:
    commons = Commons(three_teams(mode))
    commons.asks("a1", "audio", "one")
    answer = commons.asks("a2", "audio", "one")
    assert isinstance(answer, Admitted)
    assert answer.standing is Standing.borrowed
    assert answer.would_have is Standing.denied
    assert answer.reason.figures["would_have_code"] == "over-guarantee"
    assert ("would be refused" in answer.reason.message) == (mode == "advise")


@pytest.mark.parametrize("mode", ["observe", "advise", "enforce"])
def test_a_device_that_is_not_free_is_refused_in_every_mode(mode: str) -> None:
    commons = Commons(three_teams(mode))
    full = [
        make_lease(request(commons.policy, f"x{n}", "nlp", "one"), devices=(device,))
        for n, device in enumerate(d for d in commons.devices if d.pool == "whole")
    ]
    commons.leases = full
    answer = commons.asks("ann", "vision", "one")
    assert isinstance(answer, Queued)
    assert answer.reason.code == ("guarantee-lent" if mode == "enforce" else "no-device-free")


def test_more_guaranteed_than_in_service_is_no_fault_of_others() -> None:
    policy = make_policy({n: team({"whole": {"nominal": "1"}}, name=n) for n in "ab"}, whole=2)
    whole = [device for device in all_devices(policy) if device.pool == "whole"]
    commons = Commons(policy, devices=(whole[0],))
    commons.asks("u", "a", "one")
    answer = commons.asks("v", "b", "one")
    assert isinstance(answer, Queued)
    assert answer.reason.code == "capacity-missing"


def test_a_lost_device_that_is_held_does_not_block_the_others_guarantee() -> None:
    policy = make_policy(
        {n: team({"whole": {"nominal": "1"}}, over="queue", name=n) for n in "ab"}, whole=2
    )
    whole = [device for device in all_devices(policy) if device.pool == "whole"]
    commons = Commons(policy, devices=(whole[1],))
    commons.leases = [make_lease(request(policy, "u", "a", "one"), devices=(whole[0],))]
    assert standing_of(commons.asks("v", "b", "one")) is Standing.guaranteed


def test_the_estimate_knows_notices_and_stops() -> None:
    policy = make_policy({"a": team({"whole": {"nominal": "1"}}, over="queue", name="a")}, whole=1)
    commons = Commons(policy)
    commons.asks("ann", "a", "one")
    lease = commons.leases[0]
    stops = NOON + timedelta(minutes=10)
    notice = Notice(
        cause=Cause.culled,
        given_at=NOON,
        stops_at=stops,
        reason=Reason(code="idle", message="idle"),
    )
    commons.leases = [lease.model_copy(update={"state": LeaseState.noticed, "notice": notice})]
    answer = commons.asks("bob", "a", "one")
    assert isinstance(answer, Queued)
    assert answer.retry_after_s == 9 * 60
    commons.leases = [lease.model_copy(update={"state": LeaseState.stopping})]
    answer = commons.asks("bob", "a", "one")
    assert isinstance(answer, Queued)
    assert answer.retry_after_s == 5


def test_a_lease_of_a_pool_that_left_the_policy_harms_nobody() -> None:
    commons = Commons(three_teams())
    device = Device(id=DeviceId("GPU-x"), pool=PoolName("old"), node="n", gpu=0, model="v100")
    gone = make_lease(
        request(commons.policy, "x", "nlp", "one"), devices=(device,), pool="old", team="former"
    )
    commons.leases = [gone, gone.model_copy(update={"state": LeaseState.queued, "id": "q"})]
    assert standing_of(commons.asks("ann", "vision", "one")) is Standing.guaranteed
