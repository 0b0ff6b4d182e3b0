"""What every part of the core works with: the ledger, the policy in force, the devices found.

It decides nothing. All of it is used in one thread alone.
"""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ...admission.priority import arriving
from ...admission.queue import Waiting
from ...admission.snapshot import Snapshot
from ...errors import LedgerError
from ...idle.onrecord import OnRecord
from ...lease import (
    GOVERNOR,
    Actor,
    Device,
    DeviceId,
    Event,
    LeaseId,
    Liveness,
    OpenLease,
    ServerKey,
    Verdict,
    WaitsFor,
)
from ...lease.budgets import Budgeted
from ...lease.reserving import Reserved
from ...ledger.samples import Samples
from ...ledger.store import Ledger, Tx
from ...metering import remembering
from ...policy.catalogue import Resolved
from ...policy.model import IdleRule, Policy
from ..basis.refusals import no_such_lease
from .activity import Activities
from .alike import Alike
from .anomalybook import AnomalyBook
from .breaker import Breaker
from .budgetclosure import SpentClosure
from .budgeting import Budgets
from .budgetrecord import Reached
from .bynode import ByNode
from .config import Settings
from .exemptions import Exemptions
from .failing import Failing
from .floor import Floor
from .foreseen import Foreseen
from .heldfor import HeldFor
from .keepbook import KeepBook
from .kueuebook import KueueBook
from .kueueforeign import beside
from .leasefacts import FactsBook
from .moving import Moves
from .outages import Outages, serving
from .outwardbook import OutwardBook
from .pastleases import PastLeases
from .pinbook import DevicePins
from .policybook import PolicyBook
from .ranks import Ranks
from .reservedtimes import Times, horizon
from .sizebook import SizeBook
from .waited import Waits

Probe = Callable[[OpenLease], Liveness]
"""Looks on this machine whether the process behind a lease lives; `unknown` where it cannot."""


def nobody_knows(_lease: OpenLease) -> Liveness:
    """Answer of a probe that has no right or means to look."""
    return Liveness.unknown


def fresh_id() -> LeaseId:
    """Make a lease id that is also a label and a file name everywhere."""
    return LeaseId(f"l-{secrets.token_hex(8)}")


@dataclass
class Desk:
    """The core's things.

    `changed` are servers whose lease was written since it was taken; `strangers` are live servers
    of the hub without a lease, as the last comparison found them, `unassigned` says why, and
    `occupied` are devices that they use.
    """

    ledger: Ledger
    samples: Samples
    settings: Settings
    book: PolicyBook
    floor: Floor
    alive: Probe = nobody_knows
    new_id: Callable[[], LeaseId] = fresh_id
    verdicts: dict[LeaseId, Verdict] = field(default_factory=dict)
    on_record: dict[LeaseId, OnRecord] = field(default_factory=dict)
    """What is on record of their judgements."""
    judged_by: dict[LeaseId, IdleRule] = field(default_factory=dict)
    """By which rule each was judged last."""
    waits_for: dict[LeaseId, WaitsFor] = field(default_factory=dict)
    """What the GPUs of live servers waited for at the last look."""
    anomalies: AnomalyBook = field(default_factory=AnomalyBook)
    alike: Alike = field(default_factory=Alike)
    """What leases of each profile have cost that ended lately."""
    facts: FactsBook = field(default_factory=FactsBook)
    """What reports tell of closed leases."""
    sizes: SizeBook = field(default_factory=SizeBook)
    """Leases that ended lately, by person and project."""
    failing: Failing = field(default_factory=Failing)
    """Whose starts fail again and again."""
    activity: Activities = field(default_factory=Activities)
    """What servers say of themselves."""
    breaker: Breaker = field(default_factory=Breaker)
    """Whether anybody is stopped as idle now."""
    changed: set[ServerKey] = field(default_factory=set)
    strangers: set[ServerKey] = field(default_factory=set)
    gpu_servers: frozenset[tuple[str, str]] | None = None
    """User and name of the servers that hold GPUs on Kubernetes; None before the first look."""
    queue_seen: tuple[tuple[int, int, int], tuple[Waiting, ...]] | None = None
    """The queue's newest answers, with what they were read at."""
    unassigned: dict[ServerKey, str] = field(default_factory=dict)
    occupied: frozenset[DeviceId] = frozenset()
    outages: Outages = field(default_factory=Outages)
    exemptions: Exemptions = field(default_factory=Exemptions)
    keeps: KeepBook = field(default_factory=KeepBook)
    """Which servers were kept by their owners lately, and what leads grant beyond the policy."""
    outward: OutwardBook = field(default_factory=OutwardBook)
    """How telling outside goes."""
    pins: DevicePins = field(default_factory=DevicePins)
    ranks: Ranks = field(default_factory=Ranks)
    calls_seen: set[tuple[LeaseId, LeaseId]] = field(default_factory=set)
    """What would be called in, and for which request, where quota is not enforced: told once."""
    calls_planned: tuple[int, datetime] | None = None
    """The newest record that calls were planned after, and when."""
    foreseen: Foreseen = field(default_factory=Foreseen)
    past: PastLeases = field(default_factory=PastLeases)
    waits: Waits = field(default_factory=Waits)
    moves: Moves = field(default_factory=Moves)
    times: Times = field(default_factory=Times)
    budgets: Budgets = field(default_factory=Budgets)
    reached: Reached = field(default_factory=Reached)
    spent: dict[LeaseId, SpentClosure] | None = None
    """Servers that are to stop because their budget is spent; None before the first look."""
    draining: dict[LeaseId, Reserved] | None = None
    """Borrowed leases that a reservation needs the end of; None before the first look."""
    behind: dict[LeaseId, timedelta] = field(default_factory=dict)
    """By how much the clock was set back under a lease since its start, and not forward again."""
    by_node: ByNode = field(default_factory=ByNode)
    held_for: HeldFor = field(default_factory=HeldFor)
    """Which real devices servers hold on Kubernetes."""
    closed_until: datetime | None = None
    """End of the newest closed month: nothing before it is charged any more."""
    kueue: KueueBook | None = None
    """What is known of Kueue, where it admits; None where the governor does."""
    trouble: str = ""
    """Why the ledger did not take the newest record; empty while it takes them."""
    tried_at: datetime | None = None
    """When it was last tried whether it does."""

    def in_service(self, policy: Policy, *, now: datetime) -> tuple[Device, ...]:
        """Devices that may be handed out, held or not: found, not out, not drained, no stranger's.

        This is the least of what the policy declares, the agents find and administrators allow.
        """
        found, _drift = self.floor.devices(policy, now=now)
        there = serving(found, self.outages, now, policy.notice.lifetime)
        if not self.occupied:
            return there
        return tuple(
            device for device in there if self.occupied.isdisjoint({device.id, device.driver_id})
        )

    def closed_words(self, policy: Policy, *, now: datetime) -> tuple[str, ...]:
        """Say what keeps devices out of service, a sentence each."""
        return self.outages.words(now, policy.notice.lifetime, policy.timezone)

    @contextmanager
    def turn(self, now: datetime, actor: Actor = GOVERNOR) -> Iterator["Turn"]:
        """Open one transaction at one instant for one actor; commit at its end.

        Raises
        ------
        LedgerError
            When the record could not be made; then nothing of the turn happened.
        """
        try:
            with self.ledger.transaction() as tx:
                yield Turn(self, tx, now, actor)
        except LedgerError as error:
            self.trouble = str(error)
            raise


