"""Leases as Workloads, over real HTTP against a small Kueue that behaves."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hub_ext.admission.engine import Cohort, Group, Preemption, Queue, Quota
from hub_ext.errors import RefusedError, UnreachableError
from hub_ext.kube import names, paging
from hub_ext.kube.engine import Gone, Phase, Seen, Wanted
from hub_ext.kube.objects import workload
from hub_ext.kube.workloads import Workloads
from hub_ext.lease import LeaseId, PoolName
from tests.support.fake_kueue import TOKEN, FakeKueue

NOW = datetime(2026, 12, 1, 9, 0, tzinfo=UTC)
FLAVOR = names.flavor("h200")


def kueue() -> FakeKueue:
    """Two teams of two units each, that lend to each other."""
    teams = {"a": "gc-a", "b": "gc-b"}
    return FakeKueue(
        cohorts=(Cohort(names.SITE_COHORT),),
        queues=tuple(
            Queue(
                queue,
                names.SITE_COHORT,
                (Group((names.UNIT,), (FLAVOR,)),),
                {(FLAVOR, names.UNIT): Quota(2)},
                Preemption(reclaim="LowerPriority"),
            )
            for queue in teams.values()
        ),
        local={(f"gpu-team-{team}", names.LOCAL_QUEUE): queue for team, queue in teams.items()},
        selectors={"h200": FLAVOR},
    )


def wanted(lease: str, team: str = "a", *, number: int = 1500, units: int = 1) -> Wanted:
    return Wanted(
        LeaseId(lease),
        names.team_namespace(team),
        names.LOCAL_QUEUE,
        PoolName("h200"),
        {},
        units,
        number,
        names.lease_labels(lease, team, None, "h200"),
    )


@asynccontextmanager
async def cluster(tmp_path: Path) -> AsyncIterator[tuple[FakeKueue, Workloads]]:
    async with kueue().serving() as fake:
        client = Workloads.at(fake.kubeconfig(tmp_path), lambda: NOW)
        try:
            yield fake, client
        finally:
            await client.close()


def story(
    tell: Callable[[FakeKueue, Workloads], Awaitable[None]],
) -> Callable[[Path], None]:
    """Run a story against a cluster of its own."""

    def test(tmp_path: Path) -> None:
        async def whole() -> None:
            async with cluster(tmp_path) as (fake, client):
                await asyncio.wait_for(tell(fake, client), 30)

        asyncio.run(whole())

    test.__name__ = tell.__name__
    return test


async def phases(client: Workloads) -> dict[str, Phase]:
    return {one.name: one.phase for one in await client.all()}


@story
async def test_a_lease_is_admitted_and_its_units_come_back_when_it_is_deleted(
    fake: FakeKueue, client: Workloads
) -> None:
    made = await client.create(wanted("l-1", units=2))
    assert (made.lease_id, made.units, made.number) == ("l-1", 2, 1500)
    assert await phases(client) == {"l-1": Phase.admitted}
    await client.delete(LeaseId("l-1"))
    await client.delete(LeaseId("l-1"))
    assert fake.holding() == set()


@story
async def test_what_waits_says_why_in_kueues_words(fake: FakeKueue, client: Workloads) -> None:
    await client.create(wanted("l-1", units=4))
    await client.create(wanted("l-2"))
    waits = await client.find(LeaseId("l-2"))
    assert waits is not None
    assert (waits.phase, waits.holds, waits.reason) == (Phase.pending, False, "Pending")
    assert "insufficient unused quota" in waits.message


@story
async def test_a_lost_answer_makes_no_second_workload(fake: FakeKueue, client: Workloads) -> None:
    fake.faults.loses_answer = True
    with pytest.raises(UnreachableError):
        await client.create(wanted("l-1"))
    again = await client.create(wanted("l-1"))
    assert again.phase is Phase.admitted
    assert len(fake.kept) == 1


@story
async def test_a_foreign_workload_of_the_same_name_is_refused(
    fake: FakeKueue, client: Workloads
) -> None:
    await client.create(wanted("l-1"))
    with pytest.raises(RefusedError, match="holds another Workload called l-1") as refused:
        await client.create(wanted("l-1", units=2))
    assert refused.value.code == "kube-name-taken"


@story
async def test_a_called_in_lease_keeps_its_quota_until_it_is_deleted(
    fake: FakeKueue, client: Workloads
) -> None:
    for n in range(4):
        await client.create(wanted(f"l-{n}", number=2500))
    await client.create(wanted("owner", "b", number=1500))
    assert (await phases(client))["owner"] is Phase.pending
    assert await client.renumber(LeaseId("l-3"), 500)
    assert Phase.evicted not in (await phases(client)).values()
    assert await client.renumber(LeaseId("owner"), 1501)
    victim = await client.find(LeaseId("l-3"))
    assert victim is not None
    assert (victim.phase, victim.evicted_for, victim.holds) == (Phase.evicted, "Preempted", True)
    await client.delete(LeaseId("l-3"))
    assert (await phases(client))["owner"] is Phase.admitted


@story
async def test_a_withdrawn_notice_is_taken_back(fake: FakeKueue, client: Workloads) -> None:
    for n in range(4):
        await client.create(wanted(f"l-{n}", number=500 if n == 3 else 2500))
    await client.create(wanted("owner", "b"))
    await client.delete(LeaseId("owner"))
    assert (await phases(client))["l-3"] is Phase.evicted
    assert await client.renumber(LeaseId("l-3"), 2500)
    assert await client.keep(LeaseId("l-3"))
    assert (await phases(client))["l-3"] is Phase.admitted


@story
async def test_what_waits_steps_out_and_in_and_what_holds_never(
    fake: FakeKueue, client: Workloads
) -> None:
    await client.create(wanted("l-1", units=4))
    await client.create(wanted("l-2"))
    assert await client.set_active(LeaseId("l-2"), False)
    out = await client.find(LeaseId("l-2"))
    assert out is not None
    assert (out.phase, out.evicted_for) == (Phase.deactivated, "Deactivated")
    assert await client.set_active(LeaseId("l-2"), True)
    assert (await phases(client))["l-2"] is Phase.pending
    with pytest.raises(RefusedError, match="holds quota"):
        await client.set_active(LeaseId("l-1"), False)
    assert fake.holding() == {"l-1"}


@story
async def test_readiness_is_reported_and_frees_the_next(fake: FakeKueue, client: Workloads) -> None:
    fake.waits_for_pods = True
    await client.create(wanted("l-1"))
    await client.create(wanted("l-2"))
    assert (await phases(client))["l-2"] is Phase.pending
    assert await client.pods_ready(LeaseId("l-1"))
    fake.wakes()
    assert (await phases(client))["l-2"] is Phase.admitted
    ready = await client.find(LeaseId("l-1"))
    assert ready is not None
    assert ready.pods_ready


@story
async def test_what_is_gone_is_no_error(fake: FakeKueue, client: Workloads) -> None:
    gone = LeaseId("l-gone")
    assert not await client.renumber(gone, 1)
    assert not await client.set_active(gone, True)
    assert not await client.set_active(gone, False)
    assert not await client.pods_ready(gone)
    assert not await client.keep(gone)
    assert await client.find(gone) is None
    await client.create(wanted("l-1"))
    fake.delete(fake.body("l-1"))
    assert not await client.renumber(LeaseId("l-1"), 1)
    assert not await client.keep(LeaseId("l-1"))


@story
async def test_another_client_finds_a_lease_by_its_label(
    fake: FakeKueue, client: Workloads
) -> None:
    fake.create("gpu-team-b", _body("l-7", "b"))
    assert await client.renumber(LeaseId("l-7"), 1777)
    assert fake.body("l-7")["spec"]["priority"] == 1777


def _body(lease: str, team: str) -> dict[str, object]:
    return workload(wanted(lease, team))


@story
async def test_kueue_away_refuses_nothing_for_good(fake: FakeKueue, client: Workloads) -> None:
    await client.create(wanted("l-1"))
    fake.faults.webhook_away = True
    with pytest.raises(UnreachableError, match="Kueue does not answer"):
        await client.create(wanted("l-2"))
    assert (await phases(client)) == {"l-1": Phase.admitted}
    await client.delete(LeaseId("l-1"))
    fake.faults.webhook_away = False
    assert (await client.create(wanted("l-2"))).lease_id == "l-2"


@pytest.mark.parametrize(
    ("status", "message", "error", "words"),
    [
        (401, "Unauthorized", UnreachableError, "does not know the governor's token"),
        (403, 'User "g" cannot create resource "workloads"', RefusedError, "may not do this"),
        (403, 'webhook "v" denied the request: no', RefusedError, "refused the request: webhook"),
        (404, "page not found", UnreachableError, "Kueue is not installed"),
        (422, "spec.podSets: Invalid value", RefusedError, "Invalid value"),
        (429, "too many requests", UnreachableError, "answered 429"),
        (503, "apiserver is shutting down", UnreachableError, "shutting down"),
    ],
)
def test_each_answer_has_its_words(
    tmp_path: Path, status: int, message: str, error: type[Exception], words: str
) -> None:
    async def tell() -> None:
        async with cluster(tmp_path) as (fake, client):
            fake.faults.status, fake.faults.message = status, message
            with pytest.raises(error, match=words):
                await client.create(wanted("l-1"))

    asyncio.run(tell())


@story
async def test_a_person_waits_no_longer_than_two_seconds(
    fake: FakeKueue, client: Workloads
) -> None:
    fake.faults.slow_s = 10
    loop = asyncio.get_running_loop()
    start = loop.time()
    with pytest.raises(UnreachableError, match="did not answer in time"):
        await client.create(wanted("l-1"))
    assert loop.time() - start < 6
    fake.faults.slow_s = 0


def test_nobody_at_home_is_said_without_the_token(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    async def tell() -> None:
        async with kueue().serving() as fake:
            path = fake.kubeconfig(tmp_path)
            client = Workloads.at(path, lambda: NOW)
            await client.create(wanted("l-1"))
        with pytest.raises(UnreachableError, match="does not answer") as away:
            await client.all()
        await client.close()
        path.write_text("{" + TOKEN)
        with pytest.raises(UnreachableError, match="kubeconfig") as broken:
            await Workloads.at(path, lambda: NOW).all()
        assert TOKEN not in f"{away.value} {broken.value} {caplog.text}"

    asyncio.run(tell())


async def until(
    client: Workloads, *, ends: Callable[[Seen | Gone], bool], naps: asyncio.Event | None = None
) -> list[Seen | Gone]:
    """Follow until a change that ends the story."""
    found = []

    async def nap(_seconds: float) -> None:
        if naps is not None:
            naps.set()
        await asyncio.sleep(0.01)

    async with aclosing(client.watch(nap)) as watch:
        async for change in watch:
            found.append(change)
            if ends(change):
                break
    return found


@story
async def test_a_watch_gives_what_is_there_then_every_change(
    fake: FakeKueue, client: Workloads
) -> None:
    await client.create(wanted("l-1"))
    following = asyncio.create_task(until(client, ends=lambda one: isinstance(one, Gone)))
    await asyncio.sleep(0.1)
    await client.create(wanted("l-2"))
    await client.delete(LeaseId("l-1"))
    found = await following
    assert {one.lease_id for one in found} == {"l-1", "l-2"}
    assert isinstance(found[-1], Gone)
    assert found[-1].lease_id == "l-1"


@pytest.mark.parametrize("fault", ["drop", "compact", "away"])
def test_no_end_is_missed_in_a_gap(tmp_path: Path, fault: str) -> None:
    async def tell() -> None:
        async with cluster(tmp_path) as (fake, client):
            await client.create(wanted("l-1"))
            await client.create(wanted("l-2"))
            naps = asyncio.Event()
            following = asyncio.create_task(
                until(client, ends=lambda one: isinstance(one, Gone), naps=naps)
            )
            await asyncio.sleep(0.1)
            if fault == "away":
                fake.faults.status = 503
                fake.shelf.drop()
                await naps.wait()
                assert "503" in client.away
            fake.delete(fake.body("l-1"))
            if fault == "drop":
                fake.shelf.drop()
            else:
                fake.shelf.compact()
            fake.faults.status = 0
            found = await following
            assert [one.lease_id for one in found if isinstance(one, Gone)] == ["l-1"]
            assert client.away == ""

    asyncio.run(asyncio.wait_for(tell(), 30))


def test_a_list_of_many_pages_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "_PAGE", 3)

    async def tell() -> None:
        async with cluster(tmp_path) as (fake, client):
            for n in range(7):
                fake.create("gpu-team-a", _body(f"l-{n}", "a"))
            assert len(await client.all()) == 7

    asyncio.run(tell())
