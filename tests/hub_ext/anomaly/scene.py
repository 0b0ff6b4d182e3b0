"""Leases and readings of a made-up site, as the search for anomalies is given them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hub_ext.anomaly import Held, Life, Spell, Tasks
from hub_ext.lease import (
    AttemptId,
    Choice,
    Device,
    DeviceId,
    LeaseId,
    LeaseState,
    OpenLease,
    PoolName,
    ProfileName,
    ServerKey,
    ServerName,
    Standing,
    TeamName,
    UserName,
)

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
GIB = 1024**3


def ago(hours: float) -> datetime:
    """So many hours before now."""
    return NOW - timedelta(hours=hours)


def lease(name: str = "l-1", *, user: str = "vera", hours: float = 6, **more: Any) -> OpenLease:
    """A lease of one whole GPU that has run for a while."""
    began = ago(hours)
    device = Device(
        id=DeviceId(f"GPU-{name}"), pool=PoolName("whole"), node="node-1", gpu=0, model="h200-141gb"
    )
    fields: dict[str, Any] = {
        "id": LeaseId(name),
        "key": ServerKey(user=UserName(user), server=ServerName(name)),
        "attempt_id": AttemptId(f"attempt-{name}"),
        "choice": Choice(profile=ProfileName("one")),
        "team": TeamName("vision"),
        "project": None,
        "profile": ProfileName("one"),
        "pool": PoolName("whole"),
        "flavor": "gpu-1",
        "units": 840,
        "devices": (device,),
        "standing": Standing.guaranteed,
        "state": LeaseState.running,
        "state_since": began,
        "requested_at": began,
        "assigned_at": began,
        "started_at": began,
        "currency": "EUR",
        "policy_generation": 1,
    }
    return OpenLease(**{**fields, **more})


def spell(*, hours: float = 2, most: int | None = 0, least: int = 0, **more: Any) -> Spell:
    """Readings every ten seconds over the last hours."""
    count = int(hours * 360)
    fields: dict[str, Any] = {
        "readings": count,
        "known": count,
        "first_at": ago(hours),
        "last_at": NOW,
        "most_percent": most,
        "least_bytes": least,
        "most_bytes": least,
        "total_bytes": 140 * GIB,
        "known_at": NOW,
    }
    return Spell(**{**fields, **more})


def held(one: OpenLease | None = None, **more: Any) -> Held:
    """A lease whose GPU computes half of the time, well measured."""
    fields: dict[str, Any] = {
        "lease": one or lease(),
        "spells": (spell(most=60, least=40 * GIB),),
        "tasks": Tasks(readings=720, known=720, mean_millis=1500),
        "life": Life(sampled_s=6 * 3600, peak_percent=60),
        "cost_micro": 20_000_000,
    }
    return Held(**{**fields, **more})
