"""What a person may choose, what a choice becomes, and what a refusal says to do instead."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_ext.errors import RefusedError
from hub_ext.lease import Choice, Isolation, ProfileName, ProjectName, TeamName, UserName
from hub_ext.policy.catalogue import (
    Person,
    Resolved,
    choices,
    led_by,
    projects_of,
    resolve,
    teams_of,
)
from tests.support.policies import policy

AT = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
VERA = Person(user=UserName("vera"), groups=("vision", "chess"))
SAM = Person(user=UserName("sam"), groups=("audio",))
BOTH = Person(user=UserName("bo"), groups=("speech", "vision"))
NOBODY = Person(user=UserName("ned"), groups=("chess",))


def wish(
    profile: str,
    *,
    team: str | None = None,
    project: str | None = None,
    lifetime_s: int | None = None,
) -> Choice:
    return Choice(
        profile=ProfileName(profile),
        team=None if team is None else TeamName(team),
        project=None if project is None else ProjectName(project),
        lifetime_s=lifetime_s,
    )


def refusal(person: Person, choice: Choice) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        resolve(policy(), person, choice, AT)
    assert caught.value.status in {400, 403}
    return caught.value


def test_groups_make_teams_and_leads_are_named() -> None:
    assert teams_of(policy(), VERA) == ("vision",)
    assert teams_of(policy(), SAM) == ("speech",)
    assert teams_of(policy(), BOTH) == ("vision", "speech")
    assert teams_of(policy(), NOBODY) == ()
    assert led_by(policy(), "lena") == ("vision",)
    assert led_by(policy(), "vera") == ()
    assert projects_of(policy(), ("vision",)) == ("maps", "birds")


def test_a_choice_of_a_profile_alone_is_filled_in_completely() -> None:
    one = resolve(policy(), VERA, wish("small"), AT)
    assert (one.team, one.project, one.profile) == ("vision", "maps", "small")
    assert one.environment is not None
    assert (one.environment.name, one.environment.prefix) == ("torch", "/opt/envs/torch")
    assert (one.pool, one.model, one.kind, one.flavor) == (
        "slices",
        "h200-141gb",
        "mig",
        "1g.18gb",
    )
    assert (one.gpus, one.mig_profile, one.units) == (0, "1g.18gb", 105)
    assert (one.lifetime, one.longest) == (timedelta(hours=4), timedelta(hours=6))
    assert (one.price_micro_per_hour, one.currency) == (600_000, "EUR")
    assert (one.cpu_millis, one.memory_bytes) == (2000, 8 * 2**30)
    assert one.isolation is Isolation.mig
    assert one.choice == wish("small")


def test_whole_gpus_count_840_units_each_and_cost_each() -> None:
    one = resolve(policy(), VERA, wish("pair", project="birds", lifetime_s=60), AT)
    assert (one.gpus, one.units, one.price_micro_per_hour) == (2, 1680, 2_400_000)
    assert one.project == "birds"
    assert one.environment is not None
    assert (one.environment.prefix, one.environment.image) == (
        None,
        "registry.example/vision/birds",
    )
    assert one.lifetime == timedelta(minutes=1)
    assert one.isolation is Isolation.gpu


def test_a_default_lifetime_above_the_teams_limit_is_shortened_to_it() -> None:
    one = resolve(policy(), VERA, wish("pair"), AT)
    assert one.lifetime == one.longest == timedelta(hours=6)


def test_a_profile_without_a_gpu_takes_nothing_and_has_no_price() -> None:
    one = resolve(policy(), SAM, wish("cpu-only"), AT)
    assert (one.pool, one.kind, one.flavor, one.units, one.price_micro_per_hour) == (
        None,
        "none",
        "none",
        0,
        None,
    )
    assert one.isolation is Isolation.none


def test_people_see_what_their_teams_may_choose_in_the_order_of_the_form() -> None:
    assert choices(policy(), VERA) == (
        wish("small", team="vision"),
        wish("pair", team="vision"),
    )
    assert choices(policy(), BOTH) == (
        wish("small", team="vision"),
        wish("small", team="speech"),
        wish("pair", team="vision"),
        wish("secret", team="speech"),
        wish("cpu-only", team="speech"),
    )
    assert choices(policy(), NOBODY) == ()


def test_a_person_of_two_teams_gets_the_first_that_may_unless_they_say() -> None:
    assert resolve(policy(), BOTH, wish("small"), AT).team == "vision"
    assert resolve(policy(), BOTH, wish("secret"), AT).team == "speech"
    assert resolve(policy(), BOTH, wish("small", project="voices"), AT).team == "speech"
    assert resolve(policy(), BOTH, wish("small", team="speech"), AT).project == "voices"


@pytest.mark.parametrize(
    ("person", "choice", "code", "status", "words"),
    [
        (VERA, wish("smal"), "unknown-profile", 400, "Did you mean 'small'?"),
        (VERA, wish("x" * 500), "unknown-profile", 400, "You can choose: 'small', 'pair'."),
        (NOBODY, wish("nope"), "unknown-profile", 400, "ask an administrator"),
        (NOBODY, wish("small"), "no-team", 403, "groups of a team"),
        (VERA, wish("small", team="speech"), "not-your-team", 403, "Your teams: 'vision'."),
        (VERA, wish("cpu-only"), "profile-not-for-team", 403, "not offered to 'vision'"),
        (VERA, wish("secret"), "pool-not-for-team", 403, "pool 'vault'"),
        (SAM, wish("pair"), "pool-not-for-team", 403, "'small', 'secret', 'cpu-only'"),
        (BOTH, wish("secret", team="vision"), "pool-not-for-team", 403, "'small', 'pair'"),
        (VERA, wish("small", project="voices"), "not-your-project", 403, "'maps', 'birds'"),
        (VERA, wish("small", project="mapz"), "not-your-project", 403, "mean 'maps'?"),
        (VERA, wish("small", lifetime_s=21601), "lifetime-too-long", 400, "at most 6h"),
    ],
)
def test_a_refusal_says_what_is_wrong_and_what_may_be_chosen(
    person: Person, choice: Choice, code: str, status: int, words: str
) -> None:
    error = refusal(person, choice)
    assert (error.code, error.status) == (code, status)
    assert words in error.message
    assert len(error.message) < 400


def test_the_figures_of_a_lifetime_that_is_too_long_are_given() -> None:
    assert refusal(VERA, wish("small", lifetime_s=90_000)).figures == {
        "longest_s": 21_600,
        "wanted_s": 90_000,
    }


@given(
    profile=st.sampled_from(["small", "pair", "secret", "cpu-only", "nope", ""]),
    team=st.sampled_from([None, "vision", "speech", "nope"]),
    project=st.sampled_from([None, "maps", "birds", "voices", "nope"]),
    groups=st.lists(st.sampled_from(["vision", "speech", "audio", "chess"]), max_size=3),
    lifetime_s=st.none() | st.integers(1, 365 * 86400),
)
def test_whatever_is_asked_it_is_granted_within_the_rules_or_refused_in_words(
    profile: str,
    team: str | None,
    project: str | None,
    groups: list[str],
    lifetime_s: int | None,
) -> None:
    rules, person = policy(), Person(user=UserName("any"), groups=tuple(groups))
    asked = wish(profile, team=team, project=project, lifetime_s=lifetime_s)
    one: Resolved | RefusedError
    try:
        one = resolve(rules, person, asked, AT)
    except RefusedError as error:
        one = error
    if isinstance(one, RefusedError):
        assert 400 <= one.status < 500
        assert one.message.endswith(".")
        return
    assert wish(profile, team=one.team) in choices(rules, person)
    assert one.project is None or rules.projects[one.project].team == one.team
    assert timedelta(0) < one.lifetime <= one.longest
