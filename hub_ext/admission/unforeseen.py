"""Requests that no course of devices alone can tell the start of: capped, alone, far behind.

Each gets what can be said of it cheaply: when its limit has room, from when on a GPU or machine can
be empty, who must start before it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ..i18n import _
from ..lease import Forecast, LeaseId, minute_text
from .alone import serves, take
from .gates import full_limits
from .snapshot import Demand, Scene

Ends = Mapping[LeaseId, datetime | None]
"""When each lease that holds devices ends in one course; None is never."""

Kind = tuple[str, str, str, str]

_Ours = tuple[LeaseId, ...]


@dataclass
class Capped:
    """Requests that a limit on leases holds, and how many of its leases must end for each.

    Those before one take the room that comes first.
    """

    view: Scene
    _needs: dict[str, tuple[tuple[_Ours, int], ...]] = field(default_factory=dict)
    _ahead: dict[_Ours, int] = field(default_factory=dict)

    def add(self, demand: Demand) -> bool:
        """Take in a request, in the order of their turn; whether its limits will ever have room."""
        full = full_limits(self.view, demand)
        excess = {tuple(sorted(one.id for one in ours)): least for ours, least in full}
        needs = [(names, least + self._ahead.get(names, 0)) for names, least in excess.items()]
        for names in excess:
            self._ahead[names] = self._ahead.get(names, 0) + 1
        self._needs[demand.tie] = tuple(needs)
        return all(wanted <= len(names) for names, wanted in needs)

    def room_at(self, tie: str, ends: Ends) -> datetime | None:
        """When all its limits have room in one course; None where that does not come."""
        times = [_nth(ends, names, wanted) for names, wanted in self._needs[tie]]
        known = [one for one in times if one is not None]
        return max(known) if known and len(known) == len(times) else None


def _nth(ends: Ends, names: _Ours, wanted: int) -> datetime | None:
    """When so many of some leases have ended."""
    known = sorted(end for name in names if (end := ends.get(name)) is not None)
    return known[wanted - 1] if wanted <= len(known) else None


def empty_at(view: Scene, demand: Demand, ends: Ends) -> datetime | None:
    """When enough has ended in one course for a GPU or machine that nobody else is on.

    Nobody new is reckoned with, so it is no promise: only before it nothing can be.
    """
    if not serves(view.devices, demand):
        return None
    order = sorted({end for end in ends.values() if end is not None})
    low, high = 0, len(order)
    if not _empty(view, demand, ends, order[-1:]):
        return None
    while low < high:
        middle = (low + high) // 2
        if _empty(view, demand, ends, order[middle : middle + 1]):
            high = middle
        else:
            low = middle + 1
    return order[low]


def _empty(view: Scene, demand: Demand, ends: Ends, at: Sequence[datetime]) -> bool:
    """Whether it finds its place among what is still held at an instant."""
    held = [
        device
        for one in view.holding
        if (end := ends.get(one.id)) is None or not at or end > at[0]
        for device in one.takes
    ]
    return take(view, demand, frozenset(device.id for device in held)) is not None


def behind(followed: Iterable[tuple[Demand, Forecast]]) -> dict[Kind, Forecast]:
    """Give by kind the forecast of the last that is followed: who comes later starts not before."""
    return {kind_of(demand): found for demand, found in followed}


def kind_of(demand: Demand) -> Kind:
    """What orders requests strictly: those of one kind start one after the other."""
    whose = f"{demand.team}/{demand.project or ''}"
    how = f"{demand.alone or ''}{'only' if demand.only_guaranteed else ''}"
    return (whose, demand.flavor, how, str(demand.units))


def far_behind(
    demands: Sequence[Demand], last: Mapping[Kind, Forecast], zone: str
) -> Iterator[tuple[str, Forecast]]:
    """Say of requests whose courses are not run what those before them tell."""
    for demand in demands:
        before = last.get(kind_of(demand))
        if before is None or before.earliest is None:
            yield demand.tie, none(_("No forecast: too many wait before it to follow them all."))
            continue
        words = _(
            "It starts at {at} at the earliest: those that wait for the same come before it, and "
            "no more of them are followed."
        ).format(at=minute_text(before.earliest, zone))
        found = Forecast(earliest=before.earliest, latest=None, words=words, learned=before.learned)
        yield demand.tie, found


def alone_from(times: Sequence[datetime], learned: int, demand: Demand, zone: str) -> Forecast:
    """Say from when on a GPU or machine can be empty, by the earliest of all courses."""
    what = _("machine") if demand.alone == "node" else _("GPU")
    if not times:
        words = _("No forecast: nothing that is declared leaves a whole {what} to it.")
        return none(words.format(what=what))
    words = _(
        "It starts at {at} at the earliest: no whole {what} can be empty before. When nobody else "
        "comes there first cannot be said."
    )
    earliest = min(times)
    return Forecast(
        earliest=earliest,
        latest=None,
        words=words.format(at=minute_text(earliest, zone), what=what),
        learned=learned,
    )


def none(why: str) -> Forecast:
    """Give a forecast that tells only why there is none."""
    return Forecast(earliest=None, latest=None, words=why)
