"""Rights and refusals: no more than named, in every namespace with servers, and nowhere else."""

from collections.abc import Sequence

import pytest

from hub_ext.kube.render import Manifest, Site, rendered
from hub_ext.kube.render.chart import chart_values
from tests.support.rendering import of_kind, site_policy

SITES = {"by project": Site(), "one namespace": Site(namespace="research")}


@pytest.fixture(params=SITES)
def made(request: pytest.FixtureRequest) -> Sequence[Manifest]:
    return rendered(site_policy(), SITES[request.param])


def test_no_role_has_a_right_to_everything(made: Sequence[Manifest]) -> None:
    for role in (*of_kind(made, "Role").values(), *of_kind(made, "ClusterRole").values()):
        for rule in role["rules"]:
            assert "*" not in (*rule["verbs"], *rule["resources"], *rule["apiGroups"])
            assert "secrets" not in rule["resources"]


def test_nobody_changes_anything_in_the_whole_cluster(made: Sequence[Manifest]) -> None:
    for role in of_kind(made, "ClusterRole").values():
        for rule in role["rules"]:
            assert set(rule["verbs"]) == {"get", "list", "watch"}


def test_every_binding_names_a_role_beside_it(made: Sequence[Manifest]) -> None:
    roles = of_kind(made, "Role")
    for place, binding in of_kind(made, "RoleBinding").items():
        assert f"{place.split('/')[0]}/{binding['roleRef']['name']}" in roles
        assert {one["namespace"] for one in binding["subjects"]} == {"jupyterhub"}


def test_the_hub_needs_no_role_of_ours_where_the_chart_gives_one() -> None:
    made = rendered(site_policy(), Site(namespace="jupyterhub"))

    assert list(of_kind(made, "Role")) == ["jupyterhub/gpu-commons-governor"]


def test_what_is_refused_is_refused_in_every_namespace_with_servers(
    made: Sequence[Manifest],
) -> None:
    policies = of_kind(made, "ValidatingAdmissionPolicy")
    bindings = of_kind(made, "ValidatingAdmissionPolicyBinding")
    homes = {name.split("/")[0] for name in of_kind(made, "NetworkPolicy")}

    assert set(policies) == set(bindings)
    for binding in bindings.values():
        (where,) = binding["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"]
        assert set(where["values"]) == homes
        assert binding["spec"]["validationActions"] == ["Deny"]
    assert {one["spec"]["failurePolicy"] for one in policies.values()} == {"Fail"}


def test_names_of_people_cannot_end_an_expression() -> None:
    site = Site(submitters=("o'brien", "group:a\\b'c"))

    text = str(of_kind(rendered(site_policy(), site), "ValidatingAdmissionPolicy"))

    assert "o\\\\'brien" in text
    assert "request.userInfo.groups.exists" in text


def test_no_figure_of_a_namespace_is_added_to_leases(made: Sequence[Manifest]) -> None:
    # Kueue would look for a quota of CPU and memory then, and the queues hold none.
    for one in of_kind(made, "LimitRange").values():
        assert {limit["type"] for limit in one["spec"]["limits"]} == {"PersistentVolumeClaim"}


@pytest.mark.parametrize(("home", "most"), [("10Gi", 10 * 2**30), ("1Gi", 2**32), (None, 2**32)])
def test_homes_fit_below_the_largest_claim_of_a_namespace(home: str | None, most: int) -> None:
    """The hub claims each home where its server lives, and the chart is told the same size."""
    policy = site_policy("projects", "sky-survey", "volume", to={"size": "4GiB"})
    site = Site(home_size=home)
    (limits,) = [
        one
        for one in rendered(policy, site)
        if one["kind"] == "LimitRange" and one["metadata"]["namespace"] == "gpu-sky-survey"
    ]
    (limit,) = limits["spec"]["limits"]
    assert limit["max"] == {"storage": str(most)}
    storage = chart_values(site)["singleuser"]["storage"]
    assert storage.get("capacity") == home
    assert storage["type"] == ("none" if home is None else "dynamic")
