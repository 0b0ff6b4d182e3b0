"""What a well-formed policy can still get wrong, row by row: what is told, where, how gravely."""

from copy import deepcopy
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from hub_ext.policy.checks import check
from hub_ext.policy.checks.guarantees import nearest_sums
from hub_ext.policy.model import Policy
from hub_ext.policy.model.pools import SharedGpu
from hub_ext.policy.problems import path_text
from tests.support.policies import DATA, policy

Path = tuple[str | int, ...]

FOUR_SMALL = ["1g.18gb"] * 4


def told(rules: Policy) -> list[tuple[str, str, str]]:
    """Severity, path and words of every problem."""
    return [
        (one.severity, path_text(one.path), f"{one.message}; {one.remedy}") for one in check(rules)
    ]


def changed(*changes: tuple[Path, object]) -> Policy:
    data: Any = deepcopy(DATA)
    for path, value in changes:
        part = data
        for step in path[:-1]:
            part = part[step]
        part[path[-1]] = value
    return Policy.model_validate(data)


def test_the_sound_policy_has_no_problem() -> None:
    assert told(policy()) == []


@pytest.mark.parametrize(
    ("place", "value", "severity", "where", "words"),
    [
        # pools
        (
            "pools.slices.nodes.0.geometry.0",
            ["4g.71gb", "4g.71gb"],
            "error",
            "",
            "these fit: '4g.71gb'",
        ),
        (
            "pools.slices.nodes.0.geometry.0",
            ["1g.18gb"] * 8,
            "error",
            "",
            "no 'h200-141gb' holds all of these at once",
        ),
        (
            "pools.slices.nodes.0.geometry.0",
            ["1g.18"],
            "error",
            "pools.slices.nodes[0].geometry[0][0]",
            "did you mean '1g.18gb'?",
        ),
        ("pools.slices.nodes.0.geometry.0", [], "error", "", "write `whole`"),
        ("pools.slices.nodes.0.geometry", ["whole", "whole"], "error", "", "2 cuts for 1 GPUs"),
        (
            "pools.cards.nodes.0.geometry",
            [["1g.5gb"], *["whole"] * 3],
            "error",
            "pools.cards.nodes[0].geometry[0]",
            "has no MIG data, so its GPUs cannot be cut",
        ),
        (
            "pools.cards.nodes",
            [{"name": "n2", "gpus": 2}] * 2,
            "error",
            "pools.cards.nodes[1].name",
            "is here twice",
        ),
        (
            "pools.vault.for",
            {"team": "speach"},
            "error",
            "pools.vault.for.team",
            "did you mean 'speech'?",
        ),
        (
            "pools.spare",
            {"model": "t4", "nodes": [{"name": "n9", "gpus": 1}]},
            "warning",
            "",
            "nobody can use these GPUs",
        ),
        # teams
        (
            "teams.vision.quota.vault",
            {"nominal": "0"},
            "error",
            "",
            "reserved for the team 'speech'",
        ),
        ("teams.vision.quota.card", {"nominal": "0"}, "error", "", "did you mean 'cards'?"),
        (
            "teams.speech.pools_allowed",
            ["slices", "vault", "vaults"],
            "error",
            "teams.speech.pools_allowed[2]",
            "did you mean 'vault'?",
        ),
        (
            "teams.speech.pools_allowed",
            ["slices", "vault", "cards"],
            "warning",
            "teams.speech.pools_allowed[2]",
            "has no quota in 'cards'",
        ),
        (
            "teams.speech.pools_allowed",
            ["vault"],
            "warning",
            "teams.speech.quota.slices",
            "`pools_allowed` leaves the pool out",
        ),
        (
            "teams.speech.groups",
            ["speech", "vision"],
            "warning",
            "",
            "the group 'vision' are in several teams: 'vision', 'speech'",
        ),
        (
            "teams.speech.quota.slices",
            {"nominal": "0.25", "borrowing_limit": "1"},
            "warning",
            "teams.speech.quota.slices.borrowing_limit",
            "`over_quota: queue`",
        ),
        (
            "teams.speech.quota.vault",
            {"nominal": "1", "lending_limit": "0"},
            "warning",
            "",
            "nobody lends or borrows",
        ),
        (
            "teams.vision.quota.cards.lending_limit",
            "3",
            "warning",
            "",
            "more than the guarantee cannot be lent",
        ),
        (
            "teams.speech.quota.cards",
            {"nominal": "0"},
            "warning",
            "teams.speech.quota.cards.nominal",
            "never gets a GPU here",
        ),
        ("teams.vision.largest_request", "0", "error", "", "a limit of 0"),
        # projects
        ("projects.maps.team", "visions", "error", "", "did you mean 'vision'?"),
        ("projects.maps.environments", {}, "warning", "projects.maps", "no environment is pinned"),
        (
            "projects.birds.environments.image.image",
            "registry.example:5000/birds:latest",
            "error",
            "",
            "the tag 'latest' floats",
        ),
        (
            "projects.birds.environments.image.image",
            "birds@sha256:00",
            "error",
            "",
            "repeats a digest",
        ),
        ("projects.birds.environments.image.image", "", "error", "", "this is no image"),
        (
            "projects.maps.environments.jax.prefix",
            "$HOME/jax",
            "error",
            "",
            "only ${GPU_COMMONS_STATE} is known",
        ),
        ("projects.maps.environments.jax.prefix", "", "error", "", "this is no directory"),
        (
            "projects.maps.environments.jax.digest",
            "sha256:" + "0" * 64,
            "warning",
            "",
            "pins nothing yet",
        ),
        # profiles
        ("profiles.pair.pool", "crads", "error", "", "did you mean 'cards'?"),
        (
            "profiles.pair.teams",
            ["visoin"],
            "error",
            "profiles.pair.teams[0]",
            "did you mean 'vision'?",
        ),
        (
            "profiles.pair.teams",
            ["vision", "speech"],
            "warning",
            "profiles.pair.teams[1]",
            "may not use the pool 'cards'",
        ),
        (
            "profiles.pair.flavor",
            {"gpus": 5},
            "error",
            "profiles.pair.flavor.gpus",
            "no machine of the pool 'cards' has 5 whole GPUs; ask for 4 at most",
        ),
        (
            "profiles.pair.flavor",
            {"mig": "1g.5gb"},
            "error",
            "profiles.pair.flavor.mig",
            "'l40s' has no MIG data",
        ),
        (
            "profiles.small.flavor",
            {"mig": "2g.35gb"},
            "error",
            "profiles.small.flavor.mig",
            "the pool has '3g.71gb', '1g.18gb'",
        ),
        (
            "profiles.small.flavor",
            {"gpus": 1},
            "error",
            "profiles.small.flavor.gpus",
            "the pool has '3g.71gb', '1g.18gb'",
        ),
        ("profiles.pair.title", "Small slice", "warning", "", "'small' has the same title"),
        ("profiles.pair.cpu", "0.000", "error", "", "needs some CPU"),
        ("profiles.pair.memory", "0GiB", "error", "", "needs some memory"),
        ("teams.vision.largest_request", "1", "error", "profiles.pair", "It takes 2 GPUs"),
        (
            "profiles.secret.teams",
            ["vision"],
            "warning",
            "profiles.secret",
            "no team may choose this profile",
        ),
        # prices
        ("prices.0.pool", "card", "error", "", "did you mean 'cards'?"),
        ("prices.1.flavor", "1g.10gb", "error", "", "did you mean '1g.18gb'?"),
        (
            "prices.1.flavor",
            "7g.141gb",
            "warning",
            "prices[1]",
            "has no '7g.141gb' to which it applies",
        ),
        ("prices.2.from", "2026-01-01", "error", "", "begin on 2026-01-01"),
        (
            "prices.1.until",
            "2026-05-01",
            "error",
            "",
            "overlaps the next one, which begins on 2026-04-01",
        ),
        (
            "prices.1.until",
            "2026-03-01",
            "warning",
            "",
            "no price from 2026-03-01 until 2026-04-01",
        ),
        ("prices.2.until", "2026-06-01", "warning", "", "no price from 2026-06-01 on"),
        ("prices.0.until", "2025-01-01", "error", "", "before it begins"),
        ("prices", [], "warning", "profiles.small", "has no price, so it is shown as not priced"),
        # idle
        (
            "idle.plain.applies",
            ["none", "mig"],
            "error",
            "idle.plain.applies[1]",
            "the rule 'gpus' is already for 'mig'",
        ),
        ("idle.plain.applies", ["none", "none"], "warning", "idle.plain.applies[1]", "twice"),
        ("idle.gpus.applies", ["gpu"], "warning", "idle", "no rule is for 'mig'"),
        ("idle", {}, "warning", "modes.idle", "no rule is for 'gpu'"),
    ],
)
def test_each_row_of_the_policy_is_judged(
    place: str, value: object, severity: str, where: str, words: str
) -> None:
    path = tuple(int(step) if step.isdecimal() else step for step in place.split("."))
    found = told(changed((path, value)))
    told_at = (severity, where or path_text(path))
    assert [one for one in found if one[:2] == told_at and words.lower() in one[2].lower()], found


