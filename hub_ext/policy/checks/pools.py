"""Pools: machines, and cuts that their GPUs can have."""

from collections.abc import Iterator, Sequence

from ...i18n import _
from ...mig.geometry import Geometry, geometry, place, table
from ..model import GpuFlavor, Policy, Pool
from ..problems import Path, Problem, error, listed, nearest, quoted, warning


def check_pools(policy: Policy) -> Iterator[Problem]:
    """Check every pool by itself, and that somebody can use it."""
    for name, pool in policy.pools.items():
        path: Path = ("pools", name)
        if pool.for_ != "shared" and pool.for_.team not in policy.teams:
            yield error(
                (*path, "for", "team"),
                _("there is no team {team}").format(team=quoted(pool.for_.team)),
                nearest(pool.for_.team, list(policy.teams)),
            )
        yield from _nodes(path, pool)
        if pool.vgpu is not None:
            yield from _virtual(policy, name, pool)
        if not any(name in team.quota for team in policy.teams.values()):
            yield warning(
                path,
                _("no team has quota here, so nobody can use these GPUs"),
                _("add the pool to a team's `quota`"),
            )


def _virtual(policy: Policy, name: str, pool: Pool) -> Iterator[Problem]:
    """Refuse what virtual GPUs cannot keep: they are cut elsewhere, and one goes to one server."""
    path: Path = ("pools", name)
    for index, node in enumerate(pool.nodes):
        if any(cut != "whole" for cut in node.geometry):
            yield error(
                (*path, "nodes", index, "geometry"),
                _("a virtual GPU is not cut here; its hypervisor has cut the real one"),
                _("leave `geometry` out, and name the profile as `vgpu`"),
            )
    if pool.exclusive:
        yield error(
            (*path, "exclusive"),
            _("others compute on the same real GPU, so nobody has it alone"),
            _("take `exclusive` away"),
        )
    if pool.rdma is not None:
        yield error(
            (*path, "rdma"),
            _("a fabric is for whole GPUs; a virtual one is a part, and gets none"),
            _("take `rdma` away"),
        )
    for label, profile in policy.profiles.items():
        if profile.pool != name:
            continue
        if not isinstance(profile.flavor, GpuFlavor) or profile.flavor.gpus != 1:
            yield error(
                ("profiles", label, "flavor"),
                _("each server gets one virtual GPU of pool {pool}").format(pool=quoted(name)),
                _("write `{gpus: 1}`"),
            )


def _nodes(path: Path, pool: Pool) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, node in enumerate(pool.nodes):
        here: Path = (*path, "nodes", index)
        if node.name in seen:
            yield error(
                (*here, "name"),
                _("the machine {name} is here twice").format(name=quoted(node.name)),
                _("give each machine one entry, with all its GPUs of this pool"),
            )
        seen.add(node.name)
        if node.geometry and len(node.geometry) != node.gpus:
            yield error(
                (*here, "geometry"),
                _("{listed} cuts for {gpus} GPUs").format(
                    listed=len(node.geometry), gpus=node.gpus
                ),
                _("write one entry for each GPU, `whole` or a list, or leave it out"),
            )
        for gpu, cut in enumerate(node.geometry):
            if isinstance(cut, tuple):
                yield from _cut((*here, "geometry", gpu), pool.model, cut)


def _cut(path: Path, model: str, cut: Sequence[str]) -> Iterator[Problem]:
    shape = geometry(model)
    if shape is None:
        yield error(
            path,
            _("{model} has no MIG data, so its GPUs cannot be cut").format(model=quoted(model)),
            _("write `whole`, or name a model that can be cut: {near}").format(
                near=nearest(model, list(table()))
            ),
        )
        return
    if not cut:
        yield error(path, _("a GPU cut into nothing serves nobody"), _("write `whole`"))
        return
    unknown = [(at, name) for at, name in enumerate(cut) if name not in shape.profiles]
    for at, name in unknown:
        yield error(
            (*path, at),
            _("{model} has no MIG profile {name}").format(model=quoted(model), name=quoted(name)),
            nearest(name, list(shape.profiles)),
        )
    if not unknown and place(model, tuple(cut)) is None:
        yield error(
            path,
            _("no {model} holds all of these at once").format(model=quoted(model)),
            _too_much(shape, cut),
        )


def _too_much(shape: Geometry, cut: Sequence[str]) -> str:
    """Say which of the profiles, as listed, still fit together."""
    fitting = next(
        end
        for end in range(min(len(cut), shape.max_instances), -1, -1)
        if place(shape.id, tuple(cut[:end])) is not None
    )
    if not fitting:
        return nearest(cut[0], list(shape.profiles))
    return _("these fit: {fitting}").format(fitting=listed(cut[:fitting]))
