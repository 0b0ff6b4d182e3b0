"""Stories of a GPU that several have in turns: a team packs it, and no other is let in."""

from datetime import timedelta

from hub_ext.admission.decide import Admitted, Queued, offers
from hub_ext.admission.placing import room_after
from hub_ext.admission.room import soonest_room
from hub_ext.admission.snapshot import demand_of, scene
from hub_ext.lease import Isolation, PoolName
from hub_ext.policy.model import Policy
from tests.support.pools import NOON, Commons, person, request, team

POOL = PoolName("turns")


def two_gpus() -> Policy:
    """Two GPUs of two time-shares each; each team is guaranteed one GPU and borrows the other."""
    quota = {"turns": {"nominal": "1", "borrowing_limit": "1"}}
    profile = {
        "title": "Half in turns",
        "pool": "turns",
        "flavor": {"share": 2},
        "cpu": "2",
        "memory": "4GiB",
        "lifetime": {"default": "4h", "longest": "12h"},
    }
    return Policy.model_validate(
        {
            "version": 1,
            "currency": "EUR",
            "modes": {"quota": "enforce"},
            "pools": {
                "turns": {
                    "model": "l40s",
                    "nodes": [{"name": "n", "gpus": 2, "geometry": [{"share": 2}, {"share": 2}]}],
                }
            },
            "teams": {"a": team(quota, name="a"), "b": team(quota, name="b")},
            "profiles": {"turn": profile},
            "prices": [
                {"pool": "turns", "flavor": "share-2", "from": "2026-01-01", "per_hour": "1"}
            ],
        }
    )


def gpu_of(answer: object) -> int:
    assert isinstance(answer, Admitted)
    (device,) = answer.devices
    return device.gpu


def test_a_team_fills_its_gpu_before_it_opens_another() -> None:
    commons = Commons(two_gpus())
    assert gpu_of(commons.asks("a1", "a", "turn")) == 0
    assert gpu_of(commons.asks("a2", "a", "turn")) == 0
    assert gpu_of(commons.asks("a3", "a", "turn")) == 1


def test_another_team_is_never_let_onto_a_gpu_in_use() -> None:
    commons = Commons(two_gpus())
    assert gpu_of(commons.asks("a1", "a", "turn")) == 0
    assert gpu_of(commons.asks("b1", "b", "turn")) == 1
    assert gpu_of(commons.asks("b2", "b", "turn")) == 1
    answer = commons.asks("b3", "b", "turn")
    assert isinstance(answer, Queued)
    assert answer.reason.code == "no-room"
    assert "no room for one of 2 time-shares of a GPU (0.5 GPU)" in answer.reason.message
    # The other team's GPU comes first: its only lease ends before those of its own.
    assert answer.reason.figures["room_on"] == "GPU 0 of n"
    assert answer.soonest_at == NOON + timedelta(hours=4)


def test_a_gpu_of_another_team_makes_room_when_all_of_its_leases_end() -> None:
    commons = Commons(two_gpus())
    for user in ("a1", "a2", "a3"):
        commons.asks(user, "a", "turn")
    asked = request(commons.policy, "b1", "b", "turn", at=commons.now)
    view = scene(commons.snapshot, POOL, without=asked.key, lease_id=None)
    demand = demand_of(asked, POOL)
    ids = {str(lease.key.user): lease.id for lease in commons.leases}
    assert room_after(view, demand, {ids["a1"]}) is None
    room = room_after(view, demand, {ids["a1"], ids["a2"]})
    assert room is not None
    assert room[0].gpu == 0
    assert room_after(view, demand, {ids["a3"]}) is not None
    soonest = soonest_room(view, demand)
    assert soonest is not None
    assert {lease.key.user for lease in soonest.leases} == {"a1", "a2"}
    assert soonest.at == NOON + timedelta(hours=4, minutes=1)


def test_the_form_says_how_it_is_shared_what_it_costs_and_how_many_are_free() -> None:
    commons = Commons(two_gpus())
    commons.asks("a1", "a", "turn")
    (offer,) = offers(commons.snapshot, person("b1", "b")).offers
    assert offer.isolation is Isolation.time_slice
    assert offer.flavor_title == "L40S, shared by up to 2"
    assert offer.flavor == "share-2"
    assert offer.price_micro_per_hour == 1_000_000
    assert offer.free == 2, "the rest of the other team's GPU is not free for this one"
    (own,) = offers(commons.snapshot, person("a2", "a")).offers
    assert own.free == 3
