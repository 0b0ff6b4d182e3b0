"""The simulated node is what the policy declares, and shows what its leases were told to show."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hub_ext.lease import Device, DeviceSample, FaultSign, LeaseId, WatchItem, WatchList
from hub_ext.telemetry.load import Load
from hub_ext.telemetry.simulated import SimulatedReader, memory_bytes

from .small_policy import TEXT

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
GIB = 2**30
NOBODY = WatchList(leases=())


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(TEXT)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state" / "sim"


@pytest.fixture
def reader(policy: Path, folder: Path) -> SimulatedReader:
    return SimulatedReader(policy, folder, node="localhost", period_s=1.0)


def holding(*devices: Device, lease: str = "lease-1") -> WatchList:
    ids = tuple(one.id for one in devices)
    return WatchList(leases=(WatchItem(lease_id=LeaseId(lease), devices=ids, process=None),))


def busy(folder: Path, lease: str = "lease-1", **fields: object) -> None:
    written = Load.model_validate(
        {
            "util_percent": 80,
            "memory_bytes": 30 * GIB,
            "until": NOW + timedelta(minutes=5),
            "beat_at": NOW,
            "beat_s": 0.5,
            "writer": 4711,
            **fields,
        }
    )
    (folder / f"{lease}.json").write_text(written.model_dump_json())


def sample_of(reader: SimulatedReader, device: Device, watch: WatchList) -> DeviceSample:
    samples = [one for reading in reader.read(watch, NOW) for one in reading.devices]
    return next(one for one in samples if one.device == device.id)


def devices_of(reader: SimulatedReader) -> list[Device]:
    return [one for reading in reader.read(NOBODY, NOW) for one in reading.inventory.devices]


def problem_of(reader: SimulatedReader) -> str:
    return reader.read(NOBODY, NOW)[0].inventory.problem


def test_all_devices_of_all_nodes_are_there_and_said_to_be_simulated(
    reader: SimulatedReader,
) -> None:
    here, there = (reading.inventory for reading in reader.read(NOBODY, NOW))
    assert (here.node, there.node) == ("localhost", "node-2")
    assert (here.source, here.problem) == ("simulated", "")
    assert [(one.pool, one.node, one.mig_profile) for one in here.devices] == [
        ("whole", "localhost", None),
        ("cut", "localhost", "3g.20gb"),
        ("cut", "localhost", "3g.20gb"),
    ]
    assert [(one.pool, one.node) for one in there.devices] == [("whole", "node-2")]
    assert all(one.simulated for one in devices_of(reader))


def test_an_idle_server_reads_nought_percent(reader: SimulatedReader) -> None:
    device = devices_of(reader)[0]
    sample = sample_of(reader, device, holding(device))
    assert (sample.util_percent, sample.memory_used_bytes) == (0, 0)
    assert sample.memory_total_bytes == 141 * GIB
    assert sample.absent == ""


def test_a_load_shows_on_the_devices_of_its_lease_alone(
    reader: SimulatedReader, folder: Path
) -> None:
    mine, other, *_rest = devices_of(reader)
    busy(folder)
    watch = holding(mine)
    assert sample_of(reader, mine, watch).util_percent == 80
    assert sample_of(reader, mine, watch).memory_used_bytes == 30 * GIB
    assert sample_of(reader, other, watch).util_percent == 0


def test_a_device_holds_no_more_than_it_has(reader: SimulatedReader, folder: Path) -> None:
    part = devices_of(reader)[2]
    busy(folder)
    sample = sample_of(reader, part, holding(part))
    assert (sample.memory_used_bytes, sample.memory_total_bytes) == (20 * GIB, 20 * GIB)


def test_unknown_is_told_with_its_reason(reader: SimulatedReader, folder: Path) -> None:
    device = devices_of(reader)[0]
    busy(folder, util_percent=None, memory_bytes=None)
    sample = sample_of(reader, device, holding(device))
    assert (sample.util_percent, sample.memory_used_bytes) == (None, None)
    assert sample.absent == "simulated as not offered by the driver"


def test_a_lease_id_that_is_a_path_is_unknown(reader: SimulatedReader) -> None:
    device = devices_of(reader)[0]
    sample = sample_of(reader, device, holding(device, lease="../../etc/x"))
    assert sample.util_percent is None
    assert sample.absent == "the lease's id cannot name a load file"


def test_the_policy_is_followed(reader: SimulatedReader, policy: Path) -> None:
    assert len(devices_of(reader)) == 4
    policy.write_text(TEXT.replace("{name: node-2, gpus: 1}", "{name: node-2, gpus: 3}"))
    assert len(devices_of(reader)) == 6


def test_a_wrong_policy_leaves_the_devices_and_says_so(
    reader: SimulatedReader, policy: Path
) -> None:
    before = devices_of(reader)
    policy.write_text("pools: nonsense\n")
    problem = problem_of(reader)
    assert devices_of(reader) == before
    assert problem.startswith("the policy file is wrong, its former devices stay: ")
    assert problem_of(reader) == problem
    policy.unlink()
    assert "cannot be read" in problem_of(reader)
    policy.write_text(TEXT)
    assert problem_of(reader) == ""


def test_no_policy_is_a_problem_of_this_machine(tmp_path: Path, folder: Path) -> None:
    reader = SimulatedReader(tmp_path / "none.yaml", folder, node="localhost", period_s=1.0)
    (reading,) = reader.read(NOBODY, NOW)
    assert (reading.inventory.node, reading.inventory.devices) == ("localhost", ())
    assert "cannot be read" in reading.inventory.problem


def test_a_model_that_does_not_tell_its_memory_is_absent() -> None:
    device = Device.model_validate(
        {"id": "d", "pool": "p", "node": "n", "gpu": 0, "model": "l40s", "simulated": True}
    )
    assert memory_bytes(device) is None
    assert memory_bytes(device.model_copy(update={"mig_profile": "1g.18gb"})) == 18 * GIB


def test_a_load_may_show_a_fault_and_a_damaged_one_shows_nothing_at_all(
    reader: SimulatedReader, folder: Path
) -> None:
    first, *_others = devices_of(reader)
    sign = FaultSign(kind="xid", code=79, since=NOW)
    busy(folder, fault=sign)

    def signs() -> list[tuple[FaultSign, ...]]:
        health = [one for reading in reader.read(holding(first), NOW) for one in reading.health]
        return [one.signs for one in health if one.device == first.id]

    assert signs() == [(sign,)]
    (folder / "lease-1.json").write_text("rubbish")
    assert signs() == []
    (folder / "lease-1.json").unlink()
    assert signs() == [()]
