"""Everything that makes a well-formed policy wrong or odd, found at once, by path.

Each subject has a module of its own; a subject that needs another one to be sound runs last.
"""

from .checks_anomalies import check_anomalies
from .checks_budgets import check_budget_prices, check_budgets
from .checks_contract import check_contract
from .checks_device import check_devices
from .checks_guarantees import check_guarantees
from .checks_idle import check_idle
from .checks_images import check_images
from .checks_kube import check_kube
from .checks_needs import check_needs
from .checks_network import check_network
from .checks_notices import check_notices
from .checks_pools import check_pools
from .checks_prices import check_prices
from .checks_profiles import check_profile_limits, check_profiles
from .checks_projects import check_projects
from .checks_reserving import check_reserving
from .checks_shares import check_share_devices, check_shares
from .checks_starts import check_starts
from .checks_tasks import check_tasks
from .checks_teams import check_teams
from .checks_value import check_value
from .model import Policy
from .problems import Problem

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
