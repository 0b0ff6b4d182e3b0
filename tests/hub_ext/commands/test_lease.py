"""`lease` on the hub's machine: read beside a governor, and act in its place where none lives."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from hub_ext.cli import main
from hub_ext.commands.onsite import actor
from hub_ext.lease import LeaseState, Liveness, ProcessRef, Report, ReportKind
from hub_ext.ledger.beside import reading
from hub_ext.ledger.verify import verify
from tests.support.governing import Site, site_in


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with site_in(tmp_path / "state") as opened:
        monkeypatch.setenv("GPU_COMMONS_STATE", str(opened.state))
        yield opened


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield process
    process.kill()
    process.wait()


def gpu_commons(*words: str) -> int:
    return main(["lease", *words])


def runs_as(site: Site, user: str, process: subprocess.Popen[bytes]) -> str:
    """Let a person's server be a real process; returns the lease's id."""
    grant = site.ask(site.asking(user))
    born = round(psutil.Process(process.pid).create_time() * 1_000_000)
    site.governor.report(
        grant.attempt_id,
        Report(
            kind=ReportKind.started,
            key=grant.key,
            liveness=Liveness.alive,
            process=ProcessRef(pid=process.pid, created_us=born),
        ),
        now=site.now,
    )
    return grant.lease_id


def events(site: Site) -> list[tuple[str, str, str]]:
    assert verify(site.state / "ledger.sqlite").difference == ""
    with reading(site.state) as tx:
        found = [event for _seq, event in tx.events() if event.kind.startswith("admin.")]
    return [(event.kind, event.actor.name, str(event.body["reason"])) for event in found]


def test_leases_are_listed_beside_a_living_governor(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gpu_commons("list") == 0
    assert capsys.readouterr().out == "no lease is open\n"
    grant, _other = site.run("vera"), site.run("sam")
    assert gpu_commons("list", "--team", "vision") == 0
    head, line = capsys.readouterr().out.splitlines()
    assert head.split() == ["lease", "server", "state", "team", "profile", "devices", "since"]
    assert line.split()[:3] == [grant.lease_id, "vera/", "running"]
    assert grant.devices[0].id in line
    assert gpu_commons("list", "--user", "sam", "--json") == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert listed["team"] == "speech"


def test_one_lease_is_shown_with_everything_that_happened_to_it(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    grant = site.run("vera")
    site.stop(grant)
    assert gpu_commons("show", grant.lease_id) == 0
    out = capsys.readouterr().out
    assert "closed, 2026-11-30 09:00:00 UTC" in out
    assert [line.split()[4] for line in out.splitlines() if " UTC  " in line] == [
        "lease.requested",
        "lease.starting",
        "lease.running",
        "lease.closed",
        "charge.posted",
    ]
    assert gpu_commons("show", "l-none") == 1
    assert "there is no lease l-none" in capsys.readouterr().err


def test_while_a_governor_lives_nothing_is_done_beside_it(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    grant = site.run("vera")
    (site.state / "tokens").mkdir()
    (site.state / "tokens/cli").write_text("f" * 64)
    assert gpu_commons("close", grant.lease_id, "--reason", "x") == 1
    err = capsys.readouterr().err
    assert "a governor lives (process " in err
    assert "Stop it first" in err
    assert site.lease(grant).state is LeaseState.running
    assert events(site) == []


def test_where_none_lives_a_lease_whose_process_is_gone_is_closed(
    site: Site, sleeper: subprocess.Popen[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    lease_id = runs_as(site, "vera", sleeper)
    site.governor.close()
    assert gpu_commons("close", lease_id, "--reason", "hub is gone") == 0
    out = capsys.readouterr().out
    assert "recorded in its place" in out
    assert "is stopping and keeps its devices" in out
    assert gpu_commons("force-release", lease_id, "--reason", "hurry") == 1
    assert f"Process {sleeper.pid} of The server of vera still runs" in capsys.readouterr().err
    sleeper.kill()
    sleeper.wait()
    assert gpu_commons("close", lease_id, "--reason", "its process is ended") == 0
    assert f"lease {lease_id} is closed" in capsys.readouterr().out
    me = actor().name
    assert events(site) == [
        ("admin.close", me, "hub is gone"),
        ("admin.close", me, "its process is ended"),
    ]
    site.governor = site._open()
    assert site.governor.leases() == ()


def test_where_none_lives_a_lease_is_released_and_granted_again(
    site: Site, sleeper: subprocess.Popen[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    grant = site.ask(site.asking("vera"))
    site.governor.close()
    assert gpu_commons("force-release", grant.lease_id, "--reason", "the node burnt") == 0
    assert f"free again: {grant.devices[0].id}" in capsys.readouterr().out
    assert gpu_commons("grant", "vera", "--reason", "back") == 1
    assert "Nothing shows that" in capsys.readouterr().err
    assert gpu_commons("grant", "vera", "--pid", str(sleeper.pid), "--reason", "back") == 0
    opened = capsys.readouterr().out.split("lease ")[1].split()[0]
    assert gpu_commons("move", opened, "--team", "speech", "--reason", "their week") == 0
    assert "is speech's from now on, guaranteed" in capsys.readouterr().out
    assert [kind for kind, _who, _why in events(site)] == [
        "admin.force_release",
        "admin.grant",
        "admin.move",
    ]
    site.governor = site._open()
    (lease,) = site.governor.leases()
    assert lease.process is not None
    assert lease.process.pid == sleeper.pid


def test_where_kueue_admits_a_lease_is_not_moved_though_no_governor_lives(
    site: Site, sleeper: subprocess.Popen[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    lease = runs_as(site, "vera", sleeper)
    site.governor.close()
    (site.state / "run.json").write_text(json.dumps({"engine": "kueue"}))
    assert gpu_commons("move", lease, "--team", "speech", "--reason", "their week") == 1
    assert "start it again for the other team" in capsys.readouterr().err
    assert events(site) == []


def test_where_none_lives_a_lease_is_let_live_longer(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    grant = site.run("vera")
    site.governor.close()
    assert gpu_commons("extend", grant.lease_id, "--by", "400d", "--reason", "x") == 1
    assert "within 366 days" in capsys.readouterr().err
    assert gpu_commons("extend", grant.lease_id, "--by", "5d", "--reason", "a long fit") == 0
    assert f"lease {grant.lease_id} ends 2026-12-05 10:00:00 UTC" in capsys.readouterr().out
    words = ("--until", "2026-12-06T10:00", "--reason", "longer")
    assert gpu_commons("extend", grant.lease_id, *words) == 0
    assert "ends 2026-12-06 10:00:00 UTC" in capsys.readouterr().out
    words = ("--until", "2026-12-04T10:00", "--reason", "shorter")
    assert gpu_commons("extend", grant.lease_id, *words) == 1
    assert "no earlier than the present one" in capsys.readouterr().err
    me = actor().name
    assert events(site) == [
        ("admin.prolong", me, "a long fit"),
        ("admin.prolong", me, "longer"),
    ]
    site.governor = site._open()


def test_nothing_is_made_where_a_wrong_directory_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("close", "l-1", "--reason", "x", "--state", str(tmp_path))
    assert gpu_commons(*words) == 1
    assert "there is no ledger" in capsys.readouterr().err
    assert list(tmp_path.glob("ledger*")) == []


@pytest.mark.parametrize("words", [("grant", ""), ("grant", "vera", "--pid", "4194999")])
def test_rubbish_has_words(
    site: Site, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert gpu_commons(*words, "--reason", "x", "--state", str(site.state)) == 1
    assert "gpu-commons lease: " in capsys.readouterr().err
