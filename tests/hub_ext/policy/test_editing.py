"""One value of a policy's text is changed; every other character stays where people put it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_ext.errors import GpuCommonsError
from hub_ext.policy.editing import Value, put
from hub_ext.policy.source import read

TEXT = """\
# who has what
projects:
  maps:  # the maps
    team: vision
    environments:
      dev: {image: r.example/a, digest: "sha256:aa"}  # first
      train:
        # the good one
        image: r.example/b   # b
        digest: "sha256:bb"
        tag: "1"

    # still about maps

  other: {team: speech}
# prices follow
prices: []
"""
DEV = ("projects", "maps", "environments", "dev")


def test_a_value_in_braces_is_written_again_and_its_comment_stays() -> None:
    after = put(TEXT, DEV, {"image": "r.example/a", "digest": "sha256:cc"})
    line = '      dev: {image: r.example/a, digest: "sha256:aa"}  # first\n'
    fresh = '      dev: {image: "r.example/a", digest: "sha256:cc"}  # first\n'
    assert after == TEXT.replace(line, fresh)


def test_a_block_keeps_its_lines_and_their_comments() -> None:
    pin: Value = {"image": "r.example/b", "digest": "sha256:cc", "contents": {"cuda": "12.4"}}
    after = put(TEXT, (*DEV[:3], "train"), pin)
    assert after == TEXT.replace("sha256:bb", "sha256:cc").replace(
        '        tag: "1"\n', '        contents: {cuda: "12.4"}\n'
    )


def test_a_new_name_comes_behind_the_last_one() -> None:
    after = put(TEXT, (*DEV[:3], "prod"), {"image": "r.example/c"})
    assert after == TEXT.replace(
        '        tag: "1"\n', '        tag: "1"\n      prod: {image: "r.example/c"}\n'
    )


def test_what_is_missing_on_the_way_is_made() -> None:
    after = put(TEXT, ("projects", "other", "environments", "dev"), {"image": "r.example/c"})
    assert after == TEXT.replace(
        "{team: speech}", '{team: speech, environments: {dev: {image: "r.example/c"}}}'
    )


def test_what_would_touch_the_rest_is_left_to_a_person() -> None:
    for text, path in (
        ("projects: 3\n", DEV),
        ("- a\n", DEV),
        ("a: &x {b: c}\nd: *x\n", ("d", "b")),
        ("a: {b: 1", ("a", "b")),
    ):
        with pytest.raises(GpuCommonsError):
            put(text, path, {"image": "r.example/c"})


@pytest.mark.parametrize(
    "text",
    [
        "a:\n  b: {image: r.example/a,  # ours, ask Ann\n      digest: x}\n",
        "a:\n  b:\n    image: r.example/a\n    contents:\n      # as found\n      cuda: x\n",
    ],
)
def test_what_would_take_a_comment_along_is_left_to_a_person(text: str) -> None:
    with pytest.raises(GpuCommonsError, match="a comment stands in what would be written anew"):
        put(text, ("a", "b"), {"image": "r.example/c"})


@given(
    name=st.sampled_from(["dev", "train", "prod", "on", "1"]),
    value=st.dictionaries(
        st.sampled_from(["image", "digest", "tag"]), st.text(max_size=12), min_size=1
    ),
)
def test_only_the_value_named_changes(name: str, value: dict[str, str]) -> None:
    path = (*DEV[:3], name)
    try:
        after = put(TEXT, path, value)
    except GpuCommonsError:
        # Text that YAML cannot hold is refused, and nothing is changed.
        assert any(not c.isprintable() for text in value.values() for c in text)
        return
    before, found = read(TEXT).data, read(after)
    assert not found.findings
    pins = before["projects"]["maps"]["environments"]
    pins[name] = value
    assert found.data == before
    # What is said of a field goes with the field, and nothing else does.
    gone = " b" if name == "train" and "image" not in value else None
    comments = [line.partition("#")[2] for line in TEXT.splitlines() if "#" in line]
    assert all(f"#{comment}" in after for comment in comments if comment != gone)
