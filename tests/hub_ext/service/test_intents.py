"""What was decided is done outside: asked of the hub, asked again, never twice at once."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from hub_ext.errors import UnreachableError
from hub_ext.lease import GOVERNOR, Cause, LeaseState, Liveness, ProcessRef, Reason, ServerKey
from hub_ext.service.basis.hub import HubAnswer, HubClient, HubSaid, HubServer
from hub_ext.service.core.runner import CoreRunner
from hub_ext.service.core.stream import Stream
from hub_ext.service.workers.intents import MOST_AT_ONCE, work_intents
from tests.support.governing import Site, site_in

WHY = Reason(code="idle", message="It is idle.")


class Hub(HubClient):
    """A hub that answers `said`, and ends the server's process where that is `stopped`."""

    def __init__(self, site: Site) -> None:
        super().__init__("http://127.0.0.1:1/hub/api", "t")
        self.site = site
        self.said = HubSaid.stopped
        self.asked: list[ServerKey] = []
        self.processes: dict[ServerKey, ProcessRef] = {}
        self.starting: dict[ServerKey, datetime] = {}
        """Servers that it is starting, and since when."""
        self.running_since: dict[ServerKey, datetime] = {}
        """When it says that it began to start servers that run."""
        self.mute = False
        """It does not say which servers it has."""

    async def server(self, key: ServerKey) -> HubServer | None:
        if self.mute:
            raise UnreachableError("The hub did not answer.")
        since = self.starting.get(key)
        if since is not None:
            return HubServer(key=key, ready=False, pending="spawn", started=since)
        if key not in self.processes:
            return None
        began = self.running_since.get(key)
        return HubServer(key=key, ready=True, pending=None, started=began)

    async def stop_server(self, key: ServerKey) -> HubAnswer:
        self.asked.append(key)
        if self.said is HubSaid.stopped:
            self.site.machine.end(self.processes[key])
        return HubAnswer(self.said, 204, "")


def tell(tmp_path: Path, story: Callable[[Site, Hub, CoreRunner], Awaitable[None]]) -> None:
    async def told() -> None:
        with site_in(tmp_path, stop_retry_s=15.0) as site:
            hub = Hub(site)
            core = CoreRunner(site.governor, lambda: site.now, Stream(8))
            try:
                await story(site, hub, core)
            finally:
                hub.close()
                await core.close()

    asyncio.run(told())


def stopping(site: Site, hub: Hub, user: str = "vera") -> ServerKey:
    grant = site.ask(site.asking(user))
    hub.processes[grant.key] = site.started(grant)
    site.governor.ask_stop(
        grant.lease_id, cause=Cause.culled, reason=WHY, actor=GOVERNOR, now=site.now
    )
    return grant.key


def test_a_stop_whose_report_is_lost_still_frees_the_device(tmp_path: Path) -> None:
    async def story(site: Site, hub: Hub, core: CoreRunner) -> None:
        key = stopping(site, hub)
        await work_intents(core, hub, site.settings)
        assert hub.asked == [key]
        assert site.governor.leases() == ()
        assert site.governor.intents() == ()
        ended = site.governor.view(key, now=site.now).ended
        assert ended is not None
        assert ended.cause is Cause.culled

    tell(tmp_path, story)


def test_a_hub_that_is_away_is_asked_again_after_a_while(tmp_path: Path) -> None:
    async def story(site: Site, hub: Hub, core: CoreRunner) -> None:
        key = stopping(site, hub)
        hub.said = HubSaid.away
        for seconds, count in ((0, 1), (5, 1), (11, 2), (-9000, 3)):
            site.later(seconds)
            await work_intents(core, hub, site.settings)
            assert hub.asked == [key] * count
        assert site.held()

    tell(tmp_path, story)


def test_a_hub_that_says_stopped_while_the_process_lives_frees_nothing(tmp_path: Path) -> None:
    async def story(site: Site, hub: Hub, core: CoreRunner) -> None:
        stopping(site, hub)
        hub.said = HubSaid.unknown_server
        await work_intents(core, hub, site.settings)
        (lease,) = site.governor.leases()
        assert lease.state is LeaseState.stopping
        assert site.machine.probe(lease) is Liveness.alive

    tell(tmp_path, story)


def test_two_stops_are_made_side_by_side(tmp_path: Path) -> None:
    async def story(site: Site, hub: Hub, core: CoreRunner) -> None:
        keys = {stopping(site, hub, "vera"), stopping(site, hub, "sam")}
        await work_intents(core, hub, site.settings)
        assert set(hub.asked) == keys
        assert site.held() == []

    tell(tmp_path, story)


