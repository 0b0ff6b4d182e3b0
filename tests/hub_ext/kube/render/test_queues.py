"""Quotas on Kueue: every figure is the policy's, every queue has its place."""

import json
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_ext.kube.render import Site, doubts, kueue_configuration, rendered
from hub_ext.kube.render.kinds import place_of, rank
from hub_ext.policy.capacity import capacity
from hub_ext.policy.model import Policy
from tests.support.policies import policy as small_policy
from tests.support.rendering import gpus, of_kind, quotas, site_data, site_policy

SITE = Site()
DATA = site_data()


def test_a_team_with_projects_holds_its_quota_as_a_cohort() -> None:
    cohorts = of_kind(rendered(site_policy(), SITE), "Cohort")

    assert cohorts["gc-speech"]["spec"]["parentName"] == "gc-site"
    assert quotas(cohorts["gc-speech"])["gc-cards"] == {
        "nominalQuota": gpus(2),
        "borrowingLimit": 0,  # `over_quota: queue` never borrows
    }
    assert quotas(cohorts["gc-vision"])["gc-slices"] == {
        "nominalQuota": gpus(1),
        "borrowingLimit": gpus(0.5),
        "lendingLimit": gpus(0.5),
    }


def test_a_share_is_the_projects_and_the_rest_stays_the_teams() -> None:
    made = rendered(site_policy(), SITE)

    assert quotas(of_kind(made, "Cohort")["gc-vision"])["gc-cards"]["nominalQuota"] == gpus(2)
    by_name = of_kind(made, "ClusterQueue")
    assert quotas(by_name["gc-vision.cell-atlas"])["gc-cards"] == {
        "nominalQuota": gpus(2),
        "borrowingLimit": gpus(1),
        "lendingLimit": gpus(1),
    }
    assert quotas(by_name["gc-vision.sky-survey"])["gc-cards"] == {"nominalQuota": 0}


def test_a_team_without_projects_is_one_queue_with_the_quota() -> None:
    made = rendered(site_policy(), SITE)

    queue = of_kind(made, "ClusterQueue")["gc-robotics"]
    assert queue["spec"]["cohortName"] == "gc-site"
    assert quotas(queue) == {"gc-turns": {"nominalQuota": gpus(2), "borrowingLimit": 0}}
    assert "gc-robotics" not in of_kind(made, "Cohort")
    assert "gpu-team-robotics/gpu-commons" in of_kind(made, "LocalQueue")


def test_a_team_without_a_pool_has_no_queue() -> None:
    made = rendered(site_policy(), SITE)

    assert not [name for name in of_kind(made, "ClusterQueue") if "writers" in name]


def test_what_nobody_is_guaranteed_is_the_roots_to_borrow() -> None:
    root = of_kind(rendered(site_policy(), SITE), "Cohort")["gc-site"]

    assert "parentName" not in root["spec"]
    assert quotas(root) == {
        "gc-slices": {"nominalQuota": gpus(1.5)},
        "gc-cards": {"nominalQuota": gpus(2)},
        "gc-turns": {"nominalQuota": 0},
    }


def test_kueue_may_only_take_what_was_called_in() -> None:
    for queue in of_kind(rendered(site_policy(), SITE), "ClusterQueue").values():
        assert queue["spec"]["preemption"] == {
            "reclaimWithinCohort": "LowerPriority",
            "withinClusterQueue": "Never",
            "borrowWithinCohort": {"policy": "Never"},
        }


def test_where_quota_is_only_observed_no_limit_holds_anybody_back() -> None:
    data = {**DATA, "modes": {"quota": "observe", "idle": "observe"}}
    made = rendered(Policy.model_validate(data), SITE)

    for one in (*of_kind(made, "ClusterQueue").values(), *of_kind(made, "Cohort").values()):
        assert {key for quota in quotas(one).values() for key in quota} <= {"nominalQuota"}


def test_in_one_namespace_each_queue_has_its_own_name() -> None:
    made = rendered(site_policy(), Site(namespace="jupyterhub"))

    local = of_kind(made, "LocalQueue")
    assert "jupyterhub/gc-vision.sky-survey" in local
    assert {name.split("/")[0] for name in local} == {"jupyterhub"}


def test_batch_jobs_are_counted_in_the_same_units() -> None:
    made = kueue_configuration(site_policy(), SITE)

    outputs = {
        one["input"]: int(one["outputs"]["gpu-commons.dev/unit"])
        for one in made["resources"]["transformations"]
    }
    assert outputs == {
        "nvidia.com/gpu": 840,
        "nvidia.com/gpu.shared": 210,
        "nvidia.com/mig-1g.18gb": 105,
        "nvidia.com/mig-3g.71gb": 420,
    }
    assert {one["strategy"] for one in made["resources"]["transformations"]} == {"Replace"}


