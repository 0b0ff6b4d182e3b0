"""The engine decides as Kueue did: its own cases, and recordings of a running one."""

import os
from pathlib import Path

import pytest

from hub_ext.admission.engine import Workload, order, run
from hub_ext.admission.engine import victims as victims_module
from tests.support.vectors import outcomes
from tests.support.vectors.__main__ import main

ROOT = Path(__file__).parents[4]
RECORDED = ROOT / "tests" / "data" / "kueue-real-a.json"


def reference(name: str) -> Path:
    """A file of the reference data, which is no part of the repository."""
    folder = os.environ.get("GPU_COMMONS_REFERENCE_DATA", str(ROOT.parent / "shared" / "data"))
    path = Path(folder) / name
    if not path.exists():
        pytest.skip(f"no reference data: {path} is missing (GPU_COMMONS_REFERENCE_DATA)")
    return path


def differences(path: Path) -> list[str]:
    return [outcome.line for outcome in outcomes(path) if outcome.difference]


def test_every_recorded_step_of_a_running_kueue_is_reproduced() -> None:
    assert differences(RECORDED) == []


def test_every_vector_of_kueues_own_tests_is_reproduced() -> None:
    assert differences(reference("kueue-vectors.json")) == []


def test_the_command_counts_and_fails_on_a_difference(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main([str(RECORDED)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "257 passed, 0 failed"

    def oldest_first(workload: Workload, *, own: bool) -> order.Key:
        evicted, other, priority, newest, uid = order.of_victims(workload, own=own)
        assert isinstance(newest, int)
        return (evicted, other, priority, -newest, uid)

    monkeypatch.setattr(victims_module, "of_victims", oldest_first)
    assert main([str(RECORDED)]) == 1
    printed = capsys.readouterr().out
    assert "\nDIFF " in printed
    assert ": expected {" in printed


def test_the_order_of_heads_is_pinned_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_level(workload: Workload, level: int) -> order.Key:
        return order.of_heads(workload, 0 * level)

    monkeypatch.setattr(run, "of_heads", without_level)
    assert differences(RECORDED) != []


def test_the_older_release_ranks_flavors_otherwise(tmp_path: Path) -> None:
    text = RECORDED.read_text().replace('"v0.17.0"', '"v0.19.0"')
    newer = tmp_path / "newer.json"
    newer.write_text(text)
    assert len(differences(newer)) == 1


def test_a_file_of_another_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text('{"schema": "other/1"}')
    with pytest.raises(ValueError, match="kueue-real/1"):
        list(outcomes(path))
    assert main([str(path)]) == 2
    assert main([]) == 2
