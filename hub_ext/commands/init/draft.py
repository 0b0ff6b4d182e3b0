"""Writes a first policy from what was found. Every guess carries a comment `# CHECK: …`.

The text passes `gpu-commons check` whatever was found: what would not is left out and told.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...i18n import _
from ...mig.geometry import geometry, place
from ..drafting import IDLE, OPENING, check, free, key, printable, text
from .found import Cards, Wish, slug

MOST_GPUS = 64
"""GPUs of one model on one node that a policy may declare."""

SIMULATED = Cards("l40s", ((), ()), known=True)
"""What is declared where there is nothing to read."""


@dataclass(frozen=True)
class Sources:
    """All that was found, and the sentences on what was not."""

    cards: tuple[Cards, ...]
    cards_words: str
    groups: tuple[str, ...]
    groups_words: str
    wishes: tuple[Wish, ...]
    wishes_words: tuple[str, ...]


@dataclass(frozen=True)
class _Pool:
    """A pool to be: its name, and for each GPU the legal cut (empty: whole)."""

    name: str
    cards: Cards
    cuts: tuple[tuple[str, ...], ...]

    @property
    def whole(self) -> int:
        return sum(not cut for cut in self.cuts)

    @property
    def profiles(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one for cut in self.cuts for one in cut))


def draft(found: Sources) -> str:
    """Write the policy."""
    pools = _pools(found.cards or (SIMULATED,))
    lines = [
        *(_HEAD + OPENING).splitlines(),
        *_pool_lines(pools, found),
        *_team_lines(pools, found),
        *_profile_lines(pools, found),
        *(_TAIL + IDLE).splitlines(),
    ]
    return "\n".join(lines) + "\n"


_HEAD = """\
# yaml-language-server: $schema=policy.schema.json
#
# A first policy, written by `gpu-commons init` from what it found. Go through every `# CHECK:`,
# then ask `gpu-commons check` about this file.

"""

_TAIL = """\

