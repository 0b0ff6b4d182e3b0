"""How the governor stands: load of the pools, and what is wrong with policy, devices, agents.

`health` is open to everybody, so it holds no name; `problems` says all of it, to admins.
"""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Literal

from ...errors import FencedError, LedgerError
from ...i18n import _, ngettext
from ...lease import Health, OpenLease, PoolLoad, PoolName, QueueSheet, Reason, local_text
from ...mig.geometry import declared_devices, device_units
from ..basis.words import server_words
from ..books import breaker
from ..books.desk import Desk
from ..books.kueueforeign import listed
from ..kueue.seen import faults
from ..reclaim import idleholds

TRIAL_EVERY = timedelta(minutes=1)
"""How often it is tried whether the ledger takes records, while nothing speaks against it."""

_PLACE = re.compile(r"^[^:\s]*:\d+:\d+")
"""File, line and column at the head of a finding; what follows may quote names."""


def queue(desk: Desk, *, now: datetime) -> QueueSheet:
    """Tell what each pool declares, has and holds."""
    policy = desk.book.policy
    drift = desk.floor.devices(policy, now=now)[1]
    devices = desk.in_service(policy, now=now)
    with desk.turn(now) as turn:
        leases = [lease for lease in turn.tx.leases() if lease.holding]
    pools = []
    for name, pool in policy.pools.items():
        here: list[OpenLease] = [lease for lease in leases if lease.pool == name]
        pools.append(
            PoolLoad(
                pool=PoolName(name),
                model=pool.model,
                declared=sum(device_units(one) for one in declared_devices(PoolName(name), pool)),
                usable=sum(device_units(one) for one in devices if one.pool == name),
                held=sum(lease.units for lease in here),
                leases=len(here),
            )
        )
    batch = listed(desk.kueue, policy, single=desk.settings.kube_namespace)
    return QueueSheet(at=now, pools=tuple(pools), drift=drift, batch=batch)


def problems(desk: Desk, *, now: datetime) -> Mapping[str, tuple[str, ...]]:
    """List what is wrong, by subject, with every name."""
    policy = desk.book.known
    drift = desk.floor.devices(policy, now=now)[1] if policy is not None else ()
    agents = desk.floor.agents(now=now)
    zone = policy.timezone if policy is not None else "UTC"
    silent = tuple(
        _("the agent of {node} is silent since {at}").format(
            node=one.node, at=local_text(one.at, zone)
        )
        for one in agents
        if one.silent
    )
    told = tuple(f"{one.node}: {one.problem}" for one in agents if one.problem)
    absent = () if agents else (_("no agent has reported since the governor started"),)
    return {
        "policy": desk.book.state.problem,
        "drift": drift,
        "devices": desk.closed_words(policy, now=now) if policy is not None else (),
        "agents": (*silent, *absent, *told),
        "servers": tuple(
            _("{server} runs on the hub without a lease: {why}").format(
                server=server_words(key), why=why
            )
            for key, why in sorted(desk.unassigned.items(), key=str)
            if key in desk.strangers
        ),
        "kueue": faults(desk, now=now),
        "idle": breaker.words(desk.breaker),
        "notices": tuple(
            _("notices by {route} do not go out: {why}").format(route=route, why=why)
            for route, why in sorted(desk.outward.trouble.items())
        ),
        "ledger": (desk.trouble,) if desk.trouble else (),
        "samples": (desk.samples.problem,) if desk.samples.problem else (),
    }


def health(desk: Desk, *, now: datetime) -> Health:
    """Say how the governor stands, without a name of anybody or anything."""
    untaken = ledger_words(desk, now)
    found = problems(desk, now=now)
    words = [
        reason
        for reason in (
            untaken,
            _policy_words(desk, found["policy"]),
            _waiting_words(desk),
            _count_words("drift", found["drift"]),
            _count_words("devices", found["devices"]),
            _count_words("agents", found["agents"]),
            _count_words("servers", found["servers"]),
            _count_words("samples", found["samples"]),
            _count_words("notices", found["notices"]),
            _kueue_words(desk, found["kueue"]),
            idleholds.health_words(desk),
        )
        if reason is not None
    ]
    status: Literal["ok", "degraded", "failing"] = "degraded" if words else "ok"
    return Health(
        status="failing" if desk.book.known is None or untaken is not None else status,
        at=now,
        policy_generation=desk.book.state.generation,
        open_leases=_open_leases(desk, now),
        problems=tuple(words),
    )


