"""The lease as the ledger holds it, and the lines of the ledger."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from .asking import Choice, Device, Grant, ProcessRef, Reason, ServerKey
from .words import (
    HOLDING,
    AttemptId,
    Cause,
    LeaseId,
    LeaseState,
    PoolName,
    ProfileName,
    ProjectName,
    ServerName,
    ShortText,
    Standing,
    TaskTypeName,
    TeamName,
    UserName,
    Value,
    When,
)

ADVICE_MARK = "-advice"
"""End of the reason codes of notices that stop nothing."""


class Notice(Value):
    """An announced stop: why, when, and what the person can do until then."""

    cause: Cause
    given_at: AwareDatetime
    stops_at: AwareDatetime
    reason: Reason
    decision: ShortText = ""
    """The judgement of idleness that it rests on; empty where it rests on none."""

    @property
    def is_advice(self) -> bool:
        """Whether it only tells or asks: nothing is stopped for it."""
        return self.reason.code.endswith(ADVICE_MARK)


class CalledIn(Value):
    """A borrowed lease is called in: for which request, since when, and when it stops.

    Of the request only its id is here, which tells its team and owner to nobody else.
    """

    for_lease: LeaseId
    since: AwareDatetime
    stops_at: AwareDatetime
    reason: Reason


class Stretch(Value):
    """A stretch of time; without an end it goes on."""

    start: AwareDatetime
    end: AwareDatetime | None = None


class Stood(Value):
    """How a lease stood until an instant, from the one before it or its start on."""

    standing: Standing
    until: AwareDatetime


class OpenLease(Value):
    """A lease as the ledger holds it; each change is one event that carries the whole value.

    `units` and `devices` are what it takes from its pool (0 and empty without a GPU).
    `last_seen_at` is the last instant at which its server was known to live.
    """

    id: LeaseId
    key: ServerKey
    attempt_id: AttemptId
    choice: Choice
    team: TeamName
    project: ProjectName | None
    profile: ProfileName
    pool: PoolName | None
    flavor: ShortText
    units: int
    devices: tuple[Device, ...] = ()
    standing: Standing
    stood: tuple[Stood, ...] = ()
    """How it stood before, since its devices were assigned; each is charged at its own price."""
    state: LeaseState
    state_since: AwareDatetime
    requested_at: AwareDatetime
    assigned_at: AwareDatetime | None = None
    started_at: AwareDatetime | None = None
    last_seen_at: AwareDatetime | None = None
    ends_at: AwareDatetime | None = None
    longest_end_at: AwareDatetime | None = None
    """Latest end that an extension can reach under the policy of the start."""
    priority: int = 0
    """Band x 1000 + weight, as it was last reckoned."""
    weight: int = 0
    """Weight 0 to 999, frozen when it starts."""
    task_type: TaskTypeName | None = None
    """What it is for; None is unlabelled."""
    value_class: ShortText | None = None
    """Value class of its project when it was asked for; None is unlabelled."""
    price_micro_per_hour: int | None = None
    currency: ShortText = ""
    policy_generation: int
    process: ProcessRef | None = None
    notice: Notice | None = None
    kept_until: AwareDatetime | None = None
    """A person asked to be kept until then; idleness does not stop the server before."""
    kept_s: int = 0
    """So many seconds it was kept by its owner in all."""
    returned_at: AwareDatetime | None = None
    """When what the server says of itself last took an idle notice back for nothing."""
    safe_until: AwareDatetime | None = None
    """What it borrows is not called in before, as was said at its start."""
    called_in: CalledIn | None = None
    """Its device goes back to whoever is guaranteed it; None where nobody asks for it."""
    caller_since: AwareDatetime | None = None
    """Since then others are called in for this request; until it starts it comes first."""
    replaces: LeaseId | None = None
    """The lease of the same server that ends when this one starts: a change of profile."""
    stop_asked_at: AwareDatetime | None = None
    hub_started_at: AwareDatetime | None = None
    """When the hub began this start, by the hub's clock; None where nobody told."""
    decision: ShortText = ""
    """The judgement of idleness that its stop rests on; empty where it rests on none."""
    cause: Cause | None = None
    reason: Reason | None = None
    """Why it stops, stopped or waits, in words for its owner."""
    noticed_at: AwareDatetime | None = None
    """When the stop that ended it was announced; None where none was, or while it is open."""
    closed_at: AwareDatetime | None = None
    charged_until: AwareDatetime | None = None
    """Charges before it are on the books, of another team or project; None where none are."""
    when: When | None = None
    """What its owner wants when a device comes; None on a request that does not wait."""
    groups: tuple[ShortText, ...] = ()
    """Hub groups of the owner when it was asked for."""
    held_until: AwareDatetime | None = None
    """Until when devices are held for a request that waited."""
    holds: int = 0
    """How often devices were held for it."""
    asked_at: AwareDatetime | None = None
    """When it was asked for, where it has the place of an older request."""
    held_at: AwareDatetime | None = None
    """When it first had devices, held for it or assigned."""
    owed_since: AwareDatetime | None = None
    """Since when it waits inside a guarantee, with nobody of its queue before it."""
    owed_bound_s: int | None = None
    """Longest wait that the policy promised then; 0 where it promised none."""
    autostarted: bool = False
    """The governor started it for its owner, who has not been seen yet."""
    waived: tuple[Stretch, ...] = ()
    """While its device was at fault, from the first sign on: the site pays for that."""
    reservation: ShortText | None = None
    """Id of the reservation that it was opened for."""
    reserved_until: AwareDatetime | None = None
    """End of the reserved time, at which it ends."""
    alone: Literal["gpu", "node"] | None = None
    """What nobody else has a part of: its GPU or its machine."""
    rest: tuple[Device, ...] = ()
    """Devices that are kept empty beside it because it is alone; they are held and paid for."""
    grant: Grant | None = None
    """What was answered, so that a lost answer can be repeated word for word."""

    @property
    def open(self) -> bool:
        """Whether the lease still lives in some state."""
        return self.state is not LeaseState.closed

    @property
    def only_guaranteed(self) -> bool:
        """Whether its owner rather waits than borrows."""
        return self.choice.only_guaranteed

    @property
    def takes(self) -> tuple[Device, ...]:
        """Every device that nobody else gets: its own, and what is kept empty beside them."""
        return (*self.devices, *self.rest)

    @property
    def holding(self) -> bool:
        """Whether it counts against quota and keeps its devices."""
        return self.state in HOLDING


