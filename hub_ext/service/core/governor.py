"""The core: everything that the governor decides and records, synchronous, in one thread.

No network, no event loop, no clock: `now` comes with each call. Each method is one turn.
"""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from signal import Signals

from ...errors import PolicyError
from ...lease import (
    GOVERNOR,
    Actor,
    Ask,
    Cause,
    Environment,
    Grant,
    Health,
    LeaseId,
    LeaseView,
    Liveness,
    Notice,
    OpenLease,
    PolicyState,
    ProcessRef,
    QueueSheet,
    Reason,
    Report,
    ServerKey,
    Usage,
    Verdict,
)
from ...ledger.duties import Intent
from ...ledger.generations import Generation
from ...ledger.samples import Samples
from ...ledger.store import Ledger
from ...policy.catalogue import Person, resolve
from ...policy.load import Loaded
from ...policy.model import Policy
from ..books import anomalybook, exemptions, pinbook
from ..books.config import Settings
from ..books.desk import Desk, Probe, fresh_id, nobody_knows
from ..books.kueuebook import book_for
from ..books.outages import read
from ..books.policybook import PolicyBook
from ..books.slots import floor_for
from ..leasing import adopting, attempts, dossier, forgotten, hands, reporting, strangers, views
from ..leasing.dossier import Dossier
from ..money import usage
from ..money.monthclosing import closed_until
from ..money.pastdays import PastDays
from ..reclaim import idleholds, stops
from ..rules import accepting
from ..rules.consent import Consent
from . import health
from .anomaly import AnomalyCore
from .calling import CallingCore
from .capacity import CapacityCore
from .clocks import TimeCore
from .comparing import ComparingCore
from .fleet import FleetCore
from .forecast import ForecastCore
from .idle import IdleCore
from .keep import KeepCore
from .money import MoneyCore
from .month import MonthCore
from .outlook import OutlookCore
from .outward import OutwardCore
from .reserving import ReservingCore
from .samples import SamplesCore
from .serving import ServingCore
from .share import ShareCore
from .spend import SpendCore
from .waiting import QueueCore
from .waits import WaitCore
from .waste import WasteCore
from .worth import WorthCore


