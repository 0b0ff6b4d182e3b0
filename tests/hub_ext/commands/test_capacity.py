"""`capacity`: the GPUs drawn from end to end, asked of the living governor alone."""

import asyncio
import json
from pathlib import Path

import pytest

from hub_ext.cli import main
from hub_ext.lease import GOVERNOR, CapacitySheet
from tests.hub_ext.service.api.stories import at_the_door
from tests.support.governing import site_in
from tests.support.identities import API, Door

CUT = """\
version: 1
currency: EUR
pools:
  mig:
    model: h200-141gb
    nodes:
      - {name: node-1, gpus: 2, geometry: [[1g.18gb, 1g.18gb, 1g.18gb, 3g.71gb], whole]}
  old:
    model: l40s
    nodes: [{name: node-22, gpus: 1}]
teams:
  vision:
    groups: [vision]
    quota: {mig: {nominal: "0.25"}}
profiles:
  small:
    {title: MIG, pool: mig, flavor: {mig: 1g.18gb}, cpu: "1", memory: 1GiB,
     lifetime: {default: 1h, longest: 4h}}
  half:
    {title: Half, pool: mig, flavor: {mig: 3g.71gb}, cpu: "1", memory: 1GiB,
     lifetime: {default: 1h, longest: 4h}}
"""


def test_the_drawing_shows_what_is_held_what_is_out_the_holes_and_what_fits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story(door: Door) -> None:
        door.hub.service("c" * 64, "gpu-commons-cli", "custom:gpu-commons:admin")
        site = door.site
        grant = site.run("vera", "small")
        site.governor.take_out(
            site.governor.devices(now=site.now)[0].id,
            reason="loud",
            actor=GOVERNOR,
            now=site.now,
        )
        (site.state / "tokens").mkdir()
        (site.state / "tokens/cli").write_text("c" * 64)
        (site.state / "run.json").write_text(json.dumps({"api": f"{door.url}{API.rstrip('/')}"}))

        async def command(*words: str) -> int:
            return await asyncio.to_thread(main, ["capacity", *words, "--state", str(site.state)])

        assert await command() == 0
        said = capsys.readouterr().out
        assert await command("--pool", "mig", "--json") == 0
        sheet = CapacitySheet.model_validate_json(capsys.readouterr().out)
        assert [pool.pool for pool in sheet.pools] == ["mig"]
        held = [part for gpu in sheet.pools[0].gpus for part in gpu.parts if part.lease_id]
        assert [part.lease_id for part in held] == [grant.lease_id]
        assert await command("--pool", "none") == 1
        assert "there is no pool 'none'; there are mig, old" in capsys.readouterr().err
        assert said.splitlines() == [
            "mig (h200-141gb): 86 % of what is free cannot be used by a typical request",
            "asked for: 2 x 1g.18gb, 1 x 3g.71gb",
            "node-1 GPU 0  |3g.71gbxxxxxxxx|1g.|1g.|1g#|   |  fits 1g.18gb; cut anew: 2g.35gb",
            "node-1 GPU 1  |whole..........................|  free",
            "",
            "old (l40s): no profile asks for it",
            "node-22 GPU 0  |whole..........................|  free",
            "",
            "#  held   .  free   x  out of service   blank  hole",
        ]

    at_the_door(tmp_path, story, policy=CUT)


def test_without_a_governor_there_is_nothing_to_draw(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with site_in(tmp_path):
        pass
    assert main(["capacity", "--state", str(tmp_path)]) == 1
    assert "no governor lives" in capsys.readouterr().err