def test_one_person_cannot_have_more_leases_than_the_team() -> None:
    found = told(
        changed(
            (("teams", "vision", "most_leases"), 2),
            (("teams", "vision", "most_leases_per_person"), 3),
        )
    )
    assert [one[:2] for one in found] == [("warning", "teams.vision.most_leases_per_person")]


def test_a_profile_over_every_limit_is_only_a_warning_while_quota_is_observed() -> None:
    found = told(
        changed((("teams", "vision", "largest_request"), "1"), (("modes", "quota"), "observe"))
    )
    assert ("warning", "profiles.pair") in [one[:2] for one in found]
    assert all(one[0] == "warning" for one in found)


def test_borrowing_can_make_a_large_profile_possible() -> None:
    borrowing = changed((("profiles", "pair", "flavor"), {"gpus": 4}))
    assert [one[:2] for one in told(borrowing)] == [
        ("warning", "teams.vision.quota.cards.nominal"),
        ("warning", "pools.cards"),
    ]


def guarantees(
    cuts: list[str | list[str]], nominal: dict[str, str], **chooses: list[str]
) -> list[str]:
    """Problems of pool and quota where teams hold these guarantees of GPUs cut like this."""
    kinds = dict.fromkeys(kind for cut in cuts for kind in ([cut] if isinstance(cut, str) else cut))
    data: Any = deepcopy(DATA)
    data["pools"] = {
        "p": {
            "model": "h200-141gb",
            "nodes": [{"name": "n", "gpus": len(cuts), "geometry": cuts}],
            "starve_after": "4h",
            "normal_lifetime": "1d",
        }
    }
    data["teams"] = {
        team: {
            "groups": [team],
            "over_quota": "borrow",
            "quota": {"p": {"nominal": gpus}},
        }
        for team, gpus in nominal.items()
    }
    data["projects"], data["prices"] = {}, []
    data["profiles"] = {
        kind: {
            "title": kind,
            "pool": "p",
            "flavor": {"gpus": 1} if kind == "whole" else {"mig": kind},
            "cpu": "1",
            "memory": "1GiB",
            "lifetime": {"default": "1h", "longest": "1h"},
            "teams": [team for team in nominal if kind in chooses.get(team, list(kinds))],
        }
        for kind in kinds
    }
    return [
        f"{severity} {where}: {words}"
        for severity, where, words in told(Policy.model_validate(data))
        if not where.startswith("profiles")
    ]


