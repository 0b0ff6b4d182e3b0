"""The client of Workloads against a real API server and Kueue: what is refused, who is away."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hub_ext.errors import RefusedError, UnreachableError
from hub_ext.kube import names
from hub_ext.kube.answers import ExpiredError
from hub_ext.kube.api import Api
from hub_ext.kube.engine import Gone, Phase, Seen, Wanted
from hub_ext.kube.workloads import Workloads
from hub_ext.lease import LeaseId, PoolName
from tests.controlplane import queues
from tests.controlplane.api import Manifest
from tests.controlplane.plane import ControlPlane

pytestmark = pytest.mark.kube


@pytest.fixture
def namespace(control_plane: ControlPlane) -> str:
    """A namespace with a queue of two units."""
    made = control_plane.namespace("client")
    label = {names.FLAVOR_LABEL: made}
    control_plane.api.apply(
        [
            queues.flavor(names.flavor(made), **label),
            queues.cluster_queue(made, queues.quota({names.flavor(made): 2})),
            queues.local_queue(names.LOCAL_QUEUE, made, made),
        ]
    )
    path = f"{queues.GROUP}/clusterqueues/{made}"
    control_plane.api.wait(path, lambda one: queues.holds(one, "Active"))
    return made


def wanted(lease: str, namespace: str, *, number: int = 1500, units: int = 1) -> Wanted:
    labels = names.lease_labels(lease, "a", None, namespace)
    pool = PoolName(namespace)
    return Wanted(LeaseId(lease), namespace, names.LOCAL_QUEUE, pool, {}, units, number, labels)


@asynccontextmanager
async def client(kubeconfig: Path, namespace: str | None) -> AsyncIterator[Workloads]:
    made = Workloads.at(kubeconfig, lambda: datetime.now(UTC), namespace=namespace)
    try:
        yield made
    finally:
        await made.close()


async def admitted(workloads: Workloads, lease: str) -> Seen:
    async with asyncio.timeout(20):
        while True:
            found = await workloads.find(LeaseId(lease))
            if found is not None and found.phase is Phase.admitted:
                return found
            await asyncio.sleep(0.03)


def test_each_call_may_be_made_again(control_plane: ControlPlane, namespace: str) -> None:
    async def tell() -> None:
        async with client(control_plane.kubeconfig, None) as ours:
            await ours.create(wanted("l-1", namespace))
            await ours.create(wanted("l-1", namespace))
            found = await admitted(ours, "l-1")
            assert (found.units, found.pool, found.number) == (1, namespace, 1500)
            for number in (2500, 2500):
                assert await ours.renumber(LeaseId("l-1"), number)
                assert await ours.pods_ready(LeaseId("l-1"))
            found = await admitted(ours, "l-1")
            assert (found.number, found.pods_ready) == (2500, True)
            with pytest.raises(RefusedError, match="holds quota"):
                await ours.set_active(LeaseId("l-1"), False)
            async with client(control_plane.kubeconfig, None) as restarted:
                assert await restarted.keep(LeaseId("l-1"))
                assert (await admitted(restarted, "l-1")).pods_ready
                await restarted.delete(LeaseId("l-1"))
                assert await restarted.find(LeaseId("l-1")) is None
            await ours.delete(LeaseId("l-1"))
            assert not await ours.renumber(LeaseId("l-1"), 1)
            assert not await ours.pods_ready(LeaseId("l-1"))

    asyncio.run(tell())


def test_what_the_server_refuses_is_said_in_words(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    control_plane.service_account(namespace, "reader")
    reader = control_plane.user_kubeconfig(namespace, "reader")
    stranger = tmp_path / "stranger"
    control_plane.write_kubeconfig(stranger, "no-such-token")

    async def tell() -> None:
        async with client(control_plane.kubeconfig, None) as ours:
            with pytest.raises(RefusedError, match="render --apply") as missing:
                await ours.create(wanted("l-2", "gpu-nowhere"))
            assert missing.value.code == "kube-missing"
            with pytest.raises(RefusedError, match="refused the request"):
                await ours.create(wanted("l-2", namespace, number=2**40))
            await ours.create(wanted("l-2", namespace))
            with pytest.raises(RefusedError, match="holds another Workload called l-2"):
                await ours.create(wanted("l-2", namespace, units=2))
            await ours.delete(LeaseId("l-2"))
        async with client(reader, namespace) as theirs:
            with pytest.raises(RefusedError, match="the governor may not do this") as forbidden:
                await theirs.create(wanted("l-3", namespace))
            assert forbidden.value.code == "kube-forbidden"
        async with client(stranger, namespace) as nobody:
            with pytest.raises(UnreachableError, match="does not know the governor's token"):
                await nobody.all()
            # As a token that was replaced in its file: the next call is made with the new one.
            control_plane.write_kubeconfig(stranger, control_plane.api.token)
            with suppress(UnreachableError):
                await nobody.all()
            assert await nobody.all() == ()

    asyncio.run(tell())


def test_a_version_that_is_no_longer_kept_is_told_so(control_plane: ControlPlane) -> None:
    async def tell() -> None:
        api = Api(control_plane.kubeconfig)
        path = f"{queues.GROUP}/workloads"
        async with aclosing(api.stream(path, {"resourceVersion": "1"})) as events:
            with pytest.raises(ExpiredError):
                await anext(events)
        await api.close()

    asyncio.run(tell())


@pytest.mark.smoke
def test_while_kueue_is_away_nothing_is_created_and_reading_and_deleting_go_on(
    control_plane: ControlPlane, namespace: str
) -> None:
    async def tell() -> None:
        async with client(control_plane.kubeconfig, namespace) as ours:
            await ours.create(wanted("l-4", namespace))
            await admitted(ours, "l-4")
            control_plane.processes.end("kueue")
            try:
                with pytest.raises(UnreachableError, match="Kueue does not answer"):
                    await ours.create(wanted("l-5", namespace))
                with pytest.raises(UnreachableError, match="Kueue does not answer"):
                    await ours.renumber(LeaseId("l-4"), 2000)
                assert [one.phase for one in await ours.all()] == [Phase.admitted]
                await ours.delete(LeaseId("l-4"))
                assert await ours.all() == ()
            finally:
                control_plane.start_again("kueue")
            await ours.create(wanted("l-5", namespace))
            await admitted(ours, "l-5")
            await ours.delete(LeaseId("l-5"))

    asyncio.run(tell())


def job(name: str, namespace: str) -> Manifest:
    """Somebody else's Workload."""
    return queues.workload(name, namespace, names.LOCAL_QUEUE, units=1)


