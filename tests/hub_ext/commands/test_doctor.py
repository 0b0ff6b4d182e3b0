"""`doctor`: what is wrong, a line each with its remedy; a check that breaks stops no other."""

import re
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from hub_ext.cli import main
from hub_ext.commands import doctor
from hub_ext.commands.doctor import examined
from hub_ext.commands.doctor.findings import Finding, Look, Verdict, ok
from hub_ext.commands.onsite import onsite
from hub_ext.statedir import StateDir
from tests.support.governing import POLICY, Site, site_in

SET = {
    "hub_version": "6.1.1",
    "slow_spawn_timeout": 5,
    "consecutive_failure_limit": 0,
    "last_activity_interval": 300,
}


@pytest.fixture
def state(tmp_path: Path) -> Iterator[StateDir]:
    """A site that is as it should be, but for the hub, which is not up."""
    with site_in(tmp_path / "state") as site:
        yield prepared(site)


def prepared(site: Site) -> StateDir:
    kept = StateDir(site.state)
    file = site.state / "policy.yaml"
    file.write_text(POLICY)
    kept.note(hub="hub", policy=str(file), set=SET)
    for name in ("governor", "spawner", "agent", "cli"):
        kept.token(name)
    return kept


def lines(state: StateDir, capsys: pytest.CaptureFixture[str]) -> dict[str, list[str]]:
    main(["doctor", "--state", str(state.path)])
    found: dict[str, list[str]] = {}
    for line in capsys.readouterr().out.splitlines():
        match = re.fullmatch(r"(ok|warn|wrong) +(\w+) +(.+)", line)
        assert match is not None, line
        found.setdefault(match[2], []).append(f"{match[1]}: {match[3]}")
    return found


def test_what_is_right_is_said_and_what_could_not_be_asked_too(
    state: StateDir, capsys: pytest.CaptureFixture[str]
) -> None:
    found = lines(state, capsys)
    assert list(found) == [name for name in doctor.CHECKS if name != "clock"]
    assert found["settings"] == [
        "ok: configure() ran; refusals keep their words and never end the hub"
    ]
    assert found["packages"] == ["ok: no foreign package answers to our names"]
    assert found["state"][0].startswith("ok: ")
    assert found["tokens"][0].startswith("warn: 4 token files are private")
    assert found["ledger"][0].startswith("ok: the ledger is what its")
    (policy,) = found["policy"]
    assert policy.startswith(f"warn: {state.path}/policy.yaml can be used, with 3 warnings; run")


