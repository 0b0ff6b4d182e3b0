"""What a GPU waits for: the CPU that feeds it, storage, network, PCIe, or room in its own memory.

Pure. One answer from the means of the last minutes; a counter that is missing proves nothing, so
the answer is "unknown" where what is measured has room and something else is not measured.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar

from .i18n import _
from .lease import Bottleneck, Counted, DeviceSample, ProcessSample, WaitsFor
from .policy.model import StarvingRules

WINDOW = timedelta(minutes=10)
"""What is looked at: long enough for an epoch's rhythm, short enough to see a change of it."""

LEAST_COVERED = 3
"""Readings of a device that there must be; fewer say nothing of a habit."""

USED_PERCENT = 5
"""Utilisation below which nothing computes; as in the idle rules, less is noise."""

HELD_BYTES = 1024**3
"""Memory from which a GPU counts as in use though it computes nothing just now."""

TOLD_FOR = timedelta(minutes=15)
"""So long after it happened it is told that the memory was not enough."""

ONE_CORE = (850, 1150)
"""Thousandths of a core: one process that does everything itself, and is never done."""

_UNBOUND_PERCENT = 110
_MIB = 1024**2

T = TypeVar("T")


@dataclass(frozen=True)
class Seen:
    """What is known of one server's last minutes.

    Parameters
    ----------
    devices
        Readings of each of its devices, oldest first.
    processes
        Readings of its processes.
    cpu_millis
        CPU that it was granted, in thousandths of a core; None where that is not known.
    out_of_memory_at
        When its own output last told of CUDA's memory being full; None where it told nothing.
    """

    devices: Sequence[Sequence[DeviceSample]]
    processes: Sequence[ProcessSample]
    cpu_millis: int | None
    out_of_memory_at: datetime | None = None


class _Means(NamedTuple):
    """Means of the window; None where no reading has the figure."""

    gpu_percent: int | None
    memory_percent: int | None
    held: bool
    cpu_millis: int | None
    cpu_stalled: int | None
    server_memory_stalled: int | None
    server_memory_percent: int | None
    storage_mib: int | None
    storage_stalled: int | None
    network_mib: int | None
    pcie_mib: int | None


def waits_for(seen: Seen, rules: StarvingRules, now: datetime) -> WaitsFor:
    """Say what the GPU of one server waits for."""
    means = _means(seen, now)
    counters = {
        "memory": _memory(seen, means, rules, now),
        "cpu": _cpu(seen, means, rules),
        "server_memory": _server_memory(means, rules),
        "storage": _storage(means, rules),
        "network": _flow(_("Network"), means.network_mib, rules.network_mib_s),
        "pcie": _flow(_("PCIe"), means.pcie_mib, rules.pcie_mib_s),
    }
    cause = _cause(seen, means, counters, rules, now)
    return WaitsFor(
        cause=cause,
        at=now,
        window_s=int(WINDOW.total_seconds()),
        words=_words(cause, means, counters),
        remedy=_remedy(cause),
        evidence=(_gpu(means, rules), *counters.values()),
    )


_TOLD_ALONE: tuple[Bottleneck, ...] = ("server_memory",)
"""Where nobody measures it, that alone makes no answer unknown: storage would be slow as well."""

_FLOWS: tuple[Bottleneck, ...] = ("storage", "network", "pcie")
_ALONE: tuple[Bottleneck, ...] = ("cpu",)


def _cause(
    seen: Seen,
    means: _Means,
    counters: Mapping[str, Counted],
    rules: StarvingRules,
    now: datetime,
) -> Bottleneck:
    """Choose the one bottleneck.

    In this order: memory that was not enough; a CPU that is used up; the server's memory, since
    what does not fit into it is read from storage again and again; storage, network and PCIe; one
    process that does all alone, since it is as busy while it waits for the others; memory
    that is nearly full, since some frameworks take all of it beforehand.
    """
    if _was_full(seen, now):
        return "memory"
    near: Bottleneck = "memory" if counters["memory"].state == "short" else "none"
    if means.gpu_percent is None:
        return "unknown" if near == "none" else near
    computes = means.gpu_percent >= USED_PERCENT or means.held
    if not computes or means.gpu_percent >= rules.gpu_percent:
        # Where nothing computes nothing waits: whether it is idle is judged elsewhere.
        return near
    first: tuple[Bottleneck, ...] = ("cpu",) if _used_up(seen, means, rules) else ()
    for cause in (*first, *_TOLD_ALONE, *_FLOWS, *_ALONE):
        if counters[cause].state == "short":
            return cause
    lacking = any(counters[one].state == "unknown" for one in (*_FLOWS, *_ALONE))
    return "unknown" if lacking and near == "none" else near


