"""`gpu-commons render`: the policy as objects of Kubernetes: printed, compared or applied.

Returns 0 where nothing differs or all is done, 1 where a comparison finds a difference, and 2
with words where it could not be done.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from ..errors import GpuCommonsError
from ..i18n import _
from ..kube.api import Api
from ..kube.applying import apply, differences
from ..kube.nodelabels import unlabelled
from ..kube.render import Site, doubts, kueue_configuration, rendered
from ..kube.render.chart import chart_values
from ..kube.render.devices import label_script, node_labels
from ..kube.render.files import files, read_site, write
from ..kube.render.text import documents, yaml_text
from ..policy.load import load
from ..policy.model import Policy

PARTS = ("objects", "kueue", "chart", "nodes")
"""What can be printed by itself; with `--out` all of it is written."""

FINE, DIFFERENT, FAILED = 0, 1, 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    env = os.environ
    parser.add_argument(
        "--policy",
        type=Path,
        metavar="FILE",
        default=env.get("GPU_COMMONS_POLICY"),
        help=_("the policy (default: $GPU_COMMONS_POLICY)"),
    )
    parser.add_argument(
        "--site", type=Path, metavar="FILE", help=_("YAML file with what differs in this cluster")
    )
    parser.add_argument("--hub-namespace", metavar="NAME", help=_("namespace of the hub"))
    parser.add_argument(
        "--namespace", metavar="NAME", help=_("the one namespace of all servers, where that is so")
    )
    parser.add_argument(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        default=_kubeconfig(env),
        help=_("address and credentials of the cluster (default: $KUBECONFIG, ~/.kube/config)"),
    )
    parser.add_argument(
        "--part",
        choices=PARTS,
        default=PARTS[0],
        help=_(
            "what is printed: objects (default), what Kueue's own configuration needs, "
            "what the chart's values need, or commands that label nodes"
        ),
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--diff", action="store_true", help=_("print what --apply would change in the cluster")
    )
    what.add_argument(
        "--apply", action="store_true", help=_("make the cluster so, and take away what was ours")
    )
    what.add_argument(
        "--out", type=Path, metavar="DIR", help=_("write files there instead of printing")
    )


def run(args: argparse.Namespace) -> int:
    """Render, and print, write, compare or apply it."""
    try:
        site = _site(args)
        policy = _policy(args.policy, site)
        for line in doubts(policy):
            sys.stderr.write(f"{line}\n")
        return _act(args, policy, site)
    except GpuCommonsError as error:
        sys.stderr.write(f"gpu-commons render: {error}\n")
        return FAILED


def _kubeconfig(env: Mapping[str, str]) -> Path | None:
    """Find the file that kubectl would take; in a pod there is none, and its own rights are."""
    named = env.get("KUBECONFIG", "").split(os.pathsep)[0]
    usual = Path.home() / ".kube/config"
    return Path(named) if named else usual if usual.is_file() else None


def _act(args: argparse.Namespace, policy: Policy, site: Site) -> int:
    if args.diff or args.apply:
        return asyncio.run(_in_cluster(args.kubeconfig, policy, site, act=args.apply))
    if args.out is None:
        sys.stdout.write(_printed(args.part, policy, site))
        return FINE
    for name in write(args.out, files(policy, site)):
        print(name)
    return FINE


def _printed(part: str, policy: Policy, site: Site) -> str:
    match part:
        case "kueue":
            return yaml_text(kueue_configuration(policy, site))
        case "chart":
            return yaml_text(chart_values(site))
        case "nodes":
            return label_script(policy)
        case _:
            return documents(rendered(policy, site))


async def _in_cluster(kubeconfig: Path | None, policy: Policy, site: Site, *, act: bool) -> int:
    cluster, made = Api(kubeconfig), rendered(policy, site)
    try:
        found = await differences(cluster, made)
        if act:
            await apply(cluster, made, found)
        lacking = await unlabelled(cluster, node_labels(policy))
    finally:
        await cluster.close()
    waiting = [one for one in found if one.act == "wait"]
    for line in (*(one.text() for one in waiting), *lacking):
        sys.stderr.write(f"{line}\n")
    todo = [one for one in found if one.act != "wait"]
    for one in todo:
        print(one.text())
    return DIFFERENT if todo and not act else FINE


def _policy(file: Path | str | None, site: Site) -> Policy:
    if file is None:
        raise GpuCommonsError(_("name the policy with --policy or $GPU_COMMONS_POLICY"))
    return load(Path(file), name=str(file), single=site.namespace).policy


def _site(args: argparse.Namespace) -> Site:
    given = {} if args.site is None else read_site(args.site)
    named = {"hub_namespace": args.hub_namespace, "namespace": args.namespace}
    given |= {key: value for key, value in named.items() if value is not None}
    try:
        return Site.model_validate(given)
    except ValidationError as error:
        lines = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise GpuCommonsError(
            _("what is said of the cluster cannot be used: {faults}").format(
                faults="; ".join(lines)
            )
        ) from None
