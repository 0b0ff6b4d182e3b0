"""Who is asked when: as the engine would come to them, so the page, the start and Kueue agree."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.admission.decide import Admitted
from hub_ext.admission.engine import CURRENT, Workload, settle
from hub_ext.admission.engine.flavors import Assignment
from hub_ext.admission.owners import owners
from hub_ext.admission.queue import line
from hub_ext.admission.snapshot import NOBODY, Snapshot, scene
from hub_ext.admission.tree import state_of
from hub_ext.lease import PoolName
from hub_ext.policy.model import Policy
from tests.support.pools import Commons, make_policy, team

POOL = PoolName("whole")
NAMES = ("a", "b", "c")
limits = st.none() | st.integers(0, 3)
asks = st.tuples(
    st.sampled_from(NAMES),
    st.sampled_from(["one", "two"]),
    st.integers(0, 2),
    st.sampled_from(["waits", "waits", "holds"]),
)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """Any shares of a pool on one machine, where what quota allows always finds its devices."""
    nominal = {name: draw(st.integers(0, 4)) for name in NAMES}
    teams = {}
    for name in NAMES:
        quota = {"nominal": str(nominal[name])}
        for field in ("borrowing_limit", "lending_limit"):
            limit = draw(limits)
            if limit is not None:
                quota[field] = str(limit)
        teams[name] = team({"whole": quota}, name=name)
    gpus = max(1, sum(nominal.values())) + draw(st.integers(0, 3))
    cut = {"name": "node-3", "gpus": 1, "geometry": [["3g.71gb", "3g.71gb"]]}
    pools = {
        "whole": {"model": "h200-141gb", "nodes": [{"name": "node-1", "gpus": gpus}]},
        "cut": {"model": "h200-141gb", "nodes": [cut]},
    }
    projects = {}
    if draw(st.booleans()):
        share = {"nominal": str(draw(st.integers(0, nominal["a"])))}
        projects = {"one": {"team": "a", "quota": {"whole": share}}, "two": {"team": "a"}}
    return make_policy(teams, pools=pools, projects=projects)


def loaded(policy: Policy, load: list[tuple[str, str, int, str]]) -> Commons:
    commons = Commons(policy)
    for n, (name, profile, weight, act) in enumerate(load):
        if act == "holds":
            commons.asks(f"{name}-{n}", name, profile)
        else:
            commons.waits(f"{name}-{n}", name, profile, priority=1000 + weight)
    return commons


def by_the_engine(snapshot: Snapshot) -> list[str]:
    """Whom the engine admits, where nothing is lent anew while an owner waits."""
    view = scene(snapshot, POOL, without=NOBODY, lease_id=None)
    demands = {one.tie: one for one in view.waiting}
    waiting = owners(view)

    def lendable(workload: Workload, found: Assignment) -> bool:
        if found.level == 0:
            return True
        shape, queue = view.quotas.shape, view.queue(demands[workload.id])
        top = next(node for node in shape.path[queue] if shape.height[node] == found.level)
        return not any(
            one.demand.tie != workload.id and one.node != top and top in shape.path[one.node]
            for one in waiting
        )

    _state, done = settle(state_of(snapshot, POOL), CURRENT, lendable)
    return [one.id for one in done.admitted]


@given(policies(), st.lists(asks, max_size=12))
def test_the_line_admits_whom_the_engine_admits_in_its_order(
    policy: Policy, load: list[tuple[str, str, int, str]]
) -> None:
    snapshot = loaded(policy, load).snapshot
    admitted = [one.lease.id for one in line(snapshot) if isinstance(one.decision, Admitted)]
    assert admitted == by_the_engine(snapshot)


def test_queues_take_turns_and_owners_come_before_borrowers() -> None:
    quota = {"whole": {"nominal": "2"}}
    commons = Commons(make_policy({name: team(quota, name=name) for name in ("a", "b")}, whole=4))
    commons.asks("x", "a", "two")
    commons.waits("borrower", "a", "one")
    for user in ("b-1", "b-2"):
        commons.waits(user, "b", "one")
    told = [(one.lease.key.user, one.place) for one in line(commons.snapshot)]
    assert told == [("b-1", 1), ("borrower", 2), ("b-2", 3)]


def test_a_heavier_request_comes_first_in_its_queue_only() -> None:
    quota = {"whole": {"nominal": "2"}}
    commons = Commons(make_policy({name: team(quota, name=name) for name in ("a", "b")}, whole=4))
    commons.waits("light", "a", "one", priority=1000)
    commons.waits("other", "b", "one", priority=1300)
    commons.waits("heavy", "a", "one", priority=1500)
    commons.now += timedelta(minutes=5)
    told = [one.lease.key.user for one in line(commons.snapshot)]
    assert told == ["heavy", "other", "light"]
