"""Whether a project may be served at all by what a request asks for: its needs are no wishes."""

from ..i18n import _
from ..lease import Isolation
from ..mig.geometry import SHARE
from ..policy.catalogue import may_choose
from ..policy.isolation import Short, best_of, isolation_of, shortfalls
from ..policy.model import FlavorKind, Policy, flavor_kind
from .decision import Denied
from .reasons import Figures, refuse
from .snapshot import Demand, Scene


def apart(scene: Scene, demand: Demand) -> Denied | None:
    """Refuse what keeps a project's server less apart, or on older software, than it needs."""
    have = isolation_of(scene.policy, demand.pool, _kind(demand), demand.alone)
    missed = shortfalls(scene.policy, demand.project, demand.pool, have)
    if not missed:
        return None
    first = missed[0]
    numbers: Figures = {
        "project": str(demand.project),
        "pool": demand.pool,
        "needs": first.needs,
        "has": first.has or "unknown",
    }
    message = _weaker(demand, first) if first.what == "isolation" else _older(demand, first)
    remedy = _remedy(scene.policy, demand)
    return refuse(f"{first.what}-below-need", f"{message} {remedy}", numbers)


def isolation_title(name: str) -> str:
    """Name a class of isolation in people's words."""
    titles = {
        Isolation.none: _("no isolation"),
        Isolation.time_slice: _("a GPU shared in turns"),
        Isolation.vgpu: _("a virtual GPU"),
        Isolation.mig: _("a MIG device of its own"),
        Isolation.gpu: _("a whole GPU"),
        Isolation.node: _("a machine alone"),
    }
    return titles[Isolation(name)]


def _kind(demand: Demand) -> FlavorKind:
    if demand.gpus:
        return "gpu"
    return "share" if demand.flavor.startswith(SHARE) else "mig"


def _weaker(demand: Demand, short: Short) -> str:
    return _("The project {project} needs {needs} at least; this is {has}.").format(
        project=demand.project,
        needs=isolation_title(short.needs),
        has=isolation_title(short.has or Isolation.none),
    )


def _older(demand: Demand, short: Short) -> str:
    titles = {"driver": _("NVIDIA driver"), "toolkit": _("NVIDIA Container Toolkit")}
    words = (
        _("The project {project} needs {what} {needs} or newer; pool {pool} does not say its own.")
        if short.has is None
        else _("The project {project} needs {what} {needs} or newer; pool {pool} has {has}.")
    )
    return words.format(
        project=demand.project,
        what=titles[short.what],
        needs=short.needs,
        pool=demand.pool,
        has=short.has,
    )


def _remedy(policy: Policy, demand: Demand) -> str:
    """Name the profiles that meet the needs, alone where that is what it takes."""
    plain, alone = [], []
    for name, profile in policy.profiles.items():
        pool, kind = profile.pool, flavor_kind(profile.flavor)
        if pool is None or not may_choose(policy, demand.team, name):
            continue
        if not shortfalls(policy, demand.project, pool, isolation_of(policy, pool, kind, None)):
            plain.append(profile.title)
        elif not shortfalls(policy, demand.project, pool, best_of(policy, pool, kind)):
            alone.append(profile.title)
    if plain:
        return _("Choose one of: {profiles}.").format(profiles=", ".join(plain))
    if alone:
        return _("Ask for it alone: {profiles}.").format(profiles=", ".join(alone))
    return _("No profile of this team meets that; ask an administrator.")