def _was_full(seen: Seen, now: datetime) -> bool:
    full = seen.out_of_memory_at
    return full is not None and timedelta(0) <= now - full <= TOLD_FOR


def _used_up(seen: Seen, means: _Means, rules: StarvingRules) -> bool:
    """Whether its processes use all the CPU that they may, or wait for more."""
    if means.cpu_stalled is not None and means.cpu_stalled >= rules.stalled_percent:
        return True
    used, granted = means.cpu_millis, seen.cpu_millis
    # Whoever uses more than was granted is bound by nothing.
    return bool(
        used and granted and granted * rules.cpu_percent <= used * 100 <= granted * _UNBOUND_PERCENT
    )


def _memory(seen: Seen, means: _Means, rules: StarvingRules, now: datetime) -> Counted:
    name = _("GPU memory")
    if _was_full(seen, now) and seen.out_of_memory_at is not None:
        minutes = int((now - seen.out_of_memory_at).total_seconds()) // 60
        return Counted(name=name, state="short", value=_("was full {n} min ago").format(n=minutes))
    if means.memory_percent is None:
        return _missing(name)
    near = means.memory_percent >= rules.memory_percent
    return _told(name, [_percent(means.memory_percent)], short=near)


def _cpu(seen: Seen, means: _Means, rules: StarvingRules) -> Counted:
    name, used = _("CPU"), means.cpu_millis
    if used is None and means.cpu_stalled is None:
        return _missing(name)
    alone = used is not None and ONE_CORE[0] <= used <= ONE_CORE[1]
    words = []
    if used is not None and seen.cpu_millis:
        words.append(
            _("{n} of {granted} cores").format(
                n=f"{used / 1000:.2f}", granted=f"{seen.cpu_millis / 1000:g}"
            )
        )
    elif used is not None:
        words.append(_("{n} cores").format(n=f"{used / 1000:.2f}"))
    words += _stalled(means.cpu_stalled)
    return _told(name, words, short=alone or _used_up(seen, means, rules))


def _server_memory(means: _Means, rules: StarvingRules) -> Counted:
    """Judge by waiting alone: a page cache fills every server's memory, and nobody waits."""
    name, stalled, full = _("Server memory"), means.server_memory_stalled, None
    if means.server_memory_percent is not None:
        full = _("{n} % in use").format(n=means.server_memory_percent)
    words = [] if full is None else [full]
    if stalled is not None:
        return _told(name, words + _stalled(stalled), short=stalled >= rules.stalled_percent)
    if full is None:
        return _missing(name)
    value = _("{full}, and how long it waits is not measured").format(full=full)
    return Counted(name=name, state="unknown", value=value)


def _storage(means: _Means, rules: StarvingRules) -> Counted:
    """Judge storage by how long processes wait for it; what flows says little of small files."""
    name, stalled, mib = _("Storage"), means.storage_stalled, means.storage_mib
    words = [] if mib is None else [_mib(mib)]
    if stalled is not None:
        return _told(name, words + _stalled(stalled), short=stalled >= rules.stalled_percent)
    if mib is None:
        return _missing(name)
    if 0 < mib < rules.storage_mib_s:
        value = _("{flow}, and how long it waits is not measured").format(flow=_mib(mib))
        return Counted(name=name, state="unknown", value=value)
    return _told(name, words, short=mib > 0)


def _stalled(percent: int | None) -> list[str]:
    return [] if percent is None else [_("waited {n} % of the time").format(n=percent)]


def _told(name: str, words: Iterable[str], *, short: bool) -> Counted:
    return Counted(name=name, state="short" if short else "ample", value=", ".join(words))


def _gpu(means: _Means, rules: StarvingRules) -> Counted:
    """Show the GPU itself: where it is short, it is at its own limit and waits for nothing."""
    name, busy = _("GPU"), means.gpu_percent
    return (
        _missing(name)
        if busy is None
        else _told(name, [_percent(busy)], short=busy >= rules.gpu_percent)
    )


def _flow(name: str, mib: int | None, most: int) -> Counted:
    return _missing(name) if mib is None else _told(name, [_mib(mib)], short=mib >= most)


def _missing(name: str) -> Counted:
    return Counted(name=name, state="unknown", value=_("not measured"))


def _percent(value: int) -> str:
    return _("{n} %").format(n=value)


