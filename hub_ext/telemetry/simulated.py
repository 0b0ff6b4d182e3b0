"""The simulated node: devices that the policy declares, figures that `gpu-commons busy` wrote.

Everything from here carries the source "simulated". It reads the policy file and the load
files; it touches no driver.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Literal

from ..errors import PolicyError, UnitError
from ..i18n import _
from ..lease import Device, DeviceHealth, DeviceId, DeviceSample, Inventory, LeaseId, WatchList
from ..mig.geometry import declared_devices
from ..policy.load import load
from .load import AT_REST, Shown, load_file, shown
from .sample import Reading

_MEMORY = re.compile(r"(\d+)gb\b")


class SimulatedReader:
    """Reads the simulated node.

    Parameters
    ----------
    policy
        The policy file, read again whenever it changes. All its nodes are reported, each
        under its own name.
    folder
        Where the load files are: `$GPU_COMMONS_STATE/sim`. Made when it is missing.
    node
        Name under which it reports while the policy has no node.
    period_s
        Seconds between two reads; a load three periods without a beat is unknown.
    """

    source: Literal["simulated"] = "simulated"
    floor_s = 0.05

    def __init__(self, policy: Path, folder: Path, *, node: str, period_s: float) -> None:
        self._policy = policy
        self._folder = folder
        self._node = node
        self._period_s = period_s
        self._stamp: tuple[int, int, int] | None = None
        self._devices: tuple[Device, ...] = ()
        self._problem = ""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def read(self, watch: WatchList, now: datetime) -> tuple[Reading, ...]:
        """Read every node once."""
        self._follow_policy()
        held = {device: item.lease_id for item in watch.leases for device in item.devices}
        by_node: dict[str, list[Device]] = {}
        for device in self._devices:
            by_node.setdefault(device.node, []).append(device)
        shows = {one.id: self._shown(held.get(one.id), now) for one in self._devices}
        return tuple(
            Reading(
                inventory=Inventory(
                    node=node,
                    source=self.source,
                    at=now,
                    devices=tuple(devices),
                    problem=self._problem,
                ),
                devices=tuple(_sample(one, shows[one.id], now) for one in devices),
                health=tuple(_healths(devices, shows)),
            )
            for node, devices in (by_node or {self._node: []}).items()
        )

    def close(self) -> None:
        """Nothing is held open."""

    def _shown(self, lease_id: LeaseId | None, now: datetime) -> Shown:
        if lease_id is None:
            return AT_REST
        path = load_file(self._folder, lease_id)
        if path is None:
            return Shown(
                util_percent=None,
                memory_bytes=None,
                absent=_("the lease's id cannot name a load file"),
            )
        return shown(path, now, self._period_s)

    def _follow_policy(self) -> None:
        """Declare anew when the file changed; keep the former devices when it is wrong."""
        try:
            seen = self._policy.stat()
            stamp = (seen.st_mtime_ns, seen.st_size, seen.st_ino)
            if stamp == self._stamp:
                return
            policy = load(self._policy).policy
            self._devices = tuple(
                device
                for name, pool in policy.pools.items()
                for device in declared_devices(name, pool)
            )
        except OSError as error:
            self._stamp = None
            self._problem = _("the policy file cannot be read: {why}").format(why=error.strerror)
        except (PolicyError, UnitError) as error:
            self._stamp = stamp
            self._problem = _("the policy file is wrong, its former devices stay: {why}").format(
                why=str(error).partition("\n")[0]
            )
        else:
            self._stamp = stamp
            self._problem = ""


def memory_bytes(device: Device) -> int | None:
    """Memory of a device as its profile or model says in gigabytes; None where neither does."""
    found = _MEMORY.search(device.mig_profile or device.model)
    return int(found[1]) * 2**30 // (device.shared_by or 1) if found else None


def _healths(devices: Iterable[Device], shows: Mapping[DeviceId, Shown]) -> Iterator[DeviceHealth]:
    """Tell the faults that loads show; nothing of a device whose figures are unknown."""
    for device in devices:
        shown = shows[device.id]
        if shown.fault is not None:
            yield DeviceHealth(device=device.id, signs=(shown.fault,))
        elif shown.util_percent is not None or shown.memory_bytes is not None:
            yield DeviceHealth(device=device.id)


def _sample(device: Device, shows: Shown, now: datetime) -> DeviceSample:
    total = memory_bytes(device)
    used = shows.memory_bytes
    reasons = [shows.absent]
    if total is None:
        reasons.append(_("the model's name does not tell its memory"))
    return DeviceSample(
        device=DeviceId(device.id),
        at=now,
        util_percent=shows.util_percent,
        # A real device cannot hold more than it has either: the program would have failed.
        memory_used_bytes=used if used is None or total is None else min(used, total),
        memory_total_bytes=total,
        absent="; ".join(filter(None, reasons)),
    )
