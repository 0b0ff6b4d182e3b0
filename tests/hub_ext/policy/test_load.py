"""Any text becomes a policy or findings, each with its place and what to do."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hub_ext.errors import PolicyError
from hub_ext.policy.load import Finding, Loaded, load, loads
from tests.support.policies import DATA, policy, policy_data, policy_text, yaml_text

NOMINAL = ("teams", "vision", "quota", "cards", "nominal")
JAX = ("projects", "maps", "environments", "jax")


def findings(text: str) -> tuple[str, ...]:
    with pytest.raises(PolicyError) as caught:
        loads(text)
    assert caught.value.findings
    return caught.value.findings


def refused(*path: str | int, to: object = ...) -> str:
    """The only finding of the policy with one change."""
    (line,) = findings(policy_text(*path, to=to))
    return line.split(": ", 2)[2]


def line_of(text: str, part: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if part in line)


def test_a_sound_policy_is_loaded_with_its_text_and_no_warning() -> None:
    text = policy_text()
    loaded = loads(text)
    assert isinstance(loaded, Loaded)
    assert loaded.policy == policy()
    assert (loaded.text, loaded.warnings) == (text, ())
    assert len(loaded.sha256) == 64


def test_a_nominal_that_is_no_quota_names_line_column_and_its_neighbours() -> None:
    text = policy_text("teams", "vision", "quota", "cards", "nominal", to="0.3333")
    line = line_of(text, "0.3333")
    column = text.splitlines()[line - 1].index("'0.3333'") + 1
    assert findings(text) == (
        (
            f"policy.yaml:{line}:{column}: error: teams.vision.quota.cards.nominal: '0.3333' GPU "
            "is no whole number of units of 1/840; the nearest quotas are '93/280' and '1/3'"
        ),
    )


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (NOMINAL, 0.5, "not a number; put it in quotes"),
        (NOMINAL, 2, "not a number; put it in quotes"),
        (NOMINAL, True, "not a truth value; put it in quotes"),
        (NOMINAL, None, "the value is empty; give it one"),
        (NOMINAL, ["2"], "text is wanted here; write one value"),
        (NOMINAL, "-1", "starts at 0"),
        (("teams", "vision", "groups"), [7], "put it in quotes"),
        (("teams", "vision", "groups"), [], "at least one entry"),
        (("teams", "vision", "groups"), "vision", "a list is wanted here"),
        (("teams", "vision", "over_quota"), "borow", "did you mean 'borrow'?"),
        (("teams", "vision", "over_quota"), "steal", "there is 'borrow', 'queue', 'deny'"),
        (("teams", "vision", "most_leases"), "3", "write digits, without quotes"),
        (("teams", "vision", "most_leases"), True, "'true' is no whole number"),
        (("teams", "vision", "longest_lifetime"), "0s", "is no time at all"),
        (("teams", "vision", "longest_lifetime"), "4 hours", "write for example '20s'"),
        (("pools", "cards", "nodes"), [], "at least one entry"),
        (("pools", "cards", "nodes", 0, "gpus"), 0, "write at least 1"),
        (("pools", "cards", "nodes", 0, "gpus"), 65, "write at most 64"),
        (("pools", "cards", "nodes", 0), "n2", "names and values are wanted here"),
        (("pools", "cards", "nodes", 0, "geometry"), ["hole"], "write `whole`, a list"),
        (("pools", "cards", "for"), "nobody", "write `shared` or `{team: T}`"),
        (("pools", "slices", "selector"), {"gpu": 1}, "put it in quotes"),
        (("profiles", "pair", "flavor"), "two", "write `{gpus: 1}`"),
        (("profiles", "pair", "flavor"), {"gpus": "2"}, "write digits"),
        (("profiles", "pair", "flavor"), "none", "write `flavor: none` alone"),
        (("profiles", "pair", "cpu"), "many", "no number of cores; write for example '4'"),
        (("profiles", "pair", "cpu"), 4, "put it in quotes"),
        (("profiles", "pair", "memory"), "64GB", "write for example '512MiB'"),
        (("profiles", "pair", "title"), "", "the text is empty"),
        (("profiles", "pair", "title"), "x" * 121, "at most 120 characters"),
        (("profiles", "pair", "lifetime", "default"), "3d", "`default` is longer than `longest`"),
        ((*JAX, "digest"), "sha256:1", "`gpu-commons env digest PREFIX` prints it"),
        ((*JAX, "image"), "a/b", "give either `prefix` or `image`"),
        (("prices", 0, "from"), "2026-02-30", "no day of the calendar"),
        (("prices", 0, "from"), 0, "no day of the calendar"),
        (("prices", 0, "per_hour"), "-1", "a number from 0 upwards"),
        (("prices", 0, "per_hour"), 1.2, "put it in quotes"),
        (("currency",), "euro", "write a code, for example EUR"),
        (("timezone",), "Paris", "write for example 'Europe/Paris'"),
        (("version",), 2, "there is '1'"),
        (("version",), "1", "write 1, without quotes"),
        (("version",), True, "write 1, without quotes"),
        (("modes", "idle"), "enforced", "did you mean 'enforce'?"),
        (("idle", "gpus", "gpu_active_percent"), 101, "write at most 100"),
        (("budget",), {}, "there is no field 'budget' here"),
        (("pools", "cards", "modle"), "l40s", "did you mean 'model'?"),
        (("teams", "Vision Lab"), {"groups": ["x"]}, "use small letters, digits"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_with_what_to_write(
    path: tuple[str | int, ...], value: object, words: str
) -> None:
    assert words in refused(*path, to=value)


def test_a_missing_field_is_named_where_it_should_stand() -> None:
    text = policy_text("profiles", "pair", "memory")
    (found,) = findings(text)
    assert found.startswith(
        f"policy.yaml:{line_of(text, '  pair:')}:3: error: profiles.pair.memory: "
    )
    assert "the field is missing; add 'memory': Main memory" in found


def test_all_faults_are_told_at_once_in_the_order_of_the_file() -> None:
    data = policy_data("teams", "vision", "quota", "cards", "nominal", to=2)
    data["currency"] = "euro"
    data["pools"]["cards"]["colour"] = "green"
    data["profiles"]["small"]["memory"] = "lots"
    lines = findings(yaml_text(data))
    assert [line.split(": ")[2] for line in lines] == [
        "currency",
        "pools.cards.colour",
        "teams.vision.quota.cards.nominal",
        "profiles.small.memory",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "begin with `version: 1`"),
        ("- 1\n", "begin with `version: 1`"),
        ("a:\n\t- b\n", "indent with spaces, never with tabs"),
        ("a: [1\n", "this is no YAML"),
        ("a: b: c\n", "this is no YAML"),
        ("a: '\0'\n", "keep to printable text in UTF-8"),
        ("a: &x [1]\nb: *x\n", "aliases (*x) are not read here"),
        ("a: &x {b: 1}\nc:\n  <<: *x\n", "aliases (*x) are not read here"),
        ("a: 1\nb: 2\na: 3\n", "'a' is here twice; keep one; the first is in line 1"),
        ("1: a\n", 'put it in quotes: "1"'),
        ("~: a\n", "is no text"),
        ("? [x]\n: 1\n", "a key must be text"),
        ("a: !!python/object:os.system x\n", "python/object:os.system) are not read here"),
        ("a: " + "9" * 5000 + "\n", "is no number that can be read"),
        ("--- a\n--- b\n", "a second document begins here"),
        ("[" * 100_000, "this is nested too deeply"),
        ("{" * 100_000, "a key must be text"),
        ("- " * 100_000, "this is nested too deeply"),
        ("#" * 1_000_001, "at most 1000000 are read"),
        ('timezone: "\\uDC80"\n', "timezone"),
    ],
)  # fmt: skip
def test_text_that_is_no_policy_is_refused_in_words(text: str, words: str) -> None:
    lines = findings(text)
    assert any(words in line for line in lines), lines
    assert all(len(line) < 800 for line in lines)


def test_laughs_by_the_billion_end_as_findings() -> None:
    lines = ['a: &a ["ha"]']
    lines += [
        f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]"
        for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    told = findings("\n".join(lines))
    assert sum("are not read here" in line for line in told) == 72


def test_findings_beyond_a_hundred_are_counted() -> None:
    lines = findings("\n".join(f"field{n}: 1" for n in range(500)))
    assert len(lines) == 101
    assert lines[-1] == "policy.yaml: 405 more"


def test_a_byte_order_mark_is_no_fault() -> None:
    assert loads("\ufeff" + policy_text()).policy == policy()


def test_words_that_old_yaml_took_for_truth_values_stay_words() -> None:
    text = policy_text("teams", "vision", "groups", to=["PLACE"]).replace("PLACE", "no")
    assert loads(text).policy.teams["vision"].groups == ("no",)


def test_a_file_is_read_and_called_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(policy_text(), "utf-8")
    assert load(path).policy == policy()
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PolicyError, match=r"rules\.yaml:1:1: error: is no text in UTF-8"):
        load(path)
    with pytest.raises(PolicyError, match=r"config/r\.yaml:1:1: error: is no text"):
        load(path, name="config/r.yaml")
    with pytest.raises(PolicyError, match="cannot be read: No such file"):
        load(tmp_path / "absent.yaml")
    with pytest.raises(PolicyError, match="cannot be read: it is no regular file"):
        load(tmp_path)


def test_what_is_no_file_of_a_policys_size_is_not_read(tmp_path: Path) -> None:
    pipe, endless, huge = (tmp_path / name for name in ("pipe", "endless", "huge"))
    os.mkfifo(pipe)
    endless.symlink_to("/dev/zero")
    with huge.open("wb") as file:
        file.truncate(2**40)
    for path in (pipe, endless):
        with pytest.raises(PolicyError, match="cannot be read: it is no regular file"):
            load(path)
    with pytest.raises(PolicyError, match="cannot be read: it has more than 4000000 bytes"):
        load(huge)


def test_a_finding_is_one_line_that_an_editor_can_follow() -> None:
    finding = Finding(
        severity="warning", path="teams.a", line=12, column=7, message="is odd", remedy="mend it"
    )
    assert finding.text("p.yaml") == "p.yaml:12:7: warning: teams.a: is odd; mend it"


def only_findings(text: str) -> None:
    """Pass where the text is a policy or findings of one line each."""
    try:
        loads(text)
    except PolicyError as error:
        lines = error.findings
    else:
        return
    assert lines
    assert all("\n" not in line and "\r" not in line for line in lines)


YAML_CHARACTERS = st.text(
    st.sampled_from(list("ab01:-?*&!|>%@`{}[],#'\"\\ \n\t~<=.\0\ufeff\x85\u2028")), max_size=60
)


@given(YAML_CHARACTERS | st.text(max_size=60))
@example("%YAML 1.1\n--- \n1:30: 010\n")
@example("%YAML 99.9\n---\na")
@example("%TAG ! tag:x\n---\n!a b")
@example("a: >99\n x")
@example("- &a\n- *b")
@example("? ? ? a")
@example("<<: <<")
@example("=: =")
@settings(max_examples=300)
def test_no_text_at_all_makes_a_traceback(text: str) -> None:
    only_findings(text)


@given(YAML_CHARACTERS, st.integers(0, 4000), st.integers(0, 40))
@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
def test_no_damage_to_a_policy_makes_a_traceback(noise: str, at: int, cut: int) -> None:
    text = policy_text()
    only_findings(text[:at] + noise + text[at + cut :])


@given(st.binary(max_size=80))
def test_no_bytes_make_a_traceback(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(raw)
    with pytest.raises(PolicyError):
        load(path)


def _places(data: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner = (
        data.items()
        if isinstance(data, dict)
        else enumerate(data)
        if isinstance(data, list)
        else ()
    )
    return [path, *(place for step, value in inner for place in _places(value, (*path, step)))]


RUBBISH = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.dates()
    | st.sampled_from(
        [
            "",
            "1",
            "0.5",
            "1g.18gb",
            "whole",
            "shared",
            "vision",
            "cards",
            "4h",
            "gpu",
            "0",
            "$X",
            "a:b",
        ]
    )
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["gpus", "mig", "team", "a", "whole", "0"]), inner, max_size=3
        )
    ),
    max_leaves=4,
)


@given(
    st.lists(
        st.tuples(st.sampled_from(_places(DATA)[1:]), st.just(...) | RUBBISH),
        min_size=1,
        max_size=3,
    )
)
@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
def test_wrong_types_anywhere_make_no_traceback(
    changes: list[tuple[tuple[str | int, ...], object]],
) -> None:
    data: Any = policy_data()
    for path, value in changes:
        part = data
        try:
            for step in path[:-1]:
                part = part[step]
            if value is ...:
                del part[path[-1]]
            else:
                part[path[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue
    only_findings(yaml_text(data))
