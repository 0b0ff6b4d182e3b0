"""`device` on the hub's machine: through a governor that lives, else in its place."""

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hub_ext.cli import main
from hub_ext.commands.onsite import actor
from hub_ext.errors import RefusedError
from hub_ext.lease import DeviceId, DeviceSample, DeviceSheet, SampleBatch
from hub_ext.ledger.beside import reading
from hub_ext.ledger.samples import Samples
from hub_ext.ledger.store import Ledger
from hub_ext.ledger.verify import verify
from tests.hub_ext.service.api.stories import at_the_door
from tests.support.governing import Site, site_in
from tests.support.identities import API, Door


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with site_in(tmp_path / "state") as opened:
        monkeypatch.setenv("GPU_COMMONS_STATE", str(opened.state))
        yield opened


def device(*words: str) -> int:
    return main(["device", *words])


def events(state: Path) -> list[tuple[str, str]]:
    assert verify(state / "ledger.sqlite").difference == ""
    kinds = ("device.out", "device.back", "admin.drain", "admin.lift")
    with reading(state) as tx:
        return [(event.kind, event.actor.name) for _seq, event in tx.events(kinds=kinds)]


def test_with_the_governor_dead_devices_go_out_and_back_and_the_next_one_knows(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    grant = site.run("sam")
    [held] = [one.id for one in grant.devices]
    site.governor.close()
    assert device("out", held, "--reason", "fan is loud") == 0
    said = capsys.readouterr().out
    assert "No governor lives; this was recorded in its place." in said
    assert f"{held} is out of service; lease {grant.lease_id} keeps it until it ends" in said
    assert device("drain", "node", "node-1", "--after", "2h", "--reason", "new disk") == 0
    said = capsys.readouterr().out
    assert "no new lease in machine node-1: new disk" in said
    assert "The next governor tells their owners." in said

    assert device("list") == 0
    out, err = capsys.readouterr()
    assert "No governor answers. Shown is what the ledger knows" in err
    assert f"{held}" in out
    assert "held, out of service" in out
    assert "leases there end by" in out
    assert device("list", "--json") == 0
    sheet = DeviceSheet.model_validate_json(capsys.readouterr().out)
    assert [one.name for one in sheet.drains] == ["node-1"]

    site.governor = site._open()
    site.report_devices()
    with pytest.raises(RefusedError, match="new disk"):
        site.run("vera", "small")
    site.governor.close()
    assert device("back", held, "--reason", "fan is new") == 0
    assert device("lift", "node", "node-1", "--reason", "disk is new") == 0
    said = capsys.readouterr().out
    assert f"{held} is in service again" in said
    assert "node-1 is not drained any more" in said
    me = actor().name
    assert events(site.state) == [
        ("device.out", me),
        ("admin.drain", me),
        ("device.back", me),
        ("admin.lift", me),
    ]
    site.governor = site._open()
    site.report_devices()
    assert site.run("vera", "small").devices


def test_a_free_device_is_known_by_its_readings_of_before(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    now = datetime.now(UTC)
    real = DeviceId("GPU-8c6f-of-a-real-driver")
    sample = DeviceSample(
        device=real, at=now, util_percent=0, memory_used_bytes=0, memory_total_bytes=1
    )
    batch = SampleBatch(node="node-2", source="nvml", sent_at=now, period_s=5, devices=(sample,))
    site.governor.take_samples(batch, now=now)
    site.governor.close()
    assert device("out", real, "--reason", "XID 79") == 0
    assert f"{real} is out of service" in capsys.readouterr().out
    assert device("out", "GPU-of-nobody", "--reason", "x") == 1
    assert "There is no device 'GPU-of-nobody'" in capsys.readouterr().err
    site.governor = site._open()


def test_without_a_policy_that_can_be_read_a_device_still_goes_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    now = datetime.now(UTC)
    real = DeviceId("GPU-8c6f-of-a-real-driver")
    Ledger.open(tmp_path).close()
    samples = Samples.open(tmp_path)
    sample = DeviceSample(
        device=real, at=now, util_percent=0, memory_used_bytes=0, memory_total_bytes=1
    )
    batch = SampleBatch(node="node-2", source="nvml", sent_at=now, period_s=5, devices=(sample,))
    samples.add(batch, now=now, holders={})
    samples.close()
    assert device("out", real, "--reason", "XID 79", "--state", str(tmp_path)) == 0
    assert f"{real} is out of service" in capsys.readouterr().out


def test_while_a_governor_lives_and_is_silent_nothing_is_done_beside_it(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    (site.state / "tokens").mkdir()
    (site.state / "tokens/cli").write_text("f" * 64)
    assert device("drain", "pool", "whole", "--reason", "x") == 1
    err = capsys.readouterr().err
    assert "a governor lives (process " in err
    assert "Stop it first" in err
    assert events(site.state) == []
    assert device("list") == 0, "looking is possible all the same"
    assert "no device is known" in capsys.readouterr().out


def test_a_governor_that_lives_acts_itself_and_names_who_typed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story(door: Door) -> None:
        door.hub.service("c" * 64, "gpu-commons-cli", "custom:gpu-commons:admin")
        state = door.site.state
        (state / "tokens").mkdir()
        (state / "tokens/cli").write_text("c" * 64)
        (state / "run.json").write_text(json.dumps({"api": f"{door.url}{API.rstrip('/')}"}))

        async def command(*words: str) -> int:
            return await asyncio.to_thread(device, *words, "--state", str(state))

        assert await command("list") == 0
        said = capsys.readouterr()
        assert said.err == ""
        first = next(line.split()[0] for line in said.out.splitlines() if "whole" in line)
        assert await command("out", first, "--reason", "loud") == 0
        assert f"{first} is out of service" in capsys.readouterr().out
        assert await command("drain", "pool", "mig", "--after", "0s", "--reason", "move") == 0
        assert "no new lease in pool mig: move" in capsys.readouterr().out
        assert await command("lift", "pool", "nowhere", "--reason", "x") == 1
        assert "'nowhere' is not drained" in capsys.readouterr().err
        assert await command("list") == 0
        listed = capsys.readouterr().out
        assert "free, out of service" in listed
        assert f"{first} is out of service: loud" in listed

    at_the_door(tmp_path, story)
    me = actor().name
    assert events(tmp_path) == [("device.out", me), ("admin.drain", me)]


@pytest.mark.parametrize(
    "words",
    [
        ("drain", "pool", "whole", "--after", "soon", "--reason", "x"),
        ("drain", "pool", "whole", "--reason", "  "),
        ("back", "GPU-of-nobody", "--reason", "x"),
    ],
)
def test_rubbish_has_words(
    site: Site, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    site.governor.close()
    assert device(*words) == 1
    assert "gpu-commons device: " in capsys.readouterr().err
    assert events(site.state) == []
    site.governor = site._open()


def test_a_drain_without_a_span_ends_leases_after_the_notice_of_the_policy(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.governor.close()
    before = datetime.now(UTC)
    assert device("drain", "pool", "whole", "--reason", "new cables") == 0
    assert device("list", "--json") == 0
    text = capsys.readouterr().out
    [drain] = DeviceSheet.model_validate_json(text[text.index("{") :]).drains
    assert timedelta(minutes=10) <= drain.ends_at - before < timedelta(minutes=11)
    site.governor = site._open()
