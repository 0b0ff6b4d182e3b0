"""A decision and a resolved profile put into the words of the form. Decides nothing."""

import re
from datetime import timedelta

from ..i18n import _, ngettext
from ..lease import Offer, TaskChoice
from ..lease.reserving import Alone
from ..mig.memory import memory_bytes
from ..mig.placement import count_free
from ..policy.catalogue import Resolved, longest_for, price_of, projects_of
from ..policy.model import Policy
from ..policy.purposes import needs_purpose
from ..policy.tasks import tasks_open
from ..units import accrue, money_text, settle
from .contract import offered
from .decision import Admitted, Decision, standing_of
from .snapshot import Snapshot
from .together import barred


def free_now(snapshot: Snapshot, resolved: Resolved) -> int | None:
    """How many servers of this kind would find their devices now; None without a GPU."""
    if resolved.pool is None:
        return None
    devices = tuple(one for one in snapshot.devices if one.pool == resolved.pool)
    held = frozenset(
        device.id for lease in snapshot.leases if lease.holding for device in lease.takes
    )
    if resolved.shared_by is not None:
        holders = ((lease.team, lease.takes) for lease in snapshot.leases if lease.holding)
        held |= barred(devices, holders, resolved.team)
    pin = snapshot.policy.projects[resolved.project].device if resolved.project else None
    held |= {
        one.id
        for one in devices
        if (owner := snapshot.pinned.get(one.id)) != resolved.project
        and (owner is not None or pin is not None)
    }
    return count_free(devices, held, gpus=resolved.gpus, mig_profile=resolved.part)


def _found(snapshot: Snapshot, resolved: Resolved) -> bool:
    """Tell whether any machine has what this profile takes, whoever holds it now."""
    devices = tuple(one for one in snapshot.devices if one.pool == resolved.pool)
    free = count_free(devices, frozenset(), gpus=resolved.gpus, mig_profile=resolved.part)
    return resolved.pool is not None and free > 0


def gpu_memory(resolved: Resolved) -> int | None:
    """Tell the memory of all its GPUs together; None without any, or where nobody can tell."""
    if resolved.model is None:
        return None
    return memory_bytes(
        resolved.model,
        gpus=resolved.gpus,
        mig_profile=resolved.mig_profile,
        shared_by=resolved.shared_by,
    )


def offer(snapshot: Snapshot, resolved: Resolved, decision: Decision) -> Offer:
    """Join what the policy says of a profile with what was decided for this person."""
    lifetime_s = _at_most(snapshot, decision, resolved.lifetime)
    standing = standing_of(decision)
    price = price_of(snapshot.policy, resolved, standing, snapshot.at)
    return Offer(
        profile=resolved.profile,
        title=resolved.title,
        description=resolved.description,
        team=resolved.team,
        project=resolved.project,
        projects=projects_of(
            snapshot.policy,
            (resolved.team,),
            at=None if resolved.pool is None else snapshot.at,
        ),
        task_types=_tasks(snapshot, resolved),
        task_type=resolved.task_type,
        shared_out=_shared_out(snapshot.policy, resolved),
        may_borrow=may_borrow(snapshot.policy, resolved),
        needs_purpose=needs_purpose(snapshot.policy, resolved.pool, resolved.price_micro_per_hour),
        alone=may_be_alone(snapshot.policy, resolved),
        pool=resolved.pool,
        pool_model=resolved.model,
        flavor=resolved.flavor,
        flavor_title=flavor_title(resolved),
        standing=standing,
        reason=decision.reason,
        free=free_now(snapshot, resolved),
        isolation=resolved.isolation,
        found=_found(snapshot, resolved),
        environment=resolved.environment,
        cpu_millis=resolved.cpu_millis,
        memory_bytes=resolved.memory_bytes,
        gpu_memory_bytes=gpu_memory(resolved),
        lifetime_default_s=lifetime_s,
        lifetime_longest_s=_at_most(snapshot, decision, resolved.longest),
        price_micro_per_hour=price,
        price_micro_default=None if price is None else settle(accrue(price, lifetime_s)),
        price_text=price_text(resolved, price),
        currency=resolved.currency,
        simulated=any(one.simulated for one in snapshot.devices if one.pool == resolved.pool),
        contract=offered(snapshot.policy, resolved.pool, standing, snapshot.at),
    )


def _tasks(snapshot: Snapshot, resolved: Resolved) -> tuple[TaskChoice, ...]:
    policy, team, profile = snapshot.policy, resolved.team, resolved.profile
    names = tasks_open(policy, resolved.person, team, profile)
    return tuple(
        TaskChoice(
            name=one,
            title=policy.task_types[one].title,
            lifetime_longest_s=_longer(resolved, longest_for(policy, team, profile, one)),
        )
        for one in names
    )


def _longer(resolved: Resolved, longest: timedelta) -> int:
    return int(longest.total_seconds()) if longest > resolved.longest else 0


def may_be_alone(policy: Policy, resolved: Resolved) -> tuple[Alone, ...]:
    """What its project may have without sharing it; whole GPUs are shared with nobody anyway."""
    if resolved.pool is None or resolved.project is None:
        return ()
    return tuple(
        what
        for what in policy.pools[resolved.pool].exclusive
        if what == "node" or resolved.kind != "gpu"
    )


def _shared_out(policy: Policy, resolved: Resolved) -> bool:
    return any(
        project.team == resolved.team and resolved.pool in project.quota
        for project in policy.projects.values()
    )


def may_borrow(policy: Policy, resolved: Resolved) -> bool:
    """Whether a team may take more of a pool than it is guaranteed."""
    if resolved.pool is None or policy.pools[resolved.pool].for_ != "shared":
        return False
    team = policy.teams[resolved.team]
    return team.over_quota == "borrow" and team.quota[resolved.pool].borrowing_limit != 0


def _at_most(snapshot: Snapshot, decision: Decision, life: timedelta) -> int:
    """Seconds of a life, or until what is announced for its devices."""
    if isinstance(decision, Admitted) and decision.ends_by is not None:
        life = min(life, max(decision.ends_by - snapshot.at, timedelta(seconds=1)))
    return int(life.total_seconds())


def price_text(resolved: Resolved, price: int | None) -> str:
    """Price of an hour in words; what has no price is never shown as 0."""
    if resolved.kind == "none" and price is None:
        return _("no charge for GPUs")
    if price is None:
        return _("not priced")
    return _("{price} an hour").format(price=money_text(price, resolved.currency))


def flavor_title(resolved: Resolved) -> str:
    """What a profile takes, in people's words: "1 x H200 141 GB", "MIG 1g.18gb on H200 141 GB"."""
    if resolved.kind == "none" or resolved.model is None:
        return _("no GPU")
    model = model_title(resolved.model)
    if resolved.mig_profile is not None:
        return _("MIG {profile} on {model}").format(profile=resolved.mig_profile, model=model)
    if resolved.shared_by is not None:
        return _("{model}, shared by up to {n}").format(model=model, n=resolved.shared_by)
    return ngettext("{n} x {model}", "{n} x {model}", resolved.gpus).format(
        n=resolved.gpus, model=model
    )


def model_title(model: str) -> str:
    """Write a model's name as people do: `h200-141gb` is "H200 141 GB"."""
    words = []
    for word in model.split("-"):
        size = re.fullmatch(r"(\d+)gb", word)
        words.append(f"{size[1]} GB" if size else word.upper())
    return " ".join(words)