def test_eight_small_slices_by_units_are_seven_by_geometry() -> None:
    (found,) = guarantees([["1g.18gb"] * 7], {"a": "0.5", "b": "0.5"})
    assert found == (
        "error pools.p: guarantees are 1 GPU ('a' 0.5, 'b' 0.5), declared are 0.875 GPU "
        "(7 x 1g.18gb); lower them by '0.125' together, or declare more devices; "
        "a cut GPU holds less than a whole one: 8 1g.18gb by units, 7 by geometry"
    )
    assert guarantees([["1g.18gb"] * 7], {"a": "0.5", "b": "0.375"}) == []


def test_guarantees_may_fill_a_pool_exactly_but_not_exceed_it() -> None:
    assert guarantees(["whole", "whole"], {"a": "1", "b": "1"}) == []
    (found,) = guarantees(["whole", "whole"], {"a": "1", "b": "2"})
    assert "guarantees are 3 GPUs ('a' 1, 'b' 2), declared are 2 GPUs (2 x whole)" in found


def test_a_guarantee_beyond_the_devices_a_team_may_choose_is_refused() -> None:
    (found,) = guarantees(
        [["3g.71gb", *FOUR_SMALL]],
        {"a": "0.5", "b": "0.5"},
        a=["1g.18gb"],
        b=["1g.18gb"],
    )
    assert found.startswith(
        "error pools.p: guarantees are 1 GPU ('a' 0.5, 'b' 0.5) of teams that may only choose "
        "'1g.18gb'; these are 0.5 GPU (4 x 1g.18gb)"
    )


