"""The words and figures of every answer: what is, why, and what to do next.

It only describes; `decide` has already chosen. Nobody else's name is ever in an answer.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..i18n import _, ngettext
from ..lease import LeaseState, OpenLease, PoolName, Reason, utc_text
from ..mig.geometry import SHARE
from ..mig.placement import count_free
from ..policy.model import Policy, PoolFor
from ..units import UNITS_PER_GPU, duration_text, gpus_text, whole_seconds
from .decision import Denied, Queued
from .levels import inside as inside_team
from .levels import team_use
from .owned import foreign
from .quota import available, potential
from .snapshot import Demand, Scene, may_use, units_of

RETRY_UNKNOWN_S = 60
"""When to ask again where no lease declares an end: a minute, as somebody may stop any time."""
_STOP_ONE = frozenset(
    {
        "most-leases-per-person",
        "most-leases",
        "most-leases-of-project",
        "most-leases-of-type",
        "guarantee-used",
        "borrowing-limit",
        "project-limit",
    }
)
"""Waits that somebody of the person's own can end."""
RETRY_SOONEST_S = 5
"""Never sooner: a server that ends now still has to stop."""

Figures = dict[str, int | str]


def gpus(units: int) -> str:
    """Units as people say them: "1 GPU", "0.25 GPU", "3 GPUs"."""
    one = 0 < units <= UNITS_PER_GPU
    return ngettext("{n} GPU", "{n} GPUs", 1 if one else 2).format(n=gpus_text(units))


def wanted(demand: Demand) -> str:
    """What a demand takes, in words."""
    if demand.mig_profile is None:
        return gpus(demand.units)
    if demand.mig_profile.startswith(SHARE):
        return _("one of {n} time-shares of a GPU ({share})").format(
            n=demand.mig_profile.removeprefix(SHARE), share=gpus(demand.units)
        )
    return _("one {profile} ({share})").format(profile=demand.mig_profile, share=gpus(demand.units))


@dataclass(frozen=True, slots=True)
class Standings:
    """The figures behind an answer on quota, in units."""

    nominal: int
    used: int
    inside: bool
    """Whether the team's guarantee covers all of the request, by what the team holds."""
    available: int
    potential: int
    free: int
    free_units: int


def standings(scene: Scene, demand: Demand) -> Standings:
    """Read quota and devices of a pool as one demand meets them."""
    quotas, queue = scene.quotas, scene.queue(demand)
    away = foreign(scene, demand)
    left = available(quotas, queue)
    # What is there now can be had; only beyond it is asked what there ever is.
    most = left if demand.units <= left else potential(scene.declared_quotas, queue)
    return Standings(
        nominal=scene.policy.teams[demand.team].quota[scene.pool].nominal,
        used=team_use(quotas, queue),
        inside=inside_team(quotas, queue, demand.units),
        available=left,
        potential=most,
        free=count_free(scene.free, away, gpus=demand.gpus, mig_profile=demand.mig_profile),
        free_units=units_of(one for one in scene.free if one.id not in away),
    )


def inside(_demand: Demand, now: Standings) -> bool:
    """Whether the team's guarantee covers all of it; a part beyond makes the whole borrowed."""
    return now.inside


def figures(demand: Demand, now: Standings) -> Figures:
    """Name the numbers of an answer; GPUs as text, because they are no whole numbers."""
    return {
        "team": demand.team,
        "pool": demand.pool,
        "wants_gpus": gpus_text(demand.units),
        "nominal_gpus": gpus_text(now.nominal),
        "team_holds_gpus": gpus_text(now.used),
        "free": now.free,
    }


def holds(demand: Demand, now: Standings) -> dict[str, str]:
    """Words of most answers on quota: what a team is guaranteed, holds and wants of a pool."""
    return {
        "team": demand.team,
        "nominal": gpus(now.nominal),
        "used": gpus(now.used),
        "pool": demand.pool,
        "wants": wanted(demand),
    }


def short(demand: Demand, now: Standings, room: int) -> Figures:
    """Add to the numbers what is missing of the room there is."""
    return {**figures(demand, now), "short_units": max(0, demand.units - max(0, room))}


