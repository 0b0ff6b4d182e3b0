"""`why` where no governor lives: what the ledger holds, and that it is no more than that."""

import json
from pathlib import Path

import pytest

from hub_ext.cli import main
from tests.support.governing import site_in


def test_without_a_governor_it_reads_the_ledger_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with site_in(tmp_path / "state") as site:
        for user in ("vera", "viktor", "sam"):
            site.run(user)
        site.waits("sue")
    monkeypatch.setenv("GPU_COMMONS_STATE", str(tmp_path / "state"))
    assert main(["why", "sue"]) == 0
    text = capsys.readouterr().out
    assert "No governor lives" in text
    assert "sue/" in text
    assert "no task type 0" in text
    assert main(["why", "viktor/-", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["found"]
    assert found["contract"]["called_in"] is True
    assert main(["why", "nobody"]) == 1
    assert "Nothing of nobody is on record" in capsys.readouterr().out
