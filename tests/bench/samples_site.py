"""A governor of 10,000 devices in a process of its own, for the bench of readings.

It prints its address when it is ready; then, for each line that it reads, the longest stall of its
loop and the CPU that it used so far, and serves until its input ends.
"""

import asyncio
import sys
import time
from pathlib import Path

from hub_ext.lease import Device, DeviceId, LeaseId, OpenLease, ServerKey, UserName
from hub_ext.service.http.turns import new_loop, share_evenly
from tests.bench.stalls import Stalls
from tests.support.governing import Site, site_in
from tests.support.identities import door_to

NODES, DEVICES = 1250, 8
TOKEN = "agent"
NODE = "machine-{}"


def device_id(node: int, number: int) -> DeviceId:
    """Name a device of a machine."""
    return DeviceId(f"GPU-{node:08d}-aaaa-bbbb-cccc-{number:012d}")


def policy() -> str:
    """Give a pool with every machine, a team that may have all of it, and a profile of one GPU."""
    names = (NODE.format(number) for number in range(NODES))
    nodes = ", ".join(f"{{name: {name}, gpus: {DEVICES}}}" for name in names)
    return (
        "version: 1\ncurrency: EUR\nmodes: {quota: enforce}\n"
        f"pools:\n  whole: {{model: h200-141gb, nodes: [{nodes}]}}\n"
        "teams:\n  all: {groups: [vision], quota: {whole: {nominal: "
        f'"{NODES * DEVICES}"}}}}}}\n'
        'profiles:\n  one: {title: One GPU, pool: whole, flavor: {gpus: 1}, cpu: "2", '
        "memory: 2GiB, lifetime: {default: 12h, longest: 24h}}\n"
        'prices: [{pool: whole, from: 2026-01-01, per_hour: "3.60"}]\n'
    )


def fill(site: Site) -> None:
    """Put a running server on every device: copies of one, since each ask would take its time.

    They are known to the ledger as if read from it, and stand in no file.
    """
    grant = site.ask(site.asking("vera"))
    site.started(grant)
    first = site.lease(grant)
    for node in range(NODES):
        for number in range(DEVICES):
            site.ledger._known.put(_copy(first, node, number))


def _copy(first: OpenLease, node: int, number: int) -> OpenLease:
    name = f"n{node}-{number}"
    device = Device(
        id=device_id(node, number),
        pool=first.devices[0].pool,
        node=NODE.format(node),
        gpu=number,
        model=first.devices[0].model,
    )
    return first.model_copy(
        update={
            "id": LeaseId(f"l-{name}"),
            "key": ServerKey(user=UserName(f"user-{name}")),
            "devices": (device,),
            "process": None,
        }
    )


async def answer(stalls: Stalls) -> None:
    """Say the longest delay and the CPU so far for each line that comes in."""
    looking = asyncio.create_task(stalls.watch())
    while await asyncio.to_thread(sys.stdin.readline):
        print(stalls.take(), time.process_time(), flush=True)
    looking.cancel()


async def serve(folder: Path) -> None:
    """Fill the site and serve it."""
    with site_in(folder, policy=policy()) as site:
        fill(site)
        site.governor._desk.samples.write_aside()
        async with door_to(site) as door:
            door.hub.service(TOKEN, "gpu-commons-agent", "custom:gpu-commons:samples")
            share_evenly()
            print(door.url, site.now.isoformat(), flush=True)
            await answer(Stalls())


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(serve(Path(sys.argv[1])))
