"""`exempt` on the hub's machine: given, listed and ended, also where no governor lives."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hub_ext.cli import main
from hub_ext.commands.onsite import actor
from hub_ext.lease import ExemptionSheet
from hub_ext.ledger.beside import reading
from tests.support.governing import Site, site_in


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with site_in(tmp_path / "state") as opened:
        monkeypatch.setenv("GPU_COMMONS_STATE", str(opened.state))
        yield opened


def exempt(*words: str) -> int:
    return main(["exempt", *words])


def test_with_the_governor_dead_an_exemption_is_given_listed_and_ended(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.governor.close()
    assert exempt("list") == 0
    assert capsys.readouterr().out == "no exemption holds\n"
    assert exempt("add", "team", "vision", "--for", "2d", "--reason", "a deadline") == 0
    said = capsys.readouterr().out
    assert "No governor lives; this was recorded in its place." in said
    assert "team vision" in said
    assert exempt("list", "--json") == 0
    [one] = ExemptionSheet.model_validate_json(capsys.readouterr().out).exemptions
    assert (one.by, one.reason) == (actor().name, "a deadline")
    left = one.until - datetime.now(UTC)
    assert timedelta(days=1, hours=23) < left <= timedelta(days=2)
    assert exempt("end", one.id, "--reason", "it is met") == 0
    assert f"exemption {one.id} has ended" in capsys.readouterr().out
    with reading(site.state) as tx:
        kinds = ("admin.exempt", "admin.exempt_end")
        told = [(one.kind, one.body["reason"]) for _seq, one in tx.events(kinds=kinds)]
    assert told == [("admin.exempt", "a deadline"), ("admin.exempt_end", "it is met")]
    site.governor = site._open()
    assert site.governor.exemptions(now=site.now).exemptions == ()


@pytest.mark.parametrize(
    "words",
    [
        ("add", "team", "nobodies", "--for", "2d"),
        ("add", "person", "vera", "--until", "2020-01-01T00:00"),
        ("add", "person", "vera", "--for", "ever"),
        ("end", "x-none"),
    ],
)
def test_rubbish_has_words(
    site: Site, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    site.governor.close()
    assert exempt(*words, "--reason", "x") == 1
    assert "gpu-commons exempt: " in capsys.readouterr().err
    site.governor = site._open()
