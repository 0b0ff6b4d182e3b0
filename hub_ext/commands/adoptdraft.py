"""Writes a policy from queues of Kueue that exist. Every guess carries a comment `# CHECK: …`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..errors import UnitError
from ..i18n import _
from ..kube.adopting import GPU, MIG, Found, FoundNode, FoundPool, FoundQueue, FoundQuota
from ..mig.geometry import geometry, place, profile_units, table
from ..units import UNITS_PER_GPU, Units, quota_text
from .drafting import IDLE, OPENING, check, free, key, text
from .init.found import model_name, slug

MOST_GPUS = 64
"""GPUs of one machine that a policy may declare."""

_HEAD = """\
# yaml-language-server: $schema=policy.schema.json
#
# A first policy, written by `gpu-commons adopt` from the queues of this cluster. Go through every
# `# CHECK:`, then ask `gpu-commons check` about this file. `gpu-commons render --apply` makes
# queues of its own from it; when they serve, take the old ones away, or both give the same GPUs.

"""

_TAIL = """\

prices: [] # CHECK: without prices everything is "not priced".
"""


@dataclass(frozen=True)
class _Pool:
    """A pool to be, with the flavor that it was."""

    name: str
    model: str
    known: bool
    was: FoundPool

    @property
    def profiles(self) -> tuple[str, ...]:
        return tuple(sorted({part for node in self.was.nodes for part in node.parts}))


def draft(there: Found) -> str:
    """Write the policy."""
    pools = {pool.was.flavor: pool for pool in _pools(there.pools)}
    usable = [queue for queue in there.queues if queue.usable]
    lines = [
        *(_HEAD + OPENING).splitlines(),
        *_pool_lines(list(pools.values())),
        *_team_lines(usable, pools),
        *_project_lines(usable),
        *_profile_lines(list(pools.values())),
        *(_TAIL + IDLE).splitlines(),
    ]
    return "\n".join(lines) + "\n"


def _pools(given: Sequence[FoundPool]) -> Iterator[_Pool]:
    names: set[str] = set()
    for one in given:
        products = sorted({node.product for node in one.nodes if node.product})
        model, known = _model(products[0]) if products else (slug(one.flavor, "gpu"), False)
        name = free(slug(one.flavor, "gpus"), names)
        names.add(name)
        yield _Pool(name, model, known, one)


def _model(label: str) -> tuple[str, bool]:
    """Name the model of a node's label, in which hyphens stand for the product's spaces."""
    for name, shape in table().items():
        if label in {product.replace(" ", "-") for product in shape.products}:
            return name, True
    return model_name(label.replace("-", " "))


# -- pools -----------------------------------------------------------------------------------


def _pool_lines(pools: Sequence[_Pool]) -> Iterator[str]:
    yield ""
    yield "pools:"
    for pool in pools:
        yield f"  {key(pool.name)}:"
        if not pool.known:
            yield check(_("name the GPU as the MIG table does, or as the driver does"), 4)
        yield f"    model: {text(pool.model)}"
        if pool.was.selector:
            labels = ", ".join(f"{text(k)}: {text(v)}" for k, v in pool.was.selector.items())
            yield f"    selector: {{ {labels} }}"
        yield "    nodes:"
        if not pool.was.nodes:
            yield check(_("no machine with GPUs has the labels of this flavor; name them"), 6)
            yield "      - { name: unknown, gpus: 1 }"
        for node in pool.was.nodes:
            yield from _node_lines(pool.model, node)


def _node_lines(model: str, node: FoundNode) -> Iterator[str]:
    cut, gpus = _cut(model, node)
    yield f"      - name: {text(node.name)}"
    if node.parts and not cut:
        parts = ", ".join(f"{n} x {part}" for part, n in node.parts.items())
        yield check(_("how its GPUs are cut is not clear from {parts}").format(parts=parts), 8)
    yield f"        gpus: {min(max(gpus, 1), MOST_GPUS)}"
    if cut:
        one = f"[{', '.join(map(text, cut))}]"
        yield f"        geometry: [{', '.join([one] * gpus)}]"


def _cut(model: str, node: FoundNode) -> tuple[tuple[str, ...], int]:
    """Find a cut that is the same on every GPU and legal, and the number of GPUs."""
    if not node.parts or geometry(model) is None:
        return (), node.gpus
    for gpus in (node.gpus,) if node.gpus else range(1, MOST_GPUS + 1):
        if any(n % gpus for n in node.parts.values()):
            continue
        cut = tuple(
            part
            for part, n in sorted(node.parts.items(), key=lambda each: _size(model, each[0]))
            for _n in range(n // gpus)
        )
        if all(_size(model, part) for part in cut) and place(model, cut) is not None:
            return cut, gpus
    return (), node.gpus


def _size(model: str, part: str) -> int:
    """Units of a MIG profile, the largest first; 0 where the model has none of the name."""
    try:
        return -profile_units(model, part)
    except UnitError:
        return 0


# -- teams and projects ------------------------------------------------------------------------


def _team_lines(queues: Sequence[FoundQueue], pools: dict[str, _Pool]) -> Iterator[str]:
    yield ""
    yield "teams:"
    if not queues:
        yield check(_("no queue can be used as it is, so this team is made up"))
        yield "  everybody: { groups: [users], quota: {} }"
    for name, queue in _named(queues).items():
        yield f"  {key(name)}:"
        yield f"    groups: [{text(name)}] # CHECK: groups of the hub whose members are this team."
        yield "    leads: [] # CHECK: users who see the team's spend."
        yield f"    over_quota: {'borrow' if queue.cohort else 'queue'}"
        yield "    quota:"
        for flavor in dict.fromkeys(one.flavor for one in queue.quotas):
            pool = pools.get(flavor)
            if pool is not None:
                yield from _quota_lines(pool, [x for x in queue.quotas if x.flavor == flavor])


def _quota_lines(pool: _Pool, quotas: Sequence[FoundQuota]) -> Iterator[str]:
    """Add up what a queue has of one flavor, whole GPUs and parts of them."""
    unclear = [one.resource for one in quotas if _units(pool, one.resource) is None]
    if unclear:
        words = _("what {names} is of a GPU is not known here; add it").format(
            names=", ".join(unclear)
        )
        yield check(words, 6)
    fields = [f'nominal: "{_sum(pool, quotas, "nominal")}"']
    fields += [
        f'{limit}: "{_sum(pool, quotas, limit)}"'
        for limit in ("borrowing_limit", "lending_limit")
        if all(getattr(one, limit) is not None for one in quotas)
    ]
    yield f"      {key(pool.name)}: {{ {', '.join(fields)} }}"


def _sum(pool: _Pool, quotas: Sequence[FoundQuota], what: str) -> str:
    units = sum((_units(pool, one.resource) or 0) * getattr(one, what) for one in quotas)
    return quota_text(Units(units))


def _units(pool: _Pool, resource: str) -> int | None:
    """Units of one of a resource in a pool; None where that cannot be told."""
    if resource == GPU:
        return UNITS_PER_GPU
    if not resource.startswith(MIG):
        return None
    return -_size(pool.model, resource.removeprefix(MIG)) or None


def _project_lines(queues: Sequence[FoundQueue]) -> Iterator[str]:
    """Make each namespace that leads to a queue a project of it; of several the first."""
    yield ""
    yield "projects:"
    names: set[str] = set()
    seen: set[str] = set()
    for team, queue in _named(queues).items():
        for namespace in queue.namespaces:
            if namespace in seen:
                words = _("namespace {namespace} leads to {queue} too; a project has one team")
                yield check(words.format(namespace=namespace, queue=queue.name))
                continue
            seen.add(namespace)
            name = free(slug(namespace, "project"), names)
            names.add(name)
            yield f"  {key(name)}: {{ team: {key(team)}, namespace: {text(namespace)} }}"
            yield check(_("pin its image with `gpu-commons image pin`"))
    if not names:
        yield "  {}"


def _named(queues: Sequence[FoundQueue]) -> dict[str, FoundQueue]:
    named: dict[str, FoundQueue] = {}
    for queue in queues:
        named[free(slug(queue.name, "team"), set(named))] = queue
    return named


# -- profiles ----------------------------------------------------------------------------------


def _profile_lines(pools: Sequence[_Pool]) -> Iterator[str]:
    yield ""
    yield "profiles:"
    names: set[str] = set()
    for pool in pools:
        cuts = [_cut(pool.model, node)[0] for node in pool.was.nodes]
        if not all(cuts) or not cuts:
            name = free(f"one-{pool.name}"[:60], names)
            names.add(name)
            yield from _profile(name, _("One GPU of {pool}"), pool, "gpus: 1")
        for part in sorted({part for cut in cuts for part in cut}):
            name = free(slug(f"{part}-{pool.name}", "slice"), names)
            names.add(name)
            title = _("{part} of {pool}").format(part=part, pool="{pool}")
            yield from _profile(name, title, pool, f"mig: {text(part)}")
    yield "  cpu-only:"
    yield f"    title: {text(_('No GPU'))}"
    yield "    flavor: none"
    yield '    cpu: "1"'
    yield "    memory: 2GiB"
    yield "    lifetime: { default: 8h, longest: 1d }"


def _profile(name: str, title: str, pool: _Pool, flavor: str) -> Iterator[str]:
    yield f"  {key(name)}:"
    yield f"    title: {text(title.format(pool=pool.name))}"
    yield f"    pool: {key(pool.name)}"
    yield f"    flavor: {{ {flavor} }}"
    yield '    cpu: "2"' + check(_("a guess"), 1)
    yield "    memory: 8GiB" + check(_("a guess"), 1)
    yield "    lifetime: { default: 8h, longest: 1d }"