def release_at(lease: OpenLease, at: datetime) -> datetime | None:
    """When a lease frees its devices as far as it is declared; None where nothing is."""
    if lease.state is LeaseState.stopping:
        return at
    if lease.notice is not None:
        return lease.notice.stops_at
    return lease.ends_at


def soonest_end(leases: Iterable[OpenLease], at: datetime) -> datetime | None:
    """The first declared end of these leases, never before now."""
    ends = [end for lease in leases if (end := release_at(lease, at)) is not None]
    return max(at, min(ends)) if ends else None


def first_end(scene: Scene, *, of: str | None = None, but: str | None = None) -> datetime | None:
    """The first declared end in a pool: of everybody's leases, of one team's, or of all others'.

    It is looked up once for all teams, because a long queue asks for it again and again.
    """
    known = scene.__dict__
    if "ends" not in known:
        ends: dict[str, datetime] = {}
        at, stopping = scene.snapshot.at, LeaseState.stopping
        for lease in scene.holding:
            # Most only run, and there may be a thousand.
            plain = lease.notice is None and lease.state is not stopping
            end = lease.ends_at if plain else release_at(lease, at)
            first = ends.get(lease.team)
            if end is not None and (first is None or end < first):
                ends[lease.team] = end
        known["ends"] = ends
    found = [
        end for team, end in known["ends"].items() if team != but and (of is None or team == of)
    ]
    return max(scene.snapshot.at, min(found)) if found else None


def wait(
    code: str,
    message: str,
    numbers: Figures,
    *,
    ends: Iterable[OpenLease] | datetime | None,
    at: datetime,
    when: str = "",
) -> Queued:
    """Complete an answer that is no "never": when room may come, and what to do until then.

    `ends` are the leases whose end would help, or the first of those ends; `when` says so in
    other words.
    """
    end = ends if ends is None or isinstance(ends, datetime) else soonest_end(ends, at)
    retry = RETRY_UNKNOWN_S
    if end is not None:
        retry = max(RETRY_SOONEST_S, whole_seconds(at, end))
        numbers = {**numbers, "soonest_end": utc_text(end)}
        first = _("The first of them ends in {span} at the latest.")
        when = when or first.format(span=minutes_text(at, end))
    if when:
        message = f"{message} {when}"
    text = f"{message} {_next(code)}"
    return Queued(
        reason=Reason(code=code, message=text, figures={**numbers, "retry_after_s": retry}),
        why=message,
        soonest_at=end,
        retry_after_s=retry,
    )


