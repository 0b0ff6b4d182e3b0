"""Whether a project may have a GPU or machine alone, and how much that takes of the quota.

The whole counts: what is kept empty beside a lease serves nobody else.
"""

from ..errors import RefusedError
from ..i18n import _
from ..lease import PoolName
from ..lease.reserving import Alone
from ..mig.alone import pick_alone
from ..mig.geometry import declared_devices, device_units
from .model import Policy, Pool


def alone_size(policy: Policy, pool: str, flavor: str, alone: Alone, project: str | None) -> int:
    """Units that a lease takes which shares its GPU or machine with nobody.

    Those of the smallest GPU or machine of the pool that serves it, as declared.

    Raises
    ------
    RefusedError
        403 where the pool does not allow it or no project is named; 400 where nothing serves it.
    """
    rules = policy.pools[pool]
    names = {"gpu": _("whole GPU"), "node": _("whole machine")}
    if alone not in rules.exclusive:
        allowed = ", ".join(names[one] for one in rules.exclusive) or _("nothing")
        raise RefusedError(
            "not-exclusive",
            _("In pool {pool} a project may have alone: {allowed}. Ask without that.").format(
                pool=pool, allowed=allowed
            ),
            status=403,
        )
    if project is None:
        raise RefusedError(
            "not-exclusive",
            _("A {what} alone is for a project, and this team has none.").format(what=names[alone]),
            status=403,
        )
    units = _smallest(pool, rules, flavor, alone)
    if units is None:
        raise RefusedError(
            "never-fits",
            _("No {what} of pool {pool} serves this profile.").format(what=names[alone], pool=pool),
            status=400,
        )
    return units


def _smallest(pool: str, rules: Pool, flavor: str, alone: Alone) -> int | None:
    gpus = int(flavor[4:]) if flavor.startswith("gpu-") else 0
    whole = pick_alone(
        declared_devices(PoolName(pool), rules),
        (),
        alone,
        gpus=gpus,
        mig_profile=None if gpus else flavor,
    )
    if whole is None:
        return None
    return sum(device_units(device) for device in (*whole.devices, *whole.rest))
