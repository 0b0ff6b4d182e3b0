"""The one function that decides, for the offer on the page and for the server that starts.

It returns a value and changes nothing; whoever asked records it and acts.
"""

from collections.abc import Iterable, Iterator, Sequence

from ..errors import RefusedError
from ..i18n import _
from ..lease import (
    Device,
    Offer,
    OfferSheet,
    PoolName,
    ProjectName,
    Reason,
    ServerKey,
    ServerName,
    ShareOffer,
    Standing,
)
from ..policy.catalogue import Person, choices, projects_of, resolve, teams_of
from ..policy.purposes import takes_purpose
from .announced import bounded, told
from .budgets import money
from .crossing import fitted
from .decision import Admitted, Decision, Denied, Queued, Request, standing_of
from .gates import access, caps, wish
from .levels import queue_of
from .offer import offer
from .order import covers
from .owned import foreign
from .placing import in_service, no_room, place
from .priority import arriving
from .reasons import Standings, figures, holds, standings
from .rehearse import rehearse
from .shares import shares
from .snapshot import Demand, Scene, Snapshot, demand_of, scene

__all__ = [
    "Admitted",
    "Decision",
    "Denied",
    "Queued",
    "Request",
    "decide",
    "in_turn",
    "offers",
    "reconsider",
    "standing_of",
]


def decide(snapshot: Snapshot, request: Request) -> Decision:
    """Decide one request on one snapshot.

    The same snapshot and request always give the same answer, in whatever order leases and
    devices are listed. Devices that are admitted are in service, free and distinct.
    """
    pool = request.resolved.pool
    if pool is None:
        words = _("No GPU, so no quota applies.")
        return Admitted(
            standing=Standing.unmetered, devices=(), reason=Reason(code="no-gpu", message=words)
        )
    return _together(snapshot, (request,))[0]


def offers(snapshot: Snapshot, person: Person) -> OfferSheet:
    """Resolve and decide every choice that a person has, as if they asked for it now.

    A server of theirs that runs already counts: the offers are for one more.
    """
    requests: list[Request] = []
    refused: Reason | None = None
    for choice in choices(snapshot.policy, person):
        try:
            resolved = resolve(snapshot.policy, person, choice, snapshot.at)
        except RefusedError as error:
            refused = Reason(code=error.code, message=error.message, figures=error.figures)
            continue
        priority = arriving(snapshot.policy, resolved.weight, person.user, snapshot.recent)
        requests.append(
            Request(
                key=ServerKey(user=person.user, server=ANY_SERVER),
                resolved=resolved,
                requested_at=snapshot.at,
                priority=priority,
            )
        )
    made = [
        offer(snapshot, request.resolved, answer)
        for request, answer in zip(requests, _offered(snapshot, requests), strict=True)
    ]
    teams = teams_of(snapshot.policy, person)
    return OfferSheet(
        user=person.user,
        at=snapshot.at,
        teams=teams,
        projects=projects_of(snapshot.policy, teams),
        offers=_of_shares(snapshot, requests, made),
        simulated=any(device.simulated for device in snapshot.devices),
        policy_generation=snapshot.generation,
        message=None if made else refused or _nothing(person, teams),
        timezone=snapshot.policy.timezone,
        takes_purpose=takes_purpose(snapshot.policy),
    )


def _of_shares(
    snapshot: Snapshot, requests: Sequence[Request], made: Sequence[Offer]
) -> tuple[Offer, ...]:
    """Decide what stands otherwise for another project of the team, as its share is another."""
    shares: dict[int, list[ShareOffer]] = {}
    asked: list[tuple[int, Request]] = []
    for n, one in enumerate(made):
        if not one.shared_out or len(one.projects) < 2:  # noqa: PLR2004 - else there is no choice
            continue
        for project in one.projects:
            named = requests[n].resolved.choice.model_copy(update={"project": project})
            try:
                resolved = resolve(snapshot.policy, requests[n].resolved.person, named, snapshot.at)
            except RefusedError as error:
                why = Reason(code=error.code, message=error.message, figures=error.figures)
                denied = ShareOffer(project=project, standing=Standing.denied, reason=why)
                shares.setdefault(n, []).append(denied)
                continue
            asked.append((n, requests[n].model_copy(update={"resolved": resolved})))
    answers = _offered(snapshot, [request for _n, request in asked])
    for (n, request), answer in zip(asked, answers, strict=True):
        told = ShareOffer(
            project=ProjectName(str(request.resolved.project)),
            standing=standing_of(answer),
            reason=answer.reason,
        )
        shares.setdefault(n, []).append(told)
    return tuple(
        one.model_copy(update={"shares": _ordered(shares[n], one.projects)}) if n in shares else one
        for n, one in enumerate(made)
    )


