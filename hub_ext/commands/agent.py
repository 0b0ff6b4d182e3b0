"""`gpu-commons agent`: read this machine's GPUs and report them to the governor.

Started by the hub as a service, or on a GPU node by hand; everything is an option or a variable.
"""

import argparse
import asyncio
import json
import logging
import os
import signal
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from ..errors import GpuCommonsError
from ..i18n import _
from ..parent import watch_parent
from ..telemetry.agent import Agent, Holdings, PrometheusAgent
from ..telemetry.cgroups import TREE, Cgroups
from ..telemetry.guarded import GuardedNvml, driver_found
from ..telemetry.inbox import Inbox
from ..telemetry.outbox import Outbox
from ..telemetry.processes import ProcessMeter
from ..telemetry.prometheus import PERIOD_S, PrometheusReader, Where
from ..telemetry.sample import Reader

PERIODS_S = {"nvml": 10.0, "simulated": 2.0, "prometheus": PERIOD_S}
"""Seconds between two readings, where nothing else is said."""

END_S = 5.0
"""A read that hangs in /proc may not keep the agent alive longer than this."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line; each option has a variable behind it."""
    env = os.environ
    parser.add_argument(
        "--url",
        default=env.get("GPU_COMMONS_GOVERNOR_URL"),
        help=_("base of the governor's API (GPU_COMMONS_GOVERNOR_URL)"),
    )
    parser.add_argument(
        "--token-file",
        type=Path,
        help=_("file with the agent's token (else JUPYTERHUB_API_TOKEN, else the state directory)"),
    )
    parser.add_argument(
        "--node",
        default=env.get("GPU_COMMONS_NODE", "localhost"),
        help=_("name of this machine in the policy (GPU_COMMONS_NODE; default localhost)"),
    )
    parser.add_argument(
        "--devices",
        choices=["auto", "nvml", "simulated", "prometheus"],
        default=env.get("GPU_COMMONS_DEVICES", "auto"),
        help=_("where figures come from (GPU_COMMONS_DEVICES)"),
    )
    parser.add_argument(
        "--policy",
        type=Path,
        default=env.get("GPU_COMMONS_POLICY"),
        help=_("policy file, for simulated devices (GPU_COMMONS_POLICY)"),
    )
    parser.add_argument(
        "--state",
        type=Path,
        default=env.get("GPU_COMMONS_STATE"),
        help=_("state directory, for simulated devices (GPU_COMMONS_STATE)"),
    )
    parser.add_argument("--period", type=float, help=_("seconds between two readings"))
    _add_places(parser)
    _add_prometheus(parser)


def _add_places(parser: argparse.ArgumentParser) -> None:
    """Declare what of this machine is looked at, and where readings are kept."""
    env = os.environ
    parser.add_argument(
        "--kubelet-socket",
        type=Path,
        default=env.get("GPU_COMMONS_KUBELET_SOCKET"),
        help=_("the kubelet's pod-resources socket, which tells which server holds which GPU"),
    )
    parser.add_argument(
        "--cgroups",
        type=Path,
        default=env.get("GPU_COMMONS_CGROUPS", TREE),
        help=_(
            "where this machine's control groups are mounted (GPU_COMMONS_CGROUPS; default {path})"
        ).format(path=TREE),
    )
    parser.add_argument(
        "--outbox",
        type=Path,
        default=env.get("GPU_COMMONS_OUTBOX"),
        help=_(
            "folder that keeps an hour of readings while the governor is away "
            "(GPU_COMMONS_OUTBOX; default outbox/ in the state directory)"
        ),
    )


def _add_prometheus(parser: argparse.ArgumentParser) -> None:
    env = os.environ
    parser.add_argument(
        "--prometheus",
        metavar="URL",
        default=env.get("GPU_COMMONS_PROMETHEUS"),
        help=_(
            "with --devices prometheus: the server that has DCGM's and the kubelets' figures "
            "(GPU_COMMONS_PROMETHEUS)"
        ),
    )
    parser.add_argument(
        "--prometheus-token-file",
        type=Path,
        metavar="FILE",
        help=_("bearer token for it, read anew each time"),
    )
    parser.add_argument(
        "--prometheus-ca-file",
        type=Path,
        metavar="FILE",
        help=_("certificates by which it is known; else those of this machine"),
    )


