"""Open leases by the machine that their devices are on: a batch concerns those of its own alone.

Made anew when the leases are others than at the last look; it decides nothing.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from ...lease import LeaseId, OpenLease


@dataclass
class ByNode:
    """The newest leases that were looked at, sorted by machine."""

    _leases: tuple[OpenLease, ...] = ()
    _place: dict[LeaseId, int] = field(default_factory=dict)
    _on: dict[str, list[int]] = field(default_factory=dict)
    _nowhere: list[int] = field(default_factory=list)
    """Those without a device: a machine of theirs is not in the lease."""

    def take(self, leases: tuple[OpenLease, ...]) -> None:
        """Take all open leases; the same ones again cost nothing."""
        if leases is self._leases:
            return
        self._leases, self._on, self._nowhere = leases, {}, []
        self._place = {lease.id: place for place, lease in enumerate(leases)}
        for place, lease in enumerate(leases):
            for node in {device.node for device in lease.devices}:
                self._on.setdefault(node, []).append(place)
            if not lease.devices:
                self._nowhere.append(place)

    def on(self, node: str, named: Collection[LeaseId] = ()) -> Iterator[OpenLease]:
        """Give the leases of a machine in their order, with those that it names itself.

        Parameters
        ----------
        named
            Leases whose containers its kubelet tells of.
        """
        more = {self._place[one] for one in named if one in self._place}
        for place in sorted({*self._on.get(node, ()), *self._nowhere, *more}):
            yield self._leases[place]
