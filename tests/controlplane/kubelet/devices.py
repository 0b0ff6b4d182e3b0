"""Hands a node's devices to its pods; each is held by one pod until that pod has ended."""

from collections.abc import Iterable, Iterator, Mapping

from .client import Manifest


class NoDeviceError(Exception):
    """A pod asks for more devices than are free."""


class Devices:
    """The devices of one node, by resource name."""

    def __init__(self, resources: Mapping[str, str]) -> None:
        self._all = {
            resource: [f"{resource.rpartition('/')[2]}-{index}" for index in range(int(count))]
            for resource, count in resources.items()
        }
        self._held: dict[str, set[str]] = {}
        self._places: dict[str, tuple[str, str]] = {}
        self.holders: dict[tuple[str, str], tuple[str, tuple[str, ...]]] = {}
        """By namespace and name of a pod: the resource that it has, and which devices of it."""

    def take(self, pod: Manifest) -> list[str]:
        """Give a pod what its containers' limits ask for, and return the names.

        Raises
        ------
        NoDeviceError
            If fewer are free; nothing is taken then.
        """
        held = {name for names in self._held.values() for name in names}
        taken: list[str] = []
        about = pod["metadata"]
        place = (about["namespace"], about["name"])
        for resource, count in _asked(pod["spec"]["containers"]):
            if resource not in self._all:
                continue
            free = [one for one in self._all[resource] if one not in held and one not in taken]
            if len(free) < count:
                raise NoDeviceError(f"{len(free)} of {resource} free, {count} asked for")
            taken += free[:count]
            self.holders[place] = (resource, tuple(free[:count]))
        self._held[about["uid"]], self._places[about["uid"]] = set(taken), place
        return taken

    def give_back(self, uid: str) -> None:
        """Free what a pod held."""
        if self._held.pop(uid, None) is not None:
            self.holders.pop(self._places.pop(uid), None)


def _asked(containers: Iterable[Manifest]) -> Iterator[tuple[str, int]]:
    for container in containers:
        limits = (container.get("resources") or {}).get("limits") or {}
        yield from ((name, int(count)) for name, count in limits.items() if "/" in name)
