"""`gpu-commons render`: the policy as objects of Kubernetes, printed or written as files.

Returns 0 where all is well, and 2 with words where it is not.
"""

import argparse
import os
import sys
from pathlib import Path

from pydantic import ValidationError

from ..errors import GpuCommonsError
from ..i18n import _
from ..kube.render import Site, doubts, rendered
from ..kube.render.files import files, read_site, write
from ..kube.render.text import documents
from ..policy.load import load
from ..policy.model import Policy

FINE, FAILED = 0, 2


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
        "--out", type=Path, metavar="DIR", help=_("write files there instead of printing")
    )


def run(args: argparse.Namespace) -> int:
    """Render, and print, write, compare or apply it."""
    try:
        policy, site = _policy(args.policy), _site(args)
        for line in doubts(policy):
            sys.stderr.write(f"{line}\n")
        return _act(args, policy, site)
    except GpuCommonsError as error:
        sys.stderr.write(f"gpu-commons render: {error}\n")
        return FAILED


def _act(args: argparse.Namespace, policy: Policy, site: Site) -> int:
    if args.out is None:
        sys.stdout.write(documents(rendered(policy, site)))
        return FINE
    for name in write(args.out, files(policy, site)):
        print(name)
    return FINE


def _policy(file: Path | str | None) -> Policy:
    if file is None:
        raise GpuCommonsError(_("name the policy with --policy or $GPU_COMMONS_POLICY"))
    return load(Path(file), name=str(file)).policy


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
