"""Why somebody waits: everything ahead, and who could be called in; and what a lease stands by."""

from typing import Annotated

from pydantic import AwareDatetime, Field

from .asking import ServerKey
from .showing import Contract
from .words import LeaseId, LeaseState, PoolName, ShortText, Value

Place = Annotated[int, Field(ge=1)]


class Ahead(Value):
    """One request that comes before. Names of people only where the reader may know them."""

    place: Place
    whose: ShortText
    wants: ShortText
    priority: ShortText


class Holder(Value):
    """One lease that holds what is wanted, and whether it could be called in for the request.

    `code` is stable: guaranteed, protected, reclaim-off, same-team, not-up, held, stops-already,
    called-in, open. `until` is when that ends by itself, as far as it does.
    """

    whose: ShortText
    holds: ShortText
    code: ShortText
    words: str
    until: AwareDatetime | None = None


class Why(Value):
    """`GET why`: how one lease or request stands, in words and figures.

    `priority` shows each part of its number; `promise` is what its owner can count on.
    """

    lease_id: LeaseId
    server: ServerKey
    state: LeaseState
    pool: PoolName | None = None
    answer: str
    priority: str = ""
    number: int = 0
    promise: str = ""
    contract: Contract | None = None
    place: Place | None = None
    short: ShortText = ""
    ahead: tuple[Ahead, ...] = ()
    holders: tuple[Holder, ...] = ()


class WhySheet(Value):
    """All that was asked about, oldest first. `as_of` is the instant of the answer.

    `live` is false where no governor lives: places and devices are as last recorded then.
    """

    as_of: AwareDatetime
    timezone: ShortText = "UTC"
    live: bool = True
    found: tuple[Why, ...]
