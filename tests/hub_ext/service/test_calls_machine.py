"""Whatever comes in whatever order: nobody's guarantee is taken, and no call outlives its reason.

People ask, wait, start, stop and leave; notices run; the governor starts again; clocks are set.
"""

import shutil
import tempfile
from contextlib import ExitStack, suppress
from datetime import datetime, timedelta
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from hub_ext.errors import RefusedError
from hub_ext.lease import (
    Actor,
    Cause,
    Choice,
    Grant,
    LeaseState,
    OpenLease,
    ProfileName,
    Reason,
    Standing,
    When,
)
from hub_ext.ledger.places import place
from hub_ext.ledger.verify import examine
from hub_ext.policy.load import loads
from tests.support.governing import GROUPS, POLICY, site_in

PEOPLE = st.sampled_from(sorted(GROUPS))
PROFILES = st.sampled_from(["one", "two"])
SERVERS = st.sampled_from(["", "b"])
SOON = st.sampled_from([300, 900, 1800])
NODES = "nodes: [{name: node-2, gpus: 3}]"
POLICIES = st.sampled_from(
    [
        POLICY,
        POLICY.replace(NODES, f"{NODES}\n    reclaim: false"),
        POLICY.replace(NODES, f"{NODES}\n    min_runtime: 1m\n    notice: 5m"),
        POLICY.replace("quota: enforce", "quota: observe"),
    ]
)
LIVE = {LeaseState.running, LeaseState.noticed}


