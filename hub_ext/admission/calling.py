"""Which leases are called in, and for which requests: the least that makes room for an owner.

It plans and changes nothing. What was called in before comes first, so that planning again gives
the same as long as nothing changed; what is no longer in the plan is no longer needed.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from pydantic import AwareDatetime

from ..lease import LeaseId, LeaseState, OpenLease, PoolName, Reason, Standing, Value
from ..policy.model import Policy
from .call_words import given_up, reason_for
from .decide import Admitted, in_turn
from .engine import targets
from .order import promotions, turn
from .priority import BAND, CALLED_IN, task_weight
from .protection import LIVE, gives_up_hold, in_team, may_preempt, shield
from .quota import ROOT, reach
from .reasons import release_at
from .snapshot import NOBODY, Demand, Scene, Snapshot, scene
from .tree import state_of


class Call(Value):
    """One lease that is to give its devices back, for which request, and when it stops."""

    victim: LeaseId
    for_lease: LeaseId
    stops_at: AwareDatetime
    reason: Reason


class GivenUp(Value):
    """What is held for somebody who borrows and has not started, given up at once for an owner."""

    lease_id: LeaseId
    for_lease: LeaseId
    reason: Reason


@dataclass(frozen=True)
class Plan:
    """All calls, and the requests that start by them, by what is free or by what comes free."""

    calls: tuple[Call, ...] = ()
    given_up: tuple[GivenUp, ...] = ()
    """Holds that go first: nobody loses work by them."""
    served: frozenset[LeaseId] = frozenset()


def plan(snapshot: Snapshot) -> Plan:
    """Choose for all waiting owners together, disjointly; those called in before included.

    An owner is a request inside its team's guarantee. Nobody is called in for what would borrow.
    """
    policy = snapshot.policy
    waits = {
        lease.id: lease
        for lease in snapshot.leases
        if lease.state is LeaseState.queued and lease.pool in policy.pools
    }
    pools = sorted({PoolName(str(lease.pool)) for lease in waits.values()})
    made = [_of_pool(snapshot, pool, waits) for pool in pools]
    return Plan(
        calls=tuple(call for one in made for call in one.calls),
        given_up=tuple(hold for one in made for hold in one.given_up),
        served=frozenset(request for one in made for request in one.served),
    )


def _of_pool(snapshot: Snapshot, pool: PoolName, waits: dict[LeaseId, OpenLease]) -> "_Planning":
    # What is looked at before another team gets it comes free within seconds: nobody ends for it.
    snapshot = snapshot.model_copy(update={"unclean": {}}) if snapshot.unclean else snapshot
    view = scene(snapshot, pool, without=NOBODY, lease_id=None)
    demands = sorted(view.waiting, key=turn)
    ending = {one.id for one in snapshot.leases if one.state is LeaseState.stopping}
    planning = _Planning(
        snapshot.policy, snapshot.at, without(view.alone(), ending), frozenset(ending)
    )
    for demand in demands:
        request = waits[LeaseId(demand.tie)]
        if planning.serve(demand, request):
            planning.served.add(request.id)
    return planning


@dataclass
class _Planning:
    """The pool as it will be once all that was decided so far has happened."""

    policy: Policy
    at: datetime
    view: Scene
    ending: frozenset[LeaseId]
    """Leases that stop already."""
    calls: list[Call] = field(default_factory=list)
    given_up: list[GivenUp] = field(default_factory=list)
    served: set[LeaseId] = field(default_factory=set)
    _starts: list[OpenLease] = field(default_factory=list)
    """Requests that start, as they will stand then."""
    _hopeless: dict[tuple[str, ...], datetime] = field(default_factory=dict)
    """By kind of request since when the oldest of it waits that found nobody to call in."""

    def serve(self, demand: Demand, request: OpenLease) -> bool:
        """Give a request what is free or comes free, else call in the least that makes room."""
        kind = (demand.team, demand.project or "", demand.flavor, demand.task_type or "")
        if kind in self._hopeless and request.state_since >= self._hopeless[kind]:
            return False
        if self._take(demand, request, ()):
            return True
        held = self._holds(demand, request)
        called = [one for one in self._there() if self._called(one, request)]
        chosen = self._least(demand, held) or self._least(demand, called)
        if chosen is None and self._comes_free(demand, request):
            return True
        if chosen is None:
            others = (*called, *self._candidates(demand, request))
            chosen = self._victims(demand, request, (*held, *others))
        if chosen is None:
            self._hopeless[kind] = request.state_since
            return False
        self._take(demand, request, chosen)
        self._hopeless = {}
        self._note(chosen, request)
        return True

    def _note(self, chosen: Iterable[OpenLease], request: OpenLease) -> None:
        for one in chosen:
            if one.state is LeaseState.held:
                why = given_up(self.policy, one, request)
                hold = GivenUp(lease_id=one.id, for_lease=request.id, reason=why)
                self.given_up.append(hold)
            else:
                self.calls.append(self._call(one, request))

    def _holds(self, demand: Demand, request: OpenLease) -> tuple[OpenLease, ...]:
        """What is held for borrowers and may be given up, in this order.

        1. the lower weight
        2. the one held last
        3. lease id

        Not where the server that it replaces is being stopped for it already.
        """
        if not owns_it(self.view, demand):
            return ()
        found = (
            one
            for one in self.view.holding
            if gives_up_hold(self.policy, one, request) and one.replaces not in self.ending
        )
        return tuple(
            sorted(found, key=lambda one: (one.weight, -one.state_since.timestamp(), one.id))
        )

    def _called(self, lease: OpenLease, request: OpenLease) -> bool:
        """Whether a lease is called in and may still be; its time of protection is over."""
        if lease.called_in is None:
            return False
        why = shield(self.policy, lease, request, self.at)
        return why is None or why.code == "protected"

    def _there(self) -> tuple[OpenLease, ...]:
        return tuple(one for one in self.view.holding if one.state in LIVE)

    def _candidates(self, demand: Demand, request: OpenLease) -> tuple[OpenLease, ...]:
        """Leases that nothing protects, in the order in which Kueue would take them.

        1. the lower number, where they run for the same kind of reason
        2. the one assigned last
        3. lease id
        """
        owns = owns_it(self.view, demand)
        if not owns and not may_preempt(self.policy, request):
            return ()
        open_to = (
            one
            for one in self._there()
            if one.called_in is None and self._open(one, request, owns=owns)
        )
        return tuple(sorted(open_to, key=self._order))

    def _open(self, lease: OpenLease, request: OpenLease, *, owns: bool) -> bool:
        """Whether nothing protects a lease; who is no owner takes first from the own team."""
        if shield(self.policy, lease, request, self.at) is not None:
            return False
        if lease.team != request.team:
            return True
        if owns:
            return lease.standing is Standing.borrowed
        return in_team(self.policy, lease, request, self.at) is None

    def _order(self, lease: OpenLease) -> tuple[int, int, float, str]:
        since = lease.assigned_at or lease.requested_at
        borrowed = lease.standing is Standing.borrowed
        weight = lease.weight if borrowed else task_weight(self.policy, lease.task_type)
        return (0 if borrowed else 1, weight, -since.timestamp(), lease.id)

    def _comes_free(self, demand: Demand, request: OpenLease) -> bool:
        """Whether ends that are announced or declared make room in time, so that none is called.

        They can still be put off. So they count only while a call would come early enough after.
        """
        pool = self.policy.pools[demand.pool]
        if self.at >= request.state_since + pool.min_runtime:
            return False
        soon = [
            (end, one.id, one)
            for one in self.view.holding
            if one.called_in is None
            and (end := release_at(one, self.at)) is not None
            and end <= self.at + pool.notice
        ]
        chosen = self._least(demand, [one for _end, _id, one in sorted(soon, key=lambda x: x[:2])])
        return chosen is not None and self._take(demand, request, chosen)

    def _victims(
        self, demand: Demand, request: OpenLease, order: Sequence[OpenLease]
    ) -> list[OpenLease] | None:
        """Choose as the engine does where that makes room; else the first that do.

        The engine knows no devices: what frees enough units may leave no place of the wanted shape.
        """
        if not order:
            return None
        by_id = {str(one.id): one for one in order}
        leases = (*self.view.others, *self._starts, request)
        state = state_of(
            self.view.snapshot.model_copy(update={"leases": leases}),
            self.view.pool,
            numbers={one.id: _number(one) for one in order},
        )
        found = [one.id for one in targets(state, request.id) or ()]
        if found and set(found) <= by_id.keys():
            chosen = [by_id[one] for one in found]
            if self._fits(demand, chosen):
                return chosen
        return self._least(demand, order)

    def _least(self, demand: Demand, order: Sequence[OpenLease]) -> list[OpenLease] | None:
        """Choose the first of `order` that make room, and leave out again what is not needed."""
        if not order or not self._fits(demand, order):
            return None
        low, high = 1, len(order)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self._fits(demand, order[:middle]) else (middle + 1, high)
        chosen = list(order[:low])
        for one in reversed(chosen[:-1]):
            rest = [other for other in chosen if other is not one]
            if self._fits(demand, rest):
                chosen = rest
        return chosen

    def _fits(self, demand: Demand, gone: Iterable[OpenLease]) -> Scene | None:
        """Decide the request as if some leases had ended; the pool after it, if it starts then.

        By the one function that decides: so the end of the set yields a placement, too.
        """
        left = without(self.view, {one.id for one in gone})
        _demand, answer, after = next(iter(in_turn(left, (demand,))))
        fits = isinstance(answer, Admitted) and answer.standing is Standing.guaranteed
        return after if fits else None

    def _take(self, demand: Demand, request: OpenLease, gone: Iterable[OpenLease]) -> bool:
        after = self._fits(demand, gone)
        if after is None:
            return False
        self.view = after
        held = {
            "state": LeaseState.held,
            "standing": Standing.guaranteed,
            "devices": after.taken[-1][1],
        }
        self._starts.append(request.model_copy(update=held))
        return True

    def _call(self, lease: OpenLease, request: OpenLease) -> Call:
        notice = self.policy.pools[str(lease.pool)].notice
        stops_at = lease.called_in.stops_at if lease.called_in else self.at + notice
        return Call(
            victim=lease.id,
            for_lease=request.id,
            stops_at=stops_at,
            reason=reason_for(self.policy, lease, request),
        )


def _number(lease: OpenLease) -> int:
    """Number by which the engine chooses: what is only held goes before all that runs."""
    return -1 if lease.state is LeaseState.held else CALLED_IN * BAND + lease.weight


def owns_it(view: Scene, demand: Demand) -> bool:
    """Whether a request lies inside its team's guarantee, or its project's share of it."""
    queue = view.queue(demand)
    if queue not in view.quotas.nodes:
        return False
    node, covers = reach(view.quotas, queue, demand.units)
    return covers and node != ROOT


def without(view: Scene, gone: Collection[LeaseId]) -> Scene:
    """Give the scene in which some leases have ended, and what they make room for has moved up."""
    left = tuple(one for one in view.others if one.id not in gone)
    secured = any(
        one.id in gone and one.standing is Standing.guaranteed and one.holding
        for one in view.others
    )
    up = set(promotions(view.policy, left)) if secured else set()
    if up:
        guaranteed = {"standing": Standing.guaranteed}
        left = tuple(one.model_copy(update=guaranteed) if one.id in up else one for one in left)
    return replace(view, others=left)
