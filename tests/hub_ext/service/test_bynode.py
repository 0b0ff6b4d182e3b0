"""A batch concerns the leases of its own machine: a large site costs no more than a small one."""

from pathlib import Path

from hub_ext.lease import LeaseId
from hub_ext.service.books.bynode import ByNode
from tests.support.governing import site_in


def test_leases_are_found_by_the_machines_of_their_devices(tmp_path: Path) -> None:
    with site_in(tmp_path) as site:
        one = site.lease(site.run("vera"))
        cpu = site.lease(site.run("sam", "cpu"))
        [device] = one.devices
        index = ByNode()
        index.take((one, cpu))
        assert list(index.on(device.node)) == [one, cpu]
        assert list(index.on("another")) == [cpu], "where it runs is not in its lease"
        assert list(index.on("another", {one.id, LeaseId("gone")})) == [one, cpu]
        index.take((cpu,))
        assert list(index.on(device.node)) == [cpu]


def test_nothing_is_sorted_again_while_the_leases_are_the_same(tmp_path: Path) -> None:
    with site_in(tmp_path) as site:
        leases = (site.lease(site.run("vera")),)
        index = ByNode()
        index.take(leases)
        sorted_once = index._on
        index.take(leases)
        assert index._on is sorted_once
        index.take((leases[0].model_copy(),))
        assert index._on is not sorted_once


def test_a_batch_looks_at_no_other_machine_again(tmp_path: Path) -> None:
    with site_in(tmp_path) as site:
        floor = site.governor._desk.floor
        before = floor.inventories(now=site.now)
        site.later(5)
        batch = floor._batches["node-2"][1].model_copy(
            update={"sent_at": site.now, "inventory": None}
        )
        site.governor.take_samples(batch, now=site.now)
        assert floor.inventories(now=site.now) is before
