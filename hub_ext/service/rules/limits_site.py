"""Rules of the whole site that bind one person: task types, waiting, reserving, idleness, prices.

It reads the policy and puts it into words.
"""

from collections.abc import Iterator
from datetime import datetime

from ...i18n import _
from ...lease import Limit, TeamName
from ...policy.catalogue import Person, may_choose, may_use, price_at
from ...policy.model import FlavorKind, IdleRule, Policy, Reservable, flavor_name
from ...policy.model.idle import gpu_unused
from ...policy.model.keep import keep_server, keep_week
from ...policy.tasks import has_right
from ...units import duration_text, money_text
from ..books import formats


def site_limits(
    policy: Policy, person: Person, teams: tuple[TeamName, ...], now: datetime
) -> Iterator[Limit]:
    """List them in the order of the page."""
    yield from _of_types(policy, person, teams)
    yield from _waiting(policy, teams)
    yield from _reservations(policy, person, teams)
    yield from _idle(policy, person, teams)
    yield from _prices(policy, teams, now)


def _waiting(policy: Policy, teams: tuple[TeamName, ...]) -> Iterator[Limit]:
    if not teams:
        return
    rules, notice = policy.priority, policy.notice
    yield Limit(
        subject="waiting",
        words=_(
            "Among requests of a task type, an hour of waiting adds {ageing} points, {most_ageing} "
            "at most; a GPU-hour that you had takes {recent} off, {most_recent} at most, and half "
            "as many after each {half}."
        ).format(
            ageing=rules.ageing_per_hour,
            most_ageing=rules.most_ageing,
            recent=rules.recent_per_gpu_hour,
            most_recent=rules.most_recent,
            half=duration_text(rules.recent_half_life),
        ),
        origin="priority",
        in_force="always",
    )
    yield Limit(
        subject="waiting",
        words=_(
            "When your turn comes, a GPU is held for {hold}, and once more after that; a server "
            "that was started for you and that nobody comes to is stopped after {unused}."
        ).format(hold=duration_text(notice.hold), unused=duration_text(notice.never_used)),
        origin="notice.hold",
        in_force="always",
    )
    starts = policy.starts
    yield Limit(
        subject="waiting",
        words=_(
            "After {n} starts of yours in a row that failed you wait {pause} before the next, "
            "twice as long after each further one, {longest} at most."
        ).format(
            n=starts.failures,
            pause=duration_text(starts.pause),
            longest=duration_text(starts.longest_pause),
        ),
        origin="starts",
        in_force="always",
    )


def _reservations(policy: Policy, person: Person, teams: tuple[TeamName, ...]) -> Iterator[Limit]:
    for name, pool in policy.pools.items():
        ours = [team for team in teams if may_use(policy, team, name)]
        if ours and pool.reservable is not None:
            leads = [team for team in ours if person.user in policy.teams[team].leads]
            yield Limit(
                subject="reservations",
                words=_reservable(name, pool.reservable, lead=bool(leads)),
                origin=f"pools.{name}.reservable",
                in_force="always",
            )
        if ours and pool.exclusive:
            yield Limit(
                subject="reservations",
                words=_("Pool {pool}: a project may have a whole {kinds} alone.").format(
                    pool=name, kinds=_(" or ").join(pool.exclusive)
                ),
                origin=f"pools.{name}.exclusive",
                in_force="always",
            )


def _reservable(pool: str, rules: Reservable, *, lead: bool) -> str:
    who = _("the leads of your team may reserve")
    if lead or rules.by == "everyone":
        who = _("you may reserve")
    return _(
        "Pool {pool}: {who}, {most} at the same time of all together, {longest} long and {ahead} "
        "ahead at most; kept {no_show} for who does not come; unused time costs {percent} % of the "
        "price."
    ).format(
        pool=pool,
        who=who,
        most=formats.gpus(rules.most),
        longest=duration_text(rules.longest),
        ahead=duration_text(rules.ahead),
        no_show=duration_text(rules.no_show),
        percent=rules.unused_percent,
    )


def _of_types(policy: Policy, person: Person, teams: tuple[TeamName, ...]) -> Iterator[Limit]:
    for name, task in policy.task_types.items():
        if not any(has_right(task, person, team) for team in teams):
            continue
        parts = [_("{title}: weight {weight}").format(title=task.title, weight=task.weight)]
        if task.flavors is not None:
            parts.append(_("for {kinds} only").format(kinds=", ".join(task.flavors)))
        if task.idle is not None:
            parts.append(_("idle rule {rule}").format(rule=task.idle))
        if task.most_leases is not None:
            parts.append(_("{n} at once in all teams").format(n=task.most_leases))
        if task.long_running:
            parts.append(_("no normal lifetime of a pool binds it"))
        if task.may_preempt:
            parts.append(_("may stop lower types of a team that says so"))
        yield Limit(
            subject="task types",
            words="; ".join(parts) + ".",
            origin=f"task_types.{name}",
            in_force="always" if task.most_leases is None else policy.modes.quota,
        )


