"""How idleness is acted on: whether stops are held, and on what ground."""

from pydantic import AwareDatetime

from .words import ShortText, Value


class IdleHold(Value):
    """Nobody is stopped as idle since then, because the readings cannot be relied upon."""

    since: AwareDatetime
    grounds: tuple[str, ...]
    """A sentence each."""
    servers: int
    """That turned idle together and still are."""
    agents: tuple[ShortText, ...]
    """Machines whose agent is silent."""


class IdleSheet(Value):
    """`GET idle`: whether idle stops are held; `held` is None while they are not."""

    at: AwareDatetime
    timezone: ShortText
    held: IdleHold | None
