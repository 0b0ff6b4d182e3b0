"""What the witnesses of one lease say now, each by its name, with figure, age, source and trust."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from ..i18n import _
from ..lease import (
    Activity,
    DeviceId,
    DeviceSample,
    OpenLease,
    ProcessSample,
    Signal,
    Value,
)
from ..policy.model import IdleRule
from ..policy.model.idle import window_of
from ..units import duration_text, whole_seconds
from .tracks import (
    Clock,
    Clocks,
    Gauge,
    Judge,
    Point,
    Track,
    above_rest,
    anything,
    changed_by,
    mean_from,
    mostly,
)

GPU, MEMORY, PROCESSES, POWER = "gpu", "memory", "processes", "power"
CPU, DISK, NETWORK = "cpu", "disk", "network"
KERNEL, INPUT = "kernel", "input"
USED = "used"
"""Whether a process was ever on a device; it is kept beside the witnesses and shown to nobody."""

_MIB = 1024**2


class Readings(Value):
    """What was read of one lease. `devices` holds one series a device; order does not matter.

    `activity` is what the server last said of itself; None is unknown.
    """

    devices: tuple[tuple[DeviceSample, ...], ...] = ()
    processes: tuple[ProcessSample, ...] = ()
    period_s: float
    source: str
    activity: Activity | None = None


class Witness(NamedTuple):
    """One witness. A `required` one must be known for a lease to be idle; a `veto` holds off."""

    name: str
    track: Track
    signal: Signal
    required: bool = False
    veto: bool = False


class _Kind(NamedTuple):
    """How one figure of a device's sample is judged and written."""

    name: str
    figure: Callable[[DeviceSample], int | None]
    judge: Judge
    text: Callable[[int], str]
    required: bool = False
    veto: bool = False


class _Part(NamedTuple):
    """The same of a figure of a lease's processes."""

    name: str
    figure: Callable[[ProcessSample], int | None]
    judge: Judge
    text: Callable[[int], str]
    required: bool = False
    veto: bool = False


def witnesses(
    rule: IdleRule,
    lease: OpenLease,
    readings: Readings,
    now: datetime,
    required: Sequence[DeviceId],
    former: Clocks,
) -> tuple[Witness, ...]:
    """Hear every device and the processes; a lease with GPUs and no device to ask is unknown.

    Witnesses that never had a figure are left out, but for the required ones.
    """
    gauge = Gauge(now, timedelta(seconds=readings.period_s), window_of(rule))
    heard = list(_devices(rule, readings, gauge, required, former))
    if lease.units and not required:
        heard.append(
            _witness(GPU, gauge.follow((), anything, None), readings.source, _kinds(rule)[0])
        )
    mine = [one for one in readings.processes if one.lease_id == lease.id]
    heard += _processes(rule, mine, gauge, former)
    return tuple(heard)


def clocks_of(heard: Sequence[Witness]) -> Clocks:
    """Take the clocks of all witnesses, for the next judgement."""
    return Clocks(of=tuple((one.name, one.track.clock) for one in heard if one.track.clock))


def _devices(
    rule: IdleRule,
    readings: Readings,
    gauge: Gauge,
    required: Sequence[DeviceId],
    former: Clocks,
) -> Iterator[Witness]:
    samples: dict[DeviceId, list[DeviceSample]] = {device: [] for device in required}
    for sample in (one for series in readings.devices for one in series):
        if sample.device in samples:
            samples[sample.device].append(sample)
    for device, series in samples.items():
        for kind in _kinds(rule):
            name = f"{kind.name} {device}"
            points = [Point(one.at, kind.figure(one)) for one in series]
            if not kind.required and _never_known(points, former.get(name)):
                continue
            track = gauge.follow(points, kind.judge, former.get(name))
            yield _witness(name, track, readings.source, kind)


def _never_known(points: Sequence[Point], former: Clock | None) -> bool:
    """Whether a figure is not offered at all; one that was there and is lost is still heard."""
    return former is None and all(point.value is None for point in points)