def _idle(policy: Policy, person: Person, teams: tuple[TeamName, ...]) -> Iterator[Limit]:
    for name, rule in policy.idle.items():
        whom = _whom(policy, name, rule, person, teams)
        if not whom:
            continue
        yield Limit(
            subject="idle",
            words=_("{whom}: quiet for {limit} is idle, stopped with {notice} notice.").format(
                whom=whom,
                limit=duration_text(rule.limit),
                notice=duration_text(rule.notice),
            ),
            origin=f"idle.{name}",
            in_force=policy.modes.idle,
        )
        yield Limit(
            subject="idle",
            words=_kept(rule, whom),
            origin=f"idle.{name}.keep",
            in_force=policy.modes.idle,
        )
        if rule.gpu_unused_stop:
            yield Limit(
                subject="idle",
                words=_(
                    "{whom}: a GPU unused for {spans} beside other work is taken back with "
                    "{notice} notice while somebody waits for it."
                ).format(whom=whom, spans=_unused(rule), notice=duration_text(rule.notice)),
                origin=f"idle.{name}.gpu_unused_stop",
                in_force=policy.modes.idle,
            )


def _kept(rule: IdleRule, whom: str) -> str:
    """Say how long people may hold the rule off themselves, for each of its kinds of flavor."""
    if not rule.keep.each:
        return _("{whom}: nobody keeps a server from being stopped as idle.").format(whom=whom)
    kinds: tuple[FlavorKind, ...] = rule.applies or ("gpu",)
    server, week = (
        " / ".join(dict.fromkeys(duration_text(most(rule.keep, kind)) for kind in kinds))
        for most in (keep_server, keep_week)
    )
    return _(
        "{whom}: you may keep one for {each} each time, {server} in all, and all of yours for "
        "{week} within seven days."
    ).format(whom=whom, each=duration_text(rule.keep.each), server=server, week=week)


def _unused(rule: IdleRule) -> str:
    """After how long that is, of its kinds of flavor."""
    kinds: tuple[FlavorKind, ...] = rule.applies or ("gpu", "mig", "share")
    spans = [span for kind in kinds if (span := gpu_unused(rule, kind))]
    return " / ".join(dict.fromkeys(duration_text(span) for span in sorted(spans)))


def _whom(
    policy: Policy, name: str, rule: IdleRule, person: Person, teams: tuple[TeamName, ...]
) -> str:
    """Name what a rule is for, as far as it is open to the person; empty where nothing is."""
    own = [team for team in teams if not rule.teams or team in rule.teams]
    profiles = [name for name in rule.profiles if any(may_choose(policy, t, name) for t in own)]
    if (rule.teams and not own) or (rule.profiles and not profiles):
        return ""
    kinds = {
        "gpu": _("whole GPUs"),
        "mig": _("MIG devices"),
        "share": _("time-shares of a GPU"),
        "none": _("servers without a GPU"),
    }
    types = [
        task.title
        for task in policy.task_types.values()
        if task.idle == name and any(has_right(task, person, team) for team in teams)
    ]
    whom = ", ".join([*(kinds[kind] for kind in rule.applies), *types])
    narrowed = [*profiles, *(own if rule.teams else ())]
    return f"{whom} ({', '.join(narrowed)})" if whom and narrowed else whom


def _prices(policy: Policy, teams: tuple[TeamName, ...], now: datetime) -> Iterator[Limit]:
    told: set[tuple[str, str]] = set()
    for name, profile in policy.profiles.items():
        pool, flavor = profile.pool, flavor_name(profile.flavor)
        if pool is None or (pool, flavor) in told:
            continue
        if not any(may_choose(policy, team, name) for team in teams):
            continue
        told.add((pool, flavor))
        price = price_at(policy, pool, flavor, now)
        words = _("not priced") if price is None else money_text(price, policy.currency)
        yield Limit(
            subject="prices",
            words=_("{flavor} of pool {pool}: {price} an hour.").format(
                flavor=flavor, pool=pool, price=words
            )
            if price is not None
            else _("{flavor} of pool {pool}: not priced.").format(flavor=flavor, pool=pool),
            origin="prices",
            in_force="always",
        )
