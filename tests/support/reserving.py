"""Reservations in a line each, of the pools and teams of the stories about quota."""

from datetime import UTC, date, datetime
from typing import Any

from hub_ext.lease.reserving import Reservation

MADE = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def reservation(
    starts: str,
    ends: str,
    *,
    name: str = "r-1",
    team: str = "vision",
    flavor: str = "gpu-1",
    units: int = 840,
    zone: str = "UTC",
    weekly_until: str | None = None,
    **more: Any,
) -> Reservation:
    """Reserve GPUs of pool `whole` between two wall times."""
    fields: dict[str, Any] = {
        "id": name,
        "key": {"user": f"owner-of-{name}"},
        "choice": {"profile": "one", "team": team},
        "team": team,
        "project": None,
        "profile": "one",
        "pool": "whole",
        "flavor": flavor,
        "units": units,
        "starts": datetime.fromisoformat(starts),
        "ends": datetime.fromisoformat(ends),
        "zone": zone,
        "weekly_until": None if weekly_until is None else date.fromisoformat(weekly_until),
        "made_at": MADE,
        "made_by": "lead",
    }
    return Reservation.model_validate({**fields, **more})
