"""Anything in any order: asks that wait or not, turns of the queue, starts, reports, crashes.

Whatever happens, capacity and limits hold, no lease and no device is doubled, no device is free
while its process lives, charges follow from times alone, and the ledger verifies.
"""

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from hub_ext.errors import RefusedError
from hub_ext.lease import (
    GOVERNOR,
    Actor,
    Ask,
    Cause,
    Choice,
    Grant,
    LeaseId,
    LeaseState,
    Liveness,
    Notice,
    OpenLease,
    ProcessRef,
    ProfileName,
    Reason,
    Report,
    ReportKind,
    Standing,
    When,
)
from hub_ext.ledger.store import Tx
from hub_ext.policy.load import loads
from hub_ext.policy.model import Policy
from hub_ext.service.books.floor import declared
from hub_ext.service.leasing.closing import charges
from hub_ext.units import accrue, settle, whole_seconds
from tests.support.governing import POLICY, START, Site, settings_in
from tests.support.ledger_places import Place
from tests.support.postgres import PostgresServer

POLICIES = (
    POLICY,
    POLICY.replace('whole: {nominal: "1", borrowing_limit: "1"}', 'whole: {nominal: "0"}'),
    POLICY.replace('whole: {nominal: "2"}', 'whole: {nominal: "1"}\n    over_quota: deny'),
    POLICY.replace("modes: {quota: enforce", "modes: {quota: observe"),
)
USERS = st.sampled_from(["vera", "viktor", "sam", "sue"])
SERVERS = st.sampled_from(["", "two"])
PROFILES = st.sampled_from(["one", "two", "small", "cpu"])
WHENS = st.sampled_from([None, None, When.start, When.hold])
WHY = Reason(code="story", message="So the story goes.")


class CrashError(Exception):
    """The power went before the commit."""


