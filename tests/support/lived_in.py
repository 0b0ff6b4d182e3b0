"""A site after a morning of work: busy, idle and borrowed servers, one stopped as idle.

The pages are shown over it, in tests and to whoever wants to look.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from hub_ext.errors import PolicyError
from hub_ext.lease import (
    GOVERNOR,
    Cause,
    DeviceSample,
    Grant,
    OpenLease,
    ProcessSample,
    SampleBatch,
)
from hub_ext.policy.load import loads
from hub_ext.service.workers.cull import Culler
from hub_ext.service.workers.steps import Stop
from tests.support.governing import POLICY, Site

PERIOD_S = 120
GIB = 2**30


@dataclass
class Morning:
    """What the morning left: grants by name."""

    train: Grant
    """vera's, guaranteed, busy, still running."""
    small: Grant
    """vera's MIG device, ended by her."""
    idle: Grant
    """viktor's, borrowed, stopped as idle."""
    steady: Grant
    """sam's, guaranteed; nobody measured it at first. Running."""


def morning(site: Site) -> Morning:
    """Let a morning pass, two minutes at a time."""
    made = Morning(
        train=site.run("vera", "one", server="train"),
        small=site.run("vera", "small"),
        idle=site.run("viktor", "one"),
        steady=site.run("sam", "one"),
    )
    busy: dict[str, int | None] = {
        made.train.lease_id: 83,
        made.small.lease_id: 12,
        made.idle.lease_id: 0,
        made.steady.lease_id: None,
    }
    for grant in (made.train, made.steady):
        site.governor.extend(grant.lease_id, seconds=3600, actor=GOVERNOR, now=site.now)
    culler = Culler()
    for step in range(45):
        site.later(PERIOD_S)
        if step == 20:
            site.stop(made.small)
        if step == 25:
            busy[made.steady.lease_id] = 41
        read(site, busy)
        for lease_id in culler.live(site.governor, site.now):
            if isinstance(culler.look(site.governor, lease_id, site.now), Stop):
                site.stop(made.idle)
    return made


def read(site: Site, busy: Mapping[str, int | None]) -> None:
    """Let each node's agent read its devices once; None is a figure that is not there."""
    leases = [lease for lease in site.governor.leases() if lease.devices]
    for node in sorted({device.node for lease in leases for device in lease.devices}):
        here = [lease for lease in leases if lease.devices[0].node == node]
        batch = SampleBatch(
            node=node,
            source="simulated",
            sent_at=site.now,
            period_s=PERIOD_S,
            devices=tuple(
                _device(one.id, site, busy[lease.id]) for lease in here for one in lease.devices
            ),
            processes=tuple(_processes(site, lease, busy[lease.id]) for lease in here),
        )
        site.governor.take_samples(batch, now=site.now)


def _device(device: str, site: Site, percent: int | None) -> DeviceSample:
    return DeviceSample.model_validate(
        {
            "device": device,
            "at": site.now,
            "util_percent": percent,
            "memory_used_bytes": 20 * GIB,
            "memory_total_bytes": 141 * GIB,
        }
    )


def _processes(site: Site, lease: OpenLease, percent: int | None) -> ProcessSample:
    return ProcessSample(
        lease_id=lease.id, at=site.now, cpu_millis=10 * (percent or 0), processes=2
    )


def edit_to_nonsense(site: Site) -> None:
    """Let somebody write a policy that cannot be used."""
    try:
        loads(POLICY.replace('nominal: "1"', 'nominal: "0.3333"'))
    except PolicyError as error:
        site.governor.refuse_policy(error, now=site.now)


def culled(site: Site, made: Morning) -> OpenLease:
    """The lease that was stopped as idle."""
    lease = site.lease(made.idle)
    assert lease.cause is Cause.culled
    return lease
