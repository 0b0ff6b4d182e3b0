"""The policies that we ship say what their comments promise."""

from pathlib import Path

import pytest

from hub_ext.admission.decide import Admitted, offers
from hub_ext.lease import Standing
from hub_ext.policy.load import load
from tests.support.pools import Commons, person

CONFIG = Path(__file__).parents[3] / "config"


def standings(commons: Commons, group: str) -> dict[str, str]:
    """Standing of each offer of a person in one group."""
    sheet = offers(commons.snapshot, person("somebody", group))
    return {one.profile: one.standing for one in sheet.offers}


@pytest.mark.parametrize("name", ["fixed", "elastic", "priority-queue", "combined", "kubernetes"])
def test_an_example_has_nothing_to_warn_of(name: str) -> None:
    assert load(CONFIG / f"examples/{name}.yaml").warnings == ()


def test_the_demo_lacks_only_the_digests_that_it_makes_itself() -> None:
    warnings = load(CONFIG / "policy.yaml").warnings
    assert [one.path for one in warnings] == [
        "projects.cell-atlas.environments.vision-env.digest",
        "projects.speech-corpus.environments.language-env.digest",
    ]


def test_the_demo_shows_every_standing() -> None:
    demo = Commons(load(CONFIG / "policy.yaml").policy)
    assert standings(demo, "vision") == {
        "small-slice": Standing.guaranteed,
        "large-slice": Standing.borrowed,
        "one-card": Standing.guaranteed,
        "two-cards": Standing.borrowed,
        "cpu-only": Standing.unmetered,
    }
    assert standings(demo, "language") == {
        "small-slice": Standing.guaranteed,
        "large-slice": Standing.denied,
        "one-card": Standing.guaranteed,
        "two-cards": Standing.denied,
        "cpu-only": Standing.unmetered,
    }
    assert standings(demo, "robotics") == {
        "one-card": Standing.guaranteed,
        "two-cards": Standing.denied,
        "cpu-only": Standing.unmetered,
    }


def test_whoever_holds_a_card_of_the_demo_waits_for_two_more() -> None:
    demo = Commons(load(CONFIG / "policy.yaml").policy)
    assert isinstance(demo.asks("scientist-1", "vision", "one-card"), Admitted)
    assert standings(demo, "vision")["one-card"] == Standing.borrowed
    assert standings(demo, "vision")["two-cards"] == Standing.would_queue
    assert isinstance(demo.asks("scientist-2", "language", "one-card"), Admitted)
    assert standings(demo, "language")["one-card"] == Standing.would_queue


def test_fixed_shares_never_borrow() -> None:
    fixed = Commons(load(CONFIG / "examples/fixed.yaml").policy)
    assert standings(fixed, "physics") == {
        "whole": Standing.guaranteed,
        "four": Standing.guaranteed,
        "desk": Standing.unmetered,
    }
    assert standings(fixed, "chem-students") == {
        "half": Standing.guaranteed,
        "a30": Standing.guaranteed,
        "desk": Standing.unmetered,
    }


def test_elastic_shares_borrow_what_is_beyond_the_guarantee() -> None:
    elastic = Commons(load(CONFIG / "examples/elastic.yaml").policy)
    assert standings(elastic, "climate") == {
        "small": Standing.guaranteed,
        "middle": Standing.guaranteed,
        "one": Standing.guaranteed,
        "eight": Standing.borrowed,
        "desk": Standing.unmetered,
    }
    assert standings(elastic, "guests") == {
        "small": Standing.borrowed,
        "middle": Standing.borrowed,
        "one": Standing.borrowed,
        "desk": Standing.unmetered,
    }
