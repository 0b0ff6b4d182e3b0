"""What one person may choose, and one choice with every default filled in.

Answers are about rules alone: what is free, held or over a limit is for admission to say.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from ..errors import RefusedError
from ..i18n import _
from ..lease import (
    Choice,
    Environment,
    Isolation,
    PoolName,
    ProfileName,
    ProjectName,
    Standing,
    TaskTypeName,
    TeamName,
    Value,
    share_name,
)
from ..mig.geometry import profile_units, share_units
from ..units import UNITS_PER_GPU, duration_text
from .alone import alone_size
from .answers import instead, listed, quoted
from .isolation import isolation_of
from .model import (
    FlavorKind,
    GpuFlavor,
    MigFlavor,
    Policy,
    Profile,
    ShareFlavor,
    cpu_millis,
    flavor_kind,
    flavor_name,
)
from .people import Person, led_by, teams_of
from .prices import PriceSpan, price_at, price_spans, tier_of
from .projects import has_ended, project_of, projects_of
from .tasks import task_of

__all__ = [
    "Person",
    "PriceSpan",
    "Resolved",
    "choices",
    "environment_of",
    "has_ended",
    "led_by",
    "longest_for",
    "may_choose",
    "may_use",
    "price_at",
    "price_of",
    "price_spans",
    "profile_size",
    "projects_of",
    "resolve",
    "teams_of",
]


class Resolved(Value):
    """A choice with all defaults filled in from the policy, at one instant.

    `gpus` are whole GPUs, 0 for a part of one and for no GPU; `units` are 0 only for no GPU.
    `choice` is what was asked, word for word.
    """

    person: Person
    team: TeamName
    project: ProjectName | None
    environment: Environment | None
    profile: ProfileName
    title: str
    description: str
    pool: PoolName | None
    model: str | None
    kind: FlavorKind
    flavor: str
    gpus: int
    mig_profile: str | None
    shared_by: int | None = None
    """How many have the GPU in turns; None where nobody else does."""
    units: int
    lifetime: timedelta
    longest: timedelta
    price_micro_per_hour: int | None
    currency: str
    cpu_millis: int
    memory_bytes: int
    isolation: Isolation
    choice: Choice
    task_type: TaskTypeName | None = None
    """None is unlabelled."""
    task_title: str = ""
    weight: int = 0
    long_running: bool = False
    value_class: str | None = None
    """Of its project; None is unlabelled."""
    idle_rule: str | None = None
    """Idle rule of its task type, where that has one of its own."""

    @property
    def part(self) -> str | None:
        """Which part of a GPU it takes; None for whole GPUs and for none."""
        return self.mig_profile if self.shared_by is None else share_name(self.shared_by)


def may_use(policy: Policy, team: str, pool: str) -> bool:
    """Whether a team may use a pool: it has quota there, and neither side excludes the other."""
    rules, reserved = policy.teams[team], policy.pools[pool].for_
    if pool not in rules.quota:
        return False
    if rules.pools_allowed is not None and pool not in rules.pools_allowed:
        return False
    return reserved == "shared" or reserved.team == team


def may_choose(policy: Policy, team: str, profile: str) -> bool:
    """Whether members of a team may choose a profile; how much is free plays no part."""
    entry = policy.profiles[profile]
    if entry.teams is not None and team not in entry.teams:
        return False
    return entry.pool is None or may_use(policy, team, entry.pool)


def longest_for(policy: Policy, team: str, profile: str, task: str | None = None) -> timedelta:
    """Longest life of a lease: the shortest limit of profile, team, task type and pool.

    A pool's `normal_lifetime` does not bind a task type that is long-running.
    """
    entry = policy.profiles[profile]
    kind = None if task is None else policy.task_types[task]
    limits = [
        entry.lifetime.longest,
        policy.teams[team].longest_lifetime,
        None if kind is None else kind.longest_lifetime,
        None
        if entry.pool is None or (kind is not None and kind.long_running)
        else policy.pools[entry.pool].normal_lifetime,
    ]
    return min(one for one in limits if one is not None)


def lifetime_of(
    policy: Policy, team: str, profile: str, chosen_s: int | None, task: str | None
) -> timedelta:
    """Life of a lease that has not begun: as it was chosen, else its profile's own; 0 without one.

    What was chosen was within the limits when it was; they are judged again at the start.
    """
    if chosen_s is not None:
        return timedelta(seconds=chosen_s)
    if profile not in policy.profiles or team not in policy.teams:
        return timedelta(0)
    kind = task if task in policy.task_types else None
    return min(policy.profiles[profile].lifetime.default, longest_for(policy, team, profile, kind))


def choices(policy: Policy, person: Person) -> tuple[Choice, ...]:
    """List every profile and team that a person may choose, in the order of the form."""
    teams = teams_of(policy, person)
    return tuple(
        Choice(profile=ProfileName(profile), team=team)
        for profile in policy.profiles
        for team in teams
        if may_choose(policy, team, profile)
    )


def resolve(policy: Policy, person: Person, choice: Choice, at: datetime) -> Resolved:
    """Fill in a choice from the policy as it stands, at the prices of `at`.

    A team that is not named is the project's, else the first of the person's that may choose the
    profile; a project that is not named is the team's first; the environment is the one
    that the task type names, else the project's first; the task type is the profile's, where the
    person may choose it. Limits on size and number
    are not judged here: they depend on the mode.

    Raises
    ------
    RefusedError
        400 for what does not exist or cannot be, 403 for what is somebody else's; the message
        names what may be chosen instead.
    """
    name = _known_profile(policy, person, choice)
    team = _team(policy, person, choice, name)
    profile = policy.profiles[name]
    project = project_of(policy, choice, team, None if profile.pool is None else at)
    task = task_of(policy, person, choice, team, name)
    labelled = None if task is None else policy.task_types[task]
    lifetime, longest = _lifetime(policy, choice, team, name, task)
    kind, flavor = flavor_kind(profile.flavor), flavor_name(profile.flavor)
    model = None if profile.pool is None else policy.pools[profile.pool].model
    return Resolved(
        person=person,
        team=team,
        project=project,
        environment=None if project is None else environment_of(policy, project, task),
        profile=ProfileName(name),
        title=profile.title,
        description=profile.description,
        pool=None if profile.pool is None else PoolName(profile.pool),
        model=model,
        kind=kind,
        flavor=flavor,
        gpus=profile.flavor.gpus if isinstance(profile.flavor, GpuFlavor) else 0,
        mig_profile=profile.flavor.mig if isinstance(profile.flavor, MigFlavor) else None,
        shared_by=profile.flavor.share if isinstance(profile.flavor, ShareFlavor) else None,
        units=_size(policy, profile, choice, project),
        lifetime=lifetime,
        longest=longest,
        price_micro_per_hour=price_at(policy, profile.pool, flavor, at),
        currency=policy.currency,
        cpu_millis=cpu_millis(profile),
        memory_bytes=profile.memory,
        isolation=isolation_of(
            policy, profile.pool, kind, choice.alone if profile.pool is not None else None
        ),
        choice=choice,
        task_type=task,
        task_title="" if labelled is None else labelled.title,
        weight=0 if labelled is None else labelled.weight,
        long_running=labelled is not None and labelled.long_running,
        value_class=None if project is None else policy.projects[project].value_class,
        idle_rule=None if labelled is None else labelled.idle,
    )


def price_of(policy: Policy, resolved: Resolved, standing: Standing, at: datetime) -> int | None:
    """Price of one hour for how it stands, in micro-units; None where it has none."""
    if standing is not Standing.borrowed:
        return resolved.price_micro_per_hour
    return price_at(policy, resolved.pool, resolved.flavor, at, tier_of(standing))


def _size(policy: Policy, profile: Profile, choice: Choice, project: ProjectName | None) -> int:
    """Units of one lease: its own, or those of all that it has alone."""
    if choice.alone is None or profile.pool is None:
        return profile_size(policy, profile)
    return alone_size(policy, profile.pool, flavor_name(profile.flavor), choice.alone, project)


def profile_size(policy: Policy, profile: Profile) -> int:
    """Units that one lease of a profile takes from its pool; 0 without a GPU.

    Raises
    ------
    UnitError
        When the pool's model has no such MIG profile; a checked policy has none of these.
    """
    match profile.flavor:
        case GpuFlavor(gpus=count):
            return count * UNITS_PER_GPU
        case MigFlavor(mig=mig):
            return profile_units(policy.pools[str(profile.pool)].model, mig)
        case ShareFlavor(share=count):
            return share_units(count)
        case "none":
            return 0


def _known_profile(policy: Policy, person: Person, choice: Choice) -> str:
    if choice.profile in policy.profiles:
        return choice.profile
    own = list(dict.fromkeys(one.profile for one in choices(policy, person)))
    raise RefusedError(
        "unknown-profile",
        _("There is no profile {name}. {remedy}").format(
            name=quoted(choice.profile), remedy=instead(choice.profile, own)
        ),
        status=400,
    )


def _team(policy: Policy, person: Person, choice: Choice, profile: str) -> TeamName:
    own = teams_of(policy, person)
    if not own:
        raise RefusedError(
            "no-team",
            _(
                "{user} belongs to no team of this hub, so no quota covers a server. Ask an "
                "administrator to put you into one of the groups of a team."
            ).format(user=person.user),
            status=403,
        )
    if choice.team is not None and choice.team not in own:
        # Whether such a team exists is not told to people outside it.
        raise RefusedError(
            "not-your-team",
            _("You are no member of a team {name}. Your teams: {teams}.").format(
                name=quoted(choice.team), teams=listed(own)
            ),
            status=403,
        )
    asked = own if choice.team is None else (choice.team,)
    if choice.team is None and choice.project in projects_of(policy, own):
        asked = (TeamName(policy.projects[choice.project].team),)
    for team in asked:
        if may_choose(policy, team, profile):
            return team
    raise _not_offered(policy, asked, profile)


def _not_offered(policy: Policy, teams: Sequence[TeamName], profile: str) -> RefusedError:
    others = [
        one for one in policy.profiles if any(may_choose(policy, team, one) for team in teams)
    ]
    entry = policy.profiles[profile]
    offered = entry.teams is None or any(team in entry.teams for team in teams)
    if not offered or entry.pool is None:
        return RefusedError(
            "profile-not-for-team",
            _("The profile {profile} is not offered to {teams}. {remedy}").format(
                profile=quoted(profile), teams=listed(teams), remedy=instead(profile, others)
            ),
            status=403,
        )
    return RefusedError(
        "pool-not-for-team",
        _("The pool {pool} of the profile {profile} is not open to {teams}. {remedy}").format(
            pool=quoted(entry.pool),
            profile=quoted(profile),
            teams=listed(teams),
            remedy=instead(profile, others),
        ),
        status=403,
    )


def environment_of(policy: Policy, project: str, task: str | None) -> Environment | None:
    """Take the environment that a task type names, else the project's first; None has none."""
    pins = policy.projects[project].environments
    if not pins:
        return None
    kind = policy.task_types.get(task or "")
    named = None if kind is None else kind.environment
    name = named if named is not None and named in pins else next(iter(pins))
    pin = pins[name]
    return Environment(name=name, prefix=pin.prefix, image=pin.image, digest=pin.digest)


def _lifetime(
    policy: Policy, choice: Choice, team: str, profile: str, task: str | None
) -> tuple[timedelta, timedelta]:
    longest = longest_for(policy, team, profile, task)
    if choice.lifetime_s is None:
        return min(policy.profiles[profile].lifetime.default, longest), longest
    wanted = timedelta(seconds=choice.lifetime_s)
    if wanted > longest:
        raise RefusedError(
            "lifetime-too-long",
            _(
                "A server of the profile {profile} lives {longest} at most in the team {team}; "
                "{wanted} was asked for. Choose at most {longest}."
            ).format(
                profile=quoted(profile),
                team=quoted(team),
                longest=duration_text(longest),
                wanted=duration_text(wanted),
            ),
            figures={
                "longest_s": int(longest.total_seconds()),
                "wanted_s": choice.lifetime_s,
            },
            status=400,
        )
    return wanted, longest
