"""Whatever somebody sends, there are clean options or a 4xx with words."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_ext.errors import RefusedError
from hub_ext.lease import ProfileName, When
from spawner.governed import apply_user_options
from spawner.options import FIELDS, Options, options_from_form, read_options
from spawner.refusal import SpawnRefusal

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(FIELDS) | st.text(), inner, max_size=5)
    ),
    max_leaves=8,
)


def _refusal(raw: object) -> SpawnRefusal | None:
    try:
        apply_user_options(object(), raw)
    except SpawnRefusal as refusal:
        return refusal
    return None


def test_a_whole_choice_is_read() -> None:
    options = read_options(
        {"profile": "mig-small", "team": "vision", "project": "atlas", "lifetime": "1h30m"}
    )
    assert options.model_dump() == {
        "profile": "mig-small",
        "team": "vision",
        "project": "atlas",
        "lifetime_s": 5400,
        "when": None,
        "task_type": None,
        "only_guaranteed": False,
        "alone": None,
        "purpose": "",
    }


def test_a_purpose_is_one_line_and_no_part_of_the_choice() -> None:
    options = read_options({"profile": "one", "purpose": "  tune the\n segmentation "})
    assert options.purpose == "tune the segmentation"
    assert options.choice(ProfileName("one")) == Options().choice(ProfileName("one"))
    for rubbish in ("x" * 201, "a\0b", "\x1b[31m"):
        with pytest.raises(RefusedError, match="at most 200 characters"):
            read_options({"purpose": rubbish})


def test_what_is_shared_with_nobody_is_read() -> None:
    assert read_options({"alone": "node"}) == Options(alone="node")
    assert read_options({"alone": "no"}) == Options()
    with pytest.raises(RefusedError, match="write one of no, gpu, node"):
        read_options({"alone": "rack"})


def test_what_it_is_for_and_whether_to_borrow_are_read() -> None:
    options = read_options({"profile": "one", "task_type": "training", "borrow": "no"})
    choice = options.choice(ProfileName("one"))
    assert (choice.task_type, choice.only_guaranteed) == ("training", True)
    assert read_options({"borrow": "yes"}) == Options()


@pytest.mark.parametrize("nothing", [{}, {"profile": ""}, {"profile": None, "lifetime": ""}])
def test_what_is_left_out_is_left_to_the_policy(nothing: dict[str, object]) -> None:
    assert read_options(nothing) == Options()


@pytest.mark.parametrize(
    ("rubbish", "said"),
    [
        ([1, 2], "an object"),
        ("mig-small", "an object"),
        (7, "an object"),
        ({"gpu": "all"}, "Unknown option: 'gpu'"),
        ({"a": 1, "b": 2}, "Unknown options: 'a', 'b'"),
        ({"lease_id": "L1", "profile": "cpu"}, "Unknown option: 'lease_id'"),
        ({"profile": ["cpu"]}, "is text, not ['cpu']"),
        ({"profile": {"a": 1}}, "is text"),
        ({"profile": True}, "is text, not True"),
        ({"profile": "../../etc"}, "no name of a profile"),
        ({"profile": "cpu\n"}, "no name of a profile"),
        ({"team": "Vision Team"}, "no name of a team"),
        ({"lifetime": 3600}, "is text, not 3600"),
        ({"lifetime": "forever"}, "no lifetime"),
        ({"lifetime": "0s"}, "no lifetime"),
        ({"lifetime": "-4h"}, "no lifetime"),
        ({"lifetime": "400d"}, "no lifetime"),
        ({"lifetime": "9" * 6000 + "d"}, "no lifetime"),
    ],
)
def test_rubbish_is_named_and_the_known_options_are_told(rubbish: object, said: str) -> None:
    with pytest.raises(RefusedError) as caught:
        read_options(rubbish)
    assert caught.value.status == 400
    assert said in caught.value.message
    assert "Known options are profile, team, project, lifetime" in caught.value.message
    assert len(caught.value.message) < 500


@given(ANY_JSON)
def test_any_json_becomes_clean_options_or_a_4xx(raw: Any) -> None:
    refusal = _refusal(raw)
    if refusal is not None:
        assert 400 <= refusal.status_code < 500
        assert refusal.jupyterhub_message.isprintable()
    else:
        clean = read_options(raw).model_dump(exclude_none=True)
        assert set(clean) <= set(Options.model_fields)
        json.dumps(clean)


@given(st.dictionaries(st.sampled_from([*FIELDS, "offer"]) | st.text(), st.lists(st.text())))
def test_any_form_becomes_options_that_the_hub_can_store(fields: dict[str, list[str]]) -> None:
    options = options_from_form(fields)
    json.dumps(options)
    refusal = _refusal(options)
    assert refusal is None or refusal.status_code == 400


def test_the_forms_radio_button_names_profile_and_team() -> None:
    fields = {"offer": ["mig-small/vision"], "project": [""], "lifetime": ["8h"], "_xsrf": ["x"]}
    assert options_from_form(fields) == {"profile": "mig-small", "team": "vision", "lifetime": "8h"}


def test_a_link_may_name_the_options_one_by_one() -> None:
    assert options_from_form({"profile": ["cpu"], "lifetime": ["2h"]}) == {
        "profile": "cpu",
        "lifetime": "2h",
    }


def test_fields_of_somebody_elses_form_are_refused_by_name() -> None:
    options = options_from_form(
        {"offer": ["cpu/vision"], "image": ["x"], "upload_file": [object()]}
    )
    with pytest.raises(RefusedError, match="'image', 'upload_file'"):
        read_options(options)


@pytest.mark.parametrize(
    ("text", "when"), [("no", None), ("", None), ("start", When.start), ("hold", When.hold)]
)
def test_people_choose_what_happens_to_a_request_that_has_to_wait(
    text: str, when: When | None
) -> None:
    assert read_options({"profile": "one", "wait": text}).when is when


def test_no_other_way_to_wait_is_known() -> None:
    with pytest.raises(RefusedError, match=r"no way to wait.*no, start, hold"):
        read_options({"wait": "for ever"})
