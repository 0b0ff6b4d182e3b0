"""From the answers of a Prometheus to batches: one figure is one witness, and old is unknown."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_ext.lease import DeviceId, LeaseId, SampleBatch, WatchItem, WatchList
from hub_ext.telemetry.dcgm import Asked, Series, batches
from tests.support.fake_prometheus import FakePrometheus, Labels, gpu

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
STALE = timedelta(seconds=90)
LEASE = LeaseId("l-1")


@pytest.fixture
def told() -> FakePrometheus:
    return FakePrometheus(NOW)


def made(
    told: FakePrometheus, *devices: str, now: datetime = NOW, watch: LeaseId = LEASE
) -> list[SampleBatch]:
    item = WatchItem(lease_id=watch, devices=tuple(map(DeviceId, devices)), process=None)
    answers = {
        name: [Series(labels, value) for labels, value in series]
        for name, series in told.series.items()
    }
    watches = {"node-2": WatchList(leases=(item,))}
    return batches(answers, watches, Asked(now, told.now, STALE, 30.0))


def test_a_whole_gpu_has_its_figures_and_its_pod(told: FakePrometheus) -> None:
    told.tell(gpu("GPU-a", "node-2", "jupyter-vera"), util=40, used=1000, free=2000, power=120.5)
    told.cpu("jupyter-vera", 1.25)
    (batch,) = made(told, "GPU-a")
    (device,), (process,), (holding,) = batch.devices, batch.processes, batch.holdings or ()
    assert (batch.node, batch.source, batch.inventory) == ("node-2", "prometheus", None)
    assert (device.device, device.util_percent, device.power_mw) == ("GPU-a", 40, 120_500)
    assert device.memory_total_bytes == 3000 * 2**20
    assert (process.lease_id, process.cpu_millis, process.processes) == (LEASE, 1250, None)
    assert (holding.namespace, holding.pod) == ("gpu-maps", "jupyter-vera")


def test_an_instance_is_named_by_its_number_and_never_has_the_whole_gpus_figure(
    told: FakePrometheus,
) -> None:
    told.tell(gpu("GPU-a", "node-2", "jupyter-vera", "7"), engine=0.001, util=99, power=300)
    told.tell(gpu("GPU-a", "node-2", "jupyter-sam", "8"), util=99)
    (batch,) = made(told)
    busy, unknown = sorted(batch.devices, key=lambda one: one.device)
    assert (busy.device, busy.util_percent, busy.power_mw) == ("GPU-a/7", 1, None)
    assert (unknown.device, unknown.util_percent) == ("GPU-a/8", None)
    assert "DCGM_FI_PROF_GR_ENGINE_ACTIVE" in unknown.absent


def test_a_figure_that_is_not_there_is_absent_and_says_so(told: FakePrometheus) -> None:
    told.tell(gpu("GPU-a", "node-2"), util=None, used=None, free=3)
    (batch,) = made(told)
    (device,) = batch.devices
    assert (device.util_percent, device.memory_used_bytes) == (None, None)
    assert "DCGM_FI_DEV_FB_USED" in device.absent


@pytest.mark.parametrize(("age_s", "batches_n"), [(90, 1), (91, 0)])
def test_what_was_read_too_long_ago_says_nothing_of_now(
    told: FakePrometheus, age_s: int, batches_n: int
) -> None:
    told.tell(gpu("GPU-a", "node-2"), util=0, at=NOW - timedelta(seconds=age_s))
    assert len(made(told)) == batches_n


def test_readings_are_put_on_the_clock_of_whoever_asks(told: FakePrometheus) -> None:
    told.tell(gpu("GPU-a", "node-2"), util=0, at=NOW - timedelta(seconds=20))
    ahead = NOW + timedelta(hours=2)
    (batch,) = made(told, now=ahead)
    assert batch.devices[0].at == ahead - timedelta(seconds=20)


def test_a_device_that_two_pods_hold_tells_of_neither(told: FakePrometheus) -> None:
    told.tell(gpu("GPU-a", "node-2", "jupyter-vera"), util=5)
    told.tell(gpu("GPU-a", "node-2", "jupyter-sam"), util=5)
    told.cpu("jupyter-vera", 0.0)
    told.cpu("jupyter-sam", 0.0)
    (batch,) = made(told, "GPU-a")
    assert [one.device for one in batch.devices] == ["GPU-a"]
    assert len(batch.holdings or ()) == 2
    assert batch.processes[0].cpu_millis is None


def test_of_two_exporters_the_one_that_stands_still_hides_no_work(told: FakePrometheus) -> None:
    told.tell(gpu("GPU-a", "node-2", job="old"), util=0)
    told.tell(gpu("GPU-a", "node-2", job="new"), util=70)
    (batch,) = made(told)
    assert [one.util_percent for one in batch.devices] == [70]


def test_without_a_cpu_figure_the_lease_is_unknown_and_never_quiet(told: FakePrometheus) -> None:
    told.tell(gpu("GPU-a", "node-2", "jupyter-vera"), util=0)
    (batch,) = made(told, "GPU-a")
    assert batch.processes[0].cpu_millis is None
    assert "CPU" in batch.processes[0].absent


def test_what_names_no_gpu_or_no_machine_is_left_out(told: FakePrometheus) -> None:
    for labels in ({"UUID": "GPU-a"}, {"node": "node-2"}, {}):
        told.tell(labels, util=3)
    assert made(told) == []


labels = st.fixed_dictionaries(
    {},
    optional={
        name: st.sampled_from(["", "GPU-a", "GPU-b", "node-2", "jupyter-vera", "1", "x:9400"])
        for name in ("UUID", "node", "Hostname", "exported_pod", "exported_namespace", "GPU_I_ID")
    },
)
figures = st.floats(min_value=-1e6, max_value=1e9, allow_nan=False)


@given(st.lists(st.tuples(labels, figures, figures), max_size=6), st.integers(0, 200))
def test_whatever_is_answered_each_device_is_told_once_and_nothing_is_invented(
    found: list[tuple[Labels, float, float]], age_s: int
) -> None:
    told = FakePrometheus(NOW)
    for one, util, used in found:
        told.tell(one, util=util, used=used, at=NOW - timedelta(seconds=age_s))
    for batch in made(told, "GPU-a", "GPU-b"):
        names = [one.device for one in batch.devices]
        assert len(names) == len(set(names))
        assert all(NOW - STALE <= one.at <= NOW for one in batch.devices)
        assert all(one.cpu_millis is None for one in batch.processes), "nobody told of any CPU"
