"""Days of random load on one pool, decided by admission alone: who waited how long, what was told.

Time goes from event to event: somebody comes, a server ends, a call comes due. Seeded.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from heapq import heappop, heappush
from random import Random
from statistics import fmean
from typing import Any

from hub_ext.admission.calling import plan
from hub_ext.admission.decide import Admitted
from hub_ext.admission.forecast import Known, forecast
from hub_ext.admission.lives import Lives, Past, lives
from hub_ext.admission.order import promotions
from hub_ext.admission.owners import owners
from hub_ext.admission.priority import ranking, started, weight_of
from hub_ext.admission.queue import line
from hub_ext.admission.snapshot import NOBODY, scene
from hub_ext.lease import (
    CalledIn,
    Cause,
    Forecast,
    LeaseId,
    LeaseState,
    Notice,
    OpenLease,
    PoolName,
    Standing,
)
from hub_ext.policy.model import Policy
from tests.support.pools import NOON, Commons, make_lease, request

POOL = PoolName("gpus")
SIZES = {"one": 1, "two": 2, "four": 4}


def shared_pool(teams: dict[str, str], *, nodes: int = 1, **rules: Any) -> Policy:
    """One pool of whole GPUs, eight a machine, guaranteed to teams as given; all may borrow."""
    profile = {"cpu": "2", "memory": "4GiB", "lifetime": {"default": "4h", "longest": "12h"}}
    return Policy.model_validate(
        {
            "version": 1,
            "currency": "EUR",
            "modes": {"quota": "enforce"},
            "pools": {
                POOL: {
                    "model": "h200-141gb",
                    "nodes": [{"name": f"node-{n}", "gpus": 8} for n in range(nodes)],
                    "min_runtime": "30m",
                    "notice": "15m",
                    **rules,
                }
            },
            "teams": {
                name: {"groups": [name], "over_quota": "borrow", "quota": {POOL: {"nominal": own}}}
                for name, own in teams.items()
            },
            "profiles": {
                name: {**profile, "title": name, "pool": POOL, "flavor": {"gpus": count}}
                for name, count in SIZES.items()
            },
        }
    )


@dataclass
class Arrival:
    """Somebody who comes: what they want, how long they declare, and how long they really stay."""

    user: str
    team: str
    profile: str
    at: datetime
    declared: timedelta
    stays: timedelta


@dataclass
class Waited:
    """One request that had to wait, once it started; `told` is the forecast of its arrival."""

    arrival: Arrival
    since: datetime
    started: datetime
    told: Forecast | None
    owed_since: datetime | None
    """Since when it was inside its guarantee and first in its team's line."""

    @property
    def owed(self) -> timedelta:
        """How long it waited while it was owed a start."""
        return self.started - (self.owed_since or self.started)


