"""Figures in the words of the pages: money, hours, instants, states. Unknown is never 0.

Every page uses these and no other, so that the same figure looks the same everywhere.
"""

from datetime import datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

from ...admission.offer import model_title
from ...i18n import _, ngettext
from ...lease import Device, LeaseState, Standing, local_text
from ...lease.reserving import CORRECTION, REST, UNUSED
from ...lease.value import Outcome
from ...units import SECONDS_PER_HOUR, UNITS_PER_GPU, gpus_text, money_text
from .slots import SLOT

MINUTE_S = 60
DAY_S = 86400


def money(micro: int | None, currency: str) -> str:
    """An amount, or that there is no price: that is not the same as nothing to pay."""
    return _("not priced") if micro is None else money_text(micro, currency)


def gpu_hours(unit_s: int) -> str:
    """Unit-seconds as GPU-hours with two decimals; less than that is not nothing."""
    hours = Decimal(unit_s) / (UNITS_PER_GPU * SECONDS_PER_HOUR)
    return _("< 0.01") if 0 < hours < Decimal("0.005") else f"{hours:,.2f}"


def gpus(units: int) -> str:
    """Units as GPUs: "1 GPU", "0.25 GPU"."""
    one = 0 < units <= UNITS_PER_GPU
    return ngettext("{n} GPU", "{n} GPUs", 1 if one else 2).format(n=gpus_text(units))


def percent(value: int | None) -> str:
    """A share, or that nobody measured it."""
    return _("unknown") if value is None else f"{value} %"


def span(seconds: int | None) -> str:
    """A length of time in its two largest units: "2 d 3 h", "3 h 12 min", "45 s"."""
    if seconds is None:
        return _("unknown")
    if seconds < MINUTE_S:
        return _("{n} s").format(n=seconds)
    if seconds < SECONDS_PER_HOUR:
        return _("{n} min").format(n=seconds // MINUTE_S)
    if seconds < DAY_S:
        hours, rest = divmod(seconds, SECONDS_PER_HOUR)
        return _("{h} h {m} min").format(h=hours, m=rest // MINUTE_S)
    days, rest = divmod(seconds, DAY_S)
    return _("{d} d {h} h").format(d=days, h=rest // SECONDS_PER_HOUR)


def instant(at: datetime | None, zone: str) -> str:
    """An instant on the policy's clock, with the zone's own short name."""
    if at is None:
        return _("unknown")
    return local_text(at, zone)


def minute(at: datetime, zone: str) -> str:
    """The same to the minute, for tables; the page behind it has the second."""
    return f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M %Z}"


def clock(at: datetime, zone: str) -> str:
    """The time of day alone."""
    return f"{at.astimezone(ZoneInfo(zone)):%H:%M}"


def local_date(at: datetime, zone: str) -> str:
    """The day alone, as the calendar of the zone has it ("2026-11-30")."""
    return f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%d}"


def server_name(server: str) -> str:
    """Name a server among its owner's."""
    return server or _("default server")


def device_words(devices: tuple[Device, ...]) -> str:
    """Devices of a lease in a line."""
    if not devices:
        return _("no GPU")
    first = devices[0]
    if first.id.startswith(SLOT):
        return _place_words(devices)
    if first.mig_profile is not None:
        return _("MIG {profile} on {node}, GPU {gpu}").format(
            profile=first.mig_profile, node=first.node, gpu=first.gpu
        )
    if first.shared_by is not None:
        return _("{model} shared by up to {n} on {node}, GPU {gpu}").format(
            model=model_title(first.model), n=first.shared_by, node=first.node, gpu=first.gpu
        )
    indexes = ", ".join(str(device.gpu) for device in devices)
    return _("{n} x {model} on {node}, GPU {indexes}").format(
        n=len(devices), model=model_title(first.model), node=first.node, indexes=indexes
    )


def _place_words(devices: tuple[Device, ...]) -> str:
    """Places on Kubernetes in a line: which GPUs they become is decided there."""
    first = devices[0]
    model = model_title(first.model)
    if first.mig_profile is not None:
        what = _("MIG {profile} of {model}").format(profile=first.mig_profile, model=model)
    elif first.shared_by is not None:
        what = _("{model} shared by up to {n}").format(model=model, n=first.shared_by)
    else:
        what = _("{n} x {model}").format(n=len(devices), model=model)
    return _("{what}; the device plugin chooses which").format(what=what)


def standing_words(standing: Standing) -> str:
    """How a lease stands to the quota."""
    return {
        Standing.guaranteed: _("guaranteed"),
        Standing.borrowed: _("borrowed"),
        Standing.would_queue: _("would wait"),
        Standing.denied: _("denied"),
        Standing.unmetered: _("no quota needed"),
    }[standing]


def line_words(flavor: str) -> str:
    """What a charge is for that stands beside a lease; empty for a lease's own."""
    return {
        UNUSED: _("reserved, unused"),
        CORRECTION: _("correction"),
        REST["gpu"]: _("rest of the GPU, kept empty"),
        REST["node"]: _("rest of the machine, kept empty"),
    }.get(flavor, "")


def outcome_words(outcome: Outcome) -> str:
    """What came of a lease."""
    words: dict[Outcome, str] = {
        "useful": _("useful"),
        "failed": _("failed"),
        "abandoned": _("abandoned"),
    }
    return words[outcome]


def state_words(state: LeaseState) -> str:
    """Where a lease stands."""
    return {
        LeaseState.requested: _("requested"),
        LeaseState.queued: _("waiting"),
        LeaseState.held: _("held for you"),
        LeaseState.starting: _("starting"),
        LeaseState.running: _("running"),
        LeaseState.noticed: _("stop announced"),
        LeaseState.stopping: _("stopping"),
        LeaseState.closed: _("ended"),
    }[state]