def test_the_smallest_impossible_set_of_kinds_is_told_alone() -> None:
    found = guarantees(
        [["3g.71gb", *FOUR_SMALL], "whole"],
        {"a": "0.75", "b": "0.25"},
        a=["1g.18gb"],
        b=["1g.18gb", "3g.71gb"],
    )
    assert len(found) == 1
    assert "('a' 0.75) of teams that may only choose '1g.18gb'" in found[0]


def test_guarantees_that_hold_only_for_one_of_two_profiles_are_warned_of() -> None:
    found = guarantees([["3g.71gb", *FOUR_SMALL]], {"a": "0.5", "b": "0.5"})
    assert [one.split(";")[0] for one in found] == [
        (
            "warning pools.p: as '3g.71gb' the guarantees come to 2 by units ('a' 1, 'b' 1), by "
            "geometry to 1: whoever comes last finds no device of this kind"
        ),
        (
            "warning pools.p: as '1g.18gb' the guarantees come to 8 by units ('a' 4, 'b' 4), by "
            "geometry to 4: whoever comes last finds no device of this kind"
        ),
    ]
    split = guarantees(
        [["3g.71gb", *FOUR_SMALL]], {"a": "0.5", "b": "0.5"}, a=["3g.71gb"], b=["1g.18gb"]
    )
    assert split == []


def test_the_part_of_a_guarantee_that_is_no_device_is_told_with_its_neighbours() -> None:
    (found,) = guarantees([["1g.18gb"] * 7], {"a": "0.3"})
    assert found == (
        "warning teams.a.quota.p.nominal: 0.05 GPU of it never becomes a device; the team may "
        "choose '1g.18gb'; write '0.25' or '0.375'"
    )
    (whole,) = guarantees(["whole"], {"a": "0.5"})
    assert whole.endswith("write '1'")


def test_a_guarantee_without_any_profile_is_told() -> None:
    found = guarantees(["whole"], {"a": "1", "b": "0"}, a=[])
    assert (
        "warning teams.a.quota.p.nominal: no profile lets the team use this guarantee" in found[0]
    )


@given(
    sizes=st.sets(st.integers(1, 12), min_size=1, max_size=3),
    wanted=st.integers(0, 30),
    more=st.integers(0, 20),
)
def test_the_nearest_sums_are_those_found_by_trying_all(
    sizes: set[int], wanted: int, more: int
) -> None:
    most = wanted + more
    counts = product(*(range(most // size + 1) for size in sizes))
    sums = {sum(n * size for n, size in zip(count, sizes, strict=True)) for count in counts}
    below = max(one for one in sums if one <= wanted)
    above = min((one for one in sums if wanted < one <= most), default=0)
    assert nearest_sums(sizes, wanted, most=most) == (below, above)


def test_the_nearest_sum_in_a_pool_of_thousands_is_found_at_once() -> None:
    assert nearest_sums([840, 105, 420], 50_000_001, most=53_760_000) == (49_999_950, 50_000_055)


def test_time_shares_are_counted_checked_and_priced_by_their_number() -> None:
    shared: Path = ("pools", "cards", "nodes", 0)
    flavor: Path = ("profiles", "turn")
    turn = {**DATA["profiles"][next(iter(DATA["profiles"]))], "title": "In turns", "pool": "cards"}
    turn.pop("teams", None)
    node = {**DATA["pools"]["cards"]["nodes"][0]}
    node["geometry"] = [{"share": 4}, *["whole"] * (node["gpus"] - 1)]
    price = {"pool": "cards", "flavor": "share-4", "from": "2026-01-01", "per_hour": "0.50"}
    prices: Path = ("prices",)

    def found(share: int, flavor_of_price: str) -> list[str]:
        rules = changed(
            (shared, node),
            (flavor, {**turn, "flavor": {"share": share}}),
            (prices, [*DATA["prices"], {**price, "flavor": flavor_of_price}]),
        )
        return [f"{where}: {words}" for kind, where, words in told(rules) if kind == "error"]

    assert found(4, "share-4") == []
    (wrong,) = found(3, "share-4")
    assert "no GPU of the pool 'cards' is shared by 3" in wrong
    assert "'share-4'" in wrong
    (wrong,) = found(4, "share-3")
    assert "have no flavor 'share-3'" in wrong


@pytest.mark.parametrize("share", [0, 1, 9, 11, "4", 4.0, True])
def test_a_gpu_is_shared_by_a_number_that_divides_it_evenly(share: object) -> None:
    with pytest.raises(ValidationError):
        SharedGpu.model_validate({"share": share})