@dataclass
class Week(Commons):
    """A pool and its people. From `foretell_from` on
    a forecast is asked for whenever somebody begins to wait."""

    policy: Policy
    arrivals: list[Arrival]
    foretell_from: datetime | None = None
    learned: int = 300
    waited: list[Waited] = field(default_factory=list)
    calls: int = 0

    def __post_init__(self) -> None:
        super().__init__(self.policy)
        self._who: dict[LeaseId, Arrival] = {}
        self._told: dict[LeaseId, Forecast | None] = {}
        self._owed: dict[LeaseId, datetime] = {}
        self._ended: list[Past] = []
        self._events: list[tuple[datetime, int, str, object]] = []
        self._serial = 0
        for one in self.arrivals:
            self._at(one.at, "comes", one)

    def first_since(self, one: Waited) -> datetime:
        """When a request was first of its team's line: bounds count from there."""
        before = [
            other.started
            for other in self.waited
            if other.arrival.team == one.arrival.team and other.since < one.since
        ]
        return max((at for at in (*before, one.since) if at <= one.started), default=one.since)

    def _at(self, at: datetime, kind: str, what: object) -> None:
        self._serial += 1
        heappush(self._events, (at, self._serial, kind, what))

    def run(self) -> list[Waited]:
        """Let all of it happen; return who had to wait, in the order of their starts."""
        while self._events:
            self.now, _serial, kind, what = heappop(self._events)
            if isinstance(what, Arrival):
                self._comes(what)
            elif kind == "ends":
                self._end(LeaseId(str(what)))
            elif kind == "stops":
                self._stop_called(LeaseId(str(what)))
            self._settle()
        return self.waited

    def _comes(self, who: Arrival) -> None:
        asked = request(self.policy, who.user, who.team, who.profile, at=self.now)
        lease = make_lease(
            asked,
            state=LeaseState.queued,
            standing=Standing.would_queue,
            id=LeaseId(f"l-{self._serial:06d}"),
            ends_at=None,
        ).model_copy(
            update={
                "choice": asked.resolved.choice.model_copy(
                    update={"lifetime_s": int(who.declared.total_seconds())}
                )
            }
        )
        self._who[lease.id] = who
        self.leases.append(lease)
        self._at(self.now + self.policy.pools[POOL].min_runtime, "look", None)

    def _settle(self) -> None:
        """Start what may, promote, plan calls, until nothing changes; then foretell."""
        self._number()
        while any(self._start(one.lease, one.decision) for one in line(self.snapshot)):
            self._number()
        for name in promotions(self.policy, self.leases):
            self._change(name, standing=Standing.guaranteed)
        self._call()
        self._note_owed()
        new = [one for one in self.leases if one.id in self._who and one.id not in self._told]
        waiting = [one for one in new if one.state is LeaseState.queued]
        told = (
            forecast(
                self.snapshot, Known(self._lives(), tuple(self._ended[-self.learned :]))
            ).waiting
            if waiting and self.foretell_from is not None and self.now >= self.foretell_from
            else {}
        )
        for one in new:
            self._told[one.id] = told.get(one.id)

    def _number(self) -> None:
        rules = ranking(self.policy)
        self.leases = [
            one.model_copy(
                update={"priority": weight_of(self.policy, rules, one, {}, self.now).number}
            )
            if one.state is LeaseState.queued
            else one
            for one in self.leases
        ]

    def _lives(self) -> Lives:
        return lives(self._ended[-self.learned :])

    def _start(self, lease: OpenLease, decision: object) -> bool:
        if not isinstance(decision, Admitted):
            return False
        who = self._who[lease.id]
        if self.now > lease.requested_at:
            self.waited.append(
                Waited(
                    who,
                    lease.requested_at,
                    self.now,
                    self._told.get(lease.id),
                    self._owed.get(lease.id),
                )
            )
        self._change(
            lease.id,
            state=LeaseState.running,
            standing=decision.standing,
            devices=decision.devices,
            assigned_at=self.now,
            started_at=self.now,
            state_since=self.now,
            ends_at=self.now + who.declared,
            longest_end_at=self.now + who.declared,
            priority=started(lease.weight),
        )
        self._at(self.now + min(who.stays, who.declared), "ends", lease.id)
        self._at(self.now + self.policy.pools[POOL].min_runtime, "look", None)
        return True

    def _call(self) -> None:
        """Announce the calls that are new, take back those that are not needed any more."""
        planned = {call.victim: call for call in plan(self.snapshot).calls}
        for one in list(self.leases):
            if one.called_in is not None and one.id not in planned:
                self._change(one.id, called_in=None, notice=None, state=LeaseState.running)
            call = planned.get(one.id)
            if one.called_in is None and call is not None:
                self.calls += 1
                called = CalledIn(
                    for_lease=call.for_lease,
                    since=self.now,
                    stops_at=call.stops_at,
                    reason=call.reason,
                )
                notice = Notice(
                    cause=Cause.preempted,
                    given_at=self.now,
                    stops_at=call.stops_at,
                    reason=call.reason,
                )
                self._change(one.id, called_in=called, notice=notice, state=LeaseState.noticed)
                self._change(call.for_lease, caller_since=self.now)
                self._at(call.stops_at, "stops", one.id)

    def _stop_called(self, name: LeaseId) -> None:
        lease = next((one for one in self.leases if one.id == name), None)
        if lease is None or lease.called_in is None or lease.called_in.stops_at > self.now:
            return
        self.leases.remove(lease)

    def _end(self, name: LeaseId) -> None:
        lease = next((one for one in self.leases if one.id == name), None)
        if lease is None or lease.assigned_at is None:
            return
        who = self._who[name]
        lived = self.now - lease.assigned_at
        self._ended.append(
            Past(lease.requested_at, who.team, None, who.profile, who.declared, lived)
        )
        self.leases.remove(lease)

    def _note_owed(self) -> None:
        view = scene(self.snapshot, POOL, without=NOBODY, lease_id=None)
        first: dict[str, LeaseId] = {}
        ranked = sorted(view.waiting, key=lambda one: (-one.priority, one.requested_at, one.tie))
        for one in ranked:
            first.setdefault(one.team, LeaseId(one.tie))
        inside = {LeaseId(one.demand.tie) for one in owners(view)}
        for name in first.values():
            if name in inside:
                self._owed.setdefault(name, self.now)
            else:
                self._owed.pop(name, None)

    def _change(self, name: LeaseId, **fields: object) -> None:
        self.leases = [
            one.model_copy(update=fields) if one.id == name else one for one in self.leases
        ]


