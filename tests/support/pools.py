"""Small pools, teams and leases in which stories about quota can be told in a line each."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from hub_ext.admission.decide import Admitted, Decision, Request, decide
from hub_ext.admission.priority import arriving, started
from hub_ext.admission.snapshot import Snapshot
from hub_ext.lease import (
    HOLDING,
    AttemptId,
    Choice,
    Device,
    LeaseId,
    LeaseState,
    OpenLease,
    ProfileName,
    ServerKey,
    ServerName,
    Standing,
    TeamName,
    UserName,
)
from hub_ext.mig.geometry import declared_devices
from hub_ext.policy.catalogue import Person, Resolved, resolve
from hub_ext.policy.model import Policy

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)

Quota = Mapping[str, str]


def team(
    quota: Mapping[str, Quota], *, over: str = "borrow", name: str, **limits: object
) -> dict[str, Any]:
    """One team whose only group has its name."""
    return {"groups": [name], "quota": quota, "over_quota": over, **limits}


def make_policy(
    teams: Mapping[str, Mapping[str, Any]],
    *,
    mode: str = "enforce",
    whole: int = 4,
    cuts: Iterable[tuple[str, ...]] = (("3g.71gb", "3g.71gb"),),
    **more: object,
) -> Policy:
    """A pool `whole` of whole GPUs on two machines, and a pool `cut` of MIG devices."""
    profile = {"cpu": "2", "memory": "4GiB", "lifetime": {"default": "4h", "longest": "12h"}}
    geometry = [list(cut) for cut in cuts]
    first = (whole + 1) // 2
    nodes = [{"name": "node-1", "gpus": first}]
    if whole > first:
        nodes.append({"name": "node-2", "gpus": whole - first})
    return Policy.model_validate(
        {
            "version": 1,
            "currency": "EUR",
            "modes": {"quota": mode},
            "pools": {
                "whole": {"model": "h200-141gb", "nodes": nodes},
                "cut": {
                    "model": "h200-141gb",
                    "nodes": [{"name": "node-3", "gpus": len(geometry), "geometry": geometry}],
                },
            },
            "teams": teams,
            "profiles": {
                "one": {**profile, "title": "One GPU", "pool": "whole", "flavor": {"gpus": 1}},
                "two": {**profile, "title": "Two GPUs", "pool": "whole", "flavor": {"gpus": 2}},
                "half": {
                    **profile,
                    "title": "Part of a GPU",
                    "pool": "cut",
                    "flavor": {"mig": "3g.71gb"},
                },
                "small": {
                    **profile,
                    "title": "Small part",
                    "pool": "cut",
                    "flavor": {"mig": "1g.18gb"},
                },
                "cpu": {**profile, "title": "No GPU", "flavor": "none"},
            },
            "prices": [
                {"pool": "whole", "flavor": "gpu", "from": "2026-01-01", "per_hour": "4.20"}
            ],
            **more,
        }
    )


def all_devices(policy: Policy) -> tuple[Device, ...]:
    """Every declared device, as if all were found."""
    return tuple(
        device for name, pool in policy.pools.items() for device in declared_devices(name, pool)
    )


def person(user: str, *groups: str) -> Person:
    """Somebody in groups."""
    return Person(user=UserName(user), groups=groups)


def resolved(
    policy: Policy,
    user: str,
    team_name: str,
    profile: str,
    at: datetime = NOON,
    **wished: Any,
) -> Resolved:
    """One choice of a member of the team; `wished` are other fields of the choice."""
    choice = Choice(profile=ProfileName(profile), team=TeamName(team_name), **wished)
    return resolve(policy, person(user, team_name), choice, at)


def request(
    policy: Policy,
    user: str,
    team_name: str,
    profile: str,
    *,
    at: datetime = NOON,
    **wished: Any,
) -> Request:
    """The person's default server asks, with the number that it has on its arrival."""
    what = resolved(policy, user, team_name, profile, at, **wished)
    return Request(
        key=ServerKey(user=UserName(user)),
        resolved=what,
        requested_at=at,
        priority=arriving(policy, what.weight, user, {}),
    )


def make_lease(
    asked: Request,
    *,
    devices: tuple[Device, ...] = (),
    standing: Standing = Standing.guaranteed,
    state: LeaseState = LeaseState.running,
    server: str = "",
    **more: Any,
) -> OpenLease:
    """The lease that a request becomes; it ends four hours after it was asked."""
    what = asked.resolved
    fields: dict[str, Any] = {
        "id": LeaseId(f"lease-{asked.key.user}-{server}-{asked.requested_at:%d%H%M%S}"),
        "key": ServerKey(user=asked.key.user, server=ServerName(server)),
        "attempt_id": AttemptId("attempt-0001"),
        "choice": what.choice,
        "team": what.team,
        "project": what.project,
        "profile": what.profile,
        "pool": what.pool,
        "flavor": what.flavor,
        "units": what.units,
        "devices": devices,
        "standing": standing,
        "state": state,
        "state_since": asked.requested_at,
        "requested_at": asked.requested_at,
        "started_at": asked.requested_at,
        "ends_at": asked.requested_at + timedelta(hours=4),
        "priority": started(what.weight) if state in HOLDING else asked.priority,
        "weight": what.weight,
        "policy_generation": 1,
        "task_type": what.task_type,
    }
    return OpenLease(**{**fields, **more})


class Commons:
    """A pool in use: grants what `decide` admits and keeps the leases."""

    def __init__(self, policy: Policy, *, devices: tuple[Device, ...] | None = None) -> None:
        self.policy = policy
        self.devices = all_devices(policy) if devices is None else devices
        self.leases: list[OpenLease] = []
        self.notes: tuple[str, ...] = ()
        self.now = NOON

    @property
    def snapshot(self) -> Snapshot:
        """What a decision sees now."""
        return Snapshot(
            policy=self.policy,
            generation=1,
            at=self.now,
            leases=tuple(self.leases),
            devices=self.devices,
            notes=self.notes,
        )

    def asks(self, user: str, team_name: str, profile: str, **wished: Any) -> Decision:
        """Decide, and hold what was admitted; a minute passes."""
        asked = request(self.policy, user, team_name, profile, at=self.now, **wished)
        decision = decide(self.snapshot, asked)
        if isinstance(decision, Admitted):
            self.leases.append(
                make_lease(asked, devices=decision.devices, standing=decision.standing)
            )
        self.now += timedelta(minutes=1)
        return decision

    def waits(self, user: str, team_name: str, profile: str, **more: Any) -> OpenLease:
        """Put a request into the queue; `more` are fields of the choice or of the lease."""
        wished = {name: more.pop(name) for name in Choice.model_fields if name in more}
        asked = request(self.policy, user, team_name, profile, at=self.now, **wished)
        lease = make_lease(
            asked, state=LeaseState.queued, standing=Standing.would_queue, ends_at=None, **more
        )
        self.leases.append(lease)
        self.now += timedelta(minutes=1)
        return lease

    def ends(self, user: str) -> None:
        """Close every lease of a person."""
        self.leases = [lease for lease in self.leases if lease.key.user != user]