def minutes_text(at: datetime, end: datetime) -> str:
    """Write a time to come to the minute, rounded up: nobody shall come too early."""
    return duration_text(timedelta(minutes=max(1, -((at - end) // timedelta(minutes=1)))))


def _next(code: str) -> str:
    if code in _STOP_ONE:
        return _("Stop a server that is no longer needed, or ask again later.")
    if code == "budget-short":
        return _("Choose a shorter lifetime or a cheaper profile, or ask again later.")
    if code.startswith("budget-"):
        return _(
            "Profiles without a GPU start as ever; ask a lead or an administrator if it is urgent."
        )
    if code == "no-device-found":
        return _("Tell an administrator; profiles without a GPU start as ever.")
    return _("Ask again later, or choose a smaller profile.")


def refuse(code: str, message: str, numbers: Figures) -> Denied:
    """Complete an answer that is "never as asked"; its message names the remedy itself."""
    return Denied(reason=Reason(code=code, message=message, figures=numbers))


def nobody_may(policy: Policy, demand: Demand) -> Denied:
    """The team has no right to the pool; says which pools it has."""
    open_to = sorted(pool for pool in policy.pools if may_use(policy, demand.team, PoolName(pool)))
    rules = policy.pools.get(demand.pool)
    if rules is not None and isinstance(rules.for_, PoolFor) and rules.for_.team != demand.team:
        why = _("Pool {pool} is reserved for another team.").format(pool=demand.pool)
    else:
        why = _("Team {team} may not use pool {pool}.").format(team=demand.team, pool=demand.pool)
    what = (
        _("Choose a profile of one of its pools: {pools}.").format(pools=", ".join(open_to))
        if open_to
        else _("It may use no pool; choose a profile without a GPU or ask an administrator.")
    )
    return refuse(
        "pool-not-for-team",
        f"{why} {what}",
        {"team": demand.team, "pool": demand.pool, "pools": ", ".join(open_to)},
    )


def too_large(demand: Demand, limit: int) -> Denied:
    """One server may not hold so much in this team."""
    message = _(
        "This takes {wants}, and one server of team {team} may hold at most {limit}. "
        "Choose a smaller profile."
    ).format(wants=wanted(demand), team=demand.team, limit=gpus(limit))
    numbers: Figures = {
        "team": demand.team,
        "wants_gpus": gpus_text(demand.units),
        "largest_request_gpus": gpus_text(limit),
    }
    return refuse("largest-request", message, numbers)


def person_cap(demand: Demand, own: tuple[OpenLease, ...], limit: int, at: datetime) -> Queued:
    """The person holds as many GPU leases as the team allows to one."""
    message = _(
        "You have {count} servers with GPUs in team {team}, and a person may have at most {limit}."
    ).format(count=len(own), team=demand.team, limit=limit)
    numbers: Figures = {"team": demand.team, "yours": len(own), "limit": limit}
    return wait("most-leases-per-person", message, numbers, ends=own, at=at)


def team_cap(demand: Demand, ours: tuple[OpenLease, ...], limit: int, at: datetime) -> Queued:
    """The team holds as many GPU leases as it may."""
    message = _("Team {team} has {count} servers with GPUs, and may have at most {limit}.").format(
        team=demand.team, count=len(ours), limit=limit
    )
    numbers: Figures = {"team": demand.team, "team_leases": len(ours), "limit": limit}
    return wait("most-leases", message, numbers, ends=ours, at=at)


def project_cap(demand: Demand, ours: tuple[OpenLease, ...], limit: int, at: datetime) -> Queued:
    """The project holds as many GPU leases as it may."""
    message = _(
        "Project {project} has {count} servers with GPUs, and may have at most {limit}."
    ).format(project=demand.project, count=len(ours), limit=limit)
    numbers: Figures = {
        "project": str(demand.project),
        "project_leases": len(ours),
        "limit": limit,
    }
    return wait("most-leases-of-project", message, numbers, ends=ours, at=at)


def task_cap(demand: Demand, alike: tuple[OpenLease, ...], limit: int, at: datetime) -> Queued:
    """As many leases of a task type are held as there may be, in all teams together."""
    message = _(
        "{count} servers of the task type {task} hold GPUs, and there may be at most {limit} at "
        "once in all teams."
    ).format(task=demand.task_type, count=len(alike), limit=limit)
    numbers: Figures = {
        "task_type": str(demand.task_type),
        "task_leases": len(alike),
        "limit": limit,
    }
    return wait("most-leases-of-type", message, numbers, ends=alike, at=at)


def not_yet_guaranteed(scene: Scene, demand: Demand, now: Standings) -> Queued:
    """Whoever chose to wait for the guarantee waits until colleagues leave enough of it."""
    message = _(
        "You chose to wait for the guarantee rather than to borrow: team {team} is guaranteed "
        "{nominal} of pool {pool} and holds {used}; this takes {wants}."
    )
    return until_guaranteed(scene, demand, now, "only-guaranteed", message)


def until_guaranteed(
    scene: Scene, demand: Demand, now: Standings, code: str, message: str
) -> Queued:
    """Let wait until colleagues leave enough of the guarantee; `message` names `holds`."""
    text = message.format(**holds(demand, now))
    numbers = short(demand, now, now.nominal - now.used)
    end = first_end(scene, of=demand.team)
    return wait(code, text, numbers, ends=end, at=scene.snapshot.at)


def never_guaranteed(demand: Demand, now: Standings) -> Denied:
    """What is larger than the whole guarantee is never covered by it."""
    message = _(
        "You chose to wait for the guarantee, and this takes {wants}; team {team} is guaranteed "
        "{nominal} of pool {pool} in all. Let it borrow, or choose a smaller profile."
    ).format(wants=wanted(demand), team=demand.team, nominal=gpus(now.nominal), pool=demand.pool)
    return refuse("never-guaranteed", message, figures(demand, now))
