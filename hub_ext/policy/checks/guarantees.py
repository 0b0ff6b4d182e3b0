"""Guarantees against declared devices: in units, and in devices that teams can really get.

Units alone promise too much: eight 1g slices by units are seven by geometry, and half a GPU is
nothing to a team that may only choose whole ones.
"""

from collections.abc import Iterable, Iterator, Mapping
from math import gcd
from typing import NamedTuple

from ...i18n import _
from ...units import UNITS_PER_GPU, Units, quota_text
from ..capacity import Capacity, capacity, gpus_words, kind_of, profiles_for
from ..catalogue import profile_size
from ..model import Policy, Profile, flavor_name
from ..problems import Path, Problem, error, listed, quoted, warning


class _Claim(NamedTuple):
    """What one team is guaranteed in a pool, and the profiles it may choose there."""

    team: str
    nominal: int
    profiles: tuple[Profile, ...]

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds of devices that its profiles take."""
        return frozenset(kind for one in self.profiles for kind in [kind_of(one)] if kind)


def check_guarantees(policy: Policy) -> Iterator[Problem]:
    """Compare every pool's guarantees with its devices; names and cuts must be right."""
    for name, pool in policy.pools.items():
        there = capacity(pool)
        claims = [
            _Claim(team, rules.quota[name].nominal, profiles_for(policy, team, name))
            for team, rules in policy.teams.items()
            if name in rules.quota and rules.quota[name].nominal
        ]
        # Each says what the one before it lets pass; together they would say it twice.
        for search in (_over_capacity, _over_kinds, _promised_twice):
            problems = list(search(name, there, claims))
            yield from problems
            if problems:
                break
        else:
            yield from _leftovers(policy, name, there, claims)


def _over_capacity(pool: str, there: Capacity, claims: list[_Claim]) -> Iterator[Problem]:
    total = sum(one.nominal for one in claims)
    if total <= there.units:
        return
    remedy = _("lower them by '{gpus}' together, or declare more devices").format(
        gpus=quota_text(Units(total - there.units))
    )
    if there.units < there.gpus * UNITS_PER_GPU:
        remedy += _("; a cut GPU holds less than a whole one: {example}").format(
            example=_example(there)
        )
    yield error(
        ("pools", pool),
        _("guarantees are {total} ({claims}), declared are {units} ({devices})").format(
            total=gpus_words(total),
            claims=_claims(claims),
            units=gpus_words(there.units),
            devices=there.words(),
        ),
        remedy,
    )


def _example(there: Capacity) -> str:
    """Name the kind of which a GPU seems to hold more by units than it does by geometry."""
    kind = min(there.counts, key=lambda one: there.units_each[one])
    return _("{units} {kind} by units, {devices} by geometry").format(
        units=there.gpus * UNITS_PER_GPU // there.units_each[kind],
        kind=kind,
        devices=there.counts[kind],
    )


def _over_kinds(pool: str, there: Capacity, claims: list[_Claim]) -> Iterator[Problem]:
    """Find teams that may choose too few kinds of devices for what they are guaranteed.

    Teams whose choices lie within a set of kinds need that many units of those kinds (Hall's
    condition); only the smallest sets that fail are told.
    """
    told: list[frozenset[str]] = []
    for kinds in sorted(_unions(claims), key=lambda one: (len(one), sorted(one))):
        inside = [one for one in claims if one.kinds and one.kinds <= kinds]
        needed = sum(one.nominal for one in inside)
        units = sum(there.counts.get(k, 0) * there.units_each.get(k, 0) for k in kinds)
        if needed > units and not any(small <= kinds for small in told):
            told.append(kinds)
            yield error(
                ("pools", pool),
                _(
                    "guarantees are {needed} ({claims}) of teams that may only choose {kinds}; "
                    "these are {units} ({devices})"
                ).format(
                    needed=gpus_words(needed),
                    claims=_claims(inside),
                    kinds=listed(sorted(kinds)),
                    units=gpus_words(units),
                    devices=_count(there.counts, kinds),
                ),
                _("lower them, let the teams choose other profiles, or cut GPUs otherwise"),
            )


def _unions(claims: Iterable[_Claim]) -> set[frozenset[str]]:
    unions: set[frozenset[str]] = set()
    for kinds in {one.kinds for one in claims if one.kinds}:
        unions |= {kinds} | {kinds | other for other in unions}
    return unions


def _promised_twice(pool: str, there: Capacity, claims: list[_Claim]) -> Iterator[Problem]:
    """Warn where guarantees hold in units, but not for every profile that they could be taken as.

    Teams may then each be told "guaranteed" and still wait for a device of this kind.
    """
    for kind, count in there.counts.items():
        promised = {
            one.team: one.nominal // there.units_each[kind] for one in claims if kind in one.kinds
        }
        total = sum(promised.values())
        if total > count:
            yield warning(
                ("pools", pool),
                _(
                    "as {kind} the guarantees come to {total} by units ({claims}), by geometry "
                    "to {count}: whoever comes last finds no device of this kind"
                ).format(
                    kind=quoted(kind),
                    total=total,
                    claims=", ".join(f"{quoted(team)} {n}" for team, n in promised.items() if n),
                    count=count,
                ),
                _("cut more of them, or name the teams that may choose it in its profiles"),
            )


def _leftovers(
    policy: Policy, pool: str, there: Capacity, claims: list[_Claim]
) -> Iterator[Problem]:
    """Warn of guarantees of which a part can never be held as devices."""
    for one in claims:
        path: Path = ("teams", one.team, "quota", pool, "nominal")
        if not one.profiles:
            yield warning(
                path,
                _("no profile lets the team use this guarantee"),
                _("add a profile of the pool that the team may choose"),
            )
            continue
        sizes = {flavor_name(two.flavor): profile_size(policy, two) for two in one.profiles}
        below, above = nearest_sums(sizes.values(), one.nominal, most=there.units)
        if below == one.nominal:
            continue
        yield warning(
            path,
            _("{rest} of it never becomes a device; the team may choose {flavors}").format(
                rest=gpus_words(one.nominal - below), flavors=listed(sorted(sizes))
            ),
            _("write {nearest}").format(
                nearest=_(" or ").join(
                    f"'{quota_text(Units(units))}'" for units in (below, above) if units
                )
            ),
        )


def nearest_sums(sizes: Iterable[int], wanted: int, *, most: int) -> tuple[int, int]:
    """Sums of sizes nearest to a number: the largest up to it, the smallest above it.

    Each size may be taken any number of times. 0 stands for "none" above `most`.
    """
    every = sorted(set(sizes))
    step = gcd(*every)
    top = max(wanted, most) // step
    reached = 1  # bit n is set where n steps are a sum of sizes
    everything = (1 << (top + 1)) - 1
    for size in every:
        shift = size // step
        while shift <= top:  # doubling: 1, 2, 4, ... of this size
            reached |= (reached << shift) & everything
            shift *= 2
    below = (reached & ((1 << (wanted // step + 1)) - 1)).bit_length() - 1
    higher = reached >> (wanted // step + 1)
    above = wanted // step + (higher & -higher).bit_length() if higher else 0
    return below * step, above * step


def _claims(claims: Iterable[_Claim]) -> str:
    return ", ".join(f"{quoted(one.team)} {quota_text(Units(one.nominal))}" for one in claims)


def _count(counts: Mapping[str, int], kinds: Iterable[str]) -> str:
    return ", ".join(f"{counts.get(kind, 0)} x {kind}" for kind in sorted(kinds))
