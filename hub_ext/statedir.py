"""The state directory: private, with tokens and ports that are made once and kept.

The layout is documented in `docs/reference/state.md`. Nothing here talks to a network: a port is
asked of the kernel and written down, so that the next start finds the same.
"""

import json
import os
import re
import secrets
import socket
from contextlib import suppress
from pathlib import Path

import psutil

from .errors import GpuCommonsError
from .i18n import _

_TOKEN = re.compile(r"[0-9a-f]{64}")
LOOPBACK = "127.0.0.1"
RUN_FILE = "run.json"


class StateDir:
    """One directory that holds everything the product keeps between starts.

    Parameters
    ----------
    path
        Made with mode 0700 where it is missing; tightened where others could read it.
    tokens
        Where tokens are instead, that others made and share: a mounted Secret. None are made there.
    """

    def __init__(self, path: Path, *, tokens: Path | None = None) -> None:
        self.path = path.expanduser().absolute()
        self.shared = tokens is not None
        self.tokens = (tokens or self.path / "tokens").expanduser().absolute()
        self.run_file = self.path / RUN_FILE
        for folder in (self.path,) if self.shared else (self.path, self.tokens):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.chmod(0o700)

    def token_file(self, name: str) -> Path:
        """Path of a token, which `token` makes."""
        return self.tokens / name

    def token(self, name: str) -> str:
        """Return the token of that name: 64 hex characters, made at the first call.

        It stays the same over restarts because a hub that was killed leaves services and
        servers behind that still use it.

        Raises
        ------
        GpuCommonsError
            When the file holds something else; it is not overwritten, since others may use it.
        """
        file = self.token_file(name)
        if self.shared:
            return self._shared_token(file)
        with suppress(FileExistsError):
            made = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(made, "w", encoding="ascii") as stream:
                stream.write(secrets.token_hex(32))
        file.chmod(0o600)
        text = file.read_text(encoding="ascii", errors="replace").strip()
        if not _TOKEN.fullmatch(text):
            raise GpuCommonsError(
                _(
                    "{file} holds no token of 64 hexadecimal characters. "
                    "Delete it and start again; a new one is made."
                ).format(file=file)
            )
        return text

    def _shared_token(self, file: Path) -> str:
        try:
            text = file.read_text(encoding="ascii", errors="replace").strip()
        except OSError:
            text = ""
        if not _TOKEN.fullmatch(text):
            raise GpuCommonsError(
                _(
                    "{file} holds no token of 64 hexadecimal characters. Put one into the Secret "
                    "that is mounted there; `openssl rand -hex 32` makes one."
                ).format(file=file)
            )
        return text

    def port(self, name: str) -> int:
        """Return a TCP port on loopback under that name: the one of last time if it is free.

        A port that another process of this same state directory still holds also counts as
        ours: that process is about to leave with its dead hub.
        """
        ports = self.ports()
        known = ports.get(name)
        if known is not None and (_free(known) or self._ours(known)):
            return known
        taken = set(ports.values())
        chosen = _ask_kernel()
        while chosen in taken:
            chosen = _ask_kernel()
        self.note(ports={**ports, name: chosen})
        return chosen

    def ports(self) -> dict[str, int]:
        """Ports by name, as the last start wrote them."""
        ports = self.run().get("ports")
        if not isinstance(ports, dict):
            return {}
        return {str(name): port for name, port in ports.items() if isinstance(port, int)}

    def run(self) -> dict[str, object]:
        """Read `run.json`; empty where it is missing or damaged, as it can be made again."""
        return run_of(self.path)

    def note(self, **fields: object) -> None:
        """Write fields of `run.json`, in one step, leaving the others as they are."""
        content = {**self.run(), **fields}
        draft = self.run_file.with_suffix(f".{os.getpid()}")
        draft.touch(mode=0o600)
        draft.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        draft.replace(self.run_file)

    def _ours(self, port: int) -> bool:
        """Whether a process that carries this state directory listens on the port."""
        with suppress(psutil.Error, OSError):
            for connection in psutil.net_connections("tcp4"):
                listens = connection.status == psutil.CONN_LISTEN
                if listens and tuple(connection.laddr)[1] == port and connection.pid:
                    environment = psutil.Process(connection.pid).environ()
                    return environment.get("GPU_COMMONS_STATE") == str(self.path)
        return False


def run_of(state: Path) -> dict[str, object]:
    """Read what the last start wrote into `run.json`, without making or tightening anything."""
    try:
        content = json.loads((state / RUN_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _free(port: int) -> bool:
    with socket.socket() as probe:
        # As servers do, so that a port in TIME_WAIT counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def _ask_kernel() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port
