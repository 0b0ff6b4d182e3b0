"""Rules that bind one person, each with its place in the policy and whether it acts."""

from typing import Literal

from pydantic import AwareDatetime

from .budgets import BudgetRow
from .words import ShortText, TeamName, UserName, Value

Subject = Literal[
    "quota",
    "contract",
    "caps",
    "lifetime",
    "task types",
    "waiting",
    "reservations",
    "idle",
    "prices",
    "budgets",
]


class Limit(Value):
    """One rule: in words, where the policy says it, and what its mode makes of it.

    `in_force` is `enforce`, `advise`, `observe`, or `always` for what no mode softens.
    """

    subject: Subject
    team: TeamName | None = None
    words: str
    origin: ShortText
    in_force: Literal["observe", "advise", "enforce", "always"]


class LimitSheet(Value):
    """`GET limits`: every rule that binds a person, in the policy's order."""

    user: UserName
    at: AwareDatetime
    teams: tuple[TeamName, ...]
    policy_generation: int
    limits: tuple[Limit, ...] = ()
    budgets: tuple[BudgetRow, ...] = ()
    """Figures of the budgets among them, in their present periods."""
