"""Who reaches whom: the table of flows, proved over the rendered NetworkPolicies."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_ext.kube.render import Manifest, Site, rendered
from hub_ext.policy.model import Policy
from tests.support.flows import End, allowed
from tests.support.rendering import of_kind, site_data

SINGLE = "research"
SITES = {"by project": Site(), "one namespace": Site(namespace=SINGLE)}
METADATA = ("169.254.169.254", "169.254.170.2", "100.100.100.200", "fd00:ec2::254")
PEOPLE = {"sky": "team", "sea": "team", "lone": "isolated", "wide": "open", "other": "team"}
"""Projects and their reach; `other` and `wide` are of another team than the rest."""

HUB = End("jupyterhub", {"app": "jupyterhub", "component": "hub"})
PROXY = End("jupyterhub", {"app": "jupyterhub", "component": "proxy"})
STRANGER = End("shop", {"app": "shop"})
DNS = End("kube-system", {"k8s-app": "kube-dns"})


def policy(**changes: dict[str, Any]) -> Policy:
    data = site_data()
    data["projects"] = {
        name: {
            "team": "speech" if name in ("other", "wide") else "vision",
            "network": {"reach": reach, **changes.get(name, {})},
        }
        for name, reach in PEOPLE.items()
    }
    return Policy.model_validate(data)


def server(name: str, site: Site) -> End:
    labels = {"component": "singleuser-server", "app": "jupyterhub"}
    labels["gpu-commons.dev/project"] = name
    return End(site.namespace or f"gpu-{name}", labels)


@pytest.fixture(params=SITES)
def site(request: pytest.FixtureRequest) -> Site:
    return SITES[request.param]


@pytest.fixture
def made(site: Site) -> Sequence[Manifest]:
    return rendered(policy(), site)


FLOWS = [
    ("sky", "sky", True),
    ("sky", "sea", True),  # both are of one team and say so
    ("sky", "lone", False),
    ("lone", "sky", False),
    ("lone", "lone", True),
    ("sky", "other", False),  # another team
    ("sky", "wide", False),  # `wide` would, `sky` does not
    ("wide", "sky", False),
    ("wide", "other", True),  # of one team
    ("wide", "lone", False),
]


@pytest.mark.parametrize(("one", "other", "reached"), FLOWS)
def test_projects_reach_each_other_where_both_allow_it(
    one: str, other: str, reached: bool, site: Site, made: Sequence[Manifest]
) -> None:
    for port in (8888, 22, 40000):
        assert allowed(made, server(one, site), server(other, site), port) is reached


@pytest.mark.parametrize("name", PEOPLE)
def test_every_server_reaches_hub_proxy_and_names(
    name: str, site: Site, made: Sequence[Manifest]
) -> None:
    own = server(name, site)

    assert allowed(made, own, HUB, 8081)
    assert allowed(made, own, PROXY, 8000)
    assert allowed(made, own, DNS, 53, "UDP")
    assert not allowed(made, own, HUB, 5432)
    assert not allowed(made, own, DNS, 443)


@pytest.mark.parametrize("name", PEOPLE)
def test_only_hub_and_proxy_come_in_from_outside(
    name: str, site: Site, made: Sequence[Manifest]
) -> None:
    own = server(name, site)

    assert allowed(made, HUB, own, 8888)
    assert allowed(made, PROXY, own, 8888)
    assert not allowed(made, STRANGER, own, 8888)
    assert not allowed(made, HUB, own, 22)
    assert not allowed(made, End(address="203.0.113.9"), own, 8888)


@pytest.mark.parametrize("name", PEOPLE)
@pytest.mark.parametrize("address", METADATA)
def test_nobody_reaches_the_metadata_address(
    name: str, address: str, site: Site, made: Sequence[Manifest]
) -> None:
    for port in (80, 443, 53):
        assert not allowed(made, server(name, site), End(address=address), port)


def test_public_addresses_are_reached_and_private_ones_are_not(
    site: Site, made: Sequence[Manifest]
) -> None:
    own = server("lone", site)

    assert allowed(made, own, End(address="203.0.113.9"), 443)
    assert allowed(made, own, End(address="2001:db8::9"), 443)
    for inner in ("10.0.0.1", "192.168.3.4", "172.20.1.1", "100.65.0.1", "fd12::1"):
        assert not allowed(made, own, End(address=inner), 443)
        assert allowed(made, server("wide", site), End(address=inner), 443)


def test_without_internet_only_named_networks_are_reached(site: Site) -> None:
    made = rendered(policy(lone={"internet": False, "cidrs": ["10.20.0.0/16"]}), site)
    own = server("lone", site)

    assert allowed(made, own, End(address="10.20.3.4"), 2049)
    assert not allowed(made, own, End(address="203.0.113.9"), 443)
    assert not allowed(made, End(address="10.20.3.4"), own, 8888)


def test_a_named_network_around_the_metadata_address_leaves_it_out(site: Site) -> None:
    made = rendered(policy(lone={"cidrs": ["169.0.0.0/8", "0.0.0.0/0"]}), site)

    assert allowed(made, server("lone", site), End(address="169.1.2.3"), 80)
    assert not allowed(made, server("lone", site), End(address="169.254.169.254"), 80)


def test_a_cache_of_names_on_each_node_is_reached_for_names_alone() -> None:
    made = rendered(policy(), Site(dns=("169.254.20.10/32",)))
    own = server("lone", Site())

    assert allowed(made, own, End(address="169.254.20.10"), 53, "UDP")
    assert not allowed(made, own, End(address="169.254.20.10"), 80)


def test_a_server_that_nobody_labelled_is_shut_in_a_shared_namespace() -> None:
    made = rendered(policy(), Site(namespace=SINGLE))
    own = End(SINGLE, {"component": "singleuser-server", "app": "jupyterhub"})

    assert allowed(made, own, HUB, 8081)
    assert not allowed(made, own, server("lone", Site(namespace=SINGLE)), 8888)
    assert not allowed(made, own, End(address="203.0.113.9"), 443)


@given(
    st.dictionaries(st.sampled_from(sorted(PEOPLE)), st.sampled_from(["isolated", "team", "open"]))
)
def test_whatever_is_allowed_is_allowed_both_ways(reach: dict[str, str]) -> None:
    site = Site()
    made = rendered(policy(**{name: {"reach": word} for name, word in reach.items()}), site)
    every = {**PEOPLE, **reach}

    for one in PEOPLE:
        for other in PEOPLE:
            there = allowed(made, server(one, site), server(other, site), 8888)
            back = allowed(made, server(other, site), server(one, site), 8888)
            # Who is `open` reaches addresses, but a pod is let in by name alone.
            assert there == back
            if one != other and "isolated" in (every[one], every[other]):
                assert not there


def test_every_namespace_with_servers_has_its_policy(site: Site, made: Sequence[Manifest]) -> None:
    homes = {name.split("/")[0] for name in of_kind(made, "LocalQueue")}

    assert homes <= {name.split("/")[0] for name in of_kind(made, "NetworkPolicy")}
