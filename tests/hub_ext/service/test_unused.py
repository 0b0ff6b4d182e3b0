"""A server was started for somebody who waited: is anybody there?"""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from hub_ext.errors import RefusedError, UnreachableError
from hub_ext.lease import (
    Ask,
    Cause,
    Choice,
    LeaseState,
    Liveness,
    OpenLease,
    ProfileName,
    ReportKind,
    ServerKey,
    UserName,
    When,
)
from hub_ext.service.basis.hub import HubClient, HubServer
from hub_ext.service.workers.unused import stop_unused
from tests.support.small_core import SmallCore

ONE = {
    "slices": {
        "model": "h200-141gb",
        "nodes": [{"name": "n1", "gpus": 1, "geometry": [["1g.18gb"]]}],
    }
}
TEAM = {"vision": {"groups": ["vision"], "quota": {"slices": {"nominal": "0.125"}}}}
IDLE = {"gpus": {"applies": ["gpu", "mig"], "limit": "2h", "notice": "2m"}}
LIMIT_S = 15 * 60


class Hub(HubClient):
    """A hub that has seen activity at one instant, or does not answer."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:1/hub/api", "t")
        self.last_activity: datetime | None = None
        self.away = False

    async def server(self, key: ServerKey) -> HubServer:
        if self.away:
            raise UnreachableError("away")
        return HubServer(key, ready=True, pending=None, last_activity=self.last_activity)


@pytest.fixture
def core(tmp_path: Path) -> Iterator[SmallCore]:
    with SmallCore.running(tmp_path / "state", pools=ONE, teams=TEAM, idle=IDLE) as opened:
        yield opened


def started_for(core: SmallCore, user: str) -> OpenLease:
    """Let somebody wait, give them their turn, and let the governor's start be claimed."""
    blocking = core.run("ada")
    key = ServerKey(user=UserName(user))
    wish = {"key": key, "groups": ("vision",), "choice": Choice(profile=ProfileName("small"))}
    with suppress(RefusedError):
        core.governor.ask(
            Ask.model_validate({**wish, "attempt_id": "waiting-1", "when": When.start}),
            now=core.now,
        )
    core.seen[blocking.id] = Liveness.gone
    core.governor.look(blocking.id, now=core.now)
    assert core.governor.serve_queue(now=core.now) == 1
    (intent,) = core.governor.intents()
    core.governor.retried(intent.id, now=core.now)
    grant = core.governor.ask(
        Ask.model_validate({**wish, "attempt_id": "claiming-1"}), now=core.now
    )
    lease = core.lease(grant.lease_id)
    core.report(lease, ReportKind.started)
    lease = core.lease(lease.id)
    assert lease.autostarted
    return lease


def pass_over(core: SmallCore, hub: Hub) -> None:
    async def turn() -> None:
        with core.runner() as runner:
            await stop_unused(runner, hub)

    asyncio.run(turn())


@pytest.fixture
def hub(core: SmallCore) -> Iterator[Hub]:
    opened = Hub()
    opened.last_activity = core.now + timedelta(seconds=5)
    yield opened
    opened.close()


def test_a_server_to_which_nobody_comes_is_stopped_with_words(core: SmallCore, hub: Hub) -> None:
    lease = started_for(core, "bob")
    core.later(LIMIT_S - 60)
    pass_over(core, hub)
    assert core.lease(lease.id).state is LeaseState.running
    core.later(180)
    pass_over(core, hub)
    stopping = core.lease(lease.id)
    assert (stopping.state, stopping.cause) == (LeaseState.stopping, Cause.never_used)
    assert stopping.reason is not None
    assert "nobody used it for 15m" in stopping.reason.message
    assert [intent.kind for intent in core.governor.intents()] == ["stop"]


def test_an_open_page_is_a_visit_for_good(core: SmallCore, hub: Hub) -> None:
    lease = started_for(core, "bob")
    core.governor.visited(lease.key, now=core.now)
    assert not core.lease(lease.id).autostarted
    core.later(LIMIT_S + 180)
    pass_over(core, hub)
    assert core.lease(lease.id).state is LeaseState.running


def test_activity_that_the_hub_has_seen_is_a_visit(core: SmallCore, hub: Hub) -> None:
    lease = started_for(core, "bob")
    hub.last_activity = core.now + timedelta(minutes=4)
    core.later(LIMIT_S + 180)
    pass_over(core, hub)
    assert core.lease(lease.id).state is LeaseState.running
    assert not core.lease(lease.id).autostarted


@pytest.mark.parametrize("figure", [80, None])
def test_a_busy_gpu_and_one_that_nobody_measures_are_not_stopped(
    core: SmallCore, hub: Hub, figure: int | None
) -> None:
    lease = started_for(core, "bob")
    core.busy[lease.id] = figure
    core.later(LIMIT_S + 180)
    pass_over(core, hub)
    assert core.lease(lease.id).state is LeaseState.running


def test_a_hub_that_is_away_or_tells_nothing_stops_nobody(core: SmallCore, hub: Hub) -> None:
    lease = started_for(core, "bob")
    core.later(LIMIT_S + 180)
    hub.away = True
    pass_over(core, hub)
    hub.away, hub.last_activity = False, None
    pass_over(core, hub)
    assert core.lease(lease.id).state is LeaseState.running


def test_who_started_the_server_themselves_is_never_looked_after(core: SmallCore, hub: Hub) -> None:
    lease = core.run("ada")
    core.later(LIMIT_S + 180)
    pass_over(core, hub)
    assert core.lease(lease.id).state is LeaseState.running
