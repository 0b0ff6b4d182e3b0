"""Leases, postings and a ledger directory for stories about the ledger."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hub_ext.lease import (
    AttemptId,
    Choice,
    Device,
    DeviceId,
    LeaseId,
    LeaseState,
    OpenLease,
    PoolName,
    Posting,
    ProfileName,
    ServerKey,
    ServerName,
    Standing,
    TeamName,
    UserName,
)

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def a_device(name: str = "GPU-1") -> Device:
    return Device(id=DeviceId(name), pool=PoolName("big"), node="n1", gpu=0, model="h200-141gb")


def a_lease(
    lease_id: str = "L1", state: LeaseState = LeaseState.requested, **changes: Any
) -> OpenLease:
    values: dict[str, Any] = {
        "id": LeaseId(lease_id),
        "key": ServerKey(user=UserName(f"user-{lease_id}")),
        "attempt_id": AttemptId(f"attempt-{lease_id}"),
        "choice": Choice(profile=ProfileName("one-gpu")),
        "team": TeamName("vision"),
        "project": None,
        "profile": ProfileName("one-gpu"),
        "pool": PoolName("big"),
        "flavor": "gpu-1",
        "units": 840,
        "devices": (a_device(f"GPU-of-{lease_id}"),),
        "standing": Standing.guaranteed,
        "state": state,
        "state_since": NOON,
        "requested_at": NOON,
        "currency": "EUR",
        "policy_generation": 1,
    }
    return OpenLease(**(values | changes))


def a_posting(lease_id: str = "L1", start: int = 0, end: int = 3600, **changes: Any) -> Posting:
    values: dict[str, Any] = {
        "lease_id": LeaseId(lease_id),
        "user": UserName(f"user-{lease_id}"),
        "server": ServerName(""),
        "team": TeamName("vision"),
        "project": None,
        "profile": ProfileName("one-gpu"),
        "pool": PoolName("big"),
        "flavor": "gpu-1",
        "units": 840,
        "standing": Standing.guaranteed,
        "start": NOON + start * SECOND,
        "end": NOON + end * SECOND,
        "seconds": end - start,
        "price_micro_per_hour": 4_200_000,
        "amount_micro": 4_200_000 * (end - start) // 3600,
        "currency": "EUR",
    }
    return Posting(**(values | changes))
