"""The promises of admission in any sequence of requests, ends, faults and changes of the policy.

A pool on one machine, so that what has units has a place; rules are carried out as the governor
does: who may start starts, who moves up moves up, who is called in is stopped when that is due.
"""

from collections import Counter
from datetime import datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hub_ext.admission.calling import plan
from hub_ext.admission.decide import Admitted, decide
from hub_ext.admission.order import promotions
from hub_ext.admission.priority import HIGHEST, WAITING
from hub_ext.admission.queue import line
from hub_ext.lease import CalledIn, LeaseId, LeaseState, OpenLease, Standing
from hub_ext.policy.model import Policy
from tests.support.pools import NOON, Commons, make_lease, make_policy, request, team

GPU = 840
MINUTES = timedelta(minutes=10)
MIN_RUNTIME, NOTICE = timedelta(minutes=30), timedelta(minutes=15)
BOUND = MIN_RUNTIME + NOTICE + MINUTES
"""What an owner waits at most, and until somebody looks."""
TEAMS = ("a", "b", "c")


def site(a: int, b: int) -> Policy:
    """Four GPUs; a and b are guaranteed some, c only borrows."""
    cut = {"name": "node-3", "gpus": 1, "geometry": [["3g.71gb", "3g.71gb"]]}
    return make_policy(
        {
            name: team({"whole": {"nominal": str(nominal)}}, name=name)
            for name, nominal in (("a", a), ("b", b), ("c", 0))
        },
        pools={
            "whole": {"model": "h200-141gb", "nodes": [{"name": "node-1", "gpus": 4}]},
            "cut": {"model": "h200-141gb", "nodes": [cut]},
        },
    )


