"""`policy`: who changed what, back again, and a text that waits for a word."""

import asyncio
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hub_ext.cli import main
from hub_ext.commands.onsite import actor
from hub_ext.commands.replacing import patch, replace
from hub_ext.ledger.beside import reading
from hub_ext.ledger.samples import Samples
from hub_ext.ledger.store import Ledger
from hub_ext.service.core.governor import Governor
from hub_ext.service.core.runner import CoreRunner
from hub_ext.service.core.stream import Stream
from hub_ext.service.workers.watch import PolicyFile, look
from hub_ext.statedir import StateDir
from tests.support.governing import POLICY, Site, site_in

SMALLER = POLICY.replace('whole: {nominal: "2"}', 'whole: {nominal: "1"}')
CAREFUL = f"apply: accept\n{POLICY}"
CAREFUL_AND_SMALLER = f"apply: accept\n{SMALLER}"


class Governed:
    """A governor that looks at its policy file whenever the story lets it."""

    def __init__(self, site: Site, file: Path) -> None:
        self.site, self.path = site, file
        self._file = PolicyFile(file, site.state)

    def look(self) -> None:
        async def once() -> None:
            core = CoreRunner(self.site.governor, lambda: self.site.now, Stream(8))
            await look(core, self._file)

        asyncio.run(once())

    def save(self, text: str) -> None:
        self.path.write_text(text)
        self.look()

    @property
    def generation(self) -> int:
        return self.site.governor.policy_state.generation


@pytest.fixture
def governed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Governed]:
    file = tmp_path / "rules" / "policy.yaml"
    file.parent.mkdir()
    monkeypatch.setattr("hub_ext.commands.policyfile._WAIT_S", 0.0)
    with site_in(tmp_path / "state") as site:
        StateDir(site.state).note(hub="hub", policy=str(file))
        monkeypatch.setenv("GPU_COMMONS_STATE", str(site.state))
        story = Governed(site, file)
        story.save(POLICY)
        yield story


def gpu_commons(*words: str) -> int:
    return main(["policy", *words])


def test_every_policy_is_listed_with_who_and_what_changed(
    governed: Governed, capsys: pytest.CaptureFixture[str]
) -> None:
    governed.save(SMALLER)
    assert gpu_commons("history") == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("   2  2026-11-30 09:00:00 UTC  ")
    assert out[0].endswith("  governor")
    assert out[1] == "      teams.speech.quota.whole.nominal: 2 -> 1"
    assert out[2].startswith("   1  ")
    governed.path.write_text(f"{SMALLER}\n# a word\n")
    gpu_commons("history", "--limit", "1")
    assert capsys.readouterr().out.endswith("differs from generation 2: gpu-commons policy diff\n")


def test_what_changed_is_shown_as_patch_takes_it(
    governed: Governed, capsys: pytest.CaptureFixture[str]
) -> None:
    governed.save(SMALLER)
    assert gpu_commons("diff", "1", "2") == 0
    shown = capsys.readouterr().out
    assert '-      whole: {nominal: "2"}' in shown
    assert '+      whole: {nominal: "1"}' in shown
    assert gpu_commons("diff") == 0
    assert capsys.readouterr().out == ""
    governed.path.write_text(POLICY)
    assert gpu_commons("diff") == 0
    assert '+      whole: {nominal: "2"}' in capsys.readouterr().out
    assert gpu_commons("diff", "7") == 1
    assert "there are 1 to 2" in capsys.readouterr().err


def test_the_way_back_is_a_new_generation_with_name_and_reason(
    governed: Governed, capsys: pytest.CaptureFixture[str]
) -> None:
    governed.save(SMALLER)
    governed.path.chmod(0o640)
    assert gpu_commons("rollback", "1", "--reason", "speech needs  both") == 0
    assert "says what generation 1 said" in capsys.readouterr().out
    assert governed.path.read_text() == POLICY
    assert stat.S_IMODE(governed.path.stat().st_mode) == 0o640
    assert governed.generation == 2
    governed.look()
    assert governed.generation == 3
    with reading(governed.site.state) as tx:
        newest = tx.generations(1)[0]
    assert newest.actor == actor()
    assert newest.summary.splitlines()[0] == "back to generation 1: speech needs both"
    assert not (governed.site.state / "consent.json").exists()
    assert gpu_commons("rollback", "1", "--reason", "again") == 0
    assert "already" in capsys.readouterr().out