def _kinds(rule: IdleRule) -> tuple[_Kind, ...]:
    return (
        _Kind(
            GPU,
            lambda one: one.util_percent,
            mostly(rule.gpu_active_percent, rule.gpu_active_share),
            _percent,
            required=True,
        ),
        _Kind(MEMORY, lambda one: one.memory_used_bytes, changed_by(rule.memory_active), _mib),
        _Kind(PROCESSES, lambda one: one.process_changes, anything, str),
        _Kind(
            POWER,
            lambda one: one.power_mw,
            above_rest(1000 * rule.power_active_watts),
            _watts,
            veto=True,
        ),
        _Kind(USED, _used(rule), anything, str, veto=True),
    )


def _used(rule: IdleRule) -> Callable[[DeviceSample], int | None]:
    """Whether anything is on a device: unknown where nobody can count its processes."""

    def figure(one: DeviceSample) -> int | None:
        if (one.util_percent or 0) >= rule.gpu_active_percent:
            return 1
        return one.processes

    return figure


def _processes(
    rule: IdleRule, mine: Sequence[ProcessSample], gauge: Gauge, former: Clocks
) -> Iterator[Witness]:
    newest = max(mine, key=lambda one: one.at, default=None)
    source = "process" if newest is None else newest.scope
    for part in _parts(rule):
        points = [Point(one.at, part.figure(one)) for one in mine]
        if not part.required and _never_known(points, former.get(part.name)):
            continue
        yield _witness(
            part.name, gauge.follow(points, part.judge, former.get(part.name)), source, part
        )


def _parts(rule: IdleRule) -> tuple[_Part, ...]:
    cpu = mean_from(rule.cpu_active_millis, rule.cpu_baseline_millis)
    disk, network = mean_from(rule.disk_active), mean_from(rule.network_active)
    return (
        _Part(CPU, lambda one: one.cpu_millis, cpu, _cores, required=True),
        _Part(DISK, lambda one: one.disk_bytes_s, disk, _rate),
        _Part(NETWORK, lambda one: one.net_bytes_s, network, _rate),
    )


def _witness(name: str, track: Track, source: str, of: _Kind | _Part) -> Witness:
    if track.state == "unknown" or track.most is None:
        value = _("no figure")
    elif track.state == "active":
        value = of.text(track.most)
    else:
        value = _("at most {most}").format(most=of.text(track.most))
    quiet_s = 0
    if track.quiet_since is not None and track.age is not None and track.clock is not None:
        quiet_s = whole_seconds(track.quiet_since, track.clock.at + track.age)
    signal = Signal(
        name=name,
        state=track.state,
        value=value,
        window_s=quiet_s,
        age_s=None if track.age is None else int(track.age.total_seconds()),
        source=source or "none",
    )
    return Witness(name, track, signal, of.required, of.veto)


def said(
    activity: Activity | None, now: datetime, rule: IdleRule, *, progress: bool
) -> Iterator[Signal]:
    """Show what the server says of itself; a busy kernel is active only where something works."""
    if activity is None:
        return
    age_s = whole_seconds(activity.at, now)
    busy = activity.busy_since if activity.kernels_busy else None
    value = _("{n} idle").format(n=activity.kernels)
    if busy is not None:
        value = _("busy for {span}").format(span=duration_text(_positive(now - busy)))
    yield Signal(
        name=KERNEL,
        state="active" if busy is not None and progress else "quiet",
        value=value,
        window_s=0 if busy is None else whole_seconds(busy, now),
        age_s=age_s,
        source="server",
        trust="user",
    )
    if activity.input_at is None:
        yield Signal(
            name=INPUT,
            state="quiet",
            value=_("none so far"),
            window_s=0,
            age_s=age_s,
            source="server",
            trust="user",
        )
        return
    ago = _positive(now - activity.input_at)
    yield Signal(
        name=INPUT,
        state="active" if ago < max(window_of(rule), timedelta(minutes=1)) else "quiet",
        value=_("last {span} ago").format(span=duration_text(ago)),
        window_s=int(ago.total_seconds()),
        age_s=age_s,
        source="server",
        trust="user",
    )


def _positive(span: timedelta) -> timedelta:
    return max(span, timedelta(0))


def _percent(value: int) -> str:
    return f"{value} %"


def _cores(value: int) -> str:
    whole, millis = divmod(value, 1000)
    return _("{cores} cores").format(cores=f"{whole}.{millis:03d}")


def _mib(value: int) -> str:
    return f"{value // _MIB} MiB"


def _rate(value: int) -> str:
    return _("{n} MiB a second").format(n=f"{value / _MIB:.2f}")


def _watts(value: int) -> str:
    return f"{value // 1000} W"
