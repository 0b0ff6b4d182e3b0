"""Answers on a project's share of its team's quota; None where it has none or that is not it."""

from ..i18n import _
from ..policy.model.teams import Quota
from ..units import gpus_text
from .decision import Denied, Queued
from .levels import queue_of
from .reasons import Figures, Standings, first_end, gpus, refuse, short, wait, wanted
from .snapshot import Demand, Scene


def project_limit(scene: Scene, demand: Demand, now: Standings) -> Queued | None:
    """Let wait what exceeds the share and what the project may use beyond it."""
    share = _share(scene, demand)
    limit = None if share is None else share.borrowing_limit
    if share is None or limit is None:
        return None
    used = scene.quotas.used(scene.queue(demand))
    if used + demand.units <= share.nominal + limit:
        return None
    message = _(
        "Project {project} has a share of {share} in pool {pool} and may use {limit} beyond it; it "
        "holds {used}, and this takes {wants}."
    ).format(
        project=demand.project,
        share=gpus(share.nominal),
        pool=demand.pool,
        limit=gpus(limit),
        used=gpus(used),
        wants=wanted(demand),
    )
    ours = [lease for lease in scene.holding if lease.project == demand.project]
    numbers = {**_figures(scene, demand, now, share), "project_limit_gpus": gpus_text(limit)}
    return wait("project-limit", message, numbers, ends=ours, at=scene.snapshot.at)


def project_never(scene: Scene, demand: Demand, now: Standings) -> Denied | None:
    """Refuse what the project can never hold at once."""
    share = _share(scene, demand)
    if share is None:
        return None
    message = _(
        "This takes {wants}; project {project} can never hold more than {most} of pool {pool}: its "
        "share is {share} of the quota of team {team}. Choose a smaller profile."
    ).format(
        wants=wanted(demand),
        project=demand.project,
        most=gpus(now.potential),
        pool=demand.pool,
        share=gpus(share.nominal),
        team=demand.team,
    )
    numbers = {**_figures(scene, demand, now, share), "potential_gpus": gpus_text(now.potential)}
    return refuse("beyond-limits", message, numbers)


def project_waits(scene: Scene, demand: Demand, now: Standings) -> Queued:
    """Let wait what would use another project's share while that project asks for it."""
    share = _share(scene, demand)
    message = _(
        "This goes beyond the share that is left for it in team {team}; while a request inside "
        "the share of another of the team's projects waits in pool {pool}, that is not lent."
    ).format(team=demand.team, pool=demand.pool)
    numbers = _figures(scene, demand, now, share)
    end = first_end(scene, of=demand.team)
    return wait("owner-waits", message, numbers, ends=end, at=scene.snapshot.at)


def _share(scene: Scene, demand: Demand) -> Quota | None:
    queue = queue_of(scene.policy, demand.team, demand.project, demand.pool)
    if queue == demand.team or demand.project is None:
        return None
    return scene.policy.projects[demand.project].quota[demand.pool]


def _figures(scene: Scene, demand: Demand, now: Standings, share: Quota | None) -> Figures:
    numbers = short(demand, now, now.available)
    if share is not None:
        used = scene.quotas.used(scene.queue(demand))
        numbers |= {
            "project": str(demand.project),
            "share_gpus": gpus_text(share.nominal),
            "project_holds_gpus": gpus_text(used),
        }
    return numbers