def test_a_name_that_is_worth_two_things_is_said() -> None:
    data = deepcopy(DATA)
    cut = [["1g.10gb"], ["1g.10gb"]]
    for model in ("a100-40gb", "a100-80gb"):
        data["pools"][model] = {
            "model": model,
            "nodes": [{"name": f"n-{model}", "gpus": 2, "geometry": cut}],
        }
    (line,) = doubts(Policy.model_validate(data))

    assert "nvidia.com/mig-1g.10gb" in line
    assert "a100-40gb 210/840, a100-80gb 105/840" in line


def test_kueues_own_configuration_leaves_the_hubs_namespace_alone() -> None:
    apart = kueue_configuration(site_policy(), SITE)["managedJobsNamespaceSelector"]
    assert "jupyterhub" in apart["matchExpressions"][0]["values"]

    shared = kueue_configuration(site_policy(), Site(namespace="jupyterhub"))
    selector = shared["managedJobsNamespaceSelector"]
    assert "jupyterhub" not in selector["matchExpressions"][0]["values"]


@st.composite
def _policies(draw: st.DrawFn) -> Policy:
    """Draw the site's policy with other people, quotas and names."""
    data = deepcopy(DATA)
    names = st.from_regex(r"\A[a-z0-9]([a-z0-9.-]{0,12}[a-z0-9])?\Z")
    teams = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    projects = draw(st.lists(names, max_size=5, unique=True))
    share = st.sampled_from(["0", "0.125", "0.5", "1"])
    data["teams"] = {
        team: {
            "groups": [team],
            "over_quota": draw(st.sampled_from(["borrow", "queue"])),
            "quota": {
                pool: {"nominal": draw(share)}
                for pool in ("slices", "cards")
                if draw(st.booleans())
            },
        }
        for team in teams
    }
    data["pools"].pop("turns")
    data["profiles"].pop("turn")
    data["projects"] = {name: {"team": draw(st.sampled_from(teams))} for name in projects}
    return Policy.model_validate(data)


@given(_policies(), st.sampled_from([None, "jupyterhub"]))
def test_whatever_the_policy_the_objects_hold_together(policy: Policy, single: str | None) -> None:
    made = rendered(policy, Site(namespace=single))

    places = [place_of(one) for one in made]
    assert len(set(places)) == len(places)
    queues, flavors = of_kind(made, "ClusterQueue"), of_kind(made, "ResourceFlavor")
    cohorts = of_kind(made, "Cohort")
    for local in of_kind(made, "LocalQueue").values():
        assert local["spec"]["clusterQueue"] in queues
    for queue in queues.values():
        assert queue["spec"]["cohortName"] in cohorts
    for one in (*queues.values(), *cohorts.values()):
        assert set(quotas(one)) <= set(flavors)


@given(_policies())
def test_all_quotas_together_are_the_declared_capacity(policy: Policy) -> None:
    made = rendered(policy, SITE)
    held: dict[str, int] = dict.fromkeys(of_kind(made, "ResourceFlavor"), 0)
    for one in (*of_kind(made, "ClusterQueue").values(), *of_kind(made, "Cohort").values()):
        for flavor, quota in quotas(one).items():
            held[flavor] += quota["nominalQuota"]

    # Drawn teams may be promised more than there is, which `check` refuses; it is not cut here.
    assert held == {
        f"gc-{name}": max(capacity(pool).units, _promised(policy, name))
        for name, pool in policy.pools.items()
    }


def _promised(policy: Policy, pool: str) -> int:
    return sum(team.quota[pool].nominal for team in policy.teams.values() if pool in team.quota)


def test_the_same_policy_gives_the_same_objects_in_the_order_of_making() -> None:
    made = rendered(site_policy(), SITE)

    assert made == rendered(site_policy(), SITE)
    assert list(made) == sorted(made, key=rank)
    assert json.loads(json.dumps(made)) == list(made)


@pytest.mark.parametrize(
    "path",
    [("teams", "vision", "quota", "cards", "nominal"), ("teams", "speech", "over_quota")],
)
def test_the_mark_of_content_changes_only_with_the_object(path: tuple[str, ...]) -> None:
    words = {"nominal": "1", "over_quota": "borrow"}
    before = rendered(small_policy(), SITE)
    after = rendered(small_policy(*path, to=words[path[-1]]), SITE)

    changed = [
        place_of(old)
        for old, new in zip(before, after, strict=True)
        if old["metadata"]["annotations"] != new["metadata"]["annotations"]
    ]
    assert changed
    assert len(changed) < len(before)
