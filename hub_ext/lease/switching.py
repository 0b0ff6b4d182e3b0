"""Another profile for a server that runs: what there is to choose, and the change under way."""

from datetime import timedelta
from typing import Annotated

from pydantic import AwareDatetime, Field

from .asking import Choice
from .words import LeaseId, LeaseState, ServerName, Standing, TeamName, Value

CHANGE_NOTICE = timedelta(seconds=30)
"""From the news that the new capacity is there to the stop: documents are saved meanwhile."""


class RunningServer(Value):
    """A server of somebody that runs now, whose profile could be changed."""

    lease_id: LeaseId
    server: ServerName
    has: str
    """Title of the profile that it has."""


class EndedServer(Value):
    """A server of somebody that ended lately, and not by their own word."""

    server: ServerName
    at: AwareDatetime
    words: str
    """Why it ended, and what to do about it."""


class SwitchOffer(Value):
    """What a server could have instead of what it has, decided as a start would be now.

    `choice` is what to ask for: it keeps project and task type of the server where the profile
    has them.
    """

    choice: Choice
    title: str
    flavor_title: str
    team: TeamName
    standing: Standing
    standing_text: str
    price_text: str
    words: str
    """Why it stands so, and when it would start where it has to wait."""


class SwitchSheet(Value):
    """`GET leases/{id}/switch`: profiles that a running server could change to."""

    lease_id: LeaseId
    has: str
    """Title of the profile that it has."""
    offers: tuple[SwitchOffer, ...]


class Change(Value):
    """The change of profile that a server waits for; `lease_id` is the request that waits."""

    lease_id: LeaseId
    title: str
    state: LeaseState
    since: AwareDatetime
    position: Annotated[int, Field(ge=1)] | None = None
    """Place in the queue of its pool; None once devices are held."""
    words: str
