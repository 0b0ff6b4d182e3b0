"""Whose lease Kueue takes: what it does by itself, and that our numbers leave it no choice.

K1, K3, K5, K6, K11, K14, W of the contract, each on queues of its own.
"""

import pytest

from hub_ext.admission.priority import NONE, Ranking, started, weigh
from hub_ext.kube.engine import PREEMPTED, Phase
from tests.controlplane.plane import ControlPlane
from tests.support.kube_scene import CALLED_IN, RUNNING, WAITING, Scene, Scenes

pytestmark = pytest.mark.kube


@pytest.fixture
def scenes(control_plane: ControlPlane) -> Scenes:
    """Scenes on the real Kueue; the same stories are told of the small one elsewhere."""
    return lambda name: Scene.of(control_plane, name)


def lent(scene: Scene, guaranteed: int, borrowed: int) -> None:
    """Team a with four guaranteed leases and two borrowed ones of team b's quota."""
    scene.cohort("site")
    scene.queue("a", 4)
    scene.queue("b", 2)
    for n in range(4):
        scene.runs(f"guaranteed-{n}", "a", guaranteed)
    for n in range(2):
        scene.runs(f"borrowed-{n}", "a", borrowed)


def taken_one(scene: Scene) -> None:
    """Wait until Kueue takes somebody's lease."""
    scene.sees(lambda found: any(one.phase is Phase.evicted for one in found.values()))


@pytest.mark.smoke
def test_k1_a_guaranteed_lease_is_taken_unless_all_that_runs_stands_above_what_waits(
    scenes: Scenes,
) -> None:
    with scenes("k1") as scene:
        lent(scene, guaranteed=1100, borrowed=2100)
        scene.asks("owner", "b", 1600)
        taken_one(scene)
        assert scene.evicted() <= {f"guaranteed-{n}" for n in range(4)}
    with scenes("k1") as scene:
        lent(scene, guaranteed=RUNNING + 100, borrowed=RUNNING + 100)
        scene.asks("owner", "b", WAITING + 998)
        scene.quiet()
        scene.renumbers("borrowed-0", CALLED_IN + 100)
        scene.renumbers("owner", WAITING + 999)
        scene.until("borrowed-0", Phase.evicted)
        assert scene.evicted() == {"borrowed-0"}
        assert scene.look()["borrowed-0"].evicted_for == PREEMPTED
        scene.quiet()
        scene.deletes("borrowed-0")
        scene.until("owner", Phase.admitted)
        assert scene.evicted() == set()
        scene.ends("without bands a guaranteed lease goes; with them exactly the one called in")


@pytest.mark.smoke
def test_k3_a_withdrawn_notice_is_taken_back_and_the_lease_goes_on(
    scenes: Scenes,
) -> None:
    with scenes("k3") as scene:
        lent(scene, guaranteed=RUNNING, borrowed=RUNNING)
        scene.renumbers("borrowed-1", CALLED_IN)
        scene.asks("owner", "b", WAITING)
        scene.until("borrowed-1", Phase.evicted)
        # Kueue 0.17 never evicts a lease again whose eviction none of its rounds has looked at.
        scene.renumbers("owner", WAITING + 1)
        scene.quiet()
        scene.deletes("owner")
        scene.quiet()
        assert scene.evicted() == {"borrowed-1"}
        scene.renumbers("borrowed-1", RUNNING)
        scene.keeps("borrowed-1")
        scene.until("borrowed-1", Phase.admitted)
        # It counts, and is as safe as any other again.
        scene.asks("another", "b", WAITING)
        scene.quiet()
        assert scene.evicted() == set()
        scene.renumbers("borrowed-1", CALLED_IN)
        scene.renumbers("another", WAITING + 1)
        scene.until("borrowed-1", Phase.evicted)
        scene.ends("evicted stays until it is taken back; after that the lease goes on as before")


