"""`gpu-commons`: finds the subcommand and turns this product's errors into one line.

A subcommand is a module of `hub_ext.commands`, imported only when it is asked for, so that the
light ones run without the `hub` extra.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from . import __version__
from .errors import GpuCommonsError
from .i18n import _

COMMANDS: dict[str, str] = {
    "init": _("write a first policy from what is there"),
    "adopt": _("write a first policy from the queues of a Kueue"),
    "doctor": _("say what is wrong with this hub and how to mend it"),
    "check": _("check a policy file and say what to mend"),
    "env": _("print the digest that pins a Python environment"),
    "image": _("pin a project's images by digest; list, promote and take back pins"),
    "policy": _("show the policies that were in force, go back to one, accept one that waits"),
    "schema": _("print the JSON schema of the policy"),
    "render": _("write the policy as objects of Kubernetes and Kueue"),
    "governor": _("run the hub service that decides, records and reclaims"),
    "agent": _("read this machine's GPUs and report them to the governor"),
    "lease": _("see the leases, and close, release, grant or move one by hand"),
    "why": _("say why a lease or request stands as it does, and who could be called in"),
    "anomalies": _("list what is odd about how GPUs are used, and do something about one"),
    "waste": _("tell what was held and did no work, in money, and what was saved"),
    "capacity": _("draw every GPU with its holes and the largest profile that fits"),
    "device": _("see the devices, take one out or back, drain a pool, machine or device"),
    "maintenance": _("announce maintenance of a pool, machine or device; list it, call it off"),
    "exempt": _("exempt from the idle rules for a while; list that, end it"),
    "keep": _("let somebody of a team keep servers for longer; list what was granted"),
    "idle": _("see whether servers are stopped as idle, and let held stops go on"),
    "quota": _("see the shares of a team's projects, and move quota between them"),
    "limits": _("list every rule that binds a person"),
    "reserve": _("see reservations, make one for somebody, call one off"),
    "ledger": _("verify the ledger, back it up, bring it back, move it"),
    "month": _("list closed months, close the next one, correct a charge"),
    "report": _("report on a team's month as text, CSV or HTML for a mail"),
    "export": _("write charges of a month as FOCUS, CSV or JSON"),
    "busy": _("keep a simulated GPU busy for a while"),
    "demo": _("start a whole hub with simulated GPUs on this machine"),
}
"""Subcommand and its line of help; the module has the same name."""

EXTRAS = {
    "hub": (
        "alembic",
        "jinja2",
        "jupyterhub",
        "plotly",
        "prometheus_client",
        "ruamel",
        "sqlalchemy",
    ),
    "kubernetes": ("aiohttp", "google", "grpc", "kubernetes_asyncio", "kubespawner"),
    "postgres": ("psycopg",),
}
"""Extra of the distribution -> the modules that come with it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit status (0 fine, 1 findings, 2 usage)."""
    parser = argparse.ArgumentParser(
        prog="gpu-commons", description=_("Shared GPUs for JupyterHub")
    )
    parser.add_argument("--version", action="version", version=__version__)
    choices = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, line in COMMANDS.items():
        choices.add_parser(name, help=line, add_help=False)
    words = list(sys.argv[1:] if argv is None else argv)
    args, _rest = parser.parse_known_args(words[:1])
    try:
        return _run(args.command, words[1:])
    except GpuCommonsError as error:
        sys.stderr.write(f"gpu-commons {args.command}: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    except ModuleNotFoundError as error:
        extra = extra_of(error.name or "")
        if extra is None:
            raise
        words_of_it = _("{module} is not installed here: pip install '{what}'").format(
            module=error.name, what=f"jupyterhub-gpu-commons[{extra}]"
        )
        sys.stderr.write(f"gpu-commons {args.command}: {words_of_it}\n")
        return 1


def extra_of(module: str) -> str | None:
    """Which extra brings a module; None where no extra of ours does."""
    top = module.split(".", maxsplit=1)[0]
    return next((extra for extra, modules in EXTRAS.items() if top in modules), None)


def _run(name: str, words: Sequence[str]) -> int:
    command = import_module(f"{__package__}.commands.{name}")
    own = argparse.ArgumentParser(prog=f"gpu-commons {name}", description=COMMANDS[name])
    command.add_arguments(own)
    status: int = command.run(own.parse_args(words))
    return status