def ledger_words(desk: Desk, now: datetime) -> Reason | None:
    """Say that records are not taken, after a trial: each minute, and always after a failure.

    A trial that works ends the trouble: nobody has to restart anything.
    """
    tried = desk.tried_at
    if desk.trouble or tried is None or not timedelta(0) <= now - tried < TRIAL_EVERY:
        desk.tried_at = now
        try:
            desk.ledger.trial()
        except FencedError:
            raise
        except LedgerError as error:
            desk.trouble = str(error)
        else:
            desk.trouble = ""
    if not desk.trouble:
        return None
    return Reason(
        code="ledger",
        message=_(
            "The ledger takes no record, so nothing is granted or changed; what runs goes on. "
            "The governor's log says why."
        ),
    )


def _open_leases(desk: Desk, now: datetime) -> int | None:
    try:
        with desk.turn(now) as turn:
            return len(turn.tx.leases())
    except FencedError:
        raise
    except LedgerError:
        return None


def _policy_words(desk: Desk, findings: tuple[str, ...]) -> Reason | None:
    if not findings and desk.book.known is not None:
        return None
    if desk.book.known is None:
        words = _("No policy is in force; nothing can be granted.")
    else:
        words = _("The policy file has errors; generation {n} stays in force.").format(
            n=desk.book.state.generation
        )
    place = _PLACE.match(findings[0]) if findings else None
    figures: dict[str, int | str] = {"findings": len(findings)}
    if place is not None:
        figures["first"] = place[0]
    return Reason(code="policy", message=words, figures=figures)


def _waiting_words(desk: Desk) -> Reason | None:
    changes = desk.book.state.waiting
    if not changes:
        return None
    return Reason(
        code="policy-waiting",
        message=_(
            "A changed policy file waits for an administrator, on the admin page or with "
            "`gpu-commons policy accept`; generation {n} stays in force."
        ).format(n=desk.book.state.generation),
        figures={"changes": len(changes)},
    )


def _kueue_words(desk: Desk, lines: tuple[str, ...]) -> Reason | None:
    """Say that Kueue does not answer, which keeps every new GPU from starting; else count."""
    if desk.kueue is not None and desk.kueue.away is not None:
        words = _(
            "Kubernetes or Kueue does not answer, so no server with a GPU starts; what runs goes "
            "on and is charged. The governor asks again by itself."
        )
        return Reason(code="kueue", message=words, figures={"count": len(lines)})
    return _count_words("kueue", lines)


def _count_words(subject: str, lines: tuple[str, ...]) -> Reason | None:
    if not lines:
        return None
    n = len(lines)
    words = {
        "servers": ngettext(
            "{n} server runs without a lease.", "{n} servers run without a lease.", n
        ),
        "samples": _("Readings are not kept as they should be; charges do not depend on them."),
        "notices": ngettext(
            "{n} way out for notices does not work.", "{n} ways out for notices do not work.", n
        ),
        "kueue": ngettext(
            "{n} lease is not as it should be in Kueue.",
            "{n} leases are not as they should be in Kueue.",
            n,
        ),
        "drift": ngettext(
            "{n} difference between declared and found devices.",
            "{n} differences between declared and found devices.",
            n,
        ),
        "devices": ngettext(
            "{n} device, machine or pool is out of service or drained.",
            "{n} devices, machines or pools are out of service or drained.",
            n,
        ),
        "agents": ngettext(
            "{n} node agent is silent or reports a problem.",
            "{n} node agents are silent or report a problem.",
            n,
        ),
    }
    return Reason(code=subject, message=words[subject].format(n=n), figures={"count": n})