# CHECK: without prices everything is "not priced". A price holds from its day on:
# prices:
#   - { pool: NAME, flavor: gpu, from: 2026-12-01, per_hour: "1.10" }
prices: []
"""


def _pools(cards: Sequence[Cards]) -> tuple[_Pool, ...]:
    pools: list[_Pool] = []
    for one in cards:
        name = free(slug(one.model, "gpus"), {pool.name for pool in pools})
        cuts = tuple(cut if _legal(one.model, cut) else () for cut in one.cuts[:MOST_GPUS])
        pools.append(_Pool(name, one, cuts))
    return tuple(pools)


def _legal(model: str, cut: tuple[str, ...]) -> bool:
    shape = geometry(model)
    known = shape is not None and all(profile in shape.profiles for profile in cut)
    return known and place(model, cut) is not None


def _pool_lines(pools: Sequence[_Pool], found: Sources) -> Iterator[str]:
    yield ""
    yield "pools:"
    for pool in pools:
        if not found.cards:
            yield check(found.cards_words)
        yield f"  {key(pool.name)}:"
        yield f"    model: {text(pool.cards.model)}"
        if not pool.cards.known:
            yield check(_("the model is not in the MIG table; its name is the driver's own"), 4)
        yield "    nodes:"
        yield "      - name: localhost"
        yield check(_("name each machine as its agent reports it, and add the others"), 8)
        yield f"        gpus: {len(pool.cuts)}"
        if len(pool.cards.cuts) > MOST_GPUS:
            yield check(
                _("{n} were found; one node has 64 at most").format(n=len(pool.cards.cuts)), 8
            )
        yield from _cut_lines(pool)


def _cut_lines(pool: _Pool) -> Iterator[str]:
    for index, (cut, taken) in enumerate(zip(pool.cards.cuts, pool.cuts, strict=False)):
        if cut and not taken:
            words = _("GPU {n} is cut into {cut}, which no table knows; declared as whole")
            yield check(words.format(n=index, cut=", ".join(cut)), 8)
    if any(pool.cuts):
        yield "        geometry:"
        for cut in pool.cuts:
            yield f"          - {'[' + ', '.join(map(text, cut)) + ']' if cut else 'whole'}"


def _team_lines(pools: Sequence[_Pool], found: Sources) -> Iterator[str]:
    names: list[str] = []
    readable = tuple(group for group in found.groups if group and printable(group) == group)
    groups = readable or ("users",)
    yield ""
    yield check(
        _(
            "who is guaranteed how much is for people to agree on; here each group of the hub is a "
            "team with the same share of whole GPUs, and borrows what others leave"
        ),
        0,
    )
    if not found.groups:
        yield check(found.groups_words, 0)
    for group in found.groups:
        if group not in readable:
            words = _("the group {group} was left out: its name cannot be written in a file")
            yield check(words.format(group=repr(group)), 0)
    yield "teams:"
    for group in groups:
        name = free(slug(group, "team"), set(names))
        names.append(name)
        yield f"  {key(name)}:"
        yield f"    groups: [{text(group)}]"
        yield "    leads: [] # CHECK: users who see the team's spend."
        yield "    over_quota: borrow"
        yield "    quota:"
        for pool in pools:
            share = pool.whole // len(groups) if pool.whole == len(pool.cuts) else 0
            yield f'      {key(pool.name)}: {{ nominal: "{share}" }}'


def _profile_lines(pools: Sequence[_Pool], found: Sources) -> Iterator[str]:
    yield ""
    for words in found.wishes_words:
        yield check(words, 0)
    yield "profiles:"
    names: set[str] = set()
    wishes = found.wishes or tuple(_own_wishes(pools))
    for wish in wishes:
        pool = _pool_for(wish, pools)
        if pool is None and (wish.gpus or wish.mig):
            wanted = wish.mig or _("{n} whole GPUs on one machine").format(n=wish.gpus)
            words = _("{title} was left out: no pool has {wanted}")
            yield check(words.format(title=wish.title, wanted=wanted))
            continue
        name = free(wish.name, names)
        names.add(name)
        yield from _profile(name, wish, pool)
    if not any(not wish.gpus and wish.mig is None for wish in wishes):
        yield from _profile(free("cpu-only", names), _PLAIN, None)


_PLAIN = Wish(
    "cpu-only",
    _("No GPU"),
    _("For writing, plotting and waiting. Starts even while the governor is away."),
    0,
    None,
    "1",
    2048,
    (),
)


def _own_wishes(pools: Sequence[_Pool]) -> Iterator[Wish]:
    for pool in pools:
        if pool.whole:
            title = _("One {model}").format(model=pool.cards.model)
            yield Wish(f"one-{pool.name}"[:60], title, "", 1, None, None, None, ())
        for mig in pool.profiles:
            title = _("{mig} of a {model}").format(mig=mig, model=pool.cards.model)
            yield Wish(slug(f"{mig}-{pool.name}", "slice"), title, "", 0, mig, None, None, ())


def _pool_for(wish: Wish, pools: Sequence[_Pool]) -> _Pool | None:
    for pool in pools:
        if wish.mig is not None and wish.mig in pool.profiles:
            return pool
        if wish.gpus and pool.whole >= wish.gpus:
            return pool
    return None


def _profile(name: str, wish: Wish, pool: _Pool | None) -> Iterator[str]:
    for words in wish.lines:
        yield check(words)
    yield f"  {key(name)}:"
    yield f"    title: {text(wish.title)}"
    if wish.description:
        yield f"    description: {text(wish.description)}"
    if pool is not None:
        yield f"    pool: {key(pool.name)}"
        mig, gpus = wish.mig, wish.gpus
        yield f"    flavor: {{ mig: {text(mig)} }}" if mig else f"    flavor: {{ gpus: {gpus} }}"
    else:
        yield "    flavor: none"
    guessed = check(_("a guess"), 1)
    yield f'    cpu: "{wish.cpu or 2}"' + ("" if wish.cpu else guessed)
    memory = f"{wish.memory_mib}MiB" if wish.memory_mib else "8GiB"
    yield f"    memory: {memory}" + ("" if wish.memory_mib else guessed)
    words = _("how long a server lives unless its owner extends it, and at most")
    yield "    lifetime: { default: 8h, longest: 1d }" + check(words, 1)