def test_a_retried_stop_leaves_the_next_start_of_a_forgotten_server_alone(tmp_path: Path) -> None:
    async def story(site: Site, hub: Hub, core: CoreRunner) -> None:
        grant = site.ask(site.asking("vera"))
        hub.processes[grant.key] = site.started(grant)
        site.governor.forget(grant.lease_id, None, now=site.now)
        hub.said = HubSaid.unknown_server
        await work_intents(core, hub, site.settings)
        assert hub.asked == [grant.key]
        # Its owner asks again; the hub's clock is a little behind ours.
        site.later(20)
        hub.starting[grant.key] = site.now - timedelta(seconds=30)
        await work_intents(core, hub, site.settings)
        assert hub.asked == [grant.key], "the start goes on, and hears from us why it must wait"
        # The start was refused; the stop is retried as before.
        hub.starting.clear()
        site.later(20)
        await work_intents(core, hub, site.settings)
        assert hub.asked == [grant.key] * 2

    tell(tmp_path, story)


def test_a_stop_interrupts_its_own_start_and_no_later_one(tmp_path: Path) -> None:
    async def story(site: Site, hub: Hub, core: CoreRunner) -> None:
        hub.said = HubSaid.stopping
        key = site.ask(site.asking("vera")).key
        hub.starting[key] = site.now
        site.later(5)
        (lease,) = site.governor.leases()
        site.governor.ask_stop(lease.id, cause=Cause.user, reason=WHY, actor=GOVERNOR, now=site.now)
        await work_intents(core, hub, site.settings)
        assert hub.asked == [key]
        hub.starting[key] = site.now + timedelta(seconds=10)
        site.later(20)
        await work_intents(core, hub, site.settings)
        assert hub.asked == [key]

    tell(tmp_path, story)


def test_a_hub_that_shows_no_servers_is_asked_to_stop_all_the_same(tmp_path: Path) -> None:
    async def story(site: Site, hub: Hub, core: CoreRunner) -> None:
        key = stopping(site, hub)
        hub.mute = True
        await work_intents(core, hub, site.settings)
        assert hub.asked == [key]

    tell(tmp_path, story)


def test_a_later_start_does_not_keep_a_lease_whose_server_is_gone(tmp_path: Path) -> None:
    async def story(site: Site, hub: Hub, core: CoreRunner) -> None:
        key = stopping(site, hub)
        hub.starting[key] = site.now + timedelta(seconds=1)
        site.machine.end(hub.processes[key])
        await work_intents(core, hub, site.settings)
        assert hub.asked == []
        assert site.governor.leases() == ()

    tell(tmp_path, story)


@pytest.mark.parametrize("told", [True, False], ids=["hub told when it began", "nobody told"])
def test_a_server_that_its_owner_started_anew_in_between_is_not_stopped(
    tmp_path: Path, *, told: bool
) -> None:
    async def story(site: Site, hub: Hub, core: CoreRunner) -> None:
        # The hub's clock is an hour ahead: only its own instants are compared.
        began = site.now + timedelta(hours=1 if told else 0)
        grant = site.ask(site.asking("vera"))
        hub.processes[grant.key] = site.started(grant, began if told else None)
        hub.running_since[grant.key] = began
        site.governor.ask_stop(
            grant.lease_id, cause=Cause.user, reason=WHY, actor=GOVERNOR, now=site.later(60)
        )
        hub.running_since[grant.key] = began + timedelta(seconds=90)
        site.machine.end(hub.processes[grant.key])
        site.later(60)
        await work_intents(core, hub, site.settings)
        assert hub.asked == [], "it is another start, whose owner asked for no stop"
        assert site.governor.leases() == (), "the one that was to stop is gone"

    tell(tmp_path, story)


def test_the_start_that_is_meant_is_stopped_though_its_record_lost_the_fraction(
    tmp_path: Path,
) -> None:
    async def story(site: Site, hub: Hub, core: CoreRunner) -> None:
        began = site.now + timedelta(hours=1, microseconds=400_000)
        grant = site.ask(site.asking("vera"))
        hub.processes[grant.key] = site.started(grant, began)
        assert site.lease(grant).hub_started_at == began
        hub.running_since[grant.key] = began + timedelta(microseconds=600_000)
        site.governor.ask_stop(
            grant.lease_id, cause=Cause.user, reason=WHY, actor=GOVERNOR, now=site.later(60)
        )
        await work_intents(core, hub, site.settings)
        assert hub.asked == [grant.key]

    tell(tmp_path, story)


def test_ten_stops_are_under_way_at_once_and_no_more(tmp_path: Path) -> None:
    async def story(site: Site, hub: Hub, core: CoreRunner) -> None:
        free, under_way, most = asyncio.Event(), 0, 0

        async def slowly(key: ServerKey) -> HubAnswer:
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            if under_way == MOST_AT_ONCE:
                free.set()
            await free.wait()
            # Whoever could come beside them has time to.
            await asyncio.sleep(0.01)
            under_way -= 1
            hub.asked.append(key)
            return HubAnswer(HubSaid.stopping, 202, "")

        for n in range(25):
            grant = site.ask(site.asking("sam", "cpu", server=f"s{n}"))
            hub.processes[grant.key] = site.started(grant)
            site.governor.ask_stop(
                grant.lease_id, cause=Cause.user, reason=WHY, actor=GOVERNOR, now=site.now
            )
        hub.stop_server = slowly  # type: ignore[method-assign]
        await work_intents(core, hub, site.settings)
        assert (len(hub.asked), most) == (25, 10)

    tell(tmp_path, story)
