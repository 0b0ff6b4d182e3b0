"""Why somebody waits: everything ahead, and who could be called in; and what a lease stands by."""

from typing import Annotated

from pydantic import AwareDatetime, Field

from .asking import ServerKey
from .showing import Contract, Verdict
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


class Recorded(Value):
    """One thing on record about a lease: what happened, when, and by whom."""

    at: AwareDatetime
    by: ShortText
    words: str
    decision: ShortText = ""
    """The judgement of idleness that it is, or rests on; `GET why?of=DECISION` has its evidence."""


class Why(Value):
    """`GET why`: how one lease or request stands or ended, in words and figures.

    `priority` shows each part of its number; `promise` is what its owner can count on. `evidence`
    is the judgement behind the newest announced stop, else the newest one: every witness by name.
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
    evidence: Verdict | None = None
    record: tuple[Recorded, ...] = ()
    """Judgements, announced and withdrawn stops, and the end, newest first."""


class WhySheet(Value):
    """All that was asked about, oldest first. `as_of` is the instant of the answer.

    Where nothing of it is open, it is the lease that ended last.

    `live` is false where no governor lives: places and devices are as last recorded then.
    """

    as_of: AwareDatetime
    timezone: ShortText = "UTC"
    live: bool = True
    found: tuple[Why, ...]
