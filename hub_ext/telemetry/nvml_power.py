"""Mean power from the energy counter of a board: a single reading of power is a moment's."""

import time

from ..lease import DeviceId


class PowerMeter:
    """Remembers each board's counter."""

    def __init__(self) -> None:
        self._former: dict[DeviceId, tuple[float, int]] = {}

    def mean(self, device: DeviceId, energy_mj: int | None) -> int | None:
        """Milliwatts since the former call; None at the first, and where the counter began anew."""
        now_s = time.monotonic()
        if energy_mj is None:
            self._former.pop(device, None)
            return None
        former = self._former.get(device)
        self._former[device] = (now_s, energy_mj)
        if former is None or energy_mj < former[1] or now_s <= former[0]:
            return None
        return round((energy_mj - former[1]) / (now_s - former[0]))
