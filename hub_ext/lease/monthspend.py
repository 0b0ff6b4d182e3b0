"""Spend of the present month, quota and budgets, as monitoring reads them; no person is named."""

from pydantic import AwareDatetime

from .usage import Count
from .words import ShortText, Value


class FlavorSpend(Value):
    """What a team was charged for a flavor since the month began, and what runs costs now."""

    team: ShortText
    flavor: ShortText
    currency: ShortText
    amount_micro: int = 0
    unit_s: Count = 0
    """Units x seconds that were held; divide by 840 for GPU-seconds."""
    unpriced_unit_s: Count = 0
    """Of them, what had no price and is in no amount."""
    rate_micro_per_hour: Count = 0
    """What an hour of the leases costs that run now, by the price of their start."""
    unpriced_leases: Count = 0
    """Leases that run now and have no price."""


class QuotaSum(Value):
    """What a team is guaranteed of a pool and what it holds there, in units."""

    team: ShortText
    pool: ShortText
    nominal: Count
    guaranteed: Count
    borrowed: Count


class BudgetSum(Value):
    """A budget that is not for each person, in its present period."""

    budget: ShortText
    currency: ShortText
    amount_micro: Count
    spent_micro: int
    committed_micro: int


class SpendFacts(Value):
    """All of it at one instant."""

    month_start: AwareDatetime
    currency: ShortText
    spend: tuple[FlavorSpend, ...] = ()
    quota: tuple[QuotaSum, ...] = ()
    budgets: tuple[BudgetSum, ...] = ()