class Governor(
    CapacityCore,
    QueueCore,
    ForecastCore,
    ServingCore,
    ShareCore,
    TimeCore,
    ReservingCore,
    CallingCore,
    ComparingCore,
    WaitCore,
    SamplesCore,
    AnomalyCore,
    MonthCore,
    OutlookCore,
    WasteCore,
    FleetCore,
    IdleCore,
    SpendCore,
    WorthCore,
    MoneyCore,
    KeepCore,
    OutwardCore,
):
    """One hub's governor.

    Parameters
    ----------
    alive
        Looks on this machine whether the process behind a lease lives.
    new_id
        Makes lease ids; tests give their own.
    """

    def __init__(
        self,
        ledger: Ledger,
        samples: Samples,
        settings: Settings,
        *,
        alive: Probe = nobody_knows,
        new_id: Callable[[], LeaseId] = fresh_id,
    ) -> None:
        self._desk = Desk(
            ledger=ledger,
            samples=samples,
            settings=settings,
            book=PolicyBook(ledger, settings.kube_namespace or None),
            floor=floor_for(settings),
            kueue=book_for(settings),
            alive=alive,
            new_id=new_id,
            outages=read(ledger),
            exemptions=exemptions.read(ledger),
            anomalies=anomalybook.read(ledger),
            breaker=idleholds.read(ledger),
            pins=pinbook.read(ledger),
            closed_until=closed_until(ledger),
        )
        self._past_days = PastDays()

    # Policy

    @property
    def policy(self) -> Policy:
        """The policy in force; RefusedError while there is none."""
        return self._desk.book.policy

    @property
    def known_policy(self) -> Policy | None:
        """The policy in force, or None."""
        return self._desk.book.known

    @property
    def policy_state(self) -> PolicyState:
        """Generation in force, and what is wrong with a newer file."""
        return self._desk.book.state

    @property
    def policy_text(self) -> str | None:
        """Text of the policy in force."""
        return self._desk.book.text

    def set_policy(self, loaded: Loaded, *, now: datetime, actor: Actor = GOVERNOR) -> int:
        """Bring a checked policy into force and return its generation."""
        return accepting.put(self._desk, loaded, actor, "", now=now)

    def offer_policy(
        self, loaded: Loaded, consent: Consent | None = None, *, now: datetime
    ) -> int | None:
        """Take a changed file, or let it wait; see `accepting.offer`."""
        return accepting.offer(self._desk, loaded, consent, now=now)

    def accept_policy(self, sha256: str, *, reason: str, actor: Actor, now: datetime) -> int:
        """Bring the waiting policy into force; see `accepting.accept`."""
        return accepting.accept(self._desk, sha256, reason, actor, now=now)

    def refuse_policy(self, error: PolicyError, *, now: datetime, actor: Actor = GOVERNOR) -> None:
        """Keep the policy in force, and record what is wrong with the new one."""
        self._desk.book.refuse(error, now=now, actor=actor)

    def newest_policy_text(self) -> str | None:
        """Text of the newest accepted policy, for a start with a broken file."""
        return self._desk.book.newest_text()

    def generations(self, limit: int) -> tuple[Generation, ...]:
        """Newest policies that were in force, newest first."""
        with self._desk.ledger.transaction() as tx:
            return tx.generations(limit)

    # Attempts

    def environment_of(self, asked: Ask, *, now: datetime) -> Environment | None:
        """Environment that a choice would get now, so that its pin is checked before the lock.

        Raises
        ------
        RefusedError
            When the policy does not have the choice for this person.
        """
        person = Person(user=asked.key.user, groups=asked.groups)
        return resolve(self.policy, person, asked.choice, now).environment

    def ask(self, asked: Ask, *, now: datetime, checks: attempts.Checks | None = None) -> Grant:
        """Answer one attempt; see `attempts.ask`."""
        return attempts.ask(self._desk, asked, checks or {}, now=now)

    def report(self, attempt_id: str, told: Report, *, now: datetime) -> None:
        """Take a spawner's report; see `reporting.report`."""
        reporting.report(self._desk, attempt_id, told, now=now)

    # Leases

    def lease(self, lease_id: LeaseId) -> OpenLease | None:
        """One lease, open or closed."""
        with self._desk.ledger.transaction() as tx:
            return tx.lease(lease_id)

    def leases(
        self, *, teams: Collection[str] | None = None, user: str | None = None
    ) -> tuple[OpenLease, ...]:
        """Open leases: of some teams, of a person, or all."""
        with self._desk.ledger.transaction() as tx:
            return tuple(
                lease
                for lease in tx.leases()
                if (teams is None or lease.team in teams)
                and (user is None or lease.key.user == user)
            )

    def view(self, key: ServerKey, *, now: datetime) -> LeaseView:
        """Show a server's lease; see `views.view`."""
        return views.view(self._desk, key, now=now)

    def view_of(self, lease_id: LeaseId, *, now: datetime) -> LeaseView:
        """Show one lease by its id."""
        return views.view_of(self._desk, lease_id, now=now)

    def dossier(self, lease_id: LeaseId, *, now: datetime) -> Dossier:
        """Gather all that is on record about one lease; see `dossier.dossier`."""
        return dossier.dossier(self._desk, lease_id, now=now)

    def ask_stop(
        self, lease_id: LeaseId, *, cause: Cause, reason: Reason, actor: Actor, now: datetime
    ) -> OpenLease:
        """Move a lease to stopping and intend the stop; see `stops.ask_stop`."""
        return stops.ask_stop(
            self._desk, lease_id, cause=cause, reason=reason, actor=actor, now=now
        )

    def give_notice(
        self, lease_id: LeaseId, notice: Notice, *, evidence: Verdict | None, now: datetime
    ) -> OpenLease:
        """Announce a stop, with its evidence."""
        return stops.give_notice(self._desk, lease_id, notice, evidence=evidence, now=now)

    def withdraw_notice(
        self, lease_id: LeaseId, reason: Reason, *, by_owner: bool = False, now: datetime
    ) -> OpenLease:
        """Take an announced stop back; see `stops.withdraw_notice`."""
        return stops.withdraw_notice(self._desk, lease_id, reason, by_owner=by_owner, now=now)

    def extend(self, lease_id: LeaseId, *, seconds: int, actor: Actor, now: datetime) -> OpenLease:
        """Move the end of a lease within its limits."""
        return stops.extend(self._desk, lease_id, seconds=seconds, actor=actor, now=now)

    def seen(
        self,
        lease_id: LeaseId,
        liveness: Liveness,
        process: ProcessRef | None = None,
        *,
        now: datetime,
    ) -> None:
        """Take what the reconciler saw of a server."""
        reporting.seen(self._desk, lease_id, liveness, process, now=now)

    def look(self, lease_id: LeaseId, *, now: datetime) -> None:
        """Look on this machine whether a lease's server still lives, and take what is seen."""
        reporting.look(self._desk, lease_id, now=now)

    def forget(self, lease_id: LeaseId, process: ProcessRef | None, *, now: datetime) -> bool:
        """Record that the hub forgot a server whose process lives; see `forgotten.forget`."""
        return forgotten.forget(self._desk, lease_id, process, now=now)

    def signalled(
        self,
        intent: Intent,
        processes: tuple[ProcessRef, ...],
        number: Signals,
        *,
        now: datetime,
    ) -> None:
        """Record a signal that is about to be sent; see `forgotten.signalled`."""
        forgotten.signalled(self._desk, intent, processes, number, now=now)

    def unleased(self, keys: Collection[ServerKey], *, now: datetime) -> tuple[ServerKey, ...]:
        """Tell which servers have no open lease."""
        return strangers.unleased(self._desk, keys, now=now)

    def strangers(
        self, servers: Collection[strangers.Stranger], *, since: datetime, now: datetime
    ) -> tuple[ServerKey, ...]:
        """Adopt live servers without a lease, or keep them to be shown; see `strangers.note`."""
        return strangers.note(self._desk, servers, since=since, now=now)

    def close_lost(self, lease_id: LeaseId, *, now: datetime) -> None:
        """Close a lease whose server is proved gone."""
        reporting.seen(self._desk, lease_id, Liveness.gone, None, now=now)

    # By an administrator's hand

    def close_by_hand(
        self, lease_id: LeaseId, *, reason: str, actor: Actor, now: datetime
    ) -> OpenLease:
        """Ask for the end of a lease; see `hands.close_by_hand`."""
        return hands.close_by_hand(self._desk, lease_id, reason=reason, actor=actor, now=now)

    def force_release(
        self, lease_id: LeaseId, *, reason: str, actor: Actor, now: datetime
    ) -> OpenLease:
        """Close a lease without proof; see `hands.force_release`."""
        return hands.force_release(self._desk, lease_id, reason=reason, actor=actor, now=now)

    def move(
        self,
        lease_id: LeaseId,
        into: hands.Destination,
        *,
        reason: str,
        actor: Actor,
        now: datetime,
    ) -> OpenLease:
        """Let another team or project hold a lease from now on; see `hands.move`."""
        return hands.move(self._desk, lease_id, into, reason=reason, actor=actor, now=now)

    def adopt(
        self, wanted: adopting.Wanted, *, reason: str, actor: Actor, now: datetime
    ) -> OpenLease:
        """Open a lease for a server that runs without one; see `adopting.grant`."""
        return adopting.grant(self._desk, wanted, reason=reason, actor=actor, now=now)

    # Acts still to be done outside

    def intents(self) -> tuple[Intent, ...]:
        """Acts that were decided and are not done yet, oldest first."""
        with self._desk.ledger.transaction() as tx:
            return tx.intents()

    def retried(self, intent_id: int, *, now: datetime) -> None:
        """Count one more try of an act."""
        with self._desk.turn(now) as turn:
            turn.tx.retried(intent_id, at=now)

    def settle(self, intent_id: int, result: str, *, now: datetime) -> None:
        """Close an act with its result."""
        with self._desk.turn(now) as turn:
            turn.tx.settle(intent_id, result, at=now)

    # Figures

    def usage(self, scope: usage.Scope, start: datetime, end: datetime, *, now: datetime) -> Usage:
        """Sum up what was held, used and charged in [start, end)."""
        return usage.usage(self._desk, scope, start, end, now=now)

    def queue(self, *, now: datetime) -> QueueSheet:
        """Load of the pools."""
        return health.queue(self._desk, now=now)

    def health(self, *, now: datetime) -> Health:
        """Say how the governor itself stands, in words open to everybody."""
        return health.health(self._desk, now=now)

    def problems(self, *, now: datetime) -> Mapping[str, tuple[str, ...]]:
        """Say the same with every name, for admins: policy, drift, agents."""
        return health.problems(self._desk, now=now)

    def take_changed(self) -> frozenset[ServerKey]:
        """Take the servers whose lease was written since the last call."""
        changed, self._desk.changed = self._desk.changed, set()
        return frozenset(changed)

    def close(self) -> None:
        """Close the ledger and the samples; the last call."""
        self._desk.samples.close()
        self._desk.ledger.close()