@pytest.mark.smoke
def test_a_watch_outlives_the_api_server_and_misses_no_end(
    control_plane: ControlPlane, namespace: str
) -> None:
    async def tell() -> None:
        told: list[str] = []
        heard = asyncio.Event()
        async with client(control_plane.kubeconfig, namespace) as ours:

            async def nap(_seconds: float) -> None:
                told.append(ours.away)
                heard.set()
                await asyncio.sleep(0.1)

            async with aclosing(ours.watch(nap)) as watch, asyncio.timeout(120):
                await ours.create(wanted("l-6", namespace))
                seen = [one async for one in _until(watch, "l-6", Phase.admitted)]
                assert isinstance(seen[0], Seen)
                control_plane.processes.end("kube-apiserver")
                again = asyncio.create_task(_gone(watch, "l-6"))
                await heard.wait()
                control_plane.start_again("kube-apiserver")
                control_plane.api.delete(queues.workloads_path(namespace, "l-6"))
                control_plane.api.create(queues.workloads_path(namespace), job("job", namespace))
                gone = await again
                assert gone.lease_id == "l-6"
                foreign = [one async for one in _until(watch, "job", Phase.admitted)]
                assert isinstance(foreign[-1], Seen)
                assert foreign[-1].foreign
                assert ours.away == ""
        assert any("does not answer" in words for words in told), told
        control_plane.api.delete(queues.workloads_path(namespace, "job"))

    asyncio.run(tell())


async def _until(
    watch: AsyncIterator[Seen | Gone], name: str, phase: Phase
) -> AsyncIterator[Seen | Gone]:
    async for one in watch:
        yield one
        if isinstance(one, Seen) and one.name == name and one.phase is phase:
            return


async def _gone(watch: AsyncIterator[Seen | Gone], name: str) -> Gone:
    async for one in watch:
        if isinstance(one, Gone) and one.name == name:
            return one
    raise AssertionError(name)
