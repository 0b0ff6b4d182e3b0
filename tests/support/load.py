"""A day of one policy on a real governor: people come, wait, work, are stopped and come again.

Time goes in steps of some minutes. What is measured is what people would feel.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median

from hub_ext.errors import RefusedError
from hub_ext.lease import (
    Ask,
    AttemptId,
    Choice,
    Grant,
    LeaseId,
    LeaseState,
    ProfileName,
    ProjectName,
    ServerKey,
    ServerName,
    Standing,
    TaskTypeName,
    UserName,
    When,
)
from hub_ext.units import UNITS_PER_GPU
from tests.support.governing import Site, site_in

STEP = timedelta(minutes=5)


@dataclass
class Work:
    """Somebody's wish: from when, as what, and for how long; what is taken away is asked again."""

    name: str
    user: str
    groups: tuple[str, ...]
    profile: str
    after: timedelta
    lasts: timedelta
    task_type: str | None = None
    project: str | None = None
    kind: str = "experiment"

    left: timedelta = timedelta(0)
    began: datetime | None = None
    first_began: datetime | None = None
    asked_at: datetime | None = None
    refused: str = ""
    stops: int = 0
    done: bool = False
    lease: LeaseId | None = None
    borrowed: bool = False

    @property
    def waited(self) -> timedelta | None:
        """From the request to the first start."""
        if self.first_began is None or self.asked_at is None:
            return None
        return self.first_began - self.asked_at


@dataclass(frozen=True)
class Felt:
    """What came of one load: waits by kind, what was taken back, what stood idle."""

    waits: dict[str, tuple[timedelta | None, ...]]
    refused: dict[str, int]
    stops: dict[str, int]
    held_percent: int

    def median(self, kind: str) -> timedelta | None:
        """Median wait of those who started."""
        known = [one.total_seconds() for one in self.waits[kind] if one is not None]
        return timedelta(seconds=median(known)) if known else None

    def longest(self, kind: str) -> timedelta | None:
        """Longest wait of those who started."""
        return max((one for one in self.waits[kind] if one is not None), default=None)

    def started(self, kind: str) -> int:
        """How many started at all."""
        return sum(1 for one in self.waits[kind] if one is not None)


@dataclass
class Load:
    """One policy and those who use it for some hours."""

    policy: Path
    pool: str
    works: Sequence[Work]
    hours: int = 12
    held: int = 0
    most: int = 0

    def run(self, state: Path) -> Felt:
        """Let the hours pass."""
        with site_in(state, policy=self.policy.read_text()) as site:
            start = site.now
            while site.now < start + timedelta(hours=self.hours):
                self._step(site, site.now - start)
                site.later(STEP.total_seconds())
        kinds = sorted({work.kind for work in self.works})
        return Felt(
            waits={k: tuple(w.waited for w in self.works if w.kind == k) for k in kinds},
            refused={k: sum(bool(w.refused) for w in self.works if w.kind == k) for k in kinds},
            stops={k: sum(w.stops for w in self.works if w.kind == k) for k in kinds},
            held_percent=100 * self.held // self.most if self.most else 0,
        )

    def _step(self, site: Site, passed: timedelta) -> None:
        site.report_devices()
        site.governor.serve_queue(now=site.now)
        site.governor.review_calls(now=site.now)
        self._end_what_is_over(site)
        for work in self.works:
            if work.after <= passed and not work.done and not work.refused:
                self._go_on(site, work)
        leases = site.governor.leases()
        self.held += sum(one.units for one in leases if one.holding and one.pool == self.pool)
        pool = site.governor.policy.pools[self.pool]
        self.most += UNITS_PER_GPU * sum(node.gpus for node in pool.nodes)

    def _end_what_is_over(self, site: Site) -> None:
        for work in self.works:
            lease = None if work.lease is None else site.governor.lease(work.lease)
            if lease is None or lease.grant is None or not lease.holding:
                continue
            if lease.state is LeaseState.stopping:
                work.stops += 1
                work.left -= site.now - (work.began or site.now)
                work.lease, work.began = None, None
                site.stop(lease.grant)
            elif work.began is not None and site.now - work.began >= work.left:
                work.done = True
                site.stop(lease.grant)

    def _go_on(self, site: Site, work: Work) -> None:
        """Ask, or claim what is held; whoever runs works on."""
        lease = None if work.lease is None else site.governor.lease(work.lease)
        if lease is not None and lease.state is LeaseState.running:
            return
        if lease is not None and lease.state is LeaseState.noticed:
            return
        if work.asked_at is None:
            work.asked_at, work.left = site.now, work.lasts
        asked = self._asked(site, work)
        try:
            pinned = site.governor.environment_of(asked, now=site.now)
            checks = {} if pinned is None else {pinned: pinned}
            grant = site.governor.ask(asked, now=site.now, checks=checks)
        except RefusedError as refusal:
            found = site.governor.view(asked.key, now=site.now).lease
            work.lease = None if found is None else found.id
            work.refused = "" if found is not None else refusal.code
            return
        self._begun(site, work, grant)

    def _begun(self, site: Site, work: Work, grant: Grant) -> None:
        site.started(grant)
        lease = site.lease(grant)
        work.lease, work.began = grant.lease_id, site.now
        work.first_began = work.first_began or site.now
        work.borrowed = lease.standing is Standing.borrowed

    def _asked(self, site: Site, work: Work) -> Ask:
        return Ask(
            attempt_id=AttemptId(f"attempt-{next(site.attempts):06d}"),
            key=ServerKey(user=UserName(work.user), server=ServerName(work.name)),
            groups=work.groups,
            choice=Choice(
                profile=ProfileName(work.profile),
                project=None if work.project is None else ProjectName(work.project),
                lifetime_s=int(work.lasts.total_seconds()),
                task_type=None if work.task_type is None else TaskTypeName(work.task_type),
            ),
            when=When.hold,
        )


def burst(group: str, profile: str, count: int, *, at: timedelta, lasts: timedelta) -> list[Work]:
    """Many small experiments, one every two minutes, each by somebody else."""
    return [
        Work(
            name=f"try-{n}",
            user=f"{group}-{n}",
            groups=(group,),
            profile=profile,
            after=at + n * timedelta(minutes=2),
            lasts=lasts,
        )
        for n in range(count)
    ]