def run(args: argparse.Namespace) -> int:
    """Report until SIGTERM, Ctrl-C or the end of the parent.

    Raises
    ------
    GpuCommonsError
        Something that the agent needs was not named.
    """
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s: %(message)s")
    if not args.url:
        raise GpuCommonsError(
            _("Name the governor: --url, or the variable GPU_COMMONS_GOVERNOR_URL.")
        )
    inbox_token = _token(args, os.environ)
    source = _source(args.devices)
    wanted_s = args.period or _interval(os.environ)
    period_s = wanted_s or PERIODS_S[source]
    if source == "prometheus":
        return _watch_from_afar(args, inbox_token, period_s)
    reader = _reader(source, args, period_s)
    try:
        agent = partial(
            Agent,
            reader,
            node=args.node,
            period_s=period_s,
            holdings=_holdings(args),
            outbox=_outbox(args),
            meter=ProcessMeter(cgroups=Cgroups(Path(args.cgroups))),
        )
        asyncio.run(_work(agent, args.url, inbox_token))
    finally:
        reader.close()
    return 0


def _watch_from_afar(args: argparse.Namespace, token: str, period_s: float) -> int:
    """Report what a Prometheus tells of all machines.

    Raises
    ------
    GpuCommonsError
        No Prometheus was named.
    """
    if not args.prometheus:
        raise GpuCommonsError(
            _("Name the Prometheus: --prometheus, or the variable GPU_COMMONS_PROMETHEUS.")
        )
    where = Where(args.prometheus, args.prometheus_token_file, args.prometheus_ca_file)
    reader = PrometheusReader(where, period_s)
    agent = partial(PrometheusAgent, reader, period_s=period_s, outbox=_outbox(args))
    asyncio.run(_work(agent, args.url, token))
    return 0


def _holdings(args: argparse.Namespace) -> Holdings | None:
    if not args.kubelet_socket:
        return None
    try:
        # Only nodes of a cluster have it.
        from ..telemetry.kubelet import Kubelet  # noqa: PLC0415
    except ImportError as error:
        raise GpuCommonsError(
            _("Asking the kubelet needs the extra `kubernetes`: {why}").format(why=error)
        ) from error
    return Kubelet(Path(args.kubelet_socket)).holdings


def _outbox(args: argparse.Namespace) -> Outbox | None:
    """Where readings wait for the governor; None where neither a folder nor a state is named."""
    if args.outbox:
        return Outbox(Path(args.outbox))
    return Outbox(Path(args.state) / "outbox") if args.state else None


async def _work(agent: Callable[[Inbox], Agent], url: str, token: str) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    watch_parent(lambda: loop.call_soon_threadsafe(_end, stop))
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _end, stop)
    inbox = Inbox(url, token)
    try:
        await agent(inbox).run(stop)
    finally:
        inbox.close()


def _end(stop: asyncio.Event) -> None:
    stop.set()
    last = threading.Timer(END_S, os._exit, args=(0,))
    last.daemon = True
    last.start()


def _source(devices: str) -> str:
    if devices == "auto":
        return "nvml" if driver_found() else "simulated"
    return devices


def _reader(source: str, args: argparse.Namespace, period_s: float) -> Reader:
    if source == "nvml":
        return GuardedNvml(node=args.node, period_s=max(period_s, GuardedNvml.floor_s))
    if args.policy is None or args.state is None:
        raise GpuCommonsError(
            _(
                "Simulated devices need --policy and --state "
                "(GPU_COMMONS_POLICY, GPU_COMMONS_STATE)."
            )
        )
    # A GPU node needs neither YAML nor the policy, so this is not loaded there.
    from ..telemetry.simulated import SimulatedReader  # noqa: PLC0415

    return SimulatedReader(
        Path(args.policy), Path(args.state) / "sim", node=args.node, period_s=period_s
    )


def _token(args: argparse.Namespace, environ: Mapping[str, str]) -> str:
    file = args.token_file
    if file is None and environ.get("JUPYTERHUB_API_TOKEN"):
        return environ["JUPYTERHUB_API_TOKEN"]
    if file is None and args.state is not None:
        file = Path(args.state) / "tokens" / "agent"
    try:
        token = file.read_text(encoding="ascii").strip() if file else ""
    except (OSError, ValueError) as error:
        raise GpuCommonsError(
            _("The token file {file} cannot be read: {why}").format(file=file, why=error)
        ) from error
    if not token:
        raise GpuCommonsError(
            _("The agent has no token: set JUPYTERHUB_API_TOKEN, or name --token-file.")
        )
    return token


def _interval(environ: Mapping[str, str]) -> float | None:
    """Period among the intervals that `configure()` hands to all services, if there is one."""
    try:
        value = json.loads(environ.get("GPU_COMMONS_INTERVALS") or "{}").get("period_s")
        return float(value) if value is not None else None
    except (ValueError, TypeError, AttributeError):
        raise GpuCommonsError(
            _('GPU_COMMONS_INTERVALS is no JSON object of seconds, such as {"period_s": 2}.')
        ) from None