class Calls(RuleBasedStateMachine):
    """One hub, four people, three GPUs."""

    @initialize()
    def open(self) -> None:
        """Begin where one team borrows what is the other's, who uses the rest."""
        self.folder = Path(tempfile.mkdtemp())
        self.held = ExitStack()
        self.site = self.held.enter_context(site_in(self.folder / "state"))
        self.grants: dict[str, Grant] = {}
        self.seen: dict[str, OpenLease] = {}
        self.told_at: dict[str, datetime] = {}
        self.stepped = False
        for user in ("vera", "viktor", "sam"):
            grant = self.site.run(user)
            self.grants[grant.lease_id] = grant
        self.site.waits("sue")
        self.look()

    def teardown(self) -> None:
        """Check the whole record, and leave nothing."""
        if not hasattr(self, "held"):
            return
        self.held.close()
        try:
            assert examine(place(self.folder / "state", None)).difference == ""
        finally:
            shutil.rmtree(self.folder)

    def look(self) -> None:
        """Let the governor's loops turn, as they do each second."""
        self.site.report_devices()
        self.site.governor.serve_queue(now=self.site.now)
        self.site.governor.review_calls(now=self.site.now)
        for lease in self.site.governor.leases():
            self.seen[lease.id] = lease
            if lease.called_in is not None and lease.id not in self.told_at:
                self.told_at[lease.id] = self.site.now

    @rule(user=PEOPLE, profile=PROFILES, server=SERVERS, wait=st.booleans())
    def asks(self, user: str, profile: str, server: str, wait: bool) -> None:
        """Somebody starts a server, or lets it wait, or hears why not."""
        asked = self.site.asking(user, profile, server=server, when=When.hold if wait else None)
        with suppress(RefusedError):
            grant = self.site.ask(asked)
            self.site.started(grant)
            self.grants[grant.lease_id] = grant

    @rule(data=st.data())
    def stops(self, data: st.DataObject) -> None:
        """A server ends: by its owner, or because the hub was asked to stop it."""
        lease = self._one(data, {*LIVE, LeaseState.stopping})
        if lease is not None:
            self.site.stop(self.grants[lease.id])

    @rule(data=st.data())
    def leaves(self, data: st.DataObject) -> None:
        """Somebody leaves the queue."""
        lease = self._one(data, {LeaseState.queued, LeaseState.held})
        if lease is not None:
            actor = Actor(kind="user", name=lease.key.user)
            self.site.governor.cancel(lease.id, actor=actor, now=self.site.now)

    @rule(data=st.data())
    def waits_again(self, data: st.DataObject) -> None:
        """Who was called in waits again, where that can be."""
        ended = [one for one in self.seen.values() if one.id in self.grants]
        if ended:
            lease = data.draw(st.sampled_from(sorted(ended, key=lambda one: one.id)))
            groups = GROUPS[lease.key.user]
            actor = Actor(kind="user", name=lease.key.user)
            with suppress(RefusedError):
                self.site.governor.ask_again(
                    lease.id, When.hold, groups=groups, actor=actor, now=self.site.now
                )

    @rule(data=st.data(), profile=PROFILES)
    def wishes(self, data: st.DataObject, profile: str) -> None:
        """Somebody waits for something else."""
        lease = self._one(data, {LeaseState.queued})
        if lease is not None:
            choice = Choice(profile=ProfileName(profile))
            actor = Actor(kind="user", name=lease.key.user)
            with suppress(RefusedError):
                self.site.governor.change(
                    lease.id, choice, When.hold, actor=actor, now=self.site.now
                )

    @rule(data=st.data())
    def is_stopped_otherwise(self, data: st.DataObject) -> None:
        """An administrator asks for a stop."""
        lease = self._one(data, LIVE)
        if lease is not None:
            actor = Actor(kind="user", name="root", admin=True)
            reason = Reason(code="admin", message="Stopped.")
            self.site.governor.ask_stop(
                lease.id, cause=Cause.admin, reason=reason, actor=actor, now=self.site.now
            )

    @rule(seconds=SOON)
    def passes(self, seconds: int) -> None:
        """Time passes, and the loops turn."""
        self.site.later(seconds)
        self.look()

    @rule()
    def a_notice_passes(self) -> None:
        """A quarter of an hour passes; what was to stop then has stopped."""
        self.passes(900)
        for lease in self.site.governor.leases():
            if lease.state is LeaseState.stopping and lease.id in self.grants:
                self.site.stop(self.grants[lease.id])
        self.look()

    @rule()
    def a_minimum_passes(self) -> None:
        """Half an hour passes: what is borrowed is not protected any more."""
        self.passes(1800)

    @rule(seconds=st.sampled_from([-3600, -60, 60, 3600]))
    def clock_steps(self, seconds: int) -> None:
        """The clock is set."""
        self.site.later(seconds)
        self.stepped = True

    @rule()
    def restarts(self) -> None:
        """The governor starts again."""
        self.site.restart()

    @rule(text=POLICIES)
    def rules_change(self, text: str) -> None:
        """Another policy comes into force."""
        self.site.policy_text = text
        self.site.governor.set_policy(loads(text), now=self.site.now)
        self.site.report_devices()

    def _one(self, data: st.DataObject, states: set[LeaseState]) -> OpenLease | None:
        found = [one for one in self.site.governor.leases() if one.state in states]
        return data.draw(st.sampled_from(found)) if found else None

    @invariant()
    def no_guarantee_is_taken_for_another_team(self) -> None:
        """What is stopped for another was borrowed, and had been told for its whole notice."""
        if not hasattr(self, "site"):
            return
        for lease in self.site.governor.leases():
            if lease.cause is Cause.preempted:
                assert lease.standing is Standing.borrowed
                assert lease.called_in is not None
                told = self.told_at.get(lease.id)
                if told is not None and not self.stepped:
                    assert lease.stop_asked_at is not None
                    notice = lease.called_in.stops_at - lease.called_in.since
                    assert lease.stop_asked_at - told >= notice
                    assert told - (lease.assigned_at or told) >= timedelta(minutes=1)

    @invariant()
    def a_notice_and_its_call_belong_together(self) -> None:
        """A server is told of a call exactly while it is called in."""
        if not hasattr(self, "site"):
            return
        for lease in self.site.governor.leases():
            if lease.notice is not None and lease.notice.cause is Cause.preempted:
                assert lease.called_in is not None
            if lease.called_in is not None and lease.state in LIVE:
                assert lease.state is LeaseState.noticed

    @invariant()
    def after_a_look_every_call_has_somebody_who_waits(self) -> None:
        """A call is for a request that waits, and is not kept for its own sake."""
        if not hasattr(self, "site"):
            return
        self.look()
        leases = {lease.id: lease for lease in self.site.governor.leases()}
        for lease in leases.values():
            if lease.called_in is not None and lease.state in LIVE:
                request = leases[lease.called_in.for_lease]
                assert request.state is LeaseState.queued
                assert request.team != lease.team
                assert request.caller_since is not None

    @invariant()
    def no_device_is_held_twice(self) -> None:
        """Devices are held by one lease each."""
        if hasattr(self, "site"):
            held = self.site.held()
            assert len(held) == len(set(held))


TestCalls = Calls.TestCase
TestCalls.settings = settings(max_examples=12, stateful_step_count=25, deadline=None)
