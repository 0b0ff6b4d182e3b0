"""A process on a device counts as nobody's only where it is known to be, and never a job's."""

import os
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from hub_ext.lease import (
    DeviceHolding,
    DeviceId,
    LeaseId,
    ProcessRef,
    StrayProcess,
    WatchItem,
    WatchList,
)
from hub_ext.telemetry.processes import ProcessMeter
from hub_ext.telemetry.sample import DeviceProcess
from hub_ext.telemetry.strays import Whose, strays

ONE, TWO = DeviceId("GPU-aa"), DeviceId("GPU-bb")
ADA, BEN = LeaseId("l-ada"), LeaseId("l-ben")
GIB = 1 << 30


def watch(**devices: DeviceId) -> WatchList:
    return WatchList(
        leases=tuple(
            WatchItem(lease_id=LeaseId(f"l-{name}"), devices=(device,), process=None)
            for name, device in devices.items()
        )
    )


def on(device: DeviceId, pid: int = 7) -> DeviceProcess:
    return DeviceProcess(device=device, pid=pid, memory_bytes=GIB)


def of(lease: LeaseId | None) -> Whose:
    return Whose(lease)


@pytest.mark.parametrize(
    ("device", "whose", "leases", "told"),
    [
        pytest.param(ONE, of(ADA), {"ada": ONE}, False, id="its-own"),
        pytest.param(ONE, of(ADA), {"ada": DeviceId("GPU-aa::3")}, False, id="its-time-share"),
        pytest.param(TWO, of(ADA), {"ada": ONE, "ben": TWO}, True, id="of-somebody-else"),
        pytest.param(ONE, of(ADA), {"ben": ONE}, True, id="after-its-lease"),
        pytest.param(ONE, of(None), {}, True, id="of-no-lease"),
        pytest.param(ONE, None, {}, False, id="cannot-be-told"),
    ],
)
def test_who_is_told(
    device: DeviceId, whose: Whose | None, leases: dict[str, DeviceId], *, told: bool
) -> None:
    found = strays([on(device)], lambda _pid: whose, watch(**leases), None)
    assert bool(found) is told
    if told:
        assert whose is not None
        assert found == (
            StrayProcess(device=device, pid=7, memory_bytes=GIB, lease_id=whose.lease),
        )


def test_what_a_container_holds_is_its_own_affair() -> None:
    held = [DeviceHolding(namespace="jobs", pod="train-0", device=ONE)]
    found = strays([on(ONE), on(TWO)], lambda _pid: of(None), watch(), held)
    assert [one.device for one in found] == [TWO]


def test_a_process_is_whose_mark_it_carries_also_when_that_lease_is_over() -> None:
    environment = {**os.environ, "GPU_COMMONS_LEASE_ID": BEN}
    code = "import time; print('up', flush=True); time.sleep(600)"
    with subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True
    ) as left:
        try:
            assert left.stdout is not None
            left.stdout.readline()
            meter, now = ProcessMeter(), datetime.now(UTC)
            own = ProcessRef(pid=os.getpid(), created_us=1)
            meter.read(
                WatchList(leases=(WatchItem(lease_id=ADA, devices=(ONE,), process=own),)), now
            )
            assert meter.whose(left.pid) == of(BEN)
            assert meter.whose(os.getpid()) == of(None)
            assert meter.whose(1 << 22) is None
        finally:
            left.kill()


def test_a_process_whose_environment_may_not_be_read_is_not_accused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "hub_ext.telemetry.processes._lease_in_environment", lambda _process: (None, False)
    )
    meter = ProcessMeter()
    meter.read(WatchList(leases=()), datetime.now(UTC))
    assert meter.whose(os.getpid()) is None