def test_a_file_that_is_kept_elsewhere_is_not_written_but_told(
    governed: Governed, capsys: pytest.CaptureFixture[str]
) -> None:
    governed.save(SMALLER)
    governed.path.chmod(0o444)
    assert gpu_commons("rollback", "1", "--reason", "both") == 1
    out, err = capsys.readouterr()
    assert "it is read-only" in err
    assert governed.path.read_text() == SMALLER
    elsewhere = governed.path.with_name("kept.yaml")
    elsewhere.write_text(SMALLER)
    done = subprocess.run(
        ["patch", "-p0", str(elsewhere)], input=out, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert elsewhere.read_text() == POLICY


def test_no_reason_no_way_back(governed: Governed, capsys: pytest.CaptureFixture[str]) -> None:
    governed.save(SMALLER)
    assert gpu_commons("rollback", "1", "--reason", "  ") == 1
    assert "give a reason" in capsys.readouterr().err
    assert governed.path.read_text() == SMALLER


def test_a_careful_hub_takes_a_changed_file_only_with_a_word(
    governed: Governed, capsys: pytest.CaptureFixture[str]
) -> None:
    governed.save(CAREFUL)
    assert governed.generation == 2
    governed.save(CAREFUL_AND_SMALLER)
    governed.look()
    assert governed.generation == 2
    state = governed.site.governor.policy_state
    assert state.waiting == ("teams.speech.quota.whole.nominal: 2 -> 1",)
    health = governed.site.governor.health(now=governed.site.now)
    assert [one.code for one in health.problems] == ["policy-waiting"]
    with governed.site.ledger.transaction() as tx:
        assert len(tx.events(kinds=["policy.waiting"])) == 1

    gpu_commons("history")
    waits = capsys.readouterr().out.splitlines()[-1]
    assert waits.endswith(f"gpu-commons policy accept {state.waiting_sha256[:12]}")
    assert gpu_commons("accept", "0" * 12) == 1
    assert state.waiting_sha256[:12] in capsys.readouterr().err
    assert gpu_commons("accept", state.waiting_sha256[:8], "--reason", "agreed on Monday") == 0
    governed.look()
    assert governed.generation == 3
    assert governed.site.governor.policy_state.waiting == ()
    with governed.site.ledger.transaction() as tx:
        newest = tx.generations(1)[0]
    assert newest.actor == actor()
    assert newest.summary.startswith("agreed on Monday\n")


def test_a_text_that_waited_still_waits_after_a_restart(governed: Governed) -> None:
    governed.save(CAREFUL)
    governed.save(CAREFUL_AND_SMALLER)
    site = governed.site
    site.governor.close()
    site.governor = Governor(Ledger.open(site.state), Samples.open(site.state), site.settings)
    fresh = Governed(site, governed.path)
    fresh.look()
    assert fresh.generation == 2
    assert site.governor.policy.teams["speech"].quota["whole"].nominal == 2 * 840
    assert site.governor.policy_state.waiting != ()


def test_back_to_what_is_in_force_ends_the_waiting(governed: Governed) -> None:
    governed.save(CAREFUL)
    governed.save(CAREFUL_AND_SMALLER)
    governed.save(CAREFUL)
    assert governed.site.governor.policy_state.waiting == ()
    assert governed.generation == 2


def test_a_word_counts_for_one_text_once(governed: Governed) -> None:
    governed.save(CAREFUL)
    governed.save(CAREFUL_AND_SMALLER)
    waiting = governed.site.governor.policy_state.waiting_sha256
    gpu_commons("accept", waiting)
    governed.save(f"{CAREFUL_AND_SMALLER}\n# one more\n")
    assert governed.generation == 2
    governed.save(CAREFUL_AND_SMALLER)
    assert governed.generation == 3
    governed.save(f"{CAREFUL_AND_SMALLER}\n# one more\n")
    assert governed.generation == 3


def test_it_says_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu_commons("history", "--state", str(tmp_path / "none")) == 1
    assert "there is no state directory" in capsys.readouterr().err
    assert gpu_commons("history", "--state", str(tmp_path)) == 1
    assert "there is no ledger" in capsys.readouterr().err


def test_a_replaced_file_keeps_its_link_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    real, link = tmp_path / "real.yaml", tmp_path / "link.yaml"
    real.write_text("a\r\n", newline="")
    link.symlink_to(real.name)
    replace(link, "a\r\n", "b\n")
    assert link.is_symlink()
    assert real.read_text() == "b\n"
    with pytest.raises(OSError, match="changed just now"):
        replace(link, "a\r\n", "c\n")
    assert {path.name for path in tmp_path.iterdir()} == {"link.yaml", "real.yaml"}


def test_a_patch_tells_of_a_missing_last_newline() -> None:
    assert patch("a\n", "a", "x", "y").endswith("+a\n\\ No newline at end of file\n")


def test_a_reading_beside_a_writer_can_write_nothing(site_state: Path) -> None:
    code = (
        "import sys\nfrom datetime import UTC, datetime\nfrom pathlib import Path\n"
        "from hub_ext.ledger.beside import reading\n"
        "with reading(Path(sys.argv[1])) as tx:\n    tx.bury('x', at=datetime.now(UTC))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(site_state)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "readonly database" in done.stderr


@pytest.fixture
def site_state(tmp_path: Path) -> Iterator[Path]:
    with site_in(tmp_path / "state") as site:
        yield site.state
