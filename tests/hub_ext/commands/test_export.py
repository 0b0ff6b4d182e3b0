"""`gpu-commons export`: the file, its sums, and what is refused."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from hub_ext.cli import main
from hub_ext.lease import GOVERNOR, Posting, TeamName, UserName
from hub_ext.ledger.store import Ledger
from tests.support.ledger_parts import NOON, a_lease, a_posting
from tests.support.policies import policy_text


@pytest.fixture
def books(tmp_path: Path) -> Path:
    charged(tmp_path, a_posting(user=UserName("ada")), a_posting("L2", team=TeamName("speech")))
    return tmp_path


def charged(state: Path, *lines: Posting) -> None:
    ledger = Ledger.open(state)
    with ledger.transaction() as tx:
        tx.add_generation(text=policy_text(), sha256="0", summary="first", at=NOON, actor=GOVERNOR)
        for line in lines:
            tx.record(a_lease(line.lease_id), at=NOON, actor=GOVERNOR)
        tx.post(lines, at=NOON)
    ledger.close()


def export(state: Path, *words: str) -> int:
    return main(["export", "--state", str(state), "--window", "2026-11", *words])


def test_an_export_of_1_4_passes_the_tool_of_others_and_says_what_it_adds_up_to(
    books: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = books / "november.csv"
    assert export(books, "--format", "focus-1.4", "--out", str(target)) == 0
    assert "as in the ledger: EUR 8.40 (8400000 millionths)" in capsys.readouterr().err
    tool = Path(sys.executable).with_name("focus-toolkit")
    judged = subprocess.run(
        [tool, "validate", target, "--dataset", "cost-and-usage"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert judged.returncode == 0, judged.stdout + judged.stderr
    with target.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert sum(int(row["x_LedgerAmountMicro"]) for row in rows) == 8_400_000


def test_people_are_pseudonyms_that_stay_the_same_and_names_only_when_asked(
    books: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = [people_of(books, capsys, *words) for words in ((), (), ("--people", "names"))]
    assert said[0] == said[1]
    assert all(one.startswith("p-") for one in said[0])
    assert said[2] == {"ada", "user-L2"}
    assert people_of(books, capsys, "--people", "none") == {""}
    assert (books / "tokens" / "export").stat().st_mode & 0o777 == 0o600


def people_of(books: Path, capsys: pytest.CaptureFixture[str], *words: str) -> set[str]:
    export(books, "--format", "focus-1.4", *words)
    return {row["x_UserId"] for row in csv.DictReader(capsys.readouterr().out.splitlines())}


def test_json_and_csv_hold_whole_numbers_and_one_team_can_be_asked_for(
    books: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export(books, "--format", "json", "--team", "speech")
    body = json.loads(capsys.readouterr().out)
    assert (body["sums_micro"], len(body["lines"])) == ({"EUR": 4_200_000}, 1)
    export(books, "--format", "csv")
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [(row["team"], row["amount"]) for row in rows] == [("speech", "4.2"), ("vision", "4.2")]


def test_a_journal_has_debits_that_are_its_credits(
    books: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(books, "--format", "journal") == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    debits, credits_ = (
        sum(int(row[name]) for row in rows) for name in ("debit_ticks", "credit_ticks")
    )
    assert debits == credits_ == 8_400_000 * 3600
    assert {row["account"] for row in rows} == {
        "teams/vision/-",
        "teams/speech/-",
        "platform/recovery",
    }


def test_credits_are_exported_as_what_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    charged(tmp_path, a_posting(currency="CREDITS"))
    assert export(tmp_path, "--format", "focus-1.4") == 1
    assert "CREDITS" in capsys.readouterr().err
    assert export(tmp_path, "--format", "csv") == 0


def test_a_month_with_nothing_on_the_books_is_said_and_no_file_is_made(
    books: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = books / "empty.csv"
    words = ["export", "--state", str(books), "--window", "2026-09", "--format", "csv"]
    assert main([*words, "--out", str(target)]) == 1
    assert "nothing is on the books of September 2026" in capsys.readouterr().err
    assert not target.exists()


def test_a_file_that_cannot_be_written_leaves_nothing_behind(
    books: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(books, "--format", "csv", "--out", str(books / "no" / "file.csv")) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_time_without_a_price_and_what_still_runs_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    charged(tmp_path, a_posting(price_micro_per_hour=None, amount_micro=None))
    assert export(tmp_path, "--format", "focus-1.2") == 0
    assert "not priced, and in no sum: 3600 seconds" in capsys.readouterr().err
