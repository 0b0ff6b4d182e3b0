"""`quota` and `limits` on the hub's machine: through a governor that lives, else in its place."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hub_ext.cli import main
from hub_ext.commands.onsite import actor
from hub_ext.lease import LimitSheet, MoveSheet
from hub_ext.ledger.verify import verify
from hub_ext.units import UNITS_PER_GPU
from tests.hub_ext.service.test_sharing import SHARED
from tests.support.governing import Site, site_in
from tests.support.pools import person

MOVE = ("move", "vision", "whole", "1", "--from", "maps", "--to", "birds")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with site_in(tmp_path / "state", policy=SHARED) as opened:
        monkeypatch.setenv("GPU_COMMONS_STATE", str(opened.state))
        yield opened


def quota(*words: str) -> int:
    return main(["quota", *words])


def test_with_the_governor_dead_a_move_is_recorded_and_the_next_one_knows(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.governor.close()
    assert quota(*MOVE, "--reason", "paper is due", "--until", "2099-01-01") == 0
    said = capsys.readouterr().out
    assert "No governor lives; this was recorded in its place." in said
    assert "2099-01-01" in said
    assert actor().name in said
    assert quota("list", "vision", "--json") == 0
    sheet = MoveSheet.model_validate_json(capsys.readouterr().out)
    assert [(one.move.reason, one.state) for one in sheet.moves] == [("paper is due", "in force")]
    assert verify(site.state / "ledger.sqlite").difference == ""
    site.governor = site._open()
    day = sheet.moves[0].move.at
    shares = site.governor.moves("vision", now=day).shares
    assert {one.project: one.units for one in shares if one.pool == "whole"} == {
        "birds": UNITS_PER_GPU,
        "maps": 0,
        None: 0,
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("move", "vision", "whole", "9", "--from", "maps", "--to", "birds"), "cannot be moved"),
        (("move", "sky", "whole", "1", "--from", "maps", "--to", "birds"), "no team 'sky'"),
        ((*MOVE, "--first-day", "soon"), "is no day"),
        (("move", "vision", "whole", "x", "--from", "maps", "--to", "birds"), "'x'"),
    ],
)
def test_what_cannot_be_moved_is_said_and_nothing_is_recorded(
    site: Site, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    site.governor.close()
    assert quota(*words, "--reason", "trying") == 1
    assert said in capsys.readouterr().err
    assert quota("list", "vision") == 0
    assert "no quota was moved" in capsys.readouterr().out
    site.governor = site._open()


def test_limits_of_somebody_are_read_beside_a_living_governor(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["limits", "vera", "--group", "vision"]) == 0
    out = capsys.readouterr().out
    assert "Pool whole: 1 GPU guaranteed, 0 GPUs held now" in out
    assert "teams.vision.quota.whole" in out
    assert main(["limits", "vera", "--group", "vision", "--json"]) == 0
    sheet = LimitSheet.model_validate_json(capsys.readouterr().out)
    assert sheet == site.governor.limits(person("vera", "vision"), now=sheet.at), (
        "the page and the command say the same"
    )


def test_limits_need_a_group_or_a_request_that_tells_it(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["limits", "vera"]) == 1
    assert "name the hub groups with --group" in capsys.readouterr().err
    site.run("viktor")
    site.run("viktor", server="second")
    site.waits("vera")
    assert main(["limits", "vera"]) == 0
    assert "teams.vision" in capsys.readouterr().out
    assert main(["limits", "vera", "--group", "nobodys"]) == 0
    assert "belongs to no team" in capsys.readouterr().out
