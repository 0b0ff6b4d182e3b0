"""How large the file of readings becomes, reckoned before it is there. Pure."""

from datetime import timedelta
from typing import NamedTuple

from .readings import RAW_KEPT, ROLLUPS_KEPT

READING_BYTES = 200
"""A reading of a device on disk, with its place in both indexes; measured by `make bench`."""

HOUR_BYTES = 165
"""An hour of a device that one lease held; two leases in one hour take two."""

PERIOD = timedelta(seconds=10)
"""How often an agent reads real devices, unless it was told otherwise."""


class SampleSize(NamedTuple):
    """Bytes of readings and of hourly sums, once as much is kept as ever will be."""

    readings: int
    hours: int


def predicted(
    devices: int, *, period: timedelta = PERIOD, kept: timedelta = ROLLUPS_KEPT
) -> SampleSize:
    """Reckon the bytes of so many devices.

    Parameters
    ----------
    kept
        How long hourly sums are counted for; all of the time that they are kept by default.
    """
    return SampleSize(
        readings=devices * READING_BYTES * (RAW_KEPT // period),
        hours=devices * HOUR_BYTES * (kept // timedelta(hours=1)),
    )
