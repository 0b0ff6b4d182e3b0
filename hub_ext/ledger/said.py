"""What was said of a lease, read from the newest event of it; and such an event for outsiders."""

from datetime import datetime

from ..lease import Event, LeaseId
from ..lease.value import SAID, Said
from .records import Records


def said(tx: Records, lease_id: LeaseId) -> tuple[Said, datetime | None]:
    """Give all that was said of a lease, and when the last of it was."""
    for _seq, event in tx.events(lease_id=lease_id, kinds=(SAID,), limit=1, newest=True):
        return Said.model_validate(event.body["said"]), event.at
    return Said(), None


def outside(event: Event) -> Event:
    """Leave out of an event what is for the team of its lease alone."""
    if event.kind != SAID:
        return event
    told = Said.model_validate(event.body["said"])
    body: dict[str, object] = {
        "v": 1,
        "has_purpose": bool(told.purpose),
        "outcome": told.outcome,
        "has_link": bool(told.link),
    }
    return event.model_copy(update={"body": body})
