"""Puts notices of an announced stop on Jupyter's event bus. Decides nothing."""

from typing import Any, Literal

from hub_ext.lease import LeaseState, LeaseView, Notice

SCHEMA_ID = "https://gpu-commons.dev/events/notice/v1"

SCHEMA: dict[str, Any] = {
    "$id": SCHEMA_ID,
    "version": "1",
    "title": "GPU Commons notice",
    "description": "A stop of this server was announced, or called off.",
    "personal-data": False,
    "type": "object",
    "properties": {
        "kind": {"type": "string", "enum": ["given", "withdrawn"]},
        "lease_id": {"type": "string"},
        "cause": {"type": "string", "description": "culled, preempted, expired, budget or admin"},
        "code": {"type": "string", "description": "Stable word for the reason"},
        "words": {"type": "string", "description": "Why, for people"},
        "given_at": {"type": "string", "description": "RFC 3339"},
        "stops_at": {"type": "string", "description": "RFC 3339"},
        "left_s": {"type": "integer", "description": "Seconds until then by the governor's clock"},
    },
    "required": ["kind", "lease_id", "cause", "code", "words", "given_at", "stops_at", "left_s"],
}


class NoticeWatch:
    """Compares each view with the one before and tells what to announce."""

    def __init__(self) -> None:
        self._last: tuple[str, Notice] | None = None

    def compare(self, view: LeaseView) -> dict[str, str | int] | None:
        """Return the event that leads from the last view to this one; None for no change."""
        lease = view.lease
        now = (lease.id, lease.notice) if lease is not None and lease.notice is not None else None
        before, self._last = self._last, now
        if now == before:
            return None
        if now is not None:
            return _event("given", *now, view)
        # A stop that follows its notice is no withdrawal, nor is the end of the lease.
        if before is None or lease is None or lease.id != before[0]:
            return None
        if lease.state is LeaseState.stopping:
            return None
        return _event("withdrawn", *before, view)


def _event(
    kind: Literal["given", "withdrawn"], lease_id: str, notice: Notice, view: LeaseView
) -> dict[str, str | int]:
    return {
        "kind": kind,
        "lease_id": lease_id,
        "cause": notice.cause.value,
        "code": notice.reason.code,
        "words": notice.reason.message,
        # In the stream's words for instants: a page tells one notice from another by these.
        **notice.model_dump(mode="json", include={"given_at", "stops_at"}),
        "left_s": max(0, int((notice.stops_at - view.now).total_seconds())),
    }
