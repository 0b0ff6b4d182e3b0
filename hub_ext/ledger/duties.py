"""Duties of one transaction: effects decided and not yet made, and attempts already over.

A duty is written with the event that decides it; the effect is made outside, may be repeated,
and its result is settled here.
"""

import json
from collections.abc import Mapping
from datetime import datetime

from pydantic import AwareDatetime
from sqlalchemy import insert, select, update

from ..errors import LedgerError
from ..lease import LeaseId, Value
from ..units import instant_us
from .records import Records, packed
from .schema import instant, intent, tombstone


class Intent(Value):
    """An effect to be made outside: `kind` says which, `body` with what."""

    id: int
    kind: str
    lease_id: LeaseId
    body: dict[str, object]
    created_at: AwareDatetime
    tries: int
    tried_at: AwareDatetime | None


class Duties(Records):
    """The intents and tombstones of one transaction."""

    def intend(
        self, kind: str, lease_id: LeaseId, body: Mapping[str, object], *, at: datetime
    ) -> int:
        """Write down an effect to be made, and return its number.

        While one of the same kind is open for the lease, that one stands and its number returns.
        """
        same = (intent.c.lease_id == lease_id, intent.c.kind == kind)
        query = select(intent.c.id).where(*same, intent.c.settled_at.is_(None))
        found = self._run(query).scalar()
        if found is not None:
            return int(found)
        row = {
            "lease_id": lease_id,
            "kind": kind,
            "body": packed(dict(body)),
            "created_at": instant_us(at),
            "tries": 0,
        }
        return int(self._run(insert(intent), row).inserted_primary_key[0])

    def intents(self, lease_id: LeaseId | None = None) -> tuple[Intent, ...]:
        """Effects still to be made, of one lease or of all, oldest first."""
        query = select(intent).where(intent.c.settled_at.is_(None)).order_by(intent.c.id)
        if lease_id is not None:
            query = query.where(intent.c.lease_id == lease_id)
        return tuple(
            Intent(
                id=row.id,
                kind=row.kind,
                lease_id=row.lease_id,
                body=json.loads(row.body),
                created_at=instant(row.created_at),
                tries=row.tries,
                tried_at=None if row.tried_at is None else instant(row.tried_at),
            )
            for row in self._run(query)
        )

    def retried(self, intent_id: int, *, at: datetime) -> None:
        """Count one more try of an open intent."""
        self._change(intent_id, {"tries": intent.c.tries + 1, "tried_at": instant_us(at)})

    def settle(self, intent_id: int, result: str, *, at: datetime) -> None:
        """Close an intent with its result; one that is settled already keeps its first result.

        Raises
        ------
        LedgerError
            When there never was such an intent.
        """
        self._change(intent_id, {"settled_at": instant_us(at), "result": result})

    def bury(self, attempt_id: str, *, at: datetime) -> None:
        """Leave a tombstone: this attempt is over, and a late ask for it is refused."""
        if not self.buried(attempt_id):
            self._run(insert(tombstone), {"attempt_id": attempt_id, "at": instant_us(at)})

    def buried(self, attempt_id: str) -> bool:
        """Whether the end of this attempt was reported before."""
        query = select(tombstone.c.at).where(tombstone.c.attempt_id == attempt_id)
        return self._run(query).first() is not None

    def _change(self, intent_id: int, values: dict[str, object]) -> None:
        is_it = intent.c.id == intent_id
        if self._run(select(intent.c.id).where(is_it)).first() is None:
            raise LedgerError(f"there is no intent {intent_id}")
        self._run(update(intent).where(is_it, intent.c.settled_at.is_(None)).values(values))
