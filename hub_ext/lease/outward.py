"""What is told outside the hub: one message for one line of the ledger, the same by every way."""

from typing import Literal

from pydantic import AwareDatetime

from .words import LeaseId, ServerName, ShortText, TeamName, UserName, Value

OutwardKind = Literal["idle", "recall", "lifetime", "maintenance", "budget", "anomaly"]

OutwardAbout = Literal["stop", "advice", "called_off", "reached", "began"]
"""A stop that is announced or called off, advice, a threshold reached, an anomaly that began."""


class OutwardMessage(Value):
    """The JSON document that is posted, and what a mail is written from.

    `id` is the same at each try and for each receiver, so that one that comes twice is known.
    """

    v: Literal[1] = 1
    id: ShortText
    kind: OutwardKind
    about: OutwardAbout
    code: ShortText
    """Stable word for the reason."""
    at: AwareDatetime
    hub: ShortText
    teams: tuple[TeamName, ...] = ()
    user: UserName | None = None
    """Whose server or money it is; None where it is of nobody alone."""
    server: ServerName | None = None
    lease: LeaseId | None = None
    stops_at: AwareDatetime | None = None
    """When the server stops; None where nothing stops."""
    words: str
    """Why, for people."""
    figures: dict[str, int | str] = {}


class OutwardDuty(Value):
    """A message that is to go one way to one receiver; an open duty of the ledger."""

    message: OutwardMessage
    route: ShortText
    """Name of the way in the policy."""
    to: ShortText = ""
    """Receiver of a mail: a person by name, or an address; empty for a web address."""


class OutwardTotals(Value):
    """How many messages went which way since the governor started, and how many wait."""

    counts: tuple[tuple[str, str, int], ...] = ()
    """By way (`webhook`, `mail`) and result (`sent`, `failed`, `dropped`)."""
    waiting: int = 0
