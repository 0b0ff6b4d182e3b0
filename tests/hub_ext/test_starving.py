"""Planted workloads: each kept waiting by one thing, which alone is named; unknown stays so."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from hub_ext.lease import DeviceId, DeviceSample, LeaseId, ProcessSample
from hub_ext.policy.model import StarvingRules
from hub_ext.starving import TOLD_FOR, Seen, waits_for

NOW = datetime(2026, 12, 1, 10, 0, tzinfo=UTC)
GIB = 1024**3
MIB = 1024**2
RULES = StarvingRules()


@dataclass(frozen=True)
class Load:
    """What one server does all the time; None where nobody measures it."""

    gpu: int | None = 40
    memory_percent: int | None = 50
    cpu: int | None = 1500
    cpu_stalled: int | None = 2
    disk: int | None = 5 * MIB
    disk_stalled: int | None = 1
    server_percent: int | None = 60
    server_stalled: int | None = 1
    net: int | None = MIB
    pcie: int | None = 500 * 1024
    granted: int | None = 8000
    full_at: datetime | None = None
    readings: int = 60

    def seen(self) -> Seen:
        """Take a reading every ten seconds."""
        at = [NOW - timedelta(seconds=10 * n) for n in range(self.readings)][::-1]
        used = None if self.memory_percent is None else self.memory_percent * GIB
        return Seen(
            devices=[
                [
                    DeviceSample(
                        device=DeviceId("GPU-a"),
                        at=one,
                        util_percent=self.gpu,
                        memory_used_bytes=used,
                        memory_total_bytes=100 * GIB,
                        pcie_kib_s=self.pcie,
                    )
                    for one in at
                ]
            ],
            processes=[
                ProcessSample(
                    lease_id=LeaseId("l-1"),
                    at=one,
                    cpu_millis=self.cpu,
                    processes=3,
                    disk_bytes_s=self.disk,
                    disk_stalled_percent=self.disk_stalled,
                    net_bytes_s=self.net,
                    cpu_stalled_percent=self.cpu_stalled,
                    memory_bytes=None if self.server_percent is None else self.server_percent * GIB,
                    memory_limit_bytes=100 * GIB,
                    memory_stalled_percent=self.server_stalled,
                )
                for one in at
            ],
            cpu_millis=self.granted,
            out_of_memory_at=self.full_at,
        )


PLANTED = {
    "one process feeds it": ("cpu", Load(cpu=1010)),
    "all cores decode images": ("cpu", Load(cpu=7900)),
    "the cores are throttled": ("cpu", Load(cpu=4000, cpu_stalled=45)),
    "throttled, and nobody counts the cores": ("cpu", Load(cpu=None, cpu_stalled=45)),
    "all cores in use, and the kernel tells no pressure": (
        "cpu",
        Load(cpu=7900, cpu_stalled=None),
    ),
    "the GPU's memory is not told": ("cpu", Load(gpu=30, memory_percent=None, cpu=7900)),
    "the GPU rests while the next part is read": (
        "storage",
        Load(gpu=0, memory_percent=40, cpu=300, disk_stalled=70),
    ),
    "small files on a slow drive": ("storage", Load(cpu=300, disk=4 * MIB, disk_stalled=70)),
    "one process waits for a drive": ("storage", Load(cpu=1000, disk_stalled=60)),
    "a drive at its end, no pressure told": (
        "storage",
        Load(cpu=300, disk=150 * MIB, disk_stalled=None),
    ),
    "a data set that does not fit into the server's memory": (
        "server_memory",
        Load(cpu=1000, disk=150 * MIB, disk_stalled=80, server_percent=99, server_stalled=70),
    ),
    "a full server that waits for nothing": ("none", Load(server_percent=99)),
    "nobody measures how long it waits for its memory": (
        "none",
        Load(server_percent=99, server_stalled=None),
    ),
    "data streamed from elsewhere": ("network", Load(cpu=900, net=110 * MIB)),
    "tensors copied to and fro": ("pcie", Load(cpu=1000, pcie=14_000 * 1024)),
    "a batch that just fits": ("memory", Load(gpu=92, memory_percent=97)),
    "a batch that did not fit": ("memory", Load(full_at=NOW - timedelta(minutes=2))),
    "it failed, and the GPU is free again": (
        "memory",
        Load(gpu=0, memory_percent=0, full_at=NOW - timedelta(minutes=2)),
    ),
    "well fed": ("none", Load(gpu=96, cpu=1000, disk_stalled=30, net=110 * MIB)),
    "small batches, all else has room": ("none", Load(gpu=30, disk=0)),
    "nothing runs": ("none", Load(gpu=0, memory_percent=0, cpu=1000, net=110 * MIB)),
    "long forgotten": ("none", Load(full_at=NOW - TOLD_FOR - timedelta(seconds=1))),
    "a MIG device without PCIe": ("unknown", Load(pcie=None)),
    "nobody counts network": ("unknown", Load(net=None)),
    "some storage, and nobody knows how long it waits": ("unknown", Load(disk_stalled=None)),
    "no agent sees the processes": (
        "unknown",
        Load(cpu=None, cpu_stalled=None, disk=None, disk_stalled=None, net=None),
    ),
    "the driver tells no utilisation": ("unknown", Load(gpu=None, cpu=7900)),
    "two readings are no habit": ("unknown", Load(cpu=7900, readings=2)),
}


@pytest.mark.parametrize("name", PLANTED)
def test_one_thing_alone_is_named(name: str) -> None:
    cause, load = PLANTED[name]
    found = waits_for(load.seen(), RULES, NOW)
    assert found.cause == cause, found.words
    assert bool(found.remedy) == (cause not in {"none", "unknown"})
    assert [one.name for one in found.evidence] == [
        "GPU",
        "GPU memory",
        "CPU",
        "Server memory",
        "Storage",
        "Network",
        "PCIe",
    ]


REMEDIES = {
    "cpu": "DataLoader(num_workers=",
    "server_memory": "np.memmap",
    "storage": "local disk",
    "network": "before training",
    "pcie": "batching",
    "memory": "gradient accumulation",
}


@pytest.mark.parametrize("cause", REMEDIES)
def test_each_has_a_first_remedy_and_its_figure(cause: str) -> None:
    load = next(one for found, one in PLANTED.values() if found == cause)
    found = waits_for(load.seen(), RULES, NOW)
    assert REMEDIES[cause] in found.remedy
    short = [one.value for one in found.evidence if one.state == "short" and one.name != "GPU"]
    assert any(value in found.words for value in short)


def test_what_is_not_measured_is_named() -> None:
    found = waits_for(Load(net=None, pcie=None).seen(), RULES, NOW)
    assert "Not measured: Network, PCIe." in found.words
    assert {one.name for one in found.evidence if one.state == "unknown"} == {"Network", "PCIe"}


def test_what_stands_behind_a_figure_is_said_as_far_as_it_is_known() -> None:
    def values(load: Load) -> dict[str, str]:
        return {one.name: one.value for one in waits_for(load.seen(), RULES, NOW).evidence}

    assert values(Load(granted=None))["CPU"] == "1.50 cores, waited 2 % of the time"
    assert values(Load(cpu=None))["CPU"] == "waited 2 % of the time"
    assert values(Load(cpu_stalled=None))["CPU"] == "1.50 of 8 cores"
    assert values(Load(disk=None))["Storage"] == "waited 1 % of the time"
    assert values(Load())["Server memory"] == "60 % in use, waited 1 % of the time"
    assert values(Load(server_percent=None, server_stalled=None))["Server memory"] == "not measured"
    assert values(Load(server_stalled=None))["Server memory"] == (
        "60 % in use, and how long it waits is not measured"
    )
    assert values(Load(gpu=None))["GPU"] == "not measured"
    assert values(Load(memory_percent=None))["GPU memory"] == "not measured"
    assert values(Load())["GPU memory"] == "50 %"


def test_the_gpu_itself_is_at_its_limit_where_it_waits_for_nothing() -> None:
    gpu = [waits_for(Load(gpu=n).seen(), RULES, NOW).evidence[0].state for n in (69, 70, None)]
    assert gpu == ["ample", "short", "unknown"]


def test_a_cpu_limit_that_nobody_set_or_holds_to_is_no_limit() -> None:
    for granted in (None, 4000):
        assert waits_for(Load(cpu=7900, granted=granted).seen(), RULES, NOW).cause == "none"


def test_the_mean_counts_not_one_reading() -> None:
    steady, peak = Load(cpu=1500).seen(), Load(cpu=7900, readings=3).seen()
    mixed = Seen(steady.devices, [*steady.processes[:-3], *peak.processes], steady.cpu_millis)
    assert waits_for(mixed, RULES, NOW).cause == "none"


def test_old_readings_say_nothing_of_now() -> None:
    assert waits_for(Load(cpu=7900).seen(), RULES, NOW + timedelta(hours=1)).cause == "unknown"


def test_the_policys_thresholds_hold() -> None:
    patient = StarvingRules(gpu_percent=30)
    assert waits_for(Load(cpu=7900).seen(), patient, NOW).cause == "none"
    strict = StarvingRules(network_mib_s=1)
    assert waits_for(Load(cpu=300, net=2 * MIB).seen(), strict, NOW).cause == "network"
