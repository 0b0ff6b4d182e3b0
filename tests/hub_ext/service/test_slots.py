"""Places on Kubernetes: no more than is declared, and than agents and kubelets find."""

from typing import Any

from hub_ext.kube.nodes import NodeOffer, offer_of
from hub_ext.lease import Inventory
from hub_ext.policy.load import loads
from hub_ext.service.floor import declared
from hub_ext.service.slots import SLOT, bounded
from tests.support.governing import POLICY, START

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
    assert len(drift) == 1
    assert not {one.id for one in places} & {one.id for one in found}


def test_what_a_kubelet_says_is_read_as_it_stands() -> None:
    allocatable = {"cpu": "64", WHOLE: "2", MIG: "nonsense"}
    ready = [{"type": "Ready", "status": "True"}]
    status = {"allocatable": allocatable, "conditions": ready}
    read = offer_of({"metadata": {"name": "n"}, "status": status})
    assert (read.ready, dict(read.devices)) == (True, {WHOLE: 2, MIG: 0})
    closed = {"metadata": {"name": "n"}, "spec": {"unschedulable": True}, "status": status}
    assert not offer_of(closed).ready
    assert not offer_of({"metadata": {"name": "n"}}).ready
