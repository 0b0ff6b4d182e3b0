"""Virtual GPUs: one a server, and no promise that only their host could keep."""

from typing import Any

import pytest
from pydantic import ValidationError

from hub_ext.lease import Choice, Isolation, ProfileName
from hub_ext.policy.catalogue import resolve
from hub_ext.policy.checks import check
from hub_ext.policy.isolation import shortfalls
from hub_ext.policy.model import GpuFlavor, Policy, Project
from hub_ext.policy.model.kube import Rdma
from hub_ext.policy.problems import path_text
from tests.support.ledger_parts import NOON
from tests.support.pools import make_policy, person, team

BASE = make_policy({"a": team({"whole": {"nominal": "2"}}, name="a")})


def errors(policy: Policy) -> dict[str, str]:
    return {path_text(one.path): one.message for one in check(policy) if one.severity == "error"}


def virtual() -> Policy:
    pools = {**BASE.pools, "whole": BASE.pools["whole"].model_copy(update={"vgpu": "H100-20C"})}
    only = {name: one for name, one in BASE.profiles.items() if name in {"one", "cpu"}}
    return BASE.model_copy(update={"pools": pools, "profiles": only})


def test_a_server_of_such_a_pool_says_that_its_gpu_is_virtual() -> None:
    resolved = resolve(virtual(), person("ann", "a"), Choice(profile=ProfileName("one")), NOON)
    assert resolved.isolation is Isolation.vgpu


def test_it_stands_apart_and_promises_no_more_than_turns() -> None:
    assert Isolation.vgpu.rank == Isolation.time_slice.rank < Isolation.mig.rank
    assert [one.rank for one in Isolation if one is not Isolation.vgpu] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(("needs", "short"), [("time-slice", False), ("mig", True), ("gpu", True)])
def test_a_project_that_needs_more_is_refused_it(needs: str, short: bool) -> None:
    project = Project.model_validate({"team": "a", "needs": {"isolation": needs}})
    policy = virtual().model_copy(update={"projects": {"p": project}})
    assert bool(shortfalls(policy, "p", "whole", Isolation.vgpu)) is short


def test_nobody_can_need_exactly_a_virtual_one() -> None:
    with pytest.raises(ValidationError, match="no step between the others"):
        Project.model_validate({"team": "a", "needs": {"isolation": "vgpu"}})


def test_a_sound_pool_has_no_problem() -> None:
    assert not errors(virtual())


@pytest.mark.parametrize(
    ("change", "where", "words"),
    [
        (
            {"rdma": Rdma(resource="rdma/hca_shared_devices_a")},
            "pools.whole.rdma",
            "a fabric is for whole GPUs",
        ),
        ({"exclusive": ("gpu",)}, "pools.whole.exclusive", "nobody has it alone"),
        ({"cut": True}, "pools.whole.nodes[0].geometry", "is not cut here"),
        ({"two": True}, "profiles.one.flavor", "each server gets one"),
    ],
)
def test_what_only_its_host_could_promise_is_refused(
    change: dict[str, Any], where: str, words: str
) -> None:
    policy = virtual()
    pool, profile = policy.pools["whole"], policy.profiles["one"]
    if change.pop("cut", False):
        first = pool.nodes[0]
        cut = first.model_copy(update={"geometry": (("1g.18gb",),) * first.gpus})
        pool = pool.model_copy(update={"nodes": (cut, *pool.nodes[1:])})
    if change.pop("two", False):
        profile = profile.model_copy(update={"flavor": GpuFlavor(gpus=2)})
    pool = pool.model_copy(update=change)
    policy = policy.model_copy(
        update={
            "pools": {**policy.pools, "whole": pool},
            "profiles": {**policy.profiles, "one": profile},
        }
    )
    assert words in errors(policy).get(where, ""), errors(policy)
