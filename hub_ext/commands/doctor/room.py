"""Whether the disk has room for the readings of all devices that the policy declares."""

import shutil
from collections.abc import Iterator

from ...errors import PolicyError
from ...i18n import _
from ...ledger.samples import FILE
from ...ledger.samplesize import predicted
from ...mig.geometry import declared_devices
from ...policy.load import load
from .findings import Finding, Look, ok, warn

_GIB = 2**30


def readings(look: Look) -> Iterator[Finding]:
    """Compare what readings will take with what there is, beside what they take already."""
    if look.site.policy is None:
        return
    try:
        policy = load(look.site.policy).policy
        has = sum(one.stat().st_size for one in look.site.state.glob(f"{FILE}*"))
        free = shutil.disk_usage(look.site.state).free
    except (PolicyError, OSError):
        # Said by the checks of the policy and of the place.
        return
    devices = sum(len(declared_devices(name, pool)) for name, pool in policy.pools.items())
    size = predicted(devices)
    figures = {
        "n": devices,
        "day": f"{size.readings / _GIB:.1f}",
        "hours": f"{size.hours / _GIB:.1f}",
        "has": f"{has / _GIB:.1f}",
        "free": f"{free / _GIB:.1f}",
    }
    words = _(
        "readings of {n} devices every 10 s: {day} GiB for a day and {hours} GiB of hourly sums "
        "for 25 months; {has} GiB so far, {free} GiB free"
    ).format(**figures)
    if size.readings + size.hours > has + free:
        yield warn(
            words, _("give the disk more room, or let agents read less often (agent --period)")
        )
    else:
        yield ok(words)