class Actor(Value):
    """Who did something: a person, an agent, the spawner's account, or the governor itself."""

    kind: Literal["user", "service", "governor", "cli"]
    name: ShortText
    admin: bool = False
    groups: tuple[ShortText, ...] = ()


GOVERNOR = Actor(kind="governor", name="governor")


class Event(Value):
    """One line of the ledger. `body` is the JSON of the pydantic value of its kind, with `v`."""

    kind: ShortText
    at: AwareDatetime
    lease_id: LeaseId | None = None
    actor: Actor = GOVERNOR
    body: dict[str, object]


class Posting(Value):
    """A charge on the books: one closed stretch of one lease at one price.

    `amount_micro` is None where no price was in force ("not priced"), never 0 for that.
    """

    lease_id: LeaseId
    user: UserName
    server: ServerName
    team: TeamName
    project: ProjectName | None
    profile: ProfileName
    pool: PoolName | None
    flavor: ShortText
    units: int
    standing: Standing
    start: AwareDatetime
    end: AwareDatetime
    seconds: Annotated[int, Field(ge=0)]
    price_micro_per_hour: int | None
    amount_micro: int | None
    currency: ShortText
    cause: Cause | None = None
    bounded: bool = False
    """It ends when the server was last seen, because nobody saw the end: that was not earlier."""
    corrects: str | None = None
    """The charge that it reverses or restates, as `lease start/end`; None for a charge of time."""
