"""One start after another, from the hub's side: what is asked, applied, reported, remembered."""

import asyncio
import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jupyterhub.spawner import SimpleLocalProcessSpawner
from tornado import web

from hub_ext.lease import (
    Choice,
    LeaseId,
    Liveness,
    ProfileName,
    ProjectName,
    Reason,
    ReportKind,
)
from spawner.governed import GovernedMixin
from spawner.refusal import SpawnRefusal
from tests.spawner.conftest import MakeSpawner
from tests.support.governor import FakeGovernor, offer


async def refused(spawner: Any) -> SpawnRefusal:
    """Start, expect a refusal, and let the hub's last hook run as it does then."""
    with pytest.raises(SpawnRefusal) as caught:
        await spawner.start()
    await spawner.run_post_stop_hook()
    spawner.clear_state()
    return caught.value


def test_a_grant_reaches_the_server_and_the_governor_hears_of_both_ends(
    make_spawner: MakeSpawner, governor: FakeGovernor
) -> None:
    spawner = make_spawner(user_options={"profile": "mig-small", "team": "vision"})

    # The hub notes when it begins, before it calls us, and keeps no zone.
    began = datetime(2026, 12, 1, 9, 30, 0, 250_000, tzinfo=UTC)
    spawner.orm_spawner.started = began.replace(tzinfo=None)

    async def story() -> None:
        where = await spawner.start()
        assert where[0] == "127.0.0.1"
        env = spawner.get_env()
        assert env["CUDA_VISIBLE_DEVICES"] == env["NVIDIA_VISIBLE_DEVICES"] == "SIM-MIG-0"
        assert env["GPU_COMMONS_LEASE_ID"] == "lease-1"
        assert env["CPU_LIMIT"] == "2.0"
        assert env["MEM_LIMIT"] == str(4 * 2**30)
        governor.wait_for_reports(1)
        await spawner.stop()
        await spawner.run_post_stop_hook()

    asyncio.run(story())
    started, ended = governor.wait_for_reports(2)
    assert (started.kind, started.liveness) == (ReportKind.started, Liveness.alive)
    assert started.hub_started_at == began
    assert started.process is not None
    assert ended.process == started.process
    assert (ended.liveness, ended.asked, ended.refused) == (Liveness.gone, True, False)
    assert governor.grants == {}


def test_the_ask_names_the_servers_owner_their_groups_and_the_choice(
    make_spawner: MakeSpawner, governor: FakeGovernor
) -> None:
    options = {"profile": "cpu", "project": "atlas", "lifetime": "90m"}
    asyncio.run(make_spawner("bob", "second", user_options=options).start())
    ask = governor.asks[0]
    assert (ask.key.user, ask.key.server, ask.groups) == ("bob", "second", ("vision",))
    assert ask.choice == Choice(
        profile=ProfileName("cpu"), project=ProjectName("atlas"), lifetime_s=5400
    )


def test_every_start_is_a_new_attempt(make_spawner: MakeSpawner, governor: FakeGovernor) -> None:
    governor.room = 0
    spawner = make_spawner(user_options={"profile": "mig-small"})
    for _ in range(3):
        asyncio.run(refused(spawner))
    assert len({ask.attempt_id for ask in governor.asks}) == 3


def test_a_refusal_is_the_governors_words_below_500_and_needs_no_report(
    make_spawner: MakeSpawner, governor: FakeGovernor
) -> None:
    governor.room = 0
    spawner = make_spawner(user_options={"profile": "mig-small"})
    refusal = asyncio.run(refused(spawner))
    assert isinstance(refusal, web.HTTPError)
    assert refusal.status_code == 409
    assert refusal.jupyterhub_message.startswith("0 of 0 devices are held & <b>busy</b>")
    assert refusal.headers["Retry-After"] == "60"
    assert spawner.client().outbox.drain(5)
    assert governor.reports == []


def test_options_are_checked_at_the_start_too(make_spawner: MakeSpawner) -> None:
    refusal = asyncio.run(refused(make_spawner(user_options=["rubbish"])))
    assert refusal.status_code == 400
    assert "an object with named values" in refusal.jupyterhub_message


def test_no_options_mean_the_first_profile_without_a_gpu(
    make_spawner: MakeSpawner, governor: FakeGovernor
) -> None:
    governor.offers = [offer("mig-small"), offer("cpu-a"), offer("cpu-b")]
    asyncio.run(make_spawner().start())
    assert governor.asks[0].choice.profile == "cpu-a"


def test_no_options_and_no_profile_without_a_gpu_is_a_question(
    make_spawner: MakeSpawner, governor: FakeGovernor
) -> None:
    governor.offers = [offer("mig-small"), offer("mig-large")]
    refusal = asyncio.run(refused(make_spawner()))
    assert "Name one of: mig-small, mig-large." in refusal.jupyterhub_message
    governor.offers = []
    governor.message = Reason(code="no-team", message="You belong to no team. Ask an admin.")
    refusal = asyncio.run(refused(make_spawner("eve")))
    assert refusal.jupyterhub_message == "You belong to no team. Ask an admin."