class Promises(RuleBasedStateMachine):
    """A site that lives through anything; each look is the governor's."""

    def __init__(self) -> None:
        super().__init__()
        self.commons = Commons(site(2, 1))
        self.every_device = self.commons.devices
        self.asked = 0
        self.first_since: dict[str, tuple[LeaseId, datetime]] = {}

    @initialize(loads=st.lists(st.sampled_from(("c", "c", "b")), min_size=4, max_size=5))
    def opens(self, loads: list[str]) -> None:
        """A pool in use, mostly by those who borrow."""
        for name in loads:
            self.asks(name, "one", wait=True)

    @rule(name=st.sampled_from(TEAMS), profile=st.sampled_from(["one", "two"]), wait=st.booleans())
    def asks(self, name: str, profile: str, *, wait: bool) -> None:
        self.asked += 1
        made = request(
            self.commons.policy, f"{name}-{self.asked}", name, profile, at=self.commons.now
        )
        decision = decide(self.commons.snapshot, made)
        if isinstance(decision, Admitted):
            self._nothing_lent_past_an_owner(name, made.resolved.units, but=None)
            lease = make_lease(
                made, devices=decision.devices, standing=decision.standing, ends_at=None
            )
            self.commons.leases.append(lease.model_copy(update={"assigned_at": self.commons.now}))
        elif wait:
            self.commons.leases.append(
                make_lease(
                    made,
                    state=LeaseState.queued,
                    standing=Standing.would_queue,
                    ends_at=None,
                )
            )
        self.look()

    @precondition(lambda self: self.commons.leases)
    @rule(data=st.data())
    def ends(self, data: st.DataObject) -> None:
        gone = data.draw(st.sampled_from(sorted(one.id for one in self.commons.leases)))
        self._drop(LeaseId(gone))
        self.look()

    @rule(count=st.sampled_from((1, 3)))
    def time_passes(self, count: int) -> None:
        for _ in range(count):
            self.commons.now += MINUTES
            self.look()
            self.an_owner_waits_no_longer_than_was_promised()

    @rule(name=st.sampled_from(("a", "b")))
    def an_owner_comes_and_the_day_goes_on(self, name: str) -> None:
        self.asks(name, "one", wait=True)
        self.time_passes(6)

    @rule(what=st.sampled_from(("fault", "repair", "policy")), n=st.integers(0, 3))
    def something_changes(self, what: str, n: int) -> None:
        match what:
            case "fault":
                gone = self.every_device[n].id
                left = (one for one in self.commons.devices if one.id != gone)
                self.commons.devices = tuple(left)
            case "repair":
                self.commons.devices = self.every_device
            case _:
                self.commons.policy = site(*((2, 1), (1, 2), (2, 2), (0, 1))[n])
                self.first_since = {}
        self.look()

    def look(self) -> None:
        """Stop what is due, let move up, let start, call in: until nothing changes."""
        for _round in range(12):
            before = list(self.commons.leases)
            self._stop_what_is_due()
            for one in promotions(self.commons.policy, self.commons.leases):
                self._change(one, standing=Standing.guaranteed)
            self._start()
            self._call()
            if self.commons.leases == before:
                break
        self._note_who_is_first()

    def _stop_what_is_due(self) -> None:
        now, leases = self.commons.now, self.commons.leases
        due = [one.id for one in leases if one.called_in and one.called_in.stops_at <= now]
        needed = {call.victim for call in plan(self.commons.snapshot).calls} if due else set()
        for lease_id in needed.intersection(due):
            self._drop(lease_id)

    def _start(self) -> None:
        for one in line(self.commons.snapshot):
            if not isinstance(one.decision, Admitted):
                continue
            self._nothing_lent_past_an_owner(one.lease.team, one.lease.units, but=one.lease.id)
            self._change(
                one.lease.id,
                state=LeaseState.running,
                standing=one.decision.standing,
                devices=one.decision.devices,
                assigned_at=self.commons.now,
                priority=2000,
            )

    def _call(self) -> None:
        calls = {call.victim: call for call in plan(self.commons.snapshot).calls}
        callers = {call.for_lease for call in calls.values()}
        for one in list(self.commons.leases):
            call = calls.get(one.id)
            if call is None and one.called_in is not None:
                self._change(one.id, called_in=None, priority=2000)
            elif call is not None and one.called_in is None:
                self._may_be_called(one, self._of(call.for_lease))
                called = CalledIn(
                    for_lease=call.for_lease,
                    since=self.commons.now,
                    stops_at=call.stops_at,
                    reason=call.reason,
                )
                self._change(one.id, called_in=called, priority=0)
            if one.state is LeaseState.queued:
                weight = HIGHEST if one.id in callers else 0
                since = self.commons.now if one.id in callers else None
                self._change(one.id, priority=WAITING * 1000 + weight, caller_since=since)

    def _may_be_called(self, lease: OpenLease, owner: OpenLease) -> None:
        assert lease.standing is Standing.borrowed, "a guarantee is taken for another team"
        assert lease.team != owner.team
        safe = (lease.assigned_at or NOON) + MIN_RUNTIME
        arrived = owner.requested_at + MIN_RUNTIME
        assert self.commons.now >= min(safe, arrived), "called in inside its minimum run time"

    def _nothing_lent_past_an_owner(self, name: str, units: int, *, but: LeaseId | None) -> None:
        if self._used(name) + units <= self._nominal(name):
            return
        waiting = [one for one in self._waiting() if one.id != but and self._owns(one)]
        assert not waiting, f"lent to {name} while {waiting[0].team} waits inside its guarantee"

    def _note_who_is_first(self) -> None:
        """Since when the same owner is first of its team, with all that its promise takes."""
        known, self.first_since = self.first_since, {}
        sound = self.commons.devices == self.every_device and not self._grandfathered()
        for name in TEAMS:
            mine = [one for one in self._waiting() if one.team == name]
            first = min(
                mine, key=lambda one: (-one.priority, one.requested_at, one.id), default=None
            )
            if first is None or not self._owns(first) or not sound:
                continue
            before = known.get(name)
            since = before[1] if before and before[0] == first.id else self.commons.now
            self.first_since[name] = (first.id, since)

    def _grandfathered(self) -> bool:
        return any(self._secured(name) > self._nominal(name) for name in TEAMS)

    def _change(self, lease_id: LeaseId, **what: object) -> None:
        self.commons.leases = [
            one.model_copy(update=what) if one.id == lease_id else one
            for one in self.commons.leases
        ]

    def _drop(self, lease_id: LeaseId) -> None:
        self.commons.leases = [one for one in self.commons.leases if one.id != lease_id]

    def _of(self, lease_id: LeaseId) -> OpenLease:
        return next(one for one in self.commons.leases if one.id == lease_id)

    def _waiting(self) -> list[OpenLease]:
        return [one for one in self.commons.leases if one.state is LeaseState.queued]

    def _nominal(self, name: str) -> int:
        return int(self.commons.policy.teams[name].quota["whole"].nominal)

    def _used(self, name: str) -> int:
        return sum(one.units for one in self.commons.leases if one.holding and one.team == name)

    def _secured(self, name: str) -> int:
        return sum(
            one.units
            for one in self.commons.leases
            if one.holding and one.team == name and one.standing is Standing.guaranteed
        )

    def _owns(self, one: OpenLease) -> bool:
        return self._used(one.team) + one.units <= self._nominal(one.team)

    @invariant()
    def no_device_is_held_twice(self) -> None:
        held = Counter(d.id for one in self.commons.leases if one.holding for d in one.devices)
        assert max(held.values(), default=1) == 1

    @invariant()
    def an_owner_waits_no_longer_than_was_promised(self) -> None:
        for name, (_lease, since) in self.first_since.items():
            assert self.commons.now - since <= BOUND, f"{name} waits since {since}"

    @invariant()
    def where_nothing_is_borrowed_there_is_nobody_to_call(self) -> None:
        for one in self.commons.leases:
            if one.called_in is not None:
                assert one.standing is Standing.borrowed


Promises.TestCase.settings = settings(
    max_examples=20, stateful_step_count=12, deadline=None, derandomize=True
)
TestPromises = Promises.TestCase