def test_k5_a_teammate_who_would_borrow_takes_a_teammates_lease_unless_that_is_off(
    scenes: Scenes,
) -> None:
    with scenes("k5") as scene:
        scene.cohort("site")
        scene.queue("a", 2, within="LowerPriority")
        scene.queue("b", 2)
        for n in range(4):
            scene.runs(f"mate-{n}", "a", 500)
        scene.asks("high", "a", WAITING + 900)
        taken_one(scene)
    with scenes("k5") as scene:
        scene.cohort("site")
        scene.queue("a", 2)
        scene.queue("b", 2)
        for n in range(4):
            scene.runs(f"mate-{n}", "a", 500)
        scene.asks("high", "a", WAITING + 900)
        scene.quiet()
        assert scene.evicted() == set()
        scene.ends("withinClusterQueue LowerPriority takes a teammate's lease; Never takes none")


def test_k6_a_lowered_quota_costs_a_guaranteed_lease_unless_it_stands_above(
    scenes: Scenes,
) -> None:
    for number, taken in ((1100, True), (RUNNING + 100, False)):
        with scenes("k6") as scene:
            scene.cohort("site")
            scene.queue("a", 4)
            scene.queue("b", 2)
            for n in range(4):
                scene.runs(f"lease-{n}", "a", number)
            scene.runs("other", "b", RUNNING)
            scene.queue("a", 3)
            scene.asks("asks", "b", 1600)
            if taken:
                taken_one(scene)
                assert scene.evicted() <= {f"lease-{n}" for n in range(4)}
                continue
            scene.quiet()
            assert scene.evicted() == set()
            assert scene.phases()["asks"] is Phase.pending
            scene.ends("a cut takes a guaranteed lease; above what waits it is grandfathered")


def test_k11_a_weight_below_0_falls_among_what_is_called_in_so_weights_are_clamped(
    scenes: Scenes,
) -> None:
    rules = Ranking(per_hour=0, most_ageing=0, per_gpu_hour=30, most_recent=30)
    weight = weigh(rules, task=0, waited=NONE, recent_s=36_000)
    assert weight.number == WAITING
    with scenes("k11") as scene:
        scene.cohort("site")
        scene.queue("a", 1)
        scene.queue("b", 1)
        scene.runs("own", "a", started(500))
        scene.runs("called-in", "a", 999)
        scene.asks("owner", "b", WAITING - 30)
        scene.quiet()
        assert scene.evicted() == set()
        scene.renumbers("owner", weight.number)
        scene.until("called-in", Phase.evicted)
        assert scene.evicted() == {"called-in"}
        scene.ends("970 finds nothing below itself; clamped to 1000 it takes what was called in")


@pytest.mark.smoke
def test_k14_a_project_without_quota_of_its_own_reclaims_inside_its_teams(
    scenes: Scenes,
) -> None:
    with scenes("k14") as scene:
        scene.cohort("site")
        scene.cohort("owners", 2, parent="site")
        scene.cohort("others", 2, parent="site")
        scene.queue("project", 0, cohort="owners")
        scene.queue("borrowers", 0, cohort="others")
        for n in range(4):
            scene.runs(f"lease-{n}", "borrowers", RUNNING)
        scene.asks("owner", "project", WAITING)
        scene.quiet()
        assert scene.evicted() == set()
        scene.renumbers("lease-1", CALLED_IN)
        scene.renumbers("owner", WAITING + 1)
        took = scene.until("lease-1", Phase.evicted)
        assert scene.evicted() == {"lease-1"}
        scene.deletes("lease-1")
        then = scene.until("owner", Phase.admitted)
        scene.ends(f"exactly the borrower after {took:.2f} s; the owner {then:.2f} s after its end")


@pytest.mark.smoke
def test_w_a_called_in_lease_wakes_no_owner_but_the_owners_own_number_does(
    scenes: Scenes,
) -> None:
    with scenes("w") as scene:
        lent(scene, guaranteed=RUNNING, borrowed=RUNNING)
        scene.asks("owner", "b", WAITING)
        scene.quiet()
        scene.renumbers("borrowed-1", CALLED_IN)
        scene.quiet(4)
        assert scene.evicted() == set()
        scene.renumbers("owner", WAITING + 1)
        took = scene.until("borrowed-1", Phase.evicted)
        assert scene.evicted() == {"borrowed-1"}
        scene.ends(f"nobody wakes in 4 s; with the owner's own number {took:.2f} s")
