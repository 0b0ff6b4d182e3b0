"""What is there already: GPUs of this machine, groups of the hub, profiles of KubeSpawner.

It only looks. Nothing here decides what becomes of it.
"""

import json
import re
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

from ...errors import UnreachableError
from ...i18n import _
from ...lease import Device, Inventory, WatchList
from ...mig.geometry import table
from ...mig.placement import same_model
from ...telemetry.guarded import GuardedNvml, driver_found
from .profile_list import Computed

_DRIVER_S = 20.0
"""How long the driver may take to answer; a cold one takes seconds a GPU."""

_PAGE = 200
_HUB_S = 10.0
_GPU = re.compile(r"^[a-z0-9.-]+/(?:gpu|mig-(?P<mig>[0-9]+g\.[0-9]+gb(?:\.[a-z.]+)?))$")
_MEMORY = re.compile(r"^(\d+)(?:\.\d+)?\s*([KMGT]?)i?B?$", re.IGNORECASE)
_MEMORY_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


@dataclass(frozen=True)
class Cards:
    """GPUs of one model: how many, and how each is cut (empty: whole)."""

    model: str
    cuts: tuple[tuple[str, ...], ...]
    known: bool
    """The model's name is one of the geometry table, or of a GPU that is never cut."""


@dataclass(frozen=True)
class Wish:
    """What one entry of a `profile_list` asks for. `lines` are what a person has to look at."""

    name: str
    title: str
    description: str
    gpus: int
    mig: str | None
    cpu: str | None
    memory_mib: int | None
    lines: tuple[str, ...]


def cards(devices: Literal["auto", "nvml", "simulated"]) -> tuple[tuple[Cards, ...], str]:
    """GPUs of this machine, and a sentence where there are none to read."""
    if devices == "simulated" or (devices == "auto" and not driver_found()):
        return (), _("no NVIDIA driver was asked, so these GPUs are simulated")
    reader = GuardedNvml(node="localhost", period_s=GuardedNvml.floor_s)
    try:
        inventory = _inventory(reader)
    finally:
        reader.close()
    if inventory is None or not inventory.devices:
        words = inventory.problem if inventory else _("it did not answer")
        return (), _("the driver told of no GPU ({words}), so these are simulated").format(
            words=words or _("it has none")
        )
    return grouped(inventory.devices), ""


def _inventory(reader: GuardedNvml) -> Inventory | None:
    until = time.monotonic() + _DRIVER_S
    while time.monotonic() < until:
        for reading in reader.read(WatchList(leases=()), datetime.now(UTC)):
            return reading.inventory
        time.sleep(0.1)
    return None


def grouped(devices: tuple[Device, ...]) -> tuple[Cards, ...]:
    """Sort devices by model, and MIG devices by the GPU that they are cut from."""
    models: dict[str, dict[int, list[Device]]] = {}
    for device in devices:
        models.setdefault(device.model, {}).setdefault(device.gpu, []).append(device)
    found = []
    for product, gpus in sorted(models.items()):
        model, known = model_name(product)
        cuts = tuple(
            tuple(
                one.mig_profile
                for one in sorted(parts, key=lambda one: one.start or 0)
                if one.mig_profile is not None
            )
            for _gpu, parts in sorted(gpus.items())
        )
        found.append(Cards(model, cuts, known))
    return tuple(found)


def model_name(product: str) -> tuple[str, bool]:
    """Name a driver's product as a policy does; false where the name is only made from it."""
    for name in table():
        if same_model(name, product):
            return name, True
    made = slug(product.removeprefix("NVIDIA").strip(), "gpu")
    return made, same_model(made, product)


