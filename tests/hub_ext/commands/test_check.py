"""`check` says what to mend and exits 1, or says on one screen what the policy means."""

import shutil
from pathlib import Path

import pytest

from hub_ext.cli import main
from hub_ext.images.pins import digest
from tests.support.environments import make_environment
from tests.support.policies import policy_text

ROOT = Path(__file__).parents[3]
DEMO = ROOT / "config/policy.yaml"
TORCH = ("projects", "maps", "environments", "torch")


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A sound policy whose environments are not on this machine."""
    path = tmp_path / "policy.yaml"
    path.write_text(policy_text(), "utf-8")
    return path


def test_the_demos_policy_is_sound(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(DEMO)]) == 0
    out, err = capsys.readouterr()
    assert "slices  h200-141gb  all  1     1 x 3g.71gb, 4 x 1g.18gb" in out
    assert "vision    slices  0.25        0.5" in out
    assert out.endswith("policy.yaml can be used; 2 warnings\n")
    assert len(out.splitlines()) <= 26
    assert err.count("pins nothing yet") == err.count("\n") == 2


def test_the_bounds_of_the_contract_are_printed_or_their_absence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(DEMO)]) == 0
    printed = capsys.readouterr().out
    assert "50m (30m + 15m + 5m)  1d4h5m (4h + 1d + 5m)" in printed
    assert "no bound" not in printed
    path = tmp_path / "policy.yaml"
    text = DEMO.read_text("utf-8").replace("    min_runtime: 30m\n", "    reclaim: false\n", 1)
    path.write_text(text.replace("    starve_after: 4h\n", "", 1), "utf-8")
    assert main(["check", str(path)]) == 0
    printed = capsys.readouterr().out
    assert printed.count("no bound: your team may not reclaim") == 2
    assert printed.count("no bound: smaller ones may pass") == 2


def test_a_nominal_between_two_quotas_is_refused_with_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = DEMO.read_text("utf-8").replace('nominal: "0.25"', 'nominal: "0.3333"', 1)
    path = tmp_path / "policy.yaml"
    path.write_text(text, "utf-8")
    assert main(["check", str(path)]) == 1
    out, err = capsys.readouterr()
    line = text[: text.index("0.3333")].count("\n") + 1
    column = text.splitlines()[line - 1].index('"0.3333"') + 1
    assert out == ""
    assert err == (
        f"{path}:{line}:{column}: error: teams.vision.quota.slices.nominal: '0.3333' GPU is no "
        "whole number of units of 1/840; the nearest quotas are '93/280' and '1/3'\n"
    )


def test_an_environment_that_is_elsewhere_is_a_warning(
    written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(written)]) == 0
    _out, err = capsys.readouterr()
    assert err.count(": warning: projects.") == 3
    assert err.count("cannot be used") == 3


def test_an_environment_in_the_state_directory_needs_to_be_told_where_that_is(
    written: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GPU_COMMONS_STATE", raising=False)
    written.write_text(policy_text(*TORCH, "prefix", to="${GPU_COMMONS_STATE}/env/torch"), "utf-8")
    assert main(["check", str(written)]) == 0
    assert "GPU_COMMONS_STATE is not set; say where with --state" in capsys.readouterr().err


def test_a_drifted_environment_is_an_error_with_both_digests(
    written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prefix = make_environment(written.parent / "env")
    here = digest(prefix)
    state = written.parent / "state"
    (state / "env").mkdir(parents=True)
    (state / "env/torch").symlink_to(prefix, target_is_directory=True)
    text = policy_text(*TORCH, "prefix", to="${GPU_COMMONS_STATE}/env/torch")
    written.write_text(text, "utf-8")
    assert main(["check", "--state", str(state), str(written)]) == 1
    err = capsys.readouterr().err
    line = text[: text.index("a" * 64)].count("\n") + 1
    assert f"policy.yaml:{line}:" in err
    assert f"pinned is sha256:{'a' * 64}, found is {here}" in err
    written.write_text(text.replace("sha256:" + "a" * 64, here), "utf-8")
    assert main(["check", "--state", str(state), str(written)]) == 0
    shutil.rmtree(state)


def test_a_file_that_is_not_there_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(tmp_path / "absent.yaml")]) == 1
    _out, err = capsys.readouterr()
    assert err.count("\n") == 1
    assert "cannot be read: No such file or directory" in err