def _ordered(
    shares: Sequence[ShareOffer], projects: Sequence[ProjectName]
) -> tuple[ShareOffer, ...]:
    return tuple(sorted(shares, key=lambda one: projects.index(one.project)))


def _offered(snapshot: Snapshot, requests: Sequence[Request]) -> list[Decision]:
    """Decide as `decide` does; those of one queue and number have the same requests before them."""
    places: dict[tuple[str, ...], list[int]] = {}
    for n, request in enumerate(requests):
        what, pool = request.resolved, request.resolved.pool
        queue = queue_of(snapshot.policy, what.team, what.project, pool) if pool else ""
        places.setdefault((pool or "", queue, str(request.priority)), []).append(n)
    found: dict[int, Decision] = {}
    for (pool_name, *_place), members in places.items():
        group = [requests[n] for n in members]
        answers = (
            _together(snapshot, group) if pool_name else [decide(snapshot, one) for one in group]
        )
        found.update(zip(members, answers, strict=True))
    return [found[n] for n in range(len(requests))]


def _together(snapshot: Snapshot, requests: Sequence[Request]) -> list[Decision]:
    """Decide requests of one server that would have the same place, each as the only one."""
    first = requests[0]
    pool = PoolName(str(first.resolved.pool))
    view = scene(snapshot, pool, without=first.key, lease_id=first.lease_id)
    demands = [demand_of(request, pool) for request in requests]
    place = {id(demand): n for n, demand in enumerate(demands)}
    found: dict[int, Decision] = {}
    for demand, answer, _after in rehearse(view, view.waiting, _answer, asked=demands):
        if id(demand) in place:
            found[place[id(demand)]] = answer
    return [_said(snapshot, request, found[n]) for n, request in enumerate(requests)]


ANY_SERVER = ServerName("\x00")
"""Key of an offer: no server can be called so, hence none is left out of the count."""


def _nothing(person: Person, teams: tuple[str, ...]) -> Reason:
    if not teams:
        return Reason(
            code="no-team",
            message=_(
                "{user} is in no group that the policy gives to a team. "
                "Ask an administrator to add you to one."
            ).format(user=person.user),
        )
    return Reason(
        code="no-profile",
        message=_(
            "The policy has no profile for team {teams}. Ask an administrator to add one."
        ).format(teams=", ".join(teams)),
    )


def reconsider(snapshot: Snapshot, request: Request, held: tuple[Device, ...]) -> Decision:
    """Decide once more on a request whose devices are held for it.

    Rules and quota are applied as they are now. Its turn has come already, so nobody who waits
    is before it: else a hold would promise nothing. It gets the devices held, while in service.
    """
    pool = request.resolved.pool
    if pool is None:
        return decide(snapshot, request)
    demand = demand_of(request, pool)
    view = scene(snapshot, pool, without=request.key, lease_id=request.lease_id)
    answer = _answer(view.alone(), demand)
    mine = not {device.id for device in held} & foreign(view, demand)
    if isinstance(answer, Admitted) and mine and set(held) <= set(view.devices) and held:
        answer = answer.model_copy(update={"devices": held, "ends_by": None, "ends_why": ""})
        answer = fitted(view, demand, bounded(view, demand, answer))
    return _said(snapshot, request, answer)


def _said(snapshot: Snapshot, request: Request, answer: Decision) -> Decision:
    """Say in an answer that the lease it gives ends early, where it does."""
    if not isinstance(answer, Admitted):
        return answer
    return told(answer, request.resolved, snapshot.at, snapshot.policy.timezone)


