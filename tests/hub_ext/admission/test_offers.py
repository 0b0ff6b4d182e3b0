"""The form's offers: the same answers as a spawn gets, in words for people."""

from hub_ext.admission.decide import Request, decide, offers, standing_of
from hub_ext.admission.offer import model_title
from hub_ext.lease import Choice, ServerKey, ServerName, Standing
from hub_ext.policy.catalogue import resolve
from tests.support.pools import Commons, make_policy, person, team

POLICY = make_policy(
    {
        "a": team({"whole": {"nominal": "1"}, "cut": {"nominal": "0.5"}}, over="queue", name="a"),
        "b": team({"whole": {"nominal": "1"}}, name="b"),
    }
)


def test_each_offer_is_what_a_spawn_would_be_told() -> None:
    commons = Commons(POLICY)
    commons.asks("u", "a", "one")
    ann = person("ann", "a", "b")
    sheet = offers(commons.snapshot, ann)
    assert {(one.profile, one.team) for one in sheet.offers} >= {("one", "a"), ("one", "b")}
    for one in sheet.offers:
        choice = Choice(profile=one.profile, team=one.team)
        asked = Request(
            key=ServerKey(user=ann.user, server=ServerName("mine")),
            resolved=resolve(POLICY, ann, choice, commons.now),
            requested_at=commons.now,
        )
        answer = decide(commons.snapshot, asked)
        assert (one.standing, one.reason) == (standing_of(answer), answer.reason)


def test_an_offer_speaks_to_people() -> None:
    commons = Commons(POLICY)
    commons.asks("u", "b", "one")
    sheet = offers(commons.snapshot, person("ann", "b"))
    by_profile = {str(one.profile): one for one in sheet.offers}
    one = by_profile["one"]
    assert one.flavor_title == "1 x H200 141 GB"
    assert one.free == 3
    assert one.price_text == "EUR 4.20 an hour"
    assert one.price_micro_default == 16_800_000
    assert one.standing is Standing.borrowed
    assert one.simulated
    cpu = by_profile["cpu"]
    assert (cpu.flavor_title, cpu.free, cpu.price_text) == ("no GPU", None, "no charge for GPUs")
    assert not cpu.simulated
    assert "half" not in by_profile


def test_a_profile_without_price_is_not_priced_and_never_free_of_charge() -> None:
    sheet = offers(Commons(POLICY).snapshot, person("ann", "a"))
    half = next(one for one in sheet.offers if one.profile == "half")
    assert half.flavor_title == "MIG 3g.71gb on H200 141 GB"
    assert (half.price_text, half.price_micro_default) == ("not priced", None)


def test_who_is_in_no_team_is_told_so() -> None:
    sheet = offers(Commons(POLICY).snapshot, person("eve", "strangers"))
    assert sheet.offers == ()
    assert sheet.message is not None
    assert sheet.message.code == "no-team"
    assert "Ask an administrator" in sheet.message.message


def test_a_team_without_profiles_is_told_so() -> None:
    profiles = {"one": POLICY.profiles["one"]}
    bare = POLICY.model_copy(update={"profiles": profiles})
    poor = bare.model_copy(
        update={"teams": {"c": POLICY.teams["a"].model_copy(update={"quota": {}})}}
    )
    sheet = offers(Commons(poor).snapshot, person("ann", "a"))
    assert sheet.message is not None
    assert sheet.message.code == "no-profile"


def test_model_names_are_written_as_people_do() -> None:
    assert model_title("h200-141gb") == "H200 141 GB"
    assert model_title("rtx-pro-6000-96gb") == "RTX PRO 6000 96 GB"


def test_an_offer_says_what_can_be_chosen_with_it() -> None:
    policy = make_policy(
        {"a": team({"whole": {"nominal": "2"}, "cut": {"nominal": "0.5"}}, name="a")},
        projects={
            "maps": {"team": "a", "quota": {"whole": {"nominal": "1"}}},
            "birds": {"team": "a"},
        },
        task_types={
            "training": {"title": "Training", "flavors": ["gpu"]},
            "service": {"title": "Service", "teams": ["a"], "longest_lifetime": "1h"},
            "night": {"title": "Night run", "groups": ["others"]},
        },
    )
    sheet = offers(Commons(policy).snapshot, person("ann", "a"))
    by_profile = {str(one.profile): one for one in sheet.offers}
    types = {name: [task.name for task in one.task_types] for name, one in by_profile.items()}
    assert types["one"] == ["training", "service"]
    assert types["half"] == ["service"]
    assert by_profile["one"].task_type is None
    assert [task.lifetime_longest_s for task in by_profile["one"].task_types] == [0, 0]
    assert [by_profile[name].shared_out for name in ("one", "half", "cpu")] == [True, False, False]
    assert [by_profile[name].may_borrow for name in ("one", "cpu")] == [True, False]


def shared_out() -> Commons:
    """Team a has two GPUs: one is project maps' share, birds may have what is left of the rest."""
    policy = make_policy(
        {"a": team({"whole": {"nominal": "2"}}, over="queue", name="a")},
        projects={
            "maps": {"team": "a", "quota": {"whole": {"nominal": "1"}}},
            "birds": {"team": "a", "quota": {"whole": {"nominal": "1"}}},
        },
    )
    return Commons(policy)


def test_where_projects_have_shares_each_is_told_what_its_start_would_be_told() -> None:
    commons = shared_out()
    commons.asks("u", "a", "one", project="birds")
    ann = person("ann", "a")
    one = next(x for x in offers(commons.snapshot, ann).offers if x.profile == "one")
    assert one.project == "maps"
    assert [share.project for share in one.shares] == ["maps", "birds"]
    for share in one.shares:
        choice = Choice(profile=one.profile, team=one.team, project=share.project)
        asked = Request(
            key=ServerKey(user=ann.user, server=ServerName("mine")),
            resolved=resolve(commons.policy, ann, choice, commons.now),
            requested_at=commons.now,
        )
        answer = decide(commons.snapshot, asked)
        assert (share.standing, share.reason) == (standing_of(answer), answer.reason)
    assert one.shares[0].standing is one.standing
    assert one.shares[1].standing is not one.shares[0].standing


def test_without_shares_or_a_choice_nothing_is_told_twice() -> None:
    sheet = offers(Commons(POLICY).snapshot, person("ann", "a"))
    assert all(one.shares == () for one in sheet.offers)
