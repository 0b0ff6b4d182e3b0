"""Batches made of what DCGM's exporter and the kubelet's cAdvisor told a Prometheus. Pure.

One witness is never enough: DCGM tells of GPUs, cAdvisor of the CPU of the pods that hold them, and
what neither has told lately is absent, with the reason. A device is named by its GPU and, on a
GPU that is cut, by the number of the instance; both stay the same while it is.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from ..i18n import _
from ..lease import (
    ClockOffset,
    DeviceHolding,
    DeviceId,
    DeviceSample,
    LeaseId,
    ProcessSample,
    SampleBatch,
    WatchList,
)

ENGINE, UTIL = "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_DEV_GPU_UTIL"
USED, FREE = "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE"
POWER = "DCGM_FI_DEV_POWER_USAGE"

AGE = "age"
"""Name of the question when each device was last read."""

CPU = "cpu"
"""Name of the question how much CPU the containers of each pod took."""

QUESTIONS: Mapping[str, str] = {
    **{name: name for name in (ENGINE, UTIL, USED, FREE, POWER)},
    # A value comes with the time of the question, not with that of its reading.
    AGE: f"timestamp({USED}) or timestamp({UTIL}) or timestamp({ENGINE})",
    CPU: 'sum by (namespace, pod) (rate(container_cpu_usage_seconds_total{container!=""}[2m]))',
}

_MIB = 2**20
_NODE = ("node", "kubernetes_node", "Hostname", "instance")
_POD = ("exported_pod", "pod", "pod_name")
_NAMESPACE = ("exported_namespace", "namespace", "pod_namespace")
"""Labels by their precedence: a Prometheus that keeps its own calls the exporter's `exported_…`."""

Place = tuple[str, str]
"""Namespace and name of a pod."""


class Series(NamedTuple):
    """One series of an answer, as of the question."""

    labels: Mapping[str, str]
    value: float


Answers = Mapping[str, Sequence[Series]]
"""What was answered, by the name of the question."""


class _Device(NamedTuple):
    node: str
    id: DeviceId
    place: Place | None


class Asked(NamedTuple):
    """What is known beside the answers.

    `server_now` is the Prometheus's own clock when it answered. What was read longer ago than
    `stale` says nothing of now.
    """

    now: datetime
    server_now: datetime
    stale: timedelta
    period_s: float


def batches(
    answers: Answers,
    watches: Mapping[str, WatchList],
    asked: Asked,
    *,
    clock: ClockOffset | None = None,
) -> list[SampleBatch]:
    """Make one batch for each machine whose exporter was read lately.

    Parameters
    ----------
    answers
        To `QUESTIONS`; a question without an answer leaves its figures absent.
    watches
        What the governor wants to know of each machine.
    """
    read_at = {
        device: asked.now - _ago(asked, one.value)
        for one in answers.get(AGE, ())
        if (device := _device(one.labels)) is not None and _ago(asked, one.value) <= asked.stale
    }
    figures = {name: _by_device(answers.get(name, ())) for name in QUESTIONS}
    by_node: dict[str, list[_Device]] = defaultdict(list)
    for device in sorted(read_at):
        by_node[device.node].append(device)
    cpu = {place: one.value for one in answers.get(CPU, ()) if (place := _place(one.labels))}
    return [
        SampleBatch(
            node=node,
            source="prometheus",
            sent_at=asked.now,
            period_s=asked.period_s,
            devices=tuple(_unique(_sample(one, figures, read_at[one]) for one in devices)),
            processes=tuple(_processes(devices, watches.get(node), cpu, asked.now)),
            holdings=tuple(
                DeviceHolding(namespace=one.place[0], pod=one.place[1], device=one.id)
                for one in devices
                if one.place is not None
            ),
            clock=clock,
        )
        for node, devices in sorted(by_node.items())
    ]


def _ago(asked: Asked, timestamp: float) -> timedelta:
    """How long before the answer a reading was, by one clock; never in the future."""
    return max(timedelta(0), timedelta(seconds=asked.server_now.timestamp() - timestamp))