def in_turn(view: Scene, demands: Iterable[Demand]) -> Iterator[tuple[Demand, Decision, Scene]]:
    """Answer waiting demands in the order in which Kueue would; each sees what is left for it."""
    return rehearse(view, demands, _answer)


def _answer(view: Scene, demand: Demand) -> Decision:
    refused = access(view, demand) or in_service(view, demand)
    if refused is not None:
        return refused
    now, modes = standings(view, demand), view.policy.modes
    short = money(view, demand)
    waits = wish(view, demand, now) or (short if modes.budget == "enforce" else None)
    if waits is not None:
        return waits
    rules = caps(view, demand) or shares(view, demand, now)
    if rules is not None and modes.quota == "enforce":
        return rules
    devices = place(view, demand)
    if devices is None:
        return no_room(view, demand, now)
    if demand.alone is not None:
        # What is kept empty beside it is known only now, and is paid for too.
        short = money(view, demand, devices)
    return _admit(view, demand, now, devices, (rules, short))


def _admit(
    view: Scene,
    demand: Demand,
    now: Standings,
    devices: tuple[Device, ...],
    said: tuple[Queued | Denied | None, Queued | Denied | None],
) -> Decision:
    """Give a request its devices; `said` is what quota and budgets have against it."""
    rules, short = said
    modes = view.policy.modes
    if short is not None and modes.budget == "enforce":
        return short
    standing = Standing.guaranteed if covers(view, demand) else Standing.borrowed
    reason = _granted(demand, now, rules, standing, advised=modes.quota == "advise")
    admitted = Admitted(
        standing=standing,
        devices=devices,
        reason=_unpaid(reason, short, advised=modes.budget == "advise"),
        would_have=None if rules is None else standing_of(rules),
        budget_would_have=None if short is None else standing_of(short),
    )
    return fitted(view, demand, bounded(view, demand, admitted))


def _unpaid(reason: Reason, short: Queued | Denied | None, *, advised: bool) -> Reason:
    """Add to a granted request what budgets will say one day."""
    if short is None:
        return reason
    message = reason.message
    if advised:
        message += " " + _("Once budgets are enforced, this would be refused: {why}").format(
            why=short.reason.message
        )
    would = {
        "budget_would_have": standing_of(short).value,
        "budget_would_have_code": short.reason.code,
        "budget": str(short.reason.figures["budget"]),
    }
    return reason.model_copy(update={"message": message, "figures": {**reason.figures, **would}})


def _granted(
    demand: Demand,
    now: Standings,
    rules: Queued | Denied | None,
    standing: Standing,
    *,
    advised: bool,
) -> Reason:
    """Say how a granted request stands to the quota, and what the rules will say one day."""
    code = standing.value
    if standing is Standing.borrowed and now.inside:
        message = _(
            "Inside the guarantee of team {team} ({nominal} of pool {pool}, {used} held), but "
            "beyond what is the project's own: this borrows {wants} that the team's other "
            "projects leave free."
        )
    elif standing is Standing.borrowed:
        message = _(
            "Beyond the guarantee of team {team} ({nominal} of pool {pool}, {used} held): "
            "this borrows {wants} that others leave free."
        )
    elif now.inside:
        message = _(
            "Covered by the guarantee of team {team}: {nominal} of pool {pool}, {used} held, "
            "this takes {wants}."
        )
    else:
        message = _(
            "Covered by the guarantee of team {team}: {nominal} of pool {pool}. Of the {used} "
            "held, what is borrowed leaves room for it; this takes {wants}."
        )
    message = message.format(**holds(demand, now))
    numbers = figures(demand, now)
    if rules is not None:
        numbers |= {
            "would_have": standing_of(rules).value,
            "would_have_code": rules.reason.code,
        }
    if isinstance(rules, Queued):
        numbers["would_have_wait_s"] = rules.retry_after_s
    if rules is not None and advised:
        message += " " + _("Once quota is enforced, this would be refused: {why}").format(
            why=rules.reason.message
        )
    return Reason(code=code, message=message, figures=numbers)
