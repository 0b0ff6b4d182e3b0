"""Names on Kubernetes: always allowed, and never the same for two things."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hub_ext.kube import names

DNS_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
DNS_SUBDOMAIN = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?")

short = st.from_regex(r"[ab.-]{0,4}", fullmatch=True).map(lambda text: f"a{text}b")
policy_names = short | st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?", fullmatch=True)
places = st.tuples(policy_names, st.none() | policy_names)


def test_plain_names_are_written_as_they_stand() -> None:
    assert names.place("vision", "segmentation") == names.Place(
        "gpu-segmentation", "gpu-commons", "gc-vision.segmentation"
    )
    assert names.place("vision", None) == names.Place("gpu-team-vision", "gpu-commons", "gc-vision")
    assert names.team_cohort("vision") == "gc-vision"
    assert names.flavor("h200") == "gc-h200"


def test_one_namespace_for_all_has_a_local_queue_for_each() -> None:
    one = names.place("vision", "a", single="hub")
    other = names.place("vision", "b", single="hub")
    assert (one.namespace, other.namespace) == ("hub", "hub")
    assert one.local_queue == one.cluster_queue != other.local_queue


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a-b", "c"), ("a", "b-c")),
        (("a.b", "c"), ("a", "b.c")),
        (("a-b", None), ("a", "b")),
        (("a.b", None), ("a", "b")),
        (("site", None), ("a", "site")),
        (("a" * 60, "b"), ("a" * 60, "c")),
    ],
)
def test_two_ways_to_read_a_name_are_two_names(
    one: tuple[str, str | None], other: tuple[str, str | None]
) -> None:
    assert names.cluster_queue(*one) != names.cluster_queue(*other)


def test_a_project_never_lives_in_a_teams_namespace() -> None:
    assert names.project_namespace("team-vision") != names.team_namespace("vision")


def test_no_team_takes_the_sites_own_cohort() -> None:
    assert names.team_cohort("site") != names.SITE_COHORT


@given(places, places)
def test_two_places_share_no_queue(
    one: tuple[str, str | None], other: tuple[str, str | None]
) -> None:
    assume(one != other)
    assert names.cluster_queue(*one) != names.cluster_queue(*other)


@given(policy_names, policy_names)
def test_two_projects_share_no_namespace(one: str, other: str) -> None:
    assume(one != other)
    spaces = {
        names.project_namespace(one),
        names.project_namespace(other),
        names.team_namespace(one),
        names.team_namespace(other),
    }
    assert len(spaces) == 4
    assert names.flavor(one) != names.flavor(other)
    assert names.team_cohort(one) != names.team_cohort(other)


@given(places)
def test_every_name_is_allowed(where: tuple[str, str | None]) -> None:
    place = names.place(*where)
    assert DNS_LABEL.fullmatch(place.namespace)
    for name in (place.cluster_queue, names.team_cohort(where[0]), names.flavor(where[0])):
        assert DNS_SUBDOMAIN.fullmatch(name)
        assert len(name) <= 63


@given(st.text(), st.text())
def test_any_text_becomes_a_label_value_of_its_own(one: str, other: str) -> None:
    assume(one != other)
    assert LABEL_VALUE.fullmatch(names.label_value(one))
    assert names.label_value(one) != names.label_value(other)


def test_people_keep_readable_labels() -> None:
    assert names.label_value("alice") == "alice"
    assert names.label_value("alice@example.org").startswith("alice-example-org-")
    assert names.label_value("Zoë") != names.label_value("Zoé")
    assert names.label_value("") == ""


def test_a_leases_labels_leave_out_what_it_has_not() -> None:
    labels = names.lease_labels("l-1", "vision", None, "h200")
    assert labels == {
        "app.kubernetes.io/managed-by": "gpu-commons",
        "gpu-commons.dev/lease": "l-1",
        "gpu-commons.dev/team": "vision",
        "gpu-commons.dev/pool": "h200",
    }
