"""A site where something odd goes on for hours: minute by minute it is read, then looked at."""

from hub_ext.lease import DeviceSample, ProcessSample, SampleBatch, StrayProcess
from hub_ext.service.books.floor import declared
from tests.support.governing import POLICY, Site

GIB = 1024**3
MINUTE = 60

CALM = POLICY.replace(
    "idle:\n  gpus: {applies: [gpu, mig], limit: 10m",
    "idle:\n  gpus: {applies: [gpu, mig], limit: 30d",
)
"""The same site, where nothing is idle so soon: what stands for hours is seen at all."""

LONG = CALM.replace("lifetime: {default: 1h, longest: 2h}", "lifetime: {default: 7d, longest: 7d}")


def pass_time(
    site: Site,
    hours: float,
    *,
    gpu: int | None = 0,
    memory: int | None = 0,
    cpu: int | None = 20,
    strays: tuple[StrayProcess, ...] = (),
    every_s: int = MINUTE,
    sm: int | None = None,
) -> None:
    """Let the agents read every device and server once a minute, and look after that."""
    for _round in range(int(hours * 3600 / every_s)):
        at = site.later(every_s)
        leases = [one for one in site.governor.leases() if one.devices]
        held = {device.id for one in leases for device in one.devices}
        for node in ("node-1", "node-2"):
            here = [one for one in declared(site.governor.policy) if one.node == node]
            batch = SampleBatch(
                node=node,
                source="nvml",
                sent_at=at,
                period_s=every_s,
                devices=tuple(
                    DeviceSample(
                        device=one.id,
                        at=at,
                        util_percent=gpu if one.id in held else 0,
                        memory_used_bytes=memory if one.id in held else 0,
                        memory_total_bytes=141 * GIB,
                        sm_percent=sm,
                        dram_percent=None if sm is None else sm // 2,
                    )
                    for one in here
                ),
                processes=tuple(
                    ProcessSample(lease_id=one.id, at=at, cpu_millis=cpu, processes=2)
                    for one in leases
                    if one.devices[0].node == node
                ),
                strays=tuple(one for one in strays if one.device in {x.id for x in here}),
            )
            site.governor.take_samples(batch, now=at)
    look(site)


def look(site: Site) -> None:
    """Turn the loop that looks, once."""
    for lease_id in site.governor.to_look_at(now=site.now):
        site.governor.look_at_use(lease_id, now=site.now)
    site.governor.search_anomalies(now=site.now)
