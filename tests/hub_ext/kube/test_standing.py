"""What the pods of leases prove to the governor, read from an API that behaves."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hub_ext.kube.api import Api
from hub_ext.kube.standing import Standing
from hub_ext.lease import Ask, LeaseId, Liveness, OpenLease, PodTerms
from tests.hub_ext.kube.test_podterms import chosen, lease_of, policy
from tests.support.fake_kube_api import FakeKube, stays_pending
from tests.support.governor import FakeGovernor, offer

__all__ = ["policy"]

Json = dict[str, Any]
NAMESPACE = "gpu-atlas"


@pytest.fixture
def kube(tmp_path: Path) -> Iterator[FakeKube]:
    with FakeKube.running(tmp_path / "kubeconfig") as fake:
        fake.script = stays_pending
        yield fake


def placed(policy: Any, number: int) -> OpenLease:
    """Give a lease with a pod of its own."""
    lease = lease_of(chosen(policy, "card")).model_copy(update={"id": LeaseId(f"l-{number}")})
    asked = FakeGovernor()
    asked.pod_of = lambda _ask, _offer: PodTerms(namespace=NAMESPACE, scratch_bytes=1)
    ask = Ask(attempt_id="attempt-0001", key=lease.key, choice=lease.choice)
    grant = asked._grant(ask, offer(), number)
    return lease.model_copy(update={"grant": grant})


def keep(kube: FakeKube, lease: OpenLease, phase: str, **more: Any) -> None:
    meta = {
        "name": f"jupyter-{lease.id}",
        "namespace": NAMESPACE,
        "uid": lease.id,
        "labels": {"gpu-commons.dev/lease": lease.id},
    }
    spec = {"containers": [{"name": "notebook", "image": "i"}], "nodeName": "n1"}
    pod = {"metadata": meta, "spec": spec, "status": {"phase": phase, **more}}
    kube.do(lambda: kube.changed("pods", pod, "ADDED"))


def by_hand(policy: Any, number: int) -> OpenLease:
    """Give a lease that was granted no pod: adopted from before, or made by an administrator."""
    lease = lease_of(chosen(policy, "card"), server=f"s{number}")
    return lease.model_copy(update={"id": LeaseId(f"l-{number}")})


def keep_server(
    kube: FakeKube, lease: OpenLease, phase: str, attempt: str = "", **labels: str
) -> None:
    """Keep the pod of somebody's server, known by the hub's annotations alone."""
    meta = {
        "name": f"jupyter-{lease.key.server}",
        "namespace": NAMESPACE,
        "uid": f"u-{lease.id}",
        "labels": {"component": "singleuser-server", **labels},
        "annotations": {
            "hub.jupyter.org/username": lease.key.user,
            "hub.jupyter.org/servername": lease.key.server,
            **({"gpu-commons.dev/attempt": attempt} if attempt else {}),
        },
    }
    spec = {"containers": [{"name": "notebook", "image": "i"}], "nodeName": "n1"}
    pod = {"metadata": meta, "spec": spec, "status": {"phase": phase}}
    kube.do(lambda: kube.changed("pods", pod, "ADDED"))


def test_a_lease_that_was_granted_no_pod_is_known_by_whose_server_it_is(
    kube: FakeKube, tmp_path: Path, policy: Any
) -> None:
    runs, over, elsewhere, anothers = (by_hand(policy, number) for number in range(4))
    keep_server(kube, runs, "Running")
    keep_server(kube, over, "Succeeded")
    keep_server(kube, anothers, "Running", **{"gpu-commons.dev/lease": "l-9"})
    places = {one.id: NAMESPACE for one in (runs, over, elsewhere, anothers)}

    async def story() -> dict[LeaseId, Liveness]:
        standing = Standing(Api(tmp_path / "kubeconfig"))
        try:
            found = await standing.of([runs, over, elsewhere, anothers], places)
            await standing.end(runs, places)
        finally:
            await standing.close()
        return found

    assert asyncio.run(story()) == {runs.id: Liveness.alive, over.id: Liveness.gone}
    assert [one["name"] for one in kube.deletes] == [f"jupyter-{runs.key.server}"]


def test_where_its_place_cannot_be_read_it_is_unknown(
    kube: FakeKube, tmp_path: Path, policy: Any
) -> None:
    lease = by_hand(policy, 1)
    kube.away = True

    async def story() -> dict[LeaseId, Liveness]:
        standing = Standing(Api(tmp_path / "kubeconfig"))
        try:
            return await standing.of([lease], {lease.id: NAMESPACE})
        finally:
            await standing.close()

    assert asyncio.run(story()) == {lease.id: Liveness.unknown}


def told(tmp_path: Path, *leases: OpenLease) -> list[Liveness]:
    async def story() -> list[Liveness]:
        standing = Standing(Api(tmp_path / "kubeconfig"))
        try:
            found = await standing.of(leases)
        finally:
            await standing.close()
        return [found[lease.id] for lease in leases]

    return asyncio.run(story())


def test_each_lease_stands_as_its_pod_does(kube: FakeKube, tmp_path: Path, policy: Any) -> None:
    runs, over, lost, none = (placed(policy, number) for number in range(4))
    keep(kube, runs, "Running")
    keep(kube, over, "Failed", reason="Evicted")
    keep(kube, lost, "Failed", reason="NodeLost")
    assert told(tmp_path, runs, over, lost, none) == [
        Liveness.alive,
        Liveness.gone,
        Liveness.unknown,
        Liveness.gone,
    ]


def test_what_cannot_be_read_is_unknown(kube: FakeKube, tmp_path: Path, policy: Any) -> None:
    kube.away = True
    assert told(tmp_path, placed(policy, 1)) == [Liveness.unknown]


def test_a_lease_without_a_pod_is_none_of_its_business(tmp_path: Path, policy: Any) -> None:
    async def story() -> dict[LeaseId, Liveness]:
        return await Standing(Api(tmp_path / "nowhere")).of([lease_of(chosen(policy, "card"))])

    assert asyncio.run(story()) == {}


def test_a_server_from_while_the_governor_was_away_is_known_by_its_attempt(
    kube: FakeKube, tmp_path: Path, policy: Any
) -> None:
    """Its lease was recorded afterwards, so its pod has no label of it: it is not gone."""
    mine, followed = placed(policy, 1), placed(policy, 2)
    keep_server(kube, mine, "Running", attempt=mine.attempt_id)
    assert told(tmp_path, mine) == [Liveness.alive]
    other = followed.model_copy(update={"attempt_id": "another-attempt"})
    assert told(tmp_path, other) == [Liveness.gone], "that pod is of another start"

    async def story() -> None:
        standing = Standing(Api(tmp_path / "kubeconfig"))
        await standing.end(other)
        await standing.end(mine)
        await standing.close()

    asyncio.run(story())
    assert len(kube.deletes) == 1


def test_a_forgotten_server_is_asked_to_end(kube: FakeKube, tmp_path: Path, policy: Any) -> None:
    mine, other = placed(policy, 1), placed(policy, 2)
    keep(kube, mine, "Running")

    async def story() -> None:
        standing = Standing(Api(tmp_path / "kubeconfig"))
        await standing.end(mine)
        await standing.end(other)
        await standing.close()

    asyncio.run(story())
    assert [one["name"] for one in kube.deletes] == ["jupyter-l-1"]


def test_a_server_that_took_a_forgotten_ones_name_stays(
    kube: FakeKube, tmp_path: Path, policy: Any
) -> None:
    mine = placed(policy, 1)
    keep(kube, mine, "Running")

    class Late(Api):
        """Between its look and its deletion another server is started under the name."""

        async def delete(self, path: str, body: Json | None = None, **more: Any) -> Json:
            old = kube.pod()
            new = {**old, "metadata": {**old["metadata"], "uid": "next"}}
            kube.do(lambda: kube.changed("pods", new))
            return await super().delete(path, body, **more)

    async def story() -> None:
        standing = Standing(Late(tmp_path / "kubeconfig"))
        await standing.end(mine)
        await standing.close()

    asyncio.run(story())
    assert "deletionTimestamp" not in kube.pod()["metadata"]
    assert len(kube.deletes) == 1
    assert kube.pods() == [f"{NAMESPACE}/jupyter-l-1"]


def test_it_is_known_on_which_machine_each_server_runs(
    kube: FakeKube, tmp_path: Path, policy: Any
) -> None:
    runs, over, away = (placed(policy, number) for number in range(3))
    away = away.model_copy(update={"key": by_hand(policy, 9).key})
    keep(kube, runs, "Running")
    keep(kube, over, "Succeeded")
    keep_server(kube, away, "Running", attempt=away.attempt_id)

    async def story() -> dict[LeaseId, str]:
        standing = Standing(Api(tmp_path / "kubeconfig"))
        try:
            await standing.of([runs, over, away])
            return standing.machines([runs, over, away])
        finally:
            await standing.close()

    assert asyncio.run(story()) == {runs.id: "n1", away.id: "n1"}
