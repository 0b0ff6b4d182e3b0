"""`gpu-commons adopt`: a first policy from the queues that a site's Kueue has already.

It lists, queue by queue, what would break the promises to people and the change that mends it; a
queue that breaks them is left out. It only reads the cluster.
"""

import argparse
import asyncio
import os
import sys
from pathlib import Path

from ..errors import GpuCommonsError, PolicyError
from ..i18n import _, ngettext
from ..kube.adopting import Found, FoundQueue, found
from ..kube.api import Api
from ..kube.objects import GROUP, VERSION
from ..kube.paging import listed
from ..policy.load import loads
from .adoptdraft import draft

_KUEUE = f"/apis/{GROUP}/{VERSION}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare where to look and where to write."""
    parser.add_argument(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        default=os.environ.get("KUBECONFIG", "").split(os.pathsep)[0] or None,
        help=_("address and credentials of the cluster (default: $KUBECONFIG)"),
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help=_("file to make (default: standard output)")
    )


def run(args: argparse.Namespace) -> int:
    """Write the policy and say what is left; return 1 where queues or findings are left to mend.

    Raises
    ------
    GpuCommonsError
        When the file is there already, the cluster does not answer, or has no queue with GPUs.
    """
    if args.output is not None and args.output.exists():
        raise GpuCommonsError(
            _("{path} is there already; name another file").format(path=args.output)
        )
    there = asyncio.run(_look(None if args.kubeconfig is None else Path(args.kubeconfig)))
    if not there.queues:
        raise GpuCommonsError(
            _(
                "no ClusterQueue of this cluster has quota of GPUs; "
                "write a first policy with `gpu-commons init`"
            )
        )
    for queue in there.queues:
        sys.stderr.write(_words(queue))
    text = draft(there)
    if args.output is None:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        args.output.write_text(text, encoding="utf-8")
    left = _findings(text)
    for line in left:
        sys.stderr.write(f"{line}\n")
    checks = text.count("# CHECK:")
    sys.stderr.write(
        ngettext("{n} place is left to CHECK\n", "{n} places are left to CHECK\n", checks).format(
            n=checks
        )
    )
    return 1 if left or not all(queue.usable for queue in there.queues) else 0


async def _look(kubeconfig: Path | None) -> Found:
    api = Api(kubeconfig)
    try:
        flavors, queues, local, nodes = await asyncio.gather(
            listed(api, f"{_KUEUE}/resourceflavors"),
            listed(api, f"{_KUEUE}/clusterqueues"),
            listed(api, f"{_KUEUE}/localqueues"),
            listed(api, "/api/v1/nodes"),
        )
    finally:
        await api.close()
    return found(flavors, queues, local, nodes)


def _words(queue: FoundQueue) -> str:
    """Say what is wrong with a queue, and whether it is used."""
    if not queue.breaches:
        return _("{name}: used\n").format(name=queue.name)
    head = _("{name}: used, but look") if queue.usable else _("{name}: not used")
    lines = [head.format(name=queue.name)]
    lines += [
        f"  {one.words.removeprefix(f'{queue.name}: ')}; {one.remedy}" for one in queue.breaches
    ]
    return "\n".join(lines) + "\n"


def _findings(text: str) -> tuple[str, ...]:
    """Check the draft as anybody's policy; quotas of a site may exceed its machines."""
    try:
        loads(text)
    except PolicyError as error:
        return error.findings
    return ()
