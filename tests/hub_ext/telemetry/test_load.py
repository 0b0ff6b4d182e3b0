"""A load file is the word of whoever writes it: rubbish is unknown, silence is unknown."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_ext.lease import LeaseId
from hub_ext.telemetry.load import AT_REST, Load, load_file, parse, shown

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
GIB = 2**30


def load(**fields: object) -> Load:
    made = {
        "util_percent": 80,
        "memory_bytes": 20 * GIB,
        "until": NOW + timedelta(minutes=5),
        "beat_at": NOW,
        "beat_s": 0.5,
        "writer": 4711,
    }
    return Load.model_validate({**made, **fields})


def put(path: Path, written: Load) -> Path:
    path.write_text(written.model_dump_json())
    return path


def test_a_load_is_shown(tmp_path: Path) -> None:
    shows = shown(put(tmp_path / "l.json", load()), NOW, 1.0)
    assert (shows.util_percent, shows.memory_bytes, shows.absent) == (80, 20 * GIB, "")


def test_no_load_is_rest(tmp_path: Path) -> None:
    assert shown(tmp_path / "none.json", NOW, 1.0) == AT_REST


def test_no_folder_is_unknown(tmp_path: Path) -> None:
    shows = shown(tmp_path / "gone" / "l.json", NOW, 1.0)
    assert (shows.util_percent, shows.absent) == (None, "the simulated node's directory is gone")


def test_a_load_that_ended_is_rest(tmp_path: Path) -> None:
    path = put(tmp_path / "l.json", load())
    assert shown(path, NOW + timedelta(minutes=5), 1.0) == AT_REST


@pytest.mark.parametrize(
    ("silent_s", "period_s", "known"),
    [(2.9, 1.0, True), (3.1, 1.0, False), (1.4, 0.1, True), (1.6, 0.1, False), (-4.0, 1.0, False)],
)
def test_a_silent_writer_is_unknown_after_three_periods(
    tmp_path: Path, silent_s: float, period_s: float, known: bool
) -> None:
    path = put(tmp_path / "l.json", load())
    shows = shown(path, NOW + timedelta(seconds=silent_s), period_s)
    assert (shows.util_percent == 80) is known
    assert bool(shows.absent) is not known


def test_figures_can_be_told_to_be_absent(tmp_path: Path) -> None:
    path = put(tmp_path / "l.json", load(util_percent=None, memory_bytes=None))
    shows = shown(path, NOW, 1.0)
    assert shows.util_percent is None
    assert shows.absent == "simulated as not offered by the driver"


@pytest.mark.parametrize("content", [b"", b"{}", b"null", b"[" * 4000, b"x" * 10_000, b"\xff\x00"])
def test_rubbish_is_unknown(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "l.json"
    path.write_bytes(content)
    shows = shown(path, NOW, 1.0)
    assert (shows.util_percent, shows.memory_bytes) == (None, None)
    assert shows.absent


@pytest.mark.parametrize(
    "field",
    [{"util_percent": 101}, {"util_percent": -1}, {"memory_bytes": -1}, {"beat_s": 0}, {"more": 1}],
)
def test_a_figure_out_of_range_is_none(field: dict[str, object]) -> None:
    written = load().model_dump(mode="json") | field
    assert parse(str(written).replace("'", '"').encode()) is None


def test_what_is_no_plain_file_never_blocks(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "link.json").symlink_to(put(tmp_path / "l.json", load()))
    for name in ("pipe", "folder", "link"):
        shows = shown(tmp_path / f"{name}.json", NOW, 1.0)
        assert shows.util_percent is None, name
        assert shows.absent.startswith("the load file cannot be read"), name


@given(content=st.binary(max_size=300))
def test_no_bytes_make_the_parser_raise(content: bytes) -> None:
    parse(content)


@given(
    fields=st.fixed_dictionaries(
        {},
        optional={
            name: st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30)
            for name in Load.model_fields
        },
    )
)
def test_no_json_makes_the_parser_raise(fields: dict[str, object]) -> None:
    written = parse(json.dumps(load().model_dump(mode="json") | fields).encode())
    if written is not None:
        assert written.util_percent is None or 0 <= written.util_percent <= 100


@pytest.mark.parametrize("rubbish", ["", "..", "../x", "a/b", "a\x00", "x" * 65, "a b"])
def test_an_id_that_is_no_file_name_names_no_file(tmp_path: Path, rubbish: str) -> None:
    assert load_file(tmp_path, LeaseId(rubbish)) is None
    assert load_file(tmp_path, LeaseId("Lease-1_a")) == tmp_path / "Lease-1_a.json"
