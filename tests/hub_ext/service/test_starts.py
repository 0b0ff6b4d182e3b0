"""A server is started for somebody whose turn has come; every answer of the hub is a story."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest

from hub_ext.errors import RefusedError
from hub_ext.lease import Cause, Choice, LeaseState, OpenLease, ProfileName, ServerKey, When
from hub_ext.service.basis.hub import HubAnswer, HubClient, HubSaid
from hub_ext.service.core.runner import CoreRunner
from hub_ext.service.core.stream import Stream
from hub_ext.service.workers.starts import Starter, options_of, pause_s
from spawner.options import read_options
from tests.support.governing import Site, site_in


class Hub(HubClient):
    """A hub that answers `said`; where that is `started`, its spawner claims the lease."""

    def __init__(self, site: Site) -> None:
        super().__init__("http://127.0.0.1:1/hub/api", "t")
        self.site = site
        self.said = HubSaid.started
        self.retry_after_s: int | None = None
        self.there = True
        self.claims = True
        self.groups: tuple[str, ...] | None = None
        self.asked: list[tuple[ServerKey, Mapping[str, str]]] = []

    async def start_server(self, key: ServerKey, options: Mapping[str, str]) -> HubAnswer:
        self.asked.append((key, options))
        if self.said is HubSaid.started and self.claims:
            asked = self.site.asking(
                key.user, options["profile"], server=key.server, team=options["team"]
            )
            if self.groups is not None:
                asked = asked.model_copy(update={"groups": self.groups})
            try:
                self.site.ask(asked)
            except RefusedError as error:
                return HubAnswer(HubSaid.forbidden, error.status, error.message)
        return HubAnswer(self.said, 0, "", self.retry_after_s)

    async def has_server(self, key: ServerKey) -> bool:
        return self.there


Story = Callable[[Site, Hub, Callable[[], Awaitable[None]]], Awaitable[None]]


def tell(tmp_path: Path, story: Story) -> None:
    async def told() -> None:
        with site_in(tmp_path) as site:
            hub = Hub(site)
            core = CoreRunner(site.governor, lambda: site.now, Stream(8))
            starter = Starter(core, hub)

            async def turn() -> None:
                await starter.begin()
                await starter.settle()

            try:
                await story(site, hub, turn)
            finally:
                hub.close()
                await core.close()

    asyncio.run(told())


def held(site: Site, *, when: When = When.start, server: str = "") -> OpenLease:
    grant = site.run("sam", "two")
    lease = site.waits("sue", when=when, server=server)
    site.stop(grant)
    site.serve()
    return site.now_is(lease)


def test_a_held_request_is_started_by_itself_and_claimed_by_its_spawner(tmp_path: Path) -> None:
    async def story(site: Site, hub: Hub, turn: Callable[[], Awaitable[None]]) -> None:
        lease = held(site)
        await turn()
        ((key, options),) = hub.asked
        assert key == lease.key
        assert options == {"profile": "one", "team": "speech", "wait": "start"}
        started = site.now_is(lease)
        assert (started.state, started.autostarted) == (LeaseState.starting, True)
        assert site.governor.intents() == ()
        await turn()
        assert len(hub.asked) == 1

    tell(tmp_path, story)


def test_who_wants_to_be_told_is_not_started(tmp_path: Path) -> None:
    async def story(site: Site, hub: Hub, turn: Callable[[], Awaitable[None]]) -> None:
        lease = held(site, when=When.hold)
        await turn()
        assert hub.asked == []
        grant = site.ask(site.asking("sue"))
        assert grant.lease_id == lease.id
        assert not site.now_is(lease).autostarted

    tell(tmp_path, story)


@pytest.mark.parametrize("said", [HubSaid.pending, HubSaid.busy, HubSaid.away, HubSaid.started])
def test_an_answer_without_a_claim_is_asked_again_until_the_hold_runs_out(
    tmp_path: Path, said: HubSaid
) -> None:
    async def story(site: Site, hub: Hub, turn: Callable[[], Awaitable[None]]) -> None:
        lease = held(site)
        hub.said, hub.claims = said, False
        for seconds, count in ((0, 1), (0.5, 1), (0.6, 2), (1, 2), (1, 3), (4, 4), (8, 5), (15, 6)):
            site.later(seconds)
            await turn()
            assert len(hub.asked) == count
            assert site.now_is(lease).state is LeaseState.held
        hub.said, hub.claims = HubSaid.started, True
        site.later(15)
        await turn()
        assert site.now_is(lease).state is LeaseState.starting

    tell(tmp_path, story)


def test_a_hub_that_asks_for_fewer_requests_is_left_alone_for_so_long(tmp_path: Path) -> None:
    async def story(site: Site, hub: Hub, turn: Callable[[], Awaitable[None]]) -> None:
        held(site)
        hub.said, hub.retry_after_s = HubSaid.busy, 30
        for seconds, count in ((0, 1), (20, 1), (11, 2)):
            site.later(seconds)
            await turn()
            assert len(hub.asked) == count

    tell(tmp_path, story)


@pytest.mark.parametrize("known_before", [True, False])
def test_somebody_who_was_renamed_or_deleted_leaves_the_queue(
    tmp_path: Path, *, known_before: bool
) -> None:
    async def story(site: Site, hub: Hub, turn: Callable[[], Awaitable[None]]) -> None:
        lease = held(site, server="mine")
        hub.there, hub.said = known_before, HubSaid.unknown_server
        await turn()
        assert len(hub.asked) == known_before
        ended = site.now_is(lease)
        assert (ended.state, ended.cause) == (LeaseState.closed, Cause.cancelled)
        assert ended.reason is not None
        assert "renamed or deleted" in ended.reason.message
        assert site.held() == []

    tell(tmp_path, story)


def test_where_the_hub_forbids_it_the_device_stays_held_for_the_person(tmp_path: Path) -> None:
    async def story(site: Site, hub: Hub, turn: Callable[[], Awaitable[None]]) -> None:
        lease = held(site)
        hub.said, hub.claims = HubSaid.forbidden, False
        await turn()
        kept = site.now_is(lease)
        assert kept.state is LeaseState.held
        assert kept.reason is not None
        assert "start the server yourself" in kept.reason.message
        assert site.governor.intents() == ()

    tell(tmp_path, story)


def test_who_left_the_team_meanwhile_is_refused_at_the_claim(tmp_path: Path) -> None:
    async def story(site: Site, hub: Hub, turn: Callable[[], Awaitable[None]]) -> None:
        lease = held(site)
        hub.groups = ()
        await turn()
        ended = site.now_is(lease)
        assert (ended.state, ended.cause) == (LeaseState.closed, Cause.denied)
        assert site.governor.intents() == ()

    tell(tmp_path, story)


def test_a_governor_that_was_ended_starts_what_was_intended_before(tmp_path: Path) -> None:
    async def story(site: Site, hub: Hub, turn: Callable[[], Awaitable[None]]) -> None:
        lease = held(site)
        (intent,) = site.governor.intents()
        site.governor.retried(intent.id, now=site.now)
        await turn()
        assert hub.asked == []
        site.later(2)
        await turn()
        assert site.now_is(lease).state is LeaseState.starting

    tell(tmp_path, story)


def test_the_spawner_reads_what_the_governor_writes() -> None:
    choice = Choice(profile=ProfileName("one"), lifetime_s=5400)
    options = read_options(options_of(choice))
    assert options.choice(choice.profile) == choice
    assert options.when is When.start


def test_pauses_grow_and_stay_short_beside_a_hold() -> None:
    assert [pause_s(tries) for tries in (0, 1, 2, 3, 4, 5, 500)] == [1, 1, 2, 4, 8, 15, 15]
