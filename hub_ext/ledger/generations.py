"""Policy generations of one transaction: every policy that was in force, whole and for ever."""

from datetime import datetime

from pydantic import AwareDatetime
from sqlalchemy import func, insert, select

from ..lease import Actor, Event, Value
from ..units import instant_us
from .records import Records
from .schema import instant, policy_generation

POLICY_APPLIED = "policy.applied"
"""Kind of the event of a new generation; its body has everything but the text."""


class Generation(Value):
    """One policy: its number, when and by whom it came, what it changed, and its whole text."""

    number: int
    at: AwareDatetime
    actor: Actor
    sha256: str
    summary: str
    text: str


class Generations(Records):
    """The policy part of one transaction."""

    def add_generation(
        self, *, text: str, sha256: str, summary: str, at: datetime, actor: Actor
    ) -> int:
        """Keep a policy that comes into force, with its event `policy.applied`.

        Returns
        -------
        Number of the generation; the first is 1.
        """
        newest = self.generation()
        number = newest[0] + 1 if newest else 1
        body: dict[str, object] = {
            "v": 1,
            "number": number,
            "sha256": sha256,
            "summary": summary,
        }
        seq = self.append(Event(kind=POLICY_APPLIED, at=at, actor=actor, body=body))
        row = {
            "number": number,
            "seq": seq,
            "at": instant_us(at),
            "actor": actor.model_dump_json(),
            "sha256": sha256,
            "summary": summary,
            "text": text,
        }
        self._run(insert(policy_generation), row)
        return number

    def generation(self) -> tuple[int, str, str] | None:
        """Number, text and sha256 of the policy in force; None before the first."""
        columns = policy_generation.c
        query = select(columns.number, columns.text, columns.sha256)
        row = self._run(query.order_by(columns.number.desc()).limit(1)).first()
        return None if row is None else (row.number, row.text, row.sha256)

    def generations_in(self, start: datetime, end: datetime) -> tuple[tuple[datetime, str], ...]:
        """When each policy that was in force in [start, end) came, and its text, in their order."""
        columns = policy_generation.c
        before = select(func.max(columns.number)).where(columns.at <= instant_us(start))
        query = (
            select(columns.at, columns.text)
            .where(columns.number >= func.coalesce(before.scalar_subquery(), 0))
            .where(columns.at < instant_us(end))
            .order_by(columns.number)
        )
        return tuple((instant(row.at), row.text) for row in self._run(query))

    def generations(self, limit: int = 20) -> tuple[Generation, ...]:
        """The newest generations, newest first."""
        query = select(policy_generation).order_by(policy_generation.c.number.desc()).limit(limit)
        return tuple(
            Generation(
                number=row.number,
                at=instant(row.at),
                actor=Actor.model_validate_json(row.actor),
                sha256=row.sha256,
                summary=row.summary,
                text=row.text,
            )
            for row in self._run(query)
        )