class Governed(RuleBasedStateMachine):
    """One site. `asks` and `grants` are everything that ever was, `born` what really runs."""

    server: PostgresServer | None = None

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.where = Place(Path(self.folder.name), self.server)
        state = self.where.state
        self.site = Site(state, settings_in(state, ledger_url=self.where.url or ""))
        self.site.report_devices()
        self.asks: list[Ask] = []
        self.grants: dict[LeaseId, Grant] = {}
        self.born: dict[LeaseId, ProcessRef] = {}
        self.unreported: set[LeaseId] = set()
        self.judged: set[LeaseId] = set()

    @initialize()
    def morning(self) -> None:
        self.site.run("sam", "one")
        (lease,) = self.site.governor.leases()
        assert lease.grant is not None
        assert lease.process is not None
        self.grants[lease.id] = lease.grant
        self.born[lease.id] = lease.process

    # What people, spawners and agents do

    @rule(user=USERS, server=SERVERS, profile=PROFILES, sure=st.booleans(), when=WHENS)
    def ask(self, user: str, server: str, profile: str, sure: bool, when: When | None) -> None:
        asked = self.site.asking(user, profile, server=server, when=when)
        former = self.truth(asked) if sure else Liveness.unknown
        self.asks.append(asked.model_copy(update={"former": former}))
        self.answered(self.asks[-1])

    @precondition(lambda self: self.asks)
    @rule(data=st.data())
    def ask_again(self, data: st.DataObject) -> None:
        asked = data.draw(st.sampled_from(self.asks))
        before = self.site.governor.view(asked.key, now=self.site.now).lease
        grant = self.answered(asked)
        if before is not None and before.attempt_id == asked.attempt_id and grant is not None:
            assert grant == before.grant

    @precondition(lambda self: self.startable())
    @rule(data=st.data(), reported=st.booleans())
    def start(self, data: st.DataObject, reported: bool) -> None:
        grant = self.grants[data.draw(st.sampled_from(self.startable()))]
        process = self.site.machine.start(self.site.now)
        self.born[grant.lease_id] = process
        if reported:
            self.tell_start(grant)
        else:
            self.unreported.add(grant.lease_id)

    @precondition(lambda self: self.born)
    @rule(data=st.data())
    def report_start_again(self, data: st.DataObject) -> None:
        lease_id = data.draw(st.sampled_from(sorted(self.born)))
        self.unreported.discard(lease_id)
        self.tell_start(self.grants[lease_id])

    @precondition(lambda self: self.born)
    @rule(data=st.data())
    def die(self, data: st.DataObject) -> None:
        self.site.machine.end(self.born[data.draw(st.sampled_from(sorted(self.born)))])

    @precondition(lambda self: self.grants)
    @rule(data=st.data(), asked=st.booleans(), lie=st.booleans())
    def report_end(self, data: st.DataObject, asked: bool, lie: bool) -> None:
        """The end as the spawner sees it; where this machine can look, even a wrong `gone`."""
        lease_id = data.draw(st.sampled_from(sorted(self.grants)))
        alive = self.born.get(lease_id) in self.site.machine.living
        blind = lease_id in self.unreported
        liveness = Liveness.alive if alive and (blind or not lie) else Liveness.gone
        self.site.ended(self.grants[lease_id], liveness, asked=asked)

    @rule(name=st.sampled_from(["unheard-of-1", "unheard-of-2"]), user=USERS)
    def report_the_unknown(self, name: str, user: str) -> None:
        key = self.site.asking(user).key
        told = Report(kind=ReportKind.ended, key=key, liveness=Liveness.gone)
        self.site.governor.report(name, told, now=self.site.now)
        late = self.site.asking(user, attempt=name)
        assert self.answered(late) is None

    @precondition(lambda self: self.site.governor.leases())
    @rule(data=st.data(), seconds=st.integers(1, 9000))
    def extend_or_keep(self, data: st.DataObject, seconds: int) -> None:
        lease, governor, now = self.some_lease(data), self.site.governor, self.site.now
        with suppress(RefusedError):
            governor.extend(lease.id, seconds=seconds, actor=GOVERNOR, now=now)
        with suppress(RefusedError):
            governor.keep(lease.id, actor=GOVERNOR, now=now)

    @precondition(lambda self: self.waiting())
    @rule(data=st.data(), leave=st.booleans(), profile=PROFILES)
    def leave_or_change(self, data: st.DataObject, leave: bool, profile: str) -> None:
        lease = data.draw(st.sampled_from(self.waiting()))
        governor, now = self.site.governor, self.site.now
        owner = Actor(kind="user", name=lease.key.user)
        if leave:
            governor.cancel(lease.id, actor=owner, now=now)
            return
        choice = Choice(profile=ProfileName(profile))
        try:
            changed = governor.change(lease.id, choice, When.hold, actor=owner, now=now)
        except RefusedError:
            assert governor.lease(lease.id) == lease
            return
        if changed.id != lease.id:
            kept = changed.pool == lease.pool and changed.units < lease.units
            assert (changed.requested_at == lease.requested_at) == (
                kept or lease.requested_at == now
            )

    # What the governor's loops do

    @rule()
    def turn_the_queue(self) -> None:
        before = {lease.id: lease for lease in self.waiting()}
        self.site.serve()
        for lease in self.waiting():
            if lease.state is LeaseState.held and before[lease.id].state is LeaseState.queued:
                self.within_limits(lease)
                assert before[lease.id].holds <= lease.holds
        assert self.site.serve() == 0

    @precondition(lambda self: self.waiting())
    @rule(data=st.data())
    def come_for_what_waits(self, data: st.DataObject) -> None:
        lease = data.draw(st.sampled_from(self.waiting()))
        asked = self.site.asking(lease.key.user, lease.profile, server=lease.key.server)
        self.asks.append(asked)
        grant = self.answered(asked)
        if grant is not None:
            assert grant.lease_id == lease.id
            assert self.site.lease(grant).requested_at == lease.requested_at
            if lease.state is LeaseState.held and self.in_service(lease):
                assert grant.devices == lease.devices

    @precondition(lambda self: self.site.governor.leases())
    @rule(data=st.data(), cause=st.sampled_from([Cause.culled, Cause.expired]))
    def announce_or_stop(self, data: st.DataObject, cause: Cause) -> None:
        lease, now = self.some_lease(data), self.site.now
        if lease.notice is None:
            notice = Notice(cause=cause, given_at=now, stops_at=now, reason=WHY)
            self.site.governor.give_notice(lease.id, notice, evidence=None, now=now)
        else:
            self.site.governor.ask_stop(
                lease.id, cause=lease.notice.cause, reason=WHY, actor=GOVERNOR, now=now
            )

    @precondition(lambda self: self.site.governor.leases())
    @rule(data=st.data())
    def look(self, data: st.DataObject) -> None:
        self.site.governor.look(self.some_lease(data).id, now=self.site.now)

    @rule(seconds=st.integers(1, 3000))
    def wait(self, seconds: int) -> None:
        self.site.later(seconds)
        self.site.report_devices()

    # What goes wrong

    @rule()
    def restart(self) -> None:
        before = self.books()
        self.site.restart()
        assert self.books() == before

    @rule(user=USERS, profile=PROFILES)
    def crash_while_asking(self, user: str, profile: str) -> None:
        asked = self.site.asking(user, profile, server="two")
        asked = asked.model_copy(update={"former": self.truth(asked)})
        before = self.books()
        with self.power_cut(), suppress(RefusedError, CrashError):
            self.site.ask(asked)
        self.site.restart()
        assert self.books() == before
        self.asks.append(asked)

    @rule(text=st.sampled_from(POLICIES))
    def change_policy(self, text: str) -> None:
        self.site.policy_text = text
        self.site.governor.set_policy(loads(text), now=self.site.now)

    @rule(data=st.data())
    def lose_devices(self, data: st.DataObject) -> None:
        every = [device.id for device in declared(self.policy)]
        gone = data.draw(st.sets(st.sampled_from(every), max_size=2))
        self.site.report_devices(without=frozenset(gone))

    # What must hold

    @invariant()
    def devices_are_held_for_a_while_and_never_for_who_still_waits(self) -> None:
        starts = {one.lease_id for one in self.site.governor.intents() if one.kind == "start"}
        for lease in self.waiting():
            assert (lease.state is LeaseState.held) == bool(lease.devices)
            assert (lease.held_until is not None) == bool(lease.devices)
            assert lease.holds <= 2
            assert lease.assigned_at is None
            assert lease.when is not None
        held = {one.id for one in self.waiting() if one.state is LeaseState.held}
        assert starts <= held

    @invariant()
    def one_lease_a_server_and_one_lease_a_device(self) -> None:
        leases = self.site.governor.leases()
        assert max(Counter(lease.key for lease in leases).values(), default=1) == 1
        assert max(Counter(self.site.held()).values(), default=1) == 1

    @invariant()
    def no_pool_gives_more_than_it_has(self) -> None:
        there = Counter(device.pool for device in declared(self.policy))
        held = Counter(
            device.pool for lease in self.site.governor.leases() for device in lease.devices
        )
        assert all(held[pool] <= count for pool, count in there.items())

    @invariant()
    def no_device_is_free_while_its_process_lives(self) -> None:
        opened = {lease.id for lease in self.site.governor.leases() if lease.holding}
        for lease_id, process in self.born.items():
            if process in self.site.machine.living:
                assert lease_id in opened

    @invariant()
    def charges_follow_from_times_alone(self) -> None:
        with self.site.ledger.transaction() as tx:
            posted = tx.postings(start=START, end=self.site.now.replace(year=2100))
            closed = {line.lease_id for line in posted}
            # What is posted never changes, so each lease is looked at once.
            for lease_id in closed - self.judged:
                self.judged.add(lease_id)
                lines = [line for line in posted if line.lease_id == lease_id]
                lease = self.recorded(tx, lease_id)
                assert lease.state is LeaseState.closed
                assert lease.assigned_at is not None
                assert lease.closed_at is not None
                seconds = whole_seconds(lease.assigned_at, lease.closed_at)
                price = lease.price_micro_per_hour or 0
                due = settle(accrue(price, seconds)) if lease.started_at else 0
                assert sum(line.seconds for line in lines) == seconds
                assert sum(line.amount_micro or 0 for line in lines) == due

    def teardown(self) -> None:
        for lease in self.site.governor.leases():
            assert charges(self.site.governor._desk, lease, self.site.now) is not None
        self.site.governor.close()
        assert self.where.verify().difference == ""
        self.where.drop()
        self.folder.cleanup()

    # How the story is told

    @property
    def policy(self) -> Policy:
        return self.site.governor.policy

    def recorded(self, tx: Tx, lease_id: LeaseId) -> OpenLease:
        lease = tx.lease(lease_id)
        assert lease is not None
        return lease

    def some_lease(self, data: st.DataObject) -> OpenLease:
        return data.draw(st.sampled_from(self.site.governor.leases()))

    def waiting(self) -> list[OpenLease]:
        """Requests that wait for a device, or for their owner."""
        states = {LeaseState.queued, LeaseState.held}
        return [lease for lease in self.site.governor.leases() if lease.state in states]

    def in_service(self, lease: OpenLease) -> bool:
        """Whether the devices of a lease are still found."""
        found = {one.id for one in self.site.governor.devices(now=self.site.now)}
        return all(device.id in found for device in lease.devices)

    def startable(self) -> list[LeaseId]:
        """Granted, starting, and never brought up."""
        return [
            lease.id
            for lease in self.site.governor.leases()
            if lease.state is LeaseState.starting and lease.id not in self.born
        ]

    def truth(self, asked: Ask) -> Liveness:
        """What the spawner's poll says of the server's process."""
        lease = self.site.governor.view(asked.key, now=self.site.now).lease
        process = self.born.get(lease.id) if lease is not None else None
        return Liveness.alive if process in self.site.machine.living else Liveness.gone

    def tell_start(self, grant: Grant) -> None:
        told = Report(
            kind=ReportKind.started,
            key=grant.key,
            liveness=Liveness.alive,
            process=self.born[grant.lease_id],
        )
        self.site.governor.report(grant.attempt_id, told, now=self.site.now)

    def answered(self, asked: Ask) -> Grant | None:
        try:
            grant = self.site.ask(asked)
        except RefusedError:
            return None
        if grant.lease_id not in self.grants:
            self.within_limits(self.site.lease(grant))
        self.grants[grant.lease_id] = grant
        return grant

    def within_limits(self, lease: OpenLease) -> None:
        """A new grant or hold keeps its team inside its limits, where they are enforced."""
        if lease.pool is None:
            return
        leases = self.site.governor.leases()
        here = [one for one in leases if one.holding and one.pool == lease.pool]
        ours = [one for one in here if one.team == lease.team]
        team = self.policy.teams[lease.team]
        quota = team.quota[lease.pool]
        if lease.standing is Standing.guaranteed:
            fixed = [one for one in ours if one.standing is Standing.guaranteed]
            assert sum(one.units for one in fixed) <= quota.nominal
        if self.policy.modes.quota != "enforce":
            return
        extra = quota.borrowing_limit if team.over_quota == "borrow" else 0
        if extra is None:
            return  # nothing limits it but the pool
        assert sum(one.units for one in ours) <= quota.nominal + extra

    def books(self) -> tuple[object, ...]:
        """Everything that must not change by a restart."""
        with self.site.ledger.transaction() as tx:
            posted = tx.postings(start=START, end=self.site.now.replace(year=2100))
            return (tx.leases(), posted, tx.intents(), tx.head())

    @contextmanager
    def power_cut(self) -> Iterator[None]:
        """Let every transaction fail where it would be committed."""
        real = self.site.ledger.transaction

        @contextmanager
        def cut() -> Iterator[Tx]:
            with real() as tx:
                yield tx
                raise CrashError

        self.site.ledger.transaction = cut  # type: ignore[method-assign]  # the fault itself
        try:
            yield
        finally:
            self.site.ledger.transaction = real  # type: ignore[method-assign]  # the fault ends


TestGoverned = pytest.mark.timeout(900)(Governed.TestCase)
TestGoverned.settings = settings(max_examples=25, stateful_step_count=30)
