"""What is demanded of LimitRanges where leases live: Kueue puts their figures into Workloads. Pure.

A lease asks for units and nothing else; with a share of CPU added to it, no queue of units fits.
"""

from collections.abc import Iterator

from ..i18n import _
from .objects import Body
from .quantity import whole
from .queuedemands import Breach, Weight


def of_homes(limits: Body, home_size: str | None) -> Iterator[Breach]:
    """Name a LimitRange that refuses the claim of a person's home, so that no server starts there.

    Parameters
    ----------
    home_size
        What the hub asks for each home; None where it claims none, or that is not known.
    """
    if home_size is None:
        return
    meta = limits["metadata"]
    for item in (limits.get("spec") or {}).get("limits") or []:
        most = (item.get("max") or {}).get("storage")
        if item.get("type") != "PersistentVolumeClaim" or most is None:
            continue
        if whole(str(most)) < whole(home_size):
            yield Breach(
                "home-claims",
                Weight.doubt,
                _(
                    "LimitRange {name} allows claims of {most}, and each home asks for {size}: "
                    "whoever has no home there yet cannot start"
                ).format(
                    name=f"{meta.get('namespace', '')}/{meta['name']}", most=most, size=home_size
                ),
                _(
                    "write `home_size: {size}` in the file of --site and render anew, or set "
                    "`singleuser.storage.capacity` lower"
                ).format(size=home_size),
            )


def of_limits(limits: Body, settings: Body | None) -> Iterator[Breach]:
    """Name what of one LimitRange keeps leases from being admitted.

    Parameters
    ----------
    limits
        The LimitRange.
    settings
        Kueue's configuration, which may leave resources out of its count; None is not known.
    """
    meta = limits["metadata"]
    name = f"{meta.get('namespace', '')}/{meta['name']}"
    left_out = tuple(((settings or {}).get("resources") or {}).get("excludeResourcePrefixes") or [])
    added: set[str] = set()
    least: set[str] = set()
    for item in (limits.get("spec") or {}).get("limits") or []:
        if item.get("type") == "Container":
            added |= {*(item.get("default") or {}), *(item.get("defaultRequest") or {})}
        elif item.get("type") == "Pod":
            least |= set(item.get("min") or {})
    if counted := sorted(one for one in added if not one.startswith(left_out)):
        yield Breach(
            "limit-range",
            Weight.wrong if settings is not None else Weight.doubt,
            _("LimitRange {name} adds {resources} to each lease, and no queue has those").format(
                name=name, resources=", ".join(counted)
            ),
            _("remove its figures for containers, or exclude those resources in Kueue"),
        )
    if least:
        yield Breach(
            "limit-range",
            Weight.wrong,
            _(
                "LimitRange {name} asks at least some {resources} of a pod, and a lease has none"
            ).format(name=name, resources=", ".join(sorted(least))),
            _("remove its least figures for pods"),
        )
