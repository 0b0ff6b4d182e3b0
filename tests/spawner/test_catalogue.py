"""Profiles without a GPU stay known while the governor is away, also over a restart of the hub."""

from pathlib import Path

from spawner.catalogue import Catalogue
from tests.support.governor import FakeGovernor, offer


def test_only_profiles_without_a_gpu_are_kept_and_by_groups() -> None:
    catalogue = Catalogue(None)
    catalogue.keep(("vision", "staff"), FakeGovernor().sheet("ada"))
    assert [one.profile for one in catalogue.recall(("staff", "vision"))] == ["cpu"]
    assert catalogue.recall(("vision",)) == ()


def test_it_survives_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "hub" / "catalogue.json"
    Catalogue(file).keep(("vision",), FakeGovernor(offers=[offer("cpu"), offer("big")]).sheet("a"))
    assert [one.profile for one in Catalogue(file).recall(("vision",))] == ["cpu"]


def test_a_damaged_file_starts_it_anew(tmp_path: Path) -> None:
    file = tmp_path / "catalogue.json"
    for damage in ("{", "[]", '{"offers": {"a": [{}]}}', '{"offers": 3}', "\x00"):
        file.write_text(damage)
        assert Catalogue(file).recall(("vision",)) == ()


def test_a_file_that_cannot_be_written_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    catalogue = Catalogue(tmp_path / "plain" / "catalogue.json")
    catalogue.keep(("vision",), FakeGovernor().sheet("ada"))
    assert [one.profile for one in catalogue.recall(("vision",))] == ["cpu"]
