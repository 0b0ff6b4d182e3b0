"""People, and faults that hit a governor and its Kueue in the middle; what must hold whatever.

The same life is led on the small Kueue and on the real one; who breaks what is handed in.
"""

from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

from hub_ext.errors import RefusedError
from hub_ext.lease import Ask, Grant, LeaseId, LeaseState, OpenLease, ServerKey, When
from hub_ext.policy.capacity import capacity

from .governed_kueue import Cluster

Fault = Callable[[], Awaitable[None]]
PEOPLE = ("vera", "viktor", "sam", "sue")
PROFILES = ("one", "one", "two", "small")
MICRO_PER_S = {"one": 1000, "two": 2000, "small": 200}
"""Prices of the policy of `governing`: 3.60 an hour for a GPU, 0.72 for the MIG device."""


@dataclass
class Life:
    """What people do on one cluster, and what they were given.

    Parameters
    ----------
    breaks, mends
        What may go wrong, by name, and how it ends.
    """

    cluster: Cluster
    chance: Random
    breaks: dict[str, Fault]
    mends: dict[str, Fault]
    broken: str = ""
    granted: dict[ServerKey, Grant] = field(default_factory=dict)
    running: set[LeaseId] = field(default_factory=set)
    profiles: dict[LeaseId, str] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)

    async def live(self, steps: int) -> None:
        """Take so many steps; then all is mended, comes to rest, ends, and is counted."""
        for _n in range(steps):
            await self.step()
            await self.cluster.core.run(lambda _core, _now: self._holds())
        await self._mend()
        await self.cluster.until(self._at_rest, "all is as it should be")
        await self._end_all()
        await self._check_charges()

    async def step(self) -> None:
        """One thing happens."""
        acts: dict[Callable[[], Awaitable[None]], int] = {
            self._ask: 8,
            self._claim: 6,
            self._up: 6,
            self._end: 4,
            self._cancel: 1,
            self._wait: 3,
            self._break: 2,
            self._mend: 4,
        }
        act = self.chance.choices(list(acts), list(acts.values()))[0]
        await act()

    async def _ask(self) -> None:
        key = self.chance.choice(PEOPLE), self.chance.choice(["", "b"])
        profile = self.chance.choice(PROFILES)
        when = self.chance.choice([None, When.start, When.hold])
        await self._asks(self.cluster.site.asking(key[0], profile, server=key[1], when=when))

    async def _claim(self) -> None:
        """Somebody whose turn has come starts the server."""
        held = [one for one in await self.cluster.leases() if one.state is LeaseState.held]
        if held:
            lease = self.chance.choice(held)
            user, server = lease.key.user, lease.key.server
            await self._asks(self.cluster.site.asking(user, lease.profile, server=server))

    async def _asks(self, asked: Ask) -> None:
        known = self.granted.get(asked.key)
        if known is not None and known.lease_id in self.running:
            return
        try:
            grant = await self.cluster.ask(asked)
        except RefusedError as refused:
            self.done[f"refused {refused.code}"] += 1
            return
        self.done["granted"] += 1
        self.granted[asked.key] = grant
        self.profiles[grant.lease_id] = grant.profile

    async def _up(self) -> None:
        """A server that was granted comes up."""
        waiting = [one for one in self.granted.values() if one.lease_id not in self.running]
        if not waiting:
            return
        grant = self.chance.choice(waiting)
        await self.cluster.core.run(lambda _core, _now: self.cluster.site.started(grant))
        self.running.add(grant.lease_id)

    async def _end(self) -> None:
        """A server ends: its owner's wish, or because it was stopped."""
        if self.granted:
            await self._gone(self.chance.choice(list(self.granted.values())))

    async def _gone(self, grant: Grant) -> None:
        await self.cluster.end(grant)
        self.granted.pop(grant.key, None)
        self.running.discard(grant.lease_id)
        self.done["ended"] += 1

    async def _cancel(self) -> None:
        waiting = [one for one in await self.cluster.leases() if one.state is LeaseState.queued]
        if waiting:
            with suppress(RefusedError):
                await self.cluster.cancel(self.chance.choice(waiting))
            self.done["cancelled"] += 1

    async def _wait(self) -> None:
        await self.cluster.later(self.chance.choice([5, 60, 900]))

    async def _break(self) -> None:
        if not self.broken:
            self.broken = self.chance.choice(sorted(self.breaks))
            self.done[f"broken {self.broken}"] += 1
            await self.breaks[self.broken]()

    async def _mend(self) -> None:
        if self.broken:
            broken, self.broken = self.broken, ""
            await self.mends[broken]()
            # An API that was away is asked again after a while of the governor's own clock.
            await self.cluster.later(20)
            await self.cluster.until(lambda: not self.cluster.away(), "it is seen to be back")

    # What follows looks in the core's own thread.

    def _holds(self) -> None:
        """No device is held twice, and no pool holds more than it has, whatever is broken."""
        governor = self.cluster.site.governor
        held = self.cluster.site.held()
        assert len(held) == len(set(held)), held
        for name, pool in governor.policy.pools.items():
            used = sum(one.units for one in governor.leases() if one.holding and one.pool == name)
            assert used <= capacity(pool).units, (name, used)

    def _at_rest(self) -> bool:
        """Whether Kueue holds quota exactly for what holds a device, and knows nothing else."""
        leases = {one.id: one for one in self.cluster.site.governor.leases()}
        there = self.cluster.there()
        if not there <= leases.keys() or self.cluster.away():
            return False
        holding = {name for name, one in leases.items() if _takes_quota(one)}
        counted = {name for name in there if self.cluster.stands(name, "QuotaReserved")}
        return holding <= counted and not self._forgotten(leases, counted - holding)

    def _forgotten(self, leases: dict[LeaseId, OpenLease], extra: set[str]) -> set[str]:
        """Quota of requests that wait is on its way to be held, or to be given back."""
        return {name for name in extra if leases[LeaseId(name)].state is not LeaseState.queued}

    async def _end_all(self) -> None:
        for grant in list(self.granted.values()):
            await self._gone(grant)
        for lease in await self.cluster.leases():
            if lease.state in (LeaseState.queued, LeaseState.held):
                await self.cluster.cancel(lease)
        await self.cluster.until(
            lambda: not self.cluster.there() and not self.cluster.site.governor.leases(),
            "nothing is left",
        )

    async def _check_charges(self) -> None:
        """Each lease was charged from its device to its end, and nothing else was."""
        for lease_id, profile in self.profiles.items():
            lease = await self.cluster.lease(lease_id)
            posted = await self.cluster.postings(lease_id)
            charged = sum(one.amount_micro or 0 for one in posted)
            assert lease.closed_at is not None
            if lease.started_at is None:
                assert charged == 0, lease
                continue
            assert lease.assigned_at is not None
            lasted = lease.closed_at - lease.assigned_at
            assert charged == MICRO_PER_S[profile] * (lasted // timedelta(seconds=1)), lease


def _takes_quota(lease: OpenLease) -> bool:
    return lease.holding and lease.units > 0
