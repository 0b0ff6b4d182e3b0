"""The line of those who wait, and the second look at what is held for somebody."""

from hypothesis import given

from hub_ext.admission.decide import Admitted, Denied, Queued, decide, offers, reconsider
from hub_ext.admission.decision import Request
from hub_ext.admission.order import turn
from hub_ext.admission.queue import line
from hub_ext.admission.snapshot import waiting_demand
from hub_ext.lease import LeaseState, OpenLease, Standing
from hub_ext.policy.model import Policy
from tests.hub_ext.admission.test_laws import policies, steps
from tests.support.pools import Commons, make_policy, person, request, team

Load = list[tuple[str, str, int, str]]
SHARED = {"a": team({"whole": {"nominal": "1"}}, name="a", over="borrow")}


def loaded(policy: Policy, load: Load) -> Commons:
    commons = Commons(policy)
    for step, name, number, profile in load:
        user = f"{name}-{number}"
        if step == "ends" or any(lease.key.user == user for lease in commons.leases):
            commons.ends(user)
        elif step == "asks" or profile == "cpu":
            commons.asks(user, name, profile)
        else:
            commons.waits(user, name, profile)
    return commons


def again(commons: Commons, lease: OpenLease) -> Request:
    asked = request(
        commons.policy, lease.key.user, lease.team, lease.profile, at=lease.requested_at
    )
    return asked.model_copy(update={"lease_id": lease.id, "priority": lease.priority})


@given(policies(), steps)
def test_the_line_answers_each_as_a_start_would_be(policy: Policy, load: Load) -> None:
    commons = loaded(policy, load)
    for waiting in line(commons.snapshot):
        answer = decide(commons.snapshot, again(commons, waiting.lease))
        assert type(answer) is type(waiting.decision)
        if isinstance(answer, Queued | Denied) and isinstance(waiting.decision, Queued | Denied):
            assert answer.reason.code == waiting.decision.reason.code


@given(policies(), steps)
def test_places_follow_the_order_and_what_the_line_gives_is_there(
    policy: Policy, load: Load
) -> None:
    commons = loaded(policy, load)
    held = {device.id for lease in commons.leases if lease.holding for device in lease.devices}
    by_pool: dict[str, list[OpenLease]] = {}
    for waiting in line(commons.snapshot):
        mates = by_pool.setdefault(str(waiting.lease.pool), [])
        mates.append(waiting.lease)
        assert waiting.place == len(mates)
        if isinstance(waiting.decision, Admitted):
            ids = {device.id for device in waiting.decision.devices}
            assert not ids & held
            held |= ids
    for pool, mates in by_pool.items():
        keys = [turn(waiting_demand(lease, lease.pool)) for lease in mates if lease.pool]
        assert keys == sorted(keys), pool
    queued = [one for one in commons.leases if one.state is LeaseState.queued and one.pool]
    assert sum(map(len, by_pool.values())) == len(queued)


@given(policies(), steps)
def test_offers_share_their_work_and_say_the_same(policy: Policy, load: Load) -> None:
    commons = loaded(policy, load)
    sheet = offers(commons.snapshot, person("newcomer", "a"))
    for offer in sheet.offers:
        asked = request(policy, "newcomer", offer.team, offer.profile, at=commons.now)
        answer = decide(commons.snapshot, asked)
        assert answer.reason == offer.reason


def test_a_hold_is_not_passed_by_an_earlier_request_at_the_claim() -> None:
    policy = make_policy({**SHARED}, whole=2)
    commons = Commons(policy)
    commons.asks("a-1", "a", "one")
    commons.waits("a-2", "a", "two")
    late = commons.waits("a-3", "a", "one")
    held = tuple(one for one in commons.devices if one.pool == "whole")[1:]
    kept = late.model_copy(
        update={"state": LeaseState.held, "devices": held, "standing": Standing.borrowed}
    )
    commons.leases = [one for one in commons.leases if one.id != late.id] + [kept]
    commons.ends("a-1")
    answer = reconsider(commons.snapshot, again(commons, kept), held)
    assert isinstance(answer, Admitted)
    assert answer.devices == held


def test_a_hold_whose_device_has_gone_gets_another_or_waits() -> None:
    policy = make_policy({**SHARED}, whole=2)
    commons = Commons(policy)
    late = commons.waits("a-3", "a", "one")
    gone, left = commons.devices[0], commons.devices[1]
    commons.devices = (left,)
    answer = reconsider(commons.snapshot, again(commons, late), (gone,))
    assert isinstance(answer, Admitted)
    assert answer.devices == (left,)
    commons.devices = ()
    assert isinstance(reconsider(commons.snapshot, again(commons, late), (gone,)), Queued)