def test_the_room_that_readings_need_is_reckoned_before_it_is_short(
    state: StateDir, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (found,) = lines(state, capsys)["readings"]
    assert re.match(r"ok: readings of \d+ devices every 10 s: 0\.0 GiB for a day", found)
    little = shutil.disk_usage(state.path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _place: little)
    (found,) = lines(state, capsys)["readings"]
    assert found.startswith("warn: readings of")
    assert "give the disk more room" in found


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"slow_spawn_timeout": 0}, "wrong: slow_spawn_timeout is below 5 s"),
        (
            {"hub_version": "5.5.4", "consecutive_failure_limit": 5},
            "wrong: consecutive_failure_limit is set",
        ),
        ({"last_activity_interval": 0}, "warn: last_activity_interval is 0"),
    ],
)
def test_settings_that_undo_ours_are_named(
    state: StateDir, change: dict[str, object], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    state.note(set={**SET, **change})
    assert lines(state, capsys)["settings"][0].startswith(words)


def test_a_hub_without_configure_is_told_what_to_call(
    state: StateDir, capsys: pytest.CaptureFixture[str]
) -> None:
    state.run_file.unlink()
    found = lines(state, capsys)
    (line,) = found["settings"]
    assert line.startswith("wrong: configure() never ran with this state directory; call it at")
    assert found["policy"][0].startswith("wrong: no policy file is known")


def test_tokens_are_private_and_whole(state: StateDir, capsys: pytest.CaptureFixture[str]) -> None:
    state.token_file("spawner").chmod(0o644)
    state.token_file("cli").write_text("secret")
    state.token_file("governor").unlink()
    state.token_file("agent").unlink()
    found = "\n".join(lines(state, capsys)["tokens"])
    assert "wrong: there is no token governor" in found
    assert "tokens/spawner can be read by others; delete it" in found
    assert "tokens/cli holds no token" in found
    assert "secret" not in found
    assert "agent" not in found


def test_an_open_state_directory_is_wrong(
    state: StateDir, capsys: pytest.CaptureFixture[str]
) -> None:
    state.path.chmod(0o755)
    assert "can be read by others; chmod 700" in lines(state, capsys)["state"][0]
    assert [path.name for path in state.path.iterdir() if path.name.startswith(".doctor")] == []


def test_a_scarce_disk_is_told_before_it_is_full(
    state: StateDir, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hub_ext.commands.doctor.machine._SCARCE", 1 << 60)
    assert lines(state, capsys)["state"][0].startswith("warn: ")
    monkeypatch.setattr("hub_ext.commands.doctor.machine._NONE_LEFT", 1 << 60)
    assert lines(state, capsys)["state"][0].startswith("wrong: ")


def test_a_policy_that_is_wrong_or_not_in_force_is_told(
    state: StateDir, capsys: pytest.CaptureFixture[str]
) -> None:
    file = state.path / "policy.yaml"
    file.write_text(POLICY.replace('"1", borr', '"0.5", borr'))
    assert lines(state, capsys)["policy"][-1].startswith("warn: the file is not what is in force")
    file.write_text("version: 9\n")
    assert "policy.yaml:1:" in lines(state, capsys)["policy"][0]
    file.unlink()
    assert lines(state, capsys)["policy"][0].startswith("wrong: ")


def test_books_that_were_changed_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with site_in(tmp_path / "state") as site:
        site.run("vera")
        state = prepared(site)
    with sqlite3.connect(state.path / "ledger.sqlite") as file:
        file.execute("DELETE FROM device_hold")
    found = lines(state, capsys)
    assert found["ledger"][0].startswith("wrong: the ledger differs from its events")
    assert found["governor"][0].startswith("wrong: no governor lives")


def test_a_long_ledger_is_left_to_its_own_command(
    state: StateDir, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hub_ext.commands.doctor.hub.MOST_EVENTS", 0)
    assert "run `gpu-commons ledger verify`" in lines(state, capsys)["ledger"][0]


def test_a_foreign_package_under_our_name_is_found(
    state: StateDir,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "spawner.py").write_text("raise SystemExit('ran')\n")
    monkeypatch.syspath_prepend(str(foreign))
    monkeypatch.delitem(__import__("sys").modules, "spawner", raising=False)
    found = lines(state, capsys)["packages"]
    assert found[0].startswith(f"wrong: spawner is answered by {foreign}/spawner.py")


def test_one_wrong_thing_ends_with_one(
    state: StateDir, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fine(_look: Look) -> Iterator[Finding]:
        yield ok("fine")

    def broken(_look: Look) -> Iterator[Finding]:
        yield ok("half")
        raise ValueError("surprise")

    monkeypatch.setattr(doctor, "CHECKS", {"one": fine})
    assert main(["doctor", "--state", str(state.path)]) == 0
    monkeypatch.setattr(doctor, "CHECKS", {"one": fine, "two": broken, "three": fine})
    assert main(["doctor", "--state", str(state.path)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in out[1:]] == ["ok", "ok", "wrong", "ok"]
    assert [one.verdict for one in examined(broken, Look(onsite(state.path)))] == [
        Verdict.ok,
        Verdict.wrong,
    ]


def test_it_needs_a_directory_and_an_address(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--state", str(tmp_path / "none")]) == 1
    assert main(["doctor", "--state", str(tmp_path), "--url", "hub"]) == 1
    assert "is no address" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_governor_that_admits_by_itself_needs_no_kueue(
    state: StateDir, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lines(state, capsys)["kueue"] == ["ok: not used: the governor admits leases by itself"]


def test_a_kueue_that_cannot_be_looked_at_is_wrong(
    state: StateDir, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPU_COMMONS_ENGINE", "kueue")
    monkeypatch.setenv("GPU_COMMONS_KUBECONFIG", str(state.path / "none"))
    (line,) = lines(state, capsys)["kueue"]
    assert line.startswith("wrong: Kueue could not be looked at: no way to Kubernetes")
    assert line.endswith("as somebody who may read its queues")