def _mib(value: int) -> str:
    return _("{n} MiB/s").format(n=value)


def _means(seen: Seen, now: datetime) -> _Means:
    since = now - WINDOW
    every = [[one for one in series if since < one.at <= now] for series in seen.devices]
    devices = [one for series in every for one in series]
    if any(len(series) < LEAST_COVERED for series in every):
        devices = []
    tasks = [one for one in seen.processes if since < one.at <= now]
    full = [
        100 * one.memory_used_bytes // one.memory_total_bytes
        for one in devices
        if one.memory_used_bytes is not None and one.memory_total_bytes
    ]
    return _Means(
        gpu_percent=_mean(devices, lambda one: one.util_percent),
        memory_percent=sum(full) // len(full) if full else None,
        held=any((one.memory_used_bytes or 0) >= HELD_BYTES for one in devices),
        cpu_millis=_mean(tasks, lambda one: one.cpu_millis),
        cpu_stalled=_mean(tasks, lambda one: one.cpu_stalled_percent),
        server_memory_stalled=_mean(tasks, lambda one: one.memory_stalled_percent),
        server_memory_percent=_mean(tasks, _full),
        storage_mib=_mean(tasks, lambda one: one.disk_bytes_s, _MIB),
        storage_stalled=_mean(tasks, lambda one: one.disk_stalled_percent),
        network_mib=_mean(tasks, lambda one: one.net_bytes_s, _MIB),
        pcie_mib=_mean(devices, lambda one: one.pcie_kib_s, 1024),
    )


def _full(one: ProcessSample) -> int | None:
    if one.memory_bytes is None or not one.memory_limit_bytes:
        return None
    return 100 * one.memory_bytes // one.memory_limit_bytes


def _mean(of: Iterable[T], figure: Callable[[T], int | None], unit: int = 1) -> int | None:
    found = [value for one in of if (value := figure(one)) is not None]
    return sum(found) // len(found) // unit if found else None


def _words(cause: Bottleneck, means: _Means, counters: Mapping[str, Counted]) -> str:
    gpu = _("unknown") if means.gpu_percent is None else _percent(means.gpu_percent)
    match cause:
        case "cpu":
            words = _("The GPU is {gpu} busy and waits for the CPU that feeds it ({value}).")
        case "server_memory":
            words = _("The GPU is {gpu} busy and waits for the server's own memory ({value}).")
        case "storage":
            words = _("The GPU is {gpu} busy and waits for storage ({value}).")
        case "network":
            words = _("The GPU is {gpu} busy and waits for the network ({value}).")
        case "pcie":
            words = _("The GPU is {gpu} busy and waits for copies over PCIe ({value}).")
        case "memory":
            words = _(
                "The GPU's memory is full or nearly so ({value}). A framework that takes all of "
                "it beforehand looks the same."
            )
        case "none":
            return _(
                "The GPU is {gpu} busy, and nothing that is measured keeps it waiting."
            ).format(gpu=gpu)
        case "unknown":
            lacking = [one.name for one in counters.values() if one.state == "unknown"]
            if means.gpu_percent is None:
                lacking = [_("GPU"), *lacking]
            return _("It is unknown what the GPU waits for. Not measured: {names}.").format(
                names=", ".join(lacking)
            )
    return words.format(gpu=gpu, value=counters[cause].value)


def _remedy(cause: Bottleneck) -> str:
    match cause:
        case "cpu":
            words = _(
                "Let several processes prepare the data: DataLoader(num_workers=…) with as many "
                "as the server has cores, and persistent_workers=True."
            )
        case "server_memory":
            words = _(
                "Hold less in memory at once: read the data in parts or map it (np.memmap, "
                "streaming datasets), fewer or smaller DataLoader workers (prefetch_factor); or "
                "choose a profile with more memory."
            )
        case "storage":
            words = _(
                "Copy the data to a local disk first or keep it in memory, read it in few large "
                "files, and let DataLoader workers read ahead."
            )
        case "network":
            words = _(
                "Fetch the data once, before training, to the workspace or a local disk; read "
                "ahead with DataLoader workers."
            )
        case "pcie":
            words = _(
                "Copy larger batches less often (batching), with pin_memory=True and "
                "non_blocking=True, and keep on the GPU what is used again; mixed precision "
                "halves what is copied."
            )
        case "memory":
            words = _(
                "Use mixed precision, a smaller batch with gradient accumulation, or "
                "quantisation; or choose a profile with more memory."
            )
        case "none" | "unknown":
            words = ""
    return words