@dataclass(frozen=True)
class Turn:
    """One transaction, at one instant, for one actor."""

    desk: Desk
    tx: Tx
    now: datetime
    actor: Actor

    def record(self, lease: OpenLease) -> OpenLease:
        """Write a lease's new value and remember that its server has news.

        Where it stands otherwise than before, how it stood is kept: that has its own price.
        """
        former = self.tx.opened(lease.id)
        if former is not None and former.assigned_at is not None:
            lease = remembering(lease, former, self.now)
        self.tx.record(lease, actor=self.actor, at=self.now)
        self.desk.changed.add(lease.key)
        return lease

    def note(self, kind: str, lease: OpenLease, body: dict[str, object]) -> None:
        """Add an event of another kind that belongs to a lease."""
        self.tx.append(
            Event(kind=kind, at=self.now, lease_id=lease.id, actor=self.actor, body=body)
        )
        self.desk.changed.add(lease.key)

    def found(self, lease_id: LeaseId) -> OpenLease:
        """Return a lease, open or closed.

        Raises
        ------
        RefusedError
            When the ledger never had it.
        """
        lease = self.tx.lease(lease_id)
        if lease is None:
            raise no_such_lease()
        return lease

    def number(self, lease: OpenLease) -> int:
        """Priority number of a request that waits, as of now."""
        return self.desk.ranks.weight(self.desk.book.policy, lease, self.now).number

    def arriving(self, resolved: Resolved, since: datetime) -> int:
        """Priority number of a request that arrives; `since` is its place among those that wait."""
        recent = self.desk.ranks.recent.figures
        return arriving(
            self.desk.book.policy,
            resolved.weight,
            resolved.person.user,
            recent,
            self.now - since,
        )

    def reserved(self, policy: Policy) -> tuple[Reserved, ...]:
        """Times of reservations that have begun, or that a lease started now could run into."""
        every = self.tx.reservations()
        if not every:
            return ()
        last = self.now + horizon(policy)
        return self.desk.times.between(every, self.tx.leases(), self.now, last)

    def budgets(self, policy: Policy) -> tuple[Budgeted, ...]:
        """What budgets stand at, in their present periods and those that a start can touch."""
        generation = self.desk.book.state.generation
        return self.desk.budgets.now(self.tx, policy, generation, self.now)

    @property
    def policy(self) -> Policy:
        """The policy in force, with the quota in it that leads have moved between projects.

        Raises
        ------
        RefusedError
            While no policy is in force.
        """
        return self.desk.moves.over(self.tx, self.desk.book.policy, self.now)

    def snapshot(self) -> Snapshot:
        """Freeze what a decision looks at.

        Raises
        ------
        RefusedError
            While no policy is in force.
        """
        policy, single = self.policy, self.desk.settings.kube_namespace
        every = self.tx.leases()
        self.desk.floor.take_held(one.id for lease in every for one in lease.devices)
        _found, drift = self.desk.floor.devices(policy, now=self.now)
        devices = self.desk.in_service(policy, now=self.now)
        leases = self.desk.ranks.numbered(policy, every, self.now)
        batch = beside(self.desk.kueue, policy, leases, devices, single=single, now=self.now)
        return Snapshot(
            policy=policy,
            generation=self.desk.book.state.generation,
            at=self.now,
            leases=(*leases, *batch) if batch else leases,
            recent=self.desk.ranks.recent.figures,
            devices=devices,
            notes=(*drift, *self.desk.closed_words(policy, now=self.now)),
            maintenance=self.desk.outages.announced(self.now),
            reservations=self.reserved(policy),
            budgets=self.budgets(policy),
            pinned=self.desk.pins.owners_in(policy),
            unclean={one: kept.team for one, kept in self.desk.outages.unclean.items()},
        )
