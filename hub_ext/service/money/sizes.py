"""What past leases of each person and project needed, and the hint that follows for an offer.

Only ended leases count, the newest of them; how much they needed is read from hourly sums.
"""

import re
from collections.abc import Iterable

from ...lease import OfferSheet, ProfileName, Standing, TeamName
from ...ledger.samples import Samples
from ...mig.geometry import geometry
from ...policy.catalogue import profile_size
from ...policy.model import GpuFlavor, MigFlavor, Policy
from ...reports.rightsizing import Peak, Size, smaller
from ...units import UNITS_PER_GPU
from ..books.desk import Desk
from ..books.sizebook import Kept

GIGA = 10**9
USABLE_PERCENT = 95
"""Of the memory in a GPU's or slice's name, what a program can have: drivers keep some."""

_MEMORY = re.compile(r"([0-9]+)gb")


def with_hints(desk: Desk, sheet: OfferSheet) -> OfferSheet:
    """Add to each offer the cheaper one that would do, where the past tells of one."""
    policy = desk.book.known
    if policy is None:
        return sheet
    sizes = {
        (one.profile, one.team): size
        for one in sheet.offers
        if one.standing is not Standing.denied
        and (size := size_of(policy, one.profile, one.team, one.price_micro_per_hour)) is not None
    }
    peaks: dict[str, list[Peak]] = {}
    offers = []
    for one in sheet.offers:
        wanted = sizes.get((one.profile, one.team))
        if wanted is None or one.project is None:
            offers.append(one)
            continue
        if one.project not in peaks:
            kept = desk.sizes.of(sheet.user, one.project, sheet.at)
            peaks[one.project] = peaks_of(desk.samples, kept)
        found = smaller(wanted, sizes.values(), peaks[one.project], one.currency)
        offers.append(one.model_copy(update={"smaller": found}))
    return sheet.model_copy(update={"offers": tuple(offers)})


def size_of(policy: Policy, profile: str, team: str, price: int | None) -> Size | None:
    """Say how much GPU a profile has; None without one, without a price, or where memory is shared.

    The memory of a time-share is everybody's, and that of a model whose name tells none is unknown.
    """
    entry = policy.profiles[profile]
    if entry.pool is None or price is None:
        return None
    model = policy.pools[entry.pool].model
    match entry.flavor:
        case MigFlavor(mig=named):
            count, work = 1, _work_units(model, named)
        case GpuFlavor(gpus=count):
            named, work = model, count * UNITS_PER_GPU
        case _:
            return None
    memory = _MEMORY.search(named)
    if memory is None:
        return None
    return Size(
        profile=ProfileName(profile),
        title=entry.title,
        team=TeamName(team),
        model=model,
        units=profile_size(policy, entry),
        work_units=work,
        memory_bytes=count * int(memory[1]) * GIGA * USABLE_PERCENT // 100,
        price_micro=price,
    )


def _work_units(model: str, mig: str) -> int:
    """Share of the computing that a MIG profile has; none of a model without MIG data."""
    shape = geometry(model)
    if shape is None or mig not in shape.profiles:
        return 0
    return UNITS_PER_GPU * shape.profiles[mig].compute_slices // shape.compute_slices


def peaks_of(samples: Samples, kept: Iterable[Kept]) -> list[Peak]:
    """Read what leases needed at most; one that was never measured is not in it."""
    known = {one.lease_id: one for one in kept}
    needs = samples.needs(known)
    return [
        Peak(
            memory_bytes=need.memory_bytes,
            busy_units=need.busy_percent * known[lease_id].units // (100 * need.devices),
            measured_s=need.sampled_s,
            held_s=known[lease_id].held_s,
        )
        for lease_id, need in needs.items()
    ]
