"""Prices: for what the policy has, on days that neither overlap nor leave gaps."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ...i18n import _
from ...mig.geometry import SHARE, geometry
from ..capacity import WHOLE, Capacity, capacities
from ..model import Policy, PriceEntry, flavor_name
from ..prices import WHOLE_GPU, priced_as
from ..problems import Path, Problem, error, nearest, quoted, warning


class _Entry(NamedTuple):
    path: Path
    price: PriceEntry


def check_prices(policy: Policy) -> Iterator[Problem]:
    """Check every price by itself, its neighbours in time, and what has none."""
    series: dict[tuple[str, str], list[_Entry]] = defaultdict(list)
    there = capacities(policy)
    for index, price in enumerate(policy.prices):
        path: Path = ("prices", index)
        yield from _entry(policy, path, price, there)
        series[price.pool, price.flavor].append(_Entry(path, price))
    for entries in series.values():
        yield from _dates(sorted(entries, key=lambda one: one.price.from_))
    yield from _unpriced(policy, set(series))


def _entry(
    policy: Policy, path: Path, price: PriceEntry, there: Mapping[str, Capacity]
) -> Iterator[Problem]:
    if price.until is not None and price.until <= price.from_:
        yield error(
            (*path, "until"),
            _("the price ends on {until}, before it begins on {begin}").format(
                until=price.until, begin=price.from_
            ),
            _("write the first day on which it no longer holds"),
        )
    if price.pool not in policy.pools:
        yield error(
            (*path, "pool"),
            _("there is no pool {pool}").format(pool=quoted(price.pool)),
            nearest(price.pool, list(policy.pools)),
        )
        return
    pool = policy.pools[price.pool]
    shape = geometry(pool.model)
    shares = [kind for kind in there[price.pool].counts if kind.startswith(SHARE)]
    known = [WHOLE_GPU, *(shape.profiles if shape is not None else ()), *shares]
    if price.flavor not in known:
        yield error(
            (*path, "flavor"),
            _("GPUs of model {model} have no flavor {flavor}").format(
                model=quoted(pool.model), flavor=quoted(price.flavor)
            ),
            nearest(price.flavor, known),
        )
        return
    kind = WHOLE if price.flavor == WHOLE_GPU else price.flavor
    if there[price.pool].sound and kind not in there[price.pool].counts:
        yield warning(
            path,
            _("the pool {pool} has no {kind} to which it applies").format(
                pool=quoted(price.pool), kind=quoted(kind)
            ),
            _("take it away, or cut a GPU so"),
        )


def _dates(entries: Sequence[_Entry]) -> Iterator[Problem]:
    for one, after in pairwise(entries):
        begin, until = after.price.from_, one.price.until
        if begin == one.price.from_:
            yield error(
                (*after.path, "from"),
                _("two prices of {flavor} in {pool} begin on {day}").format(
                    flavor=quoted(after.price.flavor), pool=quoted(after.price.pool), day=begin
                ),
                _("keep one, or move one"),
            )
        elif until is not None and until > begin:
            yield error(
                (*one.path, "until"),
                _("the price overlaps the next one, which begins on {day}").format(day=begin),
                _("write {day}, or leave `until` out: the next price ends this one").format(
                    day=begin
                ),
            )
        elif until is not None and until < begin:
            yield warning(
                (*one.path, "until"),
                _("there is no price from {until} until {begin}").format(until=until, begin=begin),
                _("leave `until` out, or add a price for these days"),
            )
    if entries and entries[-1].price.until is not None:
        yield warning(
            (*entries[-1].path, "until"),
            _("there is no price from {until} on").format(until=entries[-1].price.until),
            _("add the next price, or leave `until` out"),
        )


def _unpriced(policy: Policy, priced: set[tuple[str, str]]) -> Iterator[Problem]:
    for name, profile in policy.profiles.items():
        flavor, _times = priced_as(flavor_name(profile.flavor))
        if profile.pool in policy.pools and (str(profile.pool), flavor) not in priced:
            yield warning(
                ("profiles", name),
                _("{flavor} in {pool} has no price, so it is shown as not priced").format(
                    flavor=quoted(flavor), pool=quoted(profile.pool)
                ),
                _("add an entry to `prices`"),
            )
