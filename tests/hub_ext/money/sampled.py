"""Single readings of one GPU for a story, and what they come to by hand."""

from datetime import timedelta
from typing import Any

from hub_ext.lease import DeviceId, DeviceSample, LeaseId, SampleBatch
from hub_ext.metering import Quiet
from tests.support.ledger_parts import NOON, SECOND

PERIOD_S = 10
ONE = DeviceId("GPU-1")
LEASE = LeaseId("L1")

Reading = tuple[int, int | None, int]
"""Seconds after noon, utilisation, and percent of the memory that is held."""


def raw(reading: Reading) -> dict[str, Any]:
    """Make what `Samples.add` takes."""
    second, util, memory = reading
    at = NOON + second * SECOND
    sample = DeviceSample(
        device=ONE,
        at=at,
        util_percent=util,
        memory_used_bytes=memory,
        memory_total_bytes=100,
    )
    batch = SampleBatch(node="n1", source="nvml", sent_at=at, period_s=PERIOD_S, devices=(sample,))
    return {"batch": batch, "now": NOON + timedelta(hours=3), "holders": {ONE: LEASE}}


def quiet_of(readings: list[Reading]) -> dict[LeaseId, Quiet]:
    """Add up by hand: a reading stands for its period, and what is unknown for nothing."""
    if not readings:
        return {}
    known = [(util, memory) for _second, util, memory in readings if util is not None]
    quiet = [memory for util, memory in known if util < 5]
    return {
        LEASE: Quiet(
            devices=1,
            sampled_s=PERIOD_S * len(known),
            idle_s=PERIOD_S * sum(memory < 5 for memory in quiet),
            hoarded_s=PERIOD_S * sum(memory >= 5 for memory in quiet),
            peak_percent=max((util for util, _memory in known), default=0),
        )
    }
