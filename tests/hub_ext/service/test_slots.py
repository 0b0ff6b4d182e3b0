"""Places on Kubernetes: no more than is declared, and than agents and kubelets find."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hub_ext.errors import RefusedError
from hub_ext.kube.nodes import NodeOffer, offer_of
from hub_ext.lease import Inventory
from hub_ext.policy.load import loads
from hub_ext.service.books.floor import declared
from hub_ext.service.books.slots import SLOT, SlotFloor, bounded
from tests.support.governing import POLICY, START, site_in

RULES = loads(POLICY).policy
WHOLE, MIG = "nvidia.com/gpu", "nvidia.com/mig-1g.18gb"


def node(name: str, ready: bool = True, **devices: int) -> dict[str, NodeOffer]:
    counts = {"gpu": WHOLE, "mig": MIG}
    return {name: NodeOffer(name, ready, {counts[key]: n for key, n in devices.items()})}


def count(places: tuple[Any, ...]) -> dict[str, int]:
    return {pool: sum(one.pool == pool for one in places) for pool in ("mig", "whole")}


def test_while_nobody_has_said_anything_what_is_declared_is_there() -> None:
    places, drift = bounded(RULES, (), None)
    assert (count(places), drift) == ({"mig": 3, "whole": 3}, ())
    assert all(one.id.startswith(SLOT) for one in places)
    assert len({one.id for one in places}) == 6


def test_a_machine_that_offers_less_has_fewer_places_and_is_named() -> None:
    offers = {**node("node-1", mig=3), **node("node-2", gpu=1)}
    places, drift = bounded(RULES, (), offers)
    assert count(places) == {"mig": 3, "whole": 1}
    (words,) = drift
    assert words == "node-2 offers 1 of nvidia.com/gpu, and the policy declares 3"


def test_a_place_that_a_lease_holds_is_not_the_one_that_is_missing() -> None:
    every = [one.id for one in bounded(RULES, (), None)[0] if one.pool == "whole"]
    offers = {**node("node-1", mig=3), **node("node-2", gpu=2)}
    for held in ([every[2]], [every[1], every[2]], every):
        places, _drift = bounded(RULES, (), offers, held)
        found = [one.id for one in places if one.pool == "whole"]
        assert len(found) == 2
        assert len(set(found) - set(held)) == max(0, 2 - len(held))


def test_the_floor_asks_again_when_other_places_are_held() -> None:
    floor = SlotFloor(timedelta(minutes=1))
    every = [one.id for one in floor.devices(RULES, now=START)[0] if one.pool == "whole"]
    floor.take_offers([*node("node-1", mig=3).values(), *node("node-2", gpu=1).values()])
    for held in every:
        floor.take_held([held])
        (left,) = (one.id for one in floor.devices(RULES, now=START)[0] if one.pool == "whole")
        assert left == held


def test_a_lease_on_the_last_place_leaves_one_free_of_two_that_are_offered(
    tmp_path: Path,
) -> None:
    with site_in(tmp_path / "state", servers="pods") as site:
        first, second = site.run("sam"), site.run("sue")
        site.run("vera")
        site.stop(first)
        site.stop(second)
        offers = {**node("node-1", mig=3), **node("node-2", gpu=2)}
        site.governor.take_offers(offers.values())
        site.run("sam")
        with pytest.raises(RefusedError):
            site.run("sue")


def test_a_machine_that_is_not_there_or_not_ready_has_none() -> None:
    places, drift = bounded(RULES, (), node("node-2", ready=False, gpu=3))
    assert count(places) == {"mig": 0, "whole": 0}
    assert len(drift) == 2
    assert "no machine of that name" in drift[0]
    assert "not ready" in drift[1]


def test_an_agent_that_finds_less_counts_as_well_and_no_real_id_appears() -> None:
    found = tuple(one for one in declared(RULES) if one.node == "node-2")[:2]
    heard = Inventory(node="node-2", source="nvml", at=START, devices=found)
    offers = {**node("node-1", mig=3), **node("node-2", gpu=3)}
    places, drift = bounded(RULES, (heard,), offers)
    assert count(places) == {"mig": 3, "whole": 2}
    assert len(drift) == 2
    assert drift[1].startswith(
        "node-2: its agent finds 2 of nvidia.com/gpu, and its kubelet offers 3; the smaller counts"
    )
    assert not {one.id for one in places} & {one.id for one in found}


@pytest.mark.parametrize(
    ("found", "offered", "left", "named"),
    [(3, 3, 3, False), (3, 1, 1, True), (0, 3, 0, True), (3, 5, 3, False), (0, 0, 0, False)],
)
def test_agent_and_kubelet_are_two_sources_and_the_smaller_counts(
    found: int, offered: int, left: int, *, named: bool
) -> None:
    there = tuple(one for one in declared(RULES) if one.node == "node-2")[:found]
    heard = Inventory(node="node-2", source="nvml", at=START, devices=there)
    offers = {**node("node-1", mig=3), **node("node-2", gpu=offered)}
    places, drift = bounded(RULES, (heard,), offers)
    assert count(places)["whole"] == left
    assert any("the smaller counts" in words for words in drift) is named


def test_what_a_kubelet_says_is_read_as_it_stands() -> None:
    allocatable = {"cpu": "64", WHOLE: "2", MIG: "nonsense"}
    ready = [{"type": "Ready", "status": "True"}]
    status = {"allocatable": allocatable, "conditions": ready}
    read = offer_of({"metadata": {"name": "n"}, "status": status})
    assert (read.ready, dict(read.devices)) == (True, {WHOLE: 2, MIG: 0})
    closed = {"metadata": {"name": "n"}, "spec": {"unschedulable": True}, "status": status}
    assert not offer_of(closed).ready
    assert not offer_of({"metadata": {"name": "n"}}).ready
