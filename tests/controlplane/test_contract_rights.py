"""The rights that are rendered for the governor are enough for each of its calls on Workloads."""

import asyncio
from contextlib import aclosing
from datetime import UTC, datetime

import pytest

from hub_ext.errors import RefusedError
from hub_ext.kube import names
from hub_ext.kube.api import Api
from hub_ext.kube.demands import Breach, Weight, breaches, expected
from hub_ext.kube.engine import Gone, Phase, Seen, Wanted
from hub_ext.kube.inspecting import inspect
from hub_ext.kube.workloads import Workloads
from hub_ext.lease import LeaseId, PoolName
from hub_ext.policy.load import load
from tests.controlplane.plane import ControlPlane
from tests.controlplane.test_render import POLICY, SITE, plane, render

__all__ = ["plane"]

pytestmark = pytest.mark.kube
LEASE = LeaseId("l-rights")
HOME = names.place("vision", "cell-atlas")
NAMED = names.lease_labels(LEASE, "vision", "cell-atlas", "cards")
WANTED = Wanted(LEASE, HOME.namespace, HOME.local_queue, PoolName("cards"), {}, 840, 1500, NAMED)


def test_the_governors_account_may_make_each_call_and_nobody_else(plane: ControlPlane) -> None:
    assert render(plane, "--apply") == 0
    governor = plane.user_kubeconfig(SITE.hub_namespace, SITE.governor)
    plane.service_account(HOME.namespace, "default")
    stranger = plane.user_kubeconfig(HOME.namespace, "default")

    async def tell() -> None:
        ours = Workloads.at(governor, lambda: datetime.now(UTC))
        theirs = Workloads.at(stranger, lambda: datetime.now(UTC), namespace=HOME.namespace)
        try:
            async with aclosing(ours.watch()) as watch, asyncio.timeout(60):
                await ours.create(WANTED)
                async for one in watch:
                    if isinstance(one, Seen) and one.phase is Phase.admitted:
                        break
                assert await ours.renumber(LEASE, 2500)
                assert await ours.pods_ready(LEASE)
                assert await ours.keep(LEASE)
                with pytest.raises(RefusedError, match="may not do this"):
                    await theirs.create(WANTED)
                with pytest.raises(RefusedError, match="may not do this"):
                    await theirs.all()
                found = await ours.find(LEASE)
                assert found is not None
                assert (found.number, found.pods_ready, found.holds) == (2500, True, True)
                await ours.delete(LEASE)
                async for change in watch:
                    if isinstance(change, Gone):
                        assert change.lease_id == LEASE
                        break
        finally:
            await ours.close()
            await theirs.close()

    asyncio.run(tell())


def test_what_the_governors_account_may_see_of_the_demands_is_kept(plane: ControlPlane) -> None:
    assert render(plane, "--apply") == 0
    governor = plane.user_kubeconfig(SITE.hub_namespace, SITE.governor)
    needs = expected(load(POLICY).policy, SITE)

    async def look() -> list[Breach]:
        api = Api(governor)
        try:
            spaces = frozenset(home.namespace for home in needs.homes)
            cluster = await inspect(api, spaces, SITE.kueue_namespace)
        finally:
            await api.close()
        return list(breaches(cluster, needs))

    # It may see the queues; the rest is for an administrator's eyes, and says so.
    found = asyncio.run(look())
    assert [one for one in found if one.weight is Weight.wrong] == []
    assert found
