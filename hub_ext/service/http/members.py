"""Who is a member of a team, by the hub's own word: asked before the core, never under its lock."""

from typing import Protocol

from ...errors import RefusedError, UnreachableError
from ...i18n import _
from ...lease.reserving import ReservationWish
from ..basis.access import Caller


class People(Protocol):
    """What knows the hub's people."""

    async def groups_of(self, name: str) -> tuple[str, ...] | None:
        """Groups of somebody; None where the hub knows nobody by this name."""


async def groups_for(
    people: People, wish: ReservationWish, caller: Caller
) -> tuple[str, ...] | None:
    """Groups of whoever else a reservation is for; None where it is the caller's own.

    Who is not there has no groups: nobody learns here which names the hub knows.

    Raises
    ------
    RefusedError
        When the hub does not answer, so that it cannot be told.
    """
    if not wish.user or (caller.kind == "person" and wish.user == caller.name):
        return None
    try:
        return await people.groups_of(wish.user) or ()
    except UnreachableError as error:
        raise RefusedError(
            "hub-unreachable",
            _(
                "Whether {user} is in the team cannot be told: {words}. Try again in a minute."
            ).format(user=wish.user, words=error),
            retry_after_s=60,
        ) from error