def groups(hub: str, token: str) -> tuple[str, ...]:
    """Groups of a hub, page by page; the token needs the scope `list:groups`.

    Raises
    ------
    UnreachableError
        When the hub does not answer, or refuses.
    """
    names: list[str] = []
    while True:
        query = urlencode({"offset": len(names), "limit": _PAGE})
        request = urllib.request.Request(  # noqa: S310 - the address that the admin gave
            f"{hub.rstrip('/')}/groups?{query}",
            headers={
                "Authorization": f"token {token}",
                "Accept": "application/jupyterhub-pagination+json",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=_HUB_S) as answer:  # noqa: S310 - as above
                page: Any = json.load(answer)
            items = page["items"]
            names.extend(str(one["name"]) for one in items)
            if not items or page["_pagination"]["next"] is None:
                return tuple(names)
        except urllib.error.HTTPError as error:
            with error:
                raise UnreachableError(
                    _("the hub answered {status}; the token needs the scope list:groups").format(
                        status=error.code
                    )
                ) from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UnreachableError(
                _("{url} did not answer with groups: {error}").format(url=hub, error=error)
            ) from error


def wish(entry: dict[str, Any]) -> Wish:
    """Read one entry of a `profile_list`, which may hold anything."""
    override = entry.get("kubespawner_override")
    own: dict[str, Any] = override if isinstance(override, dict) else {}
    lines = [
        _("{name} of this profile was not taken over").format(name=name)
        for name in sorted(own)
        if name not in _TAKEN
    ]
    options = entry.get("profile_options")
    if options:
        lines.append(_("its choices were not taken over; write a profile for each that matters"))
    if override is not None and not isinstance(override, dict):
        lines.append(_("its kubespawner_override is computed and was not read"))
    gpus, mig = _gpu(own, lines)
    title = str(entry.get("display_name") or entry.get("slug") or _("Profile"))
    return Wish(
        name=slug(str(entry.get("slug") or title), "profile"),
        title=" ".join("".join(c if c.isprintable() else " " for c in title).split())[:120]
        or _("Profile"),
        description=" ".join(_plain(entry.get("description")).split())[:500],
        gpus=gpus,
        mig=mig,
        cpu=_cpu(own.get("cpu_limit") or own.get("cpu_guarantee")),
        memory_mib=_memory_mib(own.get("mem_limit") or own.get("mem_guarantee")),
        lines=tuple(lines),
    )


_TAKEN = frozenset(
    {"cpu_limit", "cpu_guarantee", "mem_limit", "mem_guarantee", "extra_resource_limits"}
    | {"extra_resource_guarantees"}
)


def _gpu(own: dict[str, Any], lines: list[str]) -> tuple[int, str | None]:
    limits = own.get("extra_resource_limits") or own.get("extra_resource_guarantees") or {}
    if not isinstance(limits, dict):
        lines.append(_("its resource limits are computed and were not read"))
        return 0, None
    for name, count in limits.items():
        match = _GPU.match(str(name))
        number = str(count)
        if match is None or not number.isdecimal() or int(number) == 0:
            lines.append(_("its limit {name} was not taken over").format(name=name))
        elif match["mig"] is not None:
            if int(number) > 1:
                lines.append(_("it asks for {n} MIG devices; a server gets one").format(n=number))
            # Kubernetes has no "+" in a name: `1g.10gb+me` is `mig-1g.10gb.me` there.
            return 0, match["mig"].replace("gb.", "gb+")
        else:
            return min(int(number), 64), None
    return 0, None


def _cpu(value: object) -> str | None:
    text = str(value)
    match = re.fullmatch(r"([0-9]{1,4})(\.[0-9]{1,3})?", text)
    return None if isinstance(value, bool) or match is None or not float(text) else text


def _memory_mib(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    match = _MEMORY.match(str(value))
    if match is None or len(match[1]) > 15:  # noqa: PLR2004 - more would be no amount of memory
        return None
    return max(1, (int(match[1]) << _MEMORY_UNITS[match[2].upper()]) >> 20)


def _plain(value: object) -> str:
    return "" if value is None or isinstance(value, Computed) else str(value)


def slug(text: str, otherwise: str) -> str:
    """Make a name that a policy may have."""
    made = re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:40].strip("-.")
    return made or otherwise


def token_of(file: Path) -> str:
    """Read a token from its file.

    Raises
    ------
    UnreachableError
        When it cannot be read.
    """
    try:
        return file.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UnreachableError(
            _("{path} cannot be read: {error}").format(path=file, error=error)
        ) from error
