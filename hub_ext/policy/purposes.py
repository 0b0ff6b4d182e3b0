"""Whether a lease has to say what it is for."""

from .model import Policy


def needs_purpose(policy: Policy, pool: str | None, price_micro_per_hour: int | None) -> bool:
    """Whether it costs more than what needs no purpose; what has no price is not taken for cheap.

    Without a GPU it never has to.
    """
    least = policy.value.purpose_above
    if least is None or pool is None:
        return False
    return price_micro_per_hour is None or price_micro_per_hour > least


def takes_purpose(policy: Policy) -> bool:
    """Whether this site wants to hear of value at all, so that the form asks for a purpose."""
    return bool(policy.value.classes) or policy.value.purpose_above is not None
