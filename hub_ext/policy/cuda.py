"""Which driver a release of CUDA needs at least, by NVIDIA's minor version compatibility.

Source: "CUDA Compatibility, Minor Version Compatibility" and the toolkit's release notes (Linux).
"""

from collections.abc import Mapping

Version = tuple[int, ...]

LEAST_DRIVERS: Mapping[int, Version] = {
    10: (440, 33),
    11: (450, 80, 2),
    12: (525, 60, 13),
    13: (580, 65, 6),
}
"""By major release of CUDA. Whatever is older than these runs on each of these drivers too."""


def least_driver(cuda: str) -> Version | None:
    """Tell the oldest driver for a release of CUDA; None where it is newer than we know."""
    major = version(cuda)[0]
    return LEAST_DRIVERS.get(max(major, min(LEAST_DRIVERS)))


def version(text: str) -> Version:
    """Read a version made of numbers: "550.54.15" is (550, 54, 15)."""
    return tuple(int(part) for part in text.split("."))


def version_text(numbers: Version) -> str:
    """Write a version as NVIDIA does: each part behind the first with two digits."""
    first, *rest = numbers
    return ".".join([str(first), *(f"{part:02}" for part in rest)])


def too_old(driver: str, least: Version) -> bool:
    """Whether a driver is older than needed; "550" is taken as 550.0."""
    return version(driver) < least