def test_nobody_can_set_what_the_grant_sets(make_spawner: MakeSpawner) -> None:
    spawner = make_spawner(
        user_options={"profile": "cpu"},
        environment={
            "NVIDIA_VISIBLE_DEVICES": "all",
            "CUDA_VISIBLE_DEVICES": "0,1",
            "GPU_COMMONS_LEASE_ID": "mine",
            "GPU_COMMONS_API_URL": "http://127.0.0.1:8000/services/gpu-commons/api/v1",
            "SITE": "yes",
        },
    )
    for started in (False, True):
        if started:
            asyncio.run(spawner.start())
        env = spawner.get_env()
        assert env["NVIDIA_VISIBLE_DEVICES"] == "void"
        assert env["CUDA_VISIBLE_DEVICES"] == ""
        assert env.get("GPU_COMMONS_LEASE_ID") == ("lease-1" if started else None)
        assert env["GPU_COMMONS_API_URL"].endswith("/api/v1")
        assert env["SITE"] == "yes"


def test_a_failed_gpu_start_leaves_nothing_for_the_next_one(
    make_spawner: MakeSpawner, governor: FakeGovernor
) -> None:
    spawner = make_spawner(user_options={"profile": "mig-small"})
    asyncio.run(spawner.start())
    asyncio.run(spawner.stop())
    spawner.user_options = {"profile": "cpu"}
    spawner.clear_state()
    governor.grants.clear()
    asyncio.run(spawner.start())
    assert spawner.get_env()["NVIDIA_VISIBLE_DEVICES"] == "void"


# -- governor away --------------------------------------------------------------------------


def test_governor_away_a_known_profile_without_a_gpu_starts_and_is_recorded_later(
    make_spawner: MakeSpawner, governor: FakeGovernor
) -> None:
    spawner = make_spawner(user_options={"profile": "cpu"}, ask_timeout=0.3)

    async def story() -> None:
        await spawner.offers_form()
        with governor.away():
            await spawner.start()
        env = spawner.get_env()
        assert env["NVIDIA_VISIBLE_DEVICES"] == "void"
        assert "GPU_COMMONS_LEASE_ID" not in env

    asyncio.run(story())
    (started,) = governor.wait_for_reports(1)
    assert started.kind is ReportKind.started
    assert [grant.profile for grant in governor.grants.values()] == ["cpu"]


def test_governor_away_no_gpu_and_clear_words_below_500(
    make_spawner: MakeSpawner, governor: FakeGovernor
) -> None:
    spawner = make_spawner(user_options={"profile": "mig-small"}, ask_timeout=0.3)

    async def story() -> SpawnRefusal:
        await spawner.offers_form()
        with governor.away():
            return await refused(spawner)

    refusal = asyncio.run(story())
    assert refusal.status_code == 429
    assert "no GPU can be given out now" in refusal.jupyterhub_message
    assert "Servers without a GPU still start: Profile cpu." in refusal.jupyterhub_message
    (told,) = governor.wait_for_reports(1)
    assert (told.kind, told.refused, told.liveness) == (ReportKind.ended, True, Liveness.gone)


def test_an_answer_that_comes_too_late_is_buried(
    make_spawner: MakeSpawner, governor: FakeGovernor
) -> None:
    spawner = make_spawner(user_options={"profile": "mig-small"}, ask_timeout=0.3)
    governor.delay_s = 0.6
    asyncio.run(refused(spawner))
    governor.delay_s = 0.0
    governor.wait_for_reports(1)
    governor.wait_for_ask()
    assert governor.buried == {ask.attempt_id for ask in governor.asks}
    assert governor.grants == {}


@pytest.mark.parametrize(
    ("options", "switch"),
    [
        ({"profile": "cpu"}, False),
        ({"profile": "cpu-unknown"}, True),
        ({"profile": "cpu", "team": "other"}, True),
        ({"profile": "cpu", "project": "other"}, True),
    ],
)
def test_governor_away_what_is_not_known_or_not_allowed_does_not_start(
    make_spawner: MakeSpawner, governor: FakeGovernor, options: dict[str, str], *, switch: bool
) -> None:
    spawner = make_spawner(user_options=options, ask_timeout=0.2, start_without_governor=switch)

    async def story() -> SpawnRefusal:
        await spawner.offers_form()
        with governor.away():
            return await refused(spawner)

    assert asyncio.run(story()).status_code == 429


def test_a_missing_token_is_a_governor_that_is_away(make_spawner: MakeSpawner) -> None:
    spawner = make_spawner(user_options={"profile": "mig-small"}, token_file="/nowhere/token")
    assert asyncio.run(refused(spawner)).status_code == 429


# -- bad ends ---------------------------------------------------------------------------------