def _device(labels: Mapping[str, str]) -> _Device | None:
    gpu, node = labels.get("UUID") or labels.get("uuid"), _first(labels, _NODE)
    if not gpu or not node:
        return None
    part = labels.get("GPU_I_ID", "")
    name = DeviceId(f"{gpu}/{part}" if part else gpu)
    return _Device(node.partition(":")[0], name, _place(labels))


def _place(labels: Mapping[str, str]) -> Place | None:
    namespace, pod = _first(labels, _NAMESPACE), _first(labels, _POD)
    return (namespace, pod) if namespace and pod else None


def _first(labels: Mapping[str, str], names: Iterable[str]) -> str:
    return next((labels[name] for name in names if labels.get(name)), "")


def _by_device(series: Iterable[Series]) -> dict[tuple[str, DeviceId], float]:
    """Give the largest figure of each device: of two exporters one may stand still."""
    found: dict[tuple[str, DeviceId], float] = {}
    for one in series:
        device = _device(one.labels)
        # Not a number is what an exporter says that knows none.
        if device is not None and one.value >= 0:
            key = device.node, device.id
            found[key] = max(one.value, found.get(key, 0.0))
    return found


def _unique(samples: Iterable[DeviceSample]) -> Iterator[DeviceSample]:
    """Give each device once: one that several containers hold has a series for each."""
    seen: set[DeviceId] = set()
    for one in samples:
        if one.device not in seen:
            seen.add(one.device)
            yield one


def _sample(
    device: _Device,
    figures: Mapping[str, Mapping[tuple[str, DeviceId], float]],
    at: datetime,
) -> DeviceSample:
    key = device.node, device.id
    used, free = figures[USED].get(key), figures[FREE].get(key)
    util = _percent(figures, key)
    power = figures[POWER].get(key)
    lacking = [
        name
        for name, figure in ((f"{ENGINE} / {UTIL}", util), (USED, used), (FREE, free))
        if figure is None
    ]
    return DeviceSample(
        device=device.id,
        at=at,
        util_percent=util,
        memory_used_bytes=None if used is None else int(used * _MIB),
        memory_total_bytes=None if used is None or free is None else int((used + free) * _MIB),
        power_mw=None if power is None or "/" in device.id else int(power * 1000),
        absent=_("Prometheus has no {names} of it").format(names=", ".join(lacking))
        if lacking
        else "",
    )


def _percent(
    figures: Mapping[str, Mapping[tuple[str, DeviceId], float]], key: tuple[str, DeviceId]
) -> int | None:
    """Give how busy a device was; the larger figure where both are there.

    The share of the engine is the only one that an instance of a cut GPU has. It says whether
    there is work: of a large instance it may never come near 1.
    """
    engine, util = figures[ENGINE].get(key), figures[UTIL].get(key)
    if "/" in key[1]:
        # What the exporter repeats of the whole GPU is not of the instance.
        util = None
    shares = [100 * engine] if engine is not None else []
    shares += [util] if util is not None else []
    # Any work is work: what is above 0 and below 1 % is not rounded to none.
    return min(100, -int(-max(shares) // 1)) if shares else None


def _processes(
    devices: Iterable[_Device],
    watch: WatchList | None,
    cpu: Mapping[Place, float],
    now: datetime,
) -> Iterator[ProcessSample]:
    """Say what the pods of each watched lease took; unknown where cAdvisor tells nothing."""
    places: dict[DeviceId, set[Place]] = defaultdict(set)
    for one in devices:
        if one.place is not None:
            places[one.id].add(one.place)
    for item in watch.leases if watch is not None else ():
        mine = [places[device] for device in item.devices if device in places]
        # All devices of a lease are one pod's; a device that several hold does not tell whose.
        pods = set[Place].intersection(*mine) if mine else set[Place]()
        cores = cpu.get(next(iter(pods))) if len(pods) == 1 else None
        yield _process(item.lease_id, cores, now)


def _process(lease_id: LeaseId, cores: float | None, now: datetime) -> ProcessSample:
    known = cores is not None and cores >= 0
    return ProcessSample(
        lease_id=lease_id,
        at=now,
        cpu_millis=-int(-1000 * (cores or 0) // 1) if known else None,
        processes=None,
        absent="" if known else _("Prometheus has no CPU figure of its pod"),
        scope="cgroup",
    )
