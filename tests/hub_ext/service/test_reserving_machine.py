"""Reservations among calls, notices, stops, restarts, lost devices and clocks that jump."""

import tempfile
from collections import Counter
from contextlib import ExitStack, suppress
from datetime import timedelta
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from hub_ext.errors import RefusedError
from hub_ext.lease import (
    GOVERNOR,
    Cause,
    Grant,
    LeaseState,
    OpenLease,
    Posting,
    Reason,
    Standing,
    When,
)
from hub_ext.lease.reserving import UNUSED, Reservation, ReservationWish
from hub_ext.ledger.store import FILE
from hub_ext.ledger.verify import verify
from hub_ext.service.basis.access import Caller
from hub_ext.service.workers.cull import LIVE, Culler
from tests.hub_ext.service.test_reserving import EVERYONE
from tests.support.governing import GROUPS, START, site_in

PEOPLE = tuple(GROUPS)
ADMIN = Caller(kind="person", name="root", admin=True)
people = st.sampled_from(PEOPLE)
minutes = st.integers(0, 100)


class Life(RuleBasedStateMachine):
    """A site on which everything happens to reservations that can."""

    @initialize()
    def opens(self) -> None:
        self.stack = ExitStack()
        self.folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.site = self.stack.enter_context(site_in(self.folder, policy=EVERYONE))
        self.lost: frozenset[str] = frozenset()
        self.culler = Culler()
        self.grants: dict[str, Grant] = {}
        self.latest = self.site.now

    def teardown(self) -> None:
        if hasattr(self, "stack"):
            self.stack.close()

    @rule(length=minutes)
    def time_passes(self, length: int) -> None:
        self.site.later(60 * length)
        self._turn()

    @rule(late=st.integers(0, 20))
    def the_next_one_begins(self, late: int) -> None:
        _every, times = self.site.governor.reserved(
            self.site.now, self.site.now + timedelta(days=9)
        )
        starts = [one.start for one in times if one.start > self.site.now]
        if starts:
            self.site.now = min(starts) + timedelta(minutes=late)
            self._turn()

    @rule(number=st.integers(0, 9))
    def an_owner_comes(self, number: int) -> None:
        due = [one for one in self._reservations() if one.current is not None]
        if not due:
            return
        one = due[number % len(due)]
        if one.key.user in self.grants:
            self.a_server_ends(one.key.user, Cause.user)
        self.somebody_starts(one.key.user, one.profile, waits=False)
        self._turn()

    @rule(length=minutes)
    def the_clock_is_set_back(self, length: int) -> None:
        self.site.later(-60 * length)
        self._turn()

    @rule(
        user=people,
        profile=st.sampled_from(("one", "two")),
        after=st.integers(0, 40),
        length=st.integers(5, 200),
        weekly=st.booleans(),
        when=st.sampled_from(When),
    )
    def somebody_reserves(
        self, user: str, profile: str, after: int, length: int, weekly: bool, when: When
    ) -> None:
        start = (self.site.now + timedelta(minutes=after)).replace(tzinfo=None)
        wish = {
            "profile": profile,
            "starts": start,
            "ends": start + timedelta(minutes=length),
            "weekly_until": (start + timedelta(days=7)).date() if weekly else None,
            "when": when,
        }
        caller = Caller(kind="person", name=user, groups=GROUPS[user])
        with suppress(RefusedError):
            self.site.governor.reserve(
                ReservationWish.model_validate(wish), caller, now=self.site.now
            )

    @rule(number=st.integers(0, 9))
    def one_is_called_off(self, number: int) -> None:
        every = self._reservations()
        if every:
            one = every[number % len(every)]
            self.site.governor.cancel_reservation(one.id, ADMIN, now=self.site.now)

    @rule(number=st.integers(0, 9), week=st.integers(0, 2))
    def one_time_is_left_out(self, number: int, week: int) -> None:
        every = self._reservations()
        if every:
            one = every[number % len(every)]
            day = one.starts.date() + timedelta(weeks=week)
            with suppress(RefusedError):
                self.site.governor.skip_reservation(one.id, day, ADMIN, now=self.site.now)

    @rule(user=people, profile=st.sampled_from(("one", "two", "cpu")), waits=st.booleans())
    def somebody_starts(self, user: str, profile: str, waits: bool) -> None:
        if user in self.grants:
            return
        asked = self.site.asking(user, profile, when=When.hold if waits else None)
        with suppress(RefusedError):
            self.grants[user] = self.site.ask(asked)
            self.site.started(self.grants[user])

    @rule(user=people, cause=st.sampled_from((Cause.user, Cause.culled, Cause.admin)))
    def a_server_ends(self, user: str, cause: Cause) -> None:
        grant = self.grants.pop(user, None)
        if grant is None:
            return
        why = Reason(code=cause.value, message="It ends.")
        self.site.governor.ask_stop(
            grant.lease_id, cause=cause, reason=why, actor=GOVERNOR, now=self.site.now
        )
        self.site.stop(grant)

    @rule(user=people)
    def somebody_leaves_the_queue(self, user: str) -> None:
        for lease in self.site.governor.leases(user=user):
            if lease.state in {LeaseState.queued, LeaseState.held}:
                self.site.governor.cancel(lease.id, actor=GOVERNOR, now=self.site.now)

    @rule(gpus=st.sampled_from((frozenset[int](), frozenset[int](), frozenset({2}))))
    def devices_are_lost_or_found(self, gpus: frozenset[int]) -> None:
        self.lost = frozenset(
            device.id
            for there in self.site.governor.inventories(now=self.site.now)
            for device in there.devices
            if device.pool == "whole" and device.gpu in gpus
        )
        self._turn()

    @rule()
    def the_governor_starts_anew(self) -> None:
        self.site.restart()
        self._turn()

    def _turn(self) -> None:
        self.site.report_devices(without=self.lost)
        self.site.governor.tend_reservations(now=self.site.now)
        self.site.serve()
        self.site.governor.review_calls(now=self.site.now)
        called = [one for one in self.site.governor.leases() if one.called_in is not None]
        # Until the next look one may be called in that has just become guaranteed.
        assert all(one.standing is Standing.borrowed for one in called)
        for lease in self.site.governor.leases():
            if lease.state in LIVE:
                self.culler.look(self.site.governor, lease.id, self.site.now)
        for user, grant in list(self.grants.items()):
            if self.site.lease(grant).state is LeaseState.stopping:
                self.site.stop(self.grants.pop(user))
        self.site.governor.tend_reservations(now=self.site.now)

    def _reservations(self) -> tuple[Reservation, ...]:
        return self.site.governor.reserved(self.site.now, self.site.now)[0]

    def _lines(self) -> list[Posting]:
        with self.site.ledger.transaction() as tx:
            return list(tx.postings(start=START - timedelta(days=9), end=START + timedelta(99)))

    @invariant()
    def no_device_is_given_twice(self) -> None:
        if not hasattr(self, "site"):
            return
        held = [device.id for x in self.site.governor.leases() if x.holding for device in x.takes]
        kept = [
            device.id
            for one in self._reservations()
            if one.current is not None and one.current.lease_id is None
            for device in one.current.devices
        ]
        assert max(Counter((*held, *kept)).values(), default=0) <= 1

    @invariant()
    def only_borrowers_are_drained(self) -> None:
        if not hasattr(self, "site"):
            return
        for lease in self.site.governor.leases():
            if lease.notice is not None and lease.notice.reason.code == "reserved":
                assert lease.standing is Standing.borrowed or lease.id not in self._drained()

    def _drained(self) -> set[str]:
        return set(self.site.governor._desk.draining or ())

    @invariant()
    def reserved_leases_end_with_their_time(self) -> None:
        if not hasattr(self, "site"):
            return
        for lease in self.site.governor.leases():
            if lease.reservation is not None and lease.state in LIVE:
                assert lease.ends_at == lease.reserved_until

    @invariant()
    def unused_time_is_charged_once_and_never_beside_its_server(self) -> None:
        if not hasattr(self, "site"):
            return
        lines = self._lines()
        for line in lines:
            if line.flavor != UNUSED:
                continue
            name = line.lease_id.rpartition("-")[0]
            assert line.seconds <= 15 * 60 + 200 * 60
            for other in lines:
                same = other.lease_id != line.lease_id and self._of(other) == name
                if same:
                    assert other.end <= line.start or line.end <= other.start

    def _of(self, line: Posting) -> str | None:
        if line.flavor == UNUSED:
            return line.lease_id.rpartition("-")[0]
        lease: OpenLease | None = self.site.governor.lease(line.lease_id)
        return lease.reservation if lease is not None else None

    @rule()
    def the_books_are_true(self) -> None:
        found = verify(self.folder / FILE)
        assert found.difference == ""


TestReservations = Life.TestCase
TestReservations.settings = settings(max_examples=20, stateful_step_count=40, deadline=None)
