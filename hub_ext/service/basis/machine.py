"""Looks at this machine's processes: which one is behind a lease, and whether it lives.

It ends none. A pid is believed only together with its birth, since pids are used again.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from ...lease import AttemptId, DeviceId, Liveness, OpenLease, ProcessRef

MARK = "GPU_COMMONS_LEASE_ID"
"""Variable that every process of a granted server inherits."""

ATTEMPT_MARK = "GPU_COMMONS_ATTEMPT_ID"
"""The same, also in servers that started while the governor was away."""

BIRTH_TOLERANCE_US = 2_000_000
"""The kernel's boot time, from which births are computed, is slewed by up to a second or two."""

_DEAD = frozenset({psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD})


@dataclass(frozen=True)
class FoundServer:
    """A server's main process, and what its environment says of its start.

    A program could write another environment for its children: a hint on whose server it is and
    what it holds, for where nothing better is on record.
    """

    process: ProcessRef
    attempt_id: AttemptId
    devices: tuple[DeviceId, ...]


def liveness(process: ProcessRef) -> Liveness:
    """Tell whether a process lives; a zombie is gone, a reused pid is not it."""
    try:
        found = psutil.Process(process.pid)
        born_us = round(found.create_time() * 1_000_000)
        if abs(born_us - process.created_us) > BIRTH_TOLERANCE_US:
            return Liveness.gone
        dead = found.status() in _DEAD
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return Liveness.gone
    except (psutil.Error, OSError):
        return Liveness.unknown
    return Liveness.gone if dead else Liveness.alive


def probe(lease: OpenLease) -> Liveness:
    """Tell whether the server behind a lease, or anything that it left, lives on this machine.

    A training run that outlives its server holds its GPU as before. Where no process was ever
    reported and none is found by its mark, nothing is known: the server may run elsewhere.
    """
    seen = Liveness.unknown if lease.process is None else liveness(lease.process)
    if seen is Liveness.alive or (lease.process is not None and seen is Liveness.unknown):
        return seen
    return Liveness.alive if marked(lease) else seen


def found_process(lease: OpenLease) -> ProcessRef | None:
    """Find the oldest living process of a lease by its mark; None where none is readable."""
    return min(marked(lease), key=lambda process: process.created_us, default=None)


def marked(lease: OpenLease) -> tuple[ProcessRef, ...]:
    """Living processes that carry a lease's own mark, as far as we may look."""
    marks = {f"{MARK}={lease.id}".encode(), f"{ATTEMPT_MARK}={lease.attempt_id}".encode()}
    return tuple(
        found
        for pid, variables in _environments()
        if marks & variables and (found := _living(pid)) is not None
    )


def found_servers(api_url: str) -> dict[tuple[str, str], FoundServer]:
    """Main processes of a hub's servers on this machine, by user and server name.

    Parameters
    ----------
    api_url
        The hub's API as its servers are told it: people of another hub here may be namesakes.
    """
    servers: dict[tuple[str, str], FoundServer] = {}
    hub = f"JUPYTERHUB_API_URL={api_url}".encode()
    for pid, variables in _environments():
        if hub not in variables:
            continue
        told = dict(one.decode(errors="replace").partition("=")[::2] for one in variables)
        process = _living(pid) if ATTEMPT_MARK in told else None
        if process is None:
            continue
        key = (told.get("JUPYTERHUB_USER", ""), told.get("JUPYTERHUB_SERVER_NAME", ""))
        older = servers.get(key)
        if older is None or process.created_us < older.process.created_us:
            devices = told.get("CUDA_VISIBLE_DEVICES", "").split(",")
            servers[key] = FoundServer(
                process,
                AttemptId(told[ATTEMPT_MARK]),
                tuple(DeviceId(one) for one in devices if one),
            )
    return servers


def _living(pid: int) -> ProcessRef | None:
    try:
        process = psutil.Process(pid)
        if process.status() in _DEAD:
            return None
        return ProcessRef(pid=pid, created_us=round(process.create_time() * 1_000_000))
    except (psutil.Error, OSError):
        return None


def _environments() -> Iterator[tuple[int, frozenset[bytes]]]:
    """Environments of all other processes that we may read."""
    for pid in psutil.pids():
        if pid == os.getpid():
            continue
        try:
            yield pid, _variables(pid)
        except (psutil.Error, OSError):
            continue


def _variables(pid: int) -> frozenset[bytes]:
    file = Path(f"/proc/{pid}/environ")
    if file.parent.exists():
        # Read straight: psutil would look up each process first, at ten times the cost.
        return frozenset(file.read_bytes().split(b"\0"))
    environment = psutil.Process(pid).environ()
    return frozenset(f"{name}={value}".encode() for name, value in environment.items())