def random_arrivals(
    seed: int, teams: dict[str, float], *, days: float, sizes: dict[str, int]
) -> list[Arrival]:
    """People of each team come at random, so many an hour; by day twice as many as by night."""
    luck = Random(seed)
    made: list[Arrival] = []
    for team, per_hour in teams.items():
        at, number = NOON, 0
        while True:
            at += timedelta(hours=luck.expovariate(per_hour))
            if at > NOON + timedelta(days=days):
                break
            night = not 8 <= at.hour < 20
            if night and luck.random() < 0.5:
                continue
            number += 1
            declared = luck.choice([timedelta(hours=h) for h in (1, 2, 4, 4, 8)])
            stays = luck.choice([1.0, 1.0, luck.uniform(0.1, 1.0), luck.uniform(0.05, 0.5)])
            (profile,) = luck.choices(list(sizes), list(sizes.values()))
            made.append(Arrival(f"{team}-{number}", team, profile, at, declared, declared * stays))
    return made


@dataclass(frozen=True)
class Told:
    """How good forecasts were: how many starts they covered, and their interval scores in hours.

    The score is Gneiting and Raftery's for 80 %: width, and ten times what a start lies outside.
    `quantiles_h` is that of the past week's waits of the same profile, from 10 % to 90 %.
    """

    starts: int
    covered: int
    score_h: float
    quantiles_h: float


def judged(waited: list[Waited]) -> Told:
    """Hold what was told against what came."""
    told = [one for one in waited if one.told is not None and one.told.earliest is not None]
    covered = sum(_inside(one) for one in told)
    ours, others = [], []
    for one in told:
        assert one.told is not None
        assert one.told.earliest is not None
        past = sorted(
            _hours(other.started - other.since)
            for other in waited
            if other.started <= one.since
            and other.arrival.profile == one.arrival.profile
            and other.since >= one.since - timedelta(days=7)
        )
        if one.told.latest is None or len(past) < LEAST_PAST:
            continue
        real = _hours(one.started - one.since)
        first = _hours(one.told.earliest - one.since)
        ours.append(_score(first, _hours(one.told.latest - one.since), real))
        others.append(_score(past[len(past) // 10], past[len(past) * 9 // 10], real))
    return Told(len(told), covered, fmean(ours), fmean(others))


LEAST_PAST = 10
"""So many waits of a profile before their quantiles say anything."""


def _inside(one: Waited) -> bool:
    told = one.told
    if told is None or told.earliest is None or one.started < told.earliest:
        return False
    return told.latest is None or one.started <= told.latest


def _hours(span: timedelta) -> float:
    return span / timedelta(hours=1)


def _score(first: float, last: float, real: float) -> float:
    return last - first + 10 * max(0.0, first - real) + 10 * max(0.0, real - last)


def a_week(seed: int, *, days: float) -> Week:
    """Three teams that ask for as much as there is; forecasts from the second day on."""
    policy = shared_pool({"a": "2", "b": "4", "c": "2"}, starve_after="6h", normal_lifetime="8h")
    people = random_arrivals(
        seed,
        {"a": 1.3, "b": 0.5, "c": 0.45},
        days=days,
        sizes={"one": 6, "two": 2, "four": 1},
    )
    return Week(policy, people, foretell_from=NOON + timedelta(days=1))
