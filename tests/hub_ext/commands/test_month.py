"""`month` on the hub's machine: listed, closed and corrected, also where no governor lives."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hub_ext.cli import main
from hub_ext.lease.months import MonthSheet
from hub_ext.ledger.beside import reading
from tests.support.governing import Site, site_in


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with site_in(tmp_path / "state") as opened:
        monkeypatch.setenv("GPU_COMMONS_STATE", str(opened.state))
        # Long over, whatever the clock of this machine says.
        opened.now = datetime(2026, 2, 3, 9, tzinfo=UTC)
        opened.report_devices()
        grant = opened.run("vera")
        opened.later(3600)
        opened.stop(grant)
        opened.governor.close()
        yield opened
        opened.governor = opened._open()


def month(*words: str) -> int:
    return main(["month", *words])


def test_a_month_is_listed_closed_and_corrected_with_the_governor_dead(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    assert month("list") == 0
    said = capsys.readouterr().out
    assert "no month is closed" in said
    assert "next: 2026-02, EUR 3.60" in said
    assert "ok   sums by team, project, person, lease and ledger agree" in said
    assert month("close", "2026-02", "--reason", "month end") == 0
    assert "2026-02 is closed: EUR 3.60 in 1 charges" in capsys.readouterr().out
    words = ("correct", "l-0001", "2026-02-03T09:00Z", "--per-hour", "1.80")
    assert month(*words, "--reason", "half price") == 0
    said = capsys.readouterr().out
    assert "corrected a charge of 2026-02 (closed; it stands in the open month)" in said
    assert "maps: EUR -3.60" in said
    assert month("list", "--json") == 0
    text = capsys.readouterr().out
    sheet = MonthSheet.model_validate_json(text[text.index("{") :])
    assert [one.name for one in sheet.closed] == ["2026-02"]
    with reading(site.state) as tx:
        assert len(tx.events(kinds=("month.closed",))) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("close", "2026-03"), "2026-02 is next"),
        (("correct", "l-none", "2026-02-03T09:00Z", "--waive"), "No charge of l-none"),
        (("correct", "l-0001", "2026-02-03T09:00Z", "--waive", "--team", "speech"), "leave"),
        (("correct", "l-0001", "then", "--waive"), "is no time"),
        (("correct", "l-0001", "2026-02-03T09:00Z", "--per-hour", "cheap"), "cheap"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_do(
    site: Site, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    assert month(*words, "--reason", "why") == 1
    assert said in capsys.readouterr().err