def test_a_cancelled_ask_is_told_to_the_governor(
    make_spawner: MakeSpawner, governor: FakeGovernor
) -> None:
    governor.delay_s = 0.4
    spawner = make_spawner(user_options={"profile": "mig-small"})

    async def story() -> None:
        start = asyncio.ensure_future(spawner.start())
        await asyncio.sleep(0.1)
        assert await spawner.poll() is None, "a start that has not returned is running"
        start.cancel()
        with suppress(asyncio.CancelledError):
            await start
        assert await spawner.poll() is not None
        await spawner.run_post_stop_hook()

    asyncio.run(story())
    governor.delay_s = 0.0
    first, second = governor.wait_for_reports(2)
    governor.wait_for_ask()
    assert first.model_copy(update={"age_ms": second.age_ms}) == second
    assert (first.kind, first.refused, first.liveness) == (ReportKind.ended, True, Liveness.gone)
    assert governor.buried == {ask.attempt_id for ask in governor.asks}


def test_a_program_that_is_not_there_is_a_refusal_and_a_reported_end(
    make_spawner: MakeSpawner, governor: FakeGovernor
) -> None:
    spawner = make_spawner(user_options={"profile": "mig-small"}, cmd=["/nowhere/server"])
    refusal = asyncio.run(refused(spawner))
    assert refusal.status_code == 409
    assert "could not be started on this machine" in refusal.jupyterhub_message
    (told,) = governor.wait_for_reports(1)
    assert (told.liveness, told.refused) == (Liveness.gone, False)
    assert governor.grants == {}


def test_a_poll_that_fails_proves_nothing(
    make_spawner: MakeSpawner, governor: FakeGovernor, monkeypatch: pytest.MonkeyPatch
) -> None:
    spawner = make_spawner(user_options={"profile": "mig-small"})

    async def story() -> None:
        await spawner.start()

        async def broken(_self: object, _sig: int) -> bool:
            raise PermissionError

        monkeypatch.setattr(type(spawner), "poll", broken)
        with suppress(TypeError):
            await spawner.run_post_stop_hook()

    asyncio.run(story())
    _started, ended = governor.wait_for_reports(2)
    assert ended.liveness is Liveness.unknown
    assert len(governor.grants) == 1


# -- state --------------------------------------------------------------------------------------


def test_a_restarted_hub_knows_the_attempt_and_reports_its_end(
    make_spawner: MakeSpawner, governor: FakeGovernor
) -> None:
    first = make_spawner(user_options={"profile": "mig-small"})

    async def story() -> None:
        await first.start()
        state = json.loads(json.dumps(first.get_state()))
        again = make_spawner()
        again.load_state(state)
        assert again.trace == first.trace
        assert await again.poll() is None
        await again.stop()
        await again.run_post_stop_hook()

    asyncio.run(story())
    ended = governor.wait_for_reports(2)[1]
    assert (ended.liveness, ended.asked, ended.exit_code) == (Liveness.gone, True, None)
    assert first.trace is not None
    assert first.trace.lease_id == LeaseId("lease-1")


@pytest.mark.parametrize("state", [{"gpu_commons": 3}, {"gpu_commons": {"trace": {"x": 1}}}, {}])
def test_damaged_state_is_dropped(make_spawner: MakeSpawner, state: dict[str, Any]) -> None:
    spawner = make_spawner()
    spawner.load_state(state)
    assert spawner.trace is None
    assert asyncio.run(spawner.poll()) == 0


def test_the_attempt_is_dropped_when_the_hub_clears_state(
    make_spawner: MakeSpawner, governor: FakeGovernor
) -> None:
    spawner = make_spawner(user_options={"profile": "cpu"})

    async def story() -> None:
        await spawner.start()
        await spawner.stop()
        await spawner.run_post_stop_hook()
        spawner.clear_state()

    asyncio.run(story())
    assert spawner.get_state() == {}


def test_progress_tells_what_was_granted(make_spawner: MakeSpawner) -> None:
    spawner = make_spawner(user_options={"profile": "mig-small"})

    async def story() -> list[str]:
        await spawner.start()
        return [event["message"] async for event in spawner.progress()]

    assert asyncio.run(story())[0] == "Granted: Profile mig-small (1g.18gb)"


class OverAnother(GovernedMixin, SimpleLocalProcessSpawner):
    """What the documentation shows: governed starts of another spawner class."""


def test_another_spawner_class_is_governed_by_the_mixin_alone(
    make_spawner: MakeSpawner, governor: FakeGovernor, tmp_path: Path
) -> None:
    spawner = make_spawner(
        kind=OverAnother, user_options={"profile": "mig-small"}, home_dir=str(tmp_path / "home")
    )

    async def story() -> None:
        await spawner.start()
        assert spawner.get_env()["CUDA_VISIBLE_DEVICES"] == "SIM-MIG-0"
        await spawner.stop()
        await spawner.run_post_stop_hook()
        spawner.clear_state()
        governor.room = 0
        spawner.user_options = {"profile": "mig-small"}
        assert (await refused(spawner)).code == "would-queue"

    asyncio.run(story())
    started, ended = governor.wait_for_reports(2)
    assert started.process is None
    assert ended.liveness is Liveness.gone
