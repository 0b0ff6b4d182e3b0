"""Everything that makes a well-formed policy wrong or odd, found at once, by path.

Each subject has a module of its own; a subject that needs another one to be sound runs last.
"""

from ..model import Policy
from ..problems import Problem
from .anomalies import check_anomalies
from .budgets import check_budget_prices, check_budgets
from .contract import check_contract
from .device import check_devices
from .guarantees import check_guarantees
from .idle import check_idle
from .images import check_images
from .kube import check_kube
from .needs import check_needs
from .network import check_network
from .notices import check_notices
from .pools import check_pools
from .prices import check_prices
from .profiles import check_profile_limits, check_profiles
from .projects import check_projects
from .reserving import check_reserving
from .shares import check_share_devices, check_shares
from .starts import check_starts
from .tasks import check_tasks
from .teams import check_teams
from .value import check_value

__all__ = ["Problem", "check"]


def check(policy: Policy) -> tuple[Problem, ...]:
    """Find every problem of a policy.

    Capacity is judged only where names and cuts are right: with a misspelt pool, sums mean
    nothing.
    """
    basic = (
        *check_pools(policy),
        *check_teams(policy),
        *check_projects(policy),
        *check_images(policy),
        *check_profiles(policy),
        *check_prices(policy),
        *check_budgets(policy),
        *check_idle(policy),
        *check_tasks(policy),
        *check_anomalies(policy),
        *check_starts(policy),
        *check_value(policy),
        *check_notices(policy),
        *check_shares(policy),
        *check_kube(policy),
        *check_network(policy),
    )
    if any(one.severity == "error" for one in basic):
        return basic
    return (
        *basic,
        *check_guarantees(policy),
        *check_needs(policy),
        *check_devices(policy),
        *check_profile_limits(policy),
        *check_share_devices(policy),
        *check_contract(policy),
        *check_budget_prices(policy),
        *check_reserving(policy),
    )
