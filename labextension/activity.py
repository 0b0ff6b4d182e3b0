"""What this server tells of itself: kernels, terminals, the last real input. Never code or output.

It looks inside its own process, so nothing here counts as activity of a server or a kernel. It
decides nothing and stops nothing.
"""

import asyncio
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from jupyter_client.session import Session
from traitlets import Float
from traitlets.config import LoggingConfigurable

from hub_ext.errors import RefusedError, UnreachableError
from hub_ext.lease import Activity

Tell = Callable[[Activity], Any]

OUT_OF_MEMORY = re.compile(
    r"CUDA out of memory|CUDA error: out of memory|CUDA_ERROR_OUT_OF_MEMORY|"
    r"cudaErrorMemoryAllocation|torch\.(?:cuda\.)?OutOfMemoryError|"
    r"OutOfMemoryError: Out of memory allocating|RESOURCE_EXHAUSTED: (?:Out of memory|OOM)|"
    r"OOM when allocating tensor[^\n]*GPU:"
)
"""How PyTorch, CuPy, TensorFlow and JAX say that the GPU's memory is full."""

MOST_SCANNED = 20_000
"""Characters that are looked at, at either end of one message: a long trace has its cause last."""


def now_utc() -> datetime:
    """Read this server's clock."""
    return datetime.now(UTC)


@dataclass
class _Kernel:
    """One kernel as last seen. `stream` carries what it says; None where it cannot be heard."""

    busy_since: datetime | None = None
    stream: Any = None


class ServerActivity(LoggingConfigurable):
    """Looks at kernels and terminals, and tells the governor every minute, or sooner with news."""

    look_s = Float(2.0, min=0.1, config=True, help="Seconds between two looks at the kernels.")
    every_s = Float(60.0, min=1.0, config=True, help="Longest time between two words to the hub.")
    gap_s = Float(10.0, min=0.0, config=True, help="Shortest time between two words to the hub.")

    def __init__(
        self,
        kernels: Any,  # noqa: ANN401 - jupyter_server's managers have no types
        terminals: Any,  # noqa: ANN401 - the same
        tell: Tell,
        *,
        clock: Callable[[], datetime] = now_utc,
        **settings: Any,  # noqa: ANN401 - traitlets
    ) -> None:
        super().__init__(**settings)
        self._kernels = kernels
        self._terminals = terminals
        self._tell = tell
        self._clock = clock
        self._known: dict[str, _Kernel] = {}
        self._cell: tuple[datetime, int] | None = None
        self._output: datetime | None = None
        self._input: datetime | None = None
        self._memory: datetime | None = None
        self._news = asyncio.Event()
        self._fault = ""

    def noted_input(self) -> None:
        """Note that a person pressed a key or pointed somewhere in a page that can be seen."""
        self._input = self._clock()
        self._news.set()

    def activity(self) -> Activity:
        """Say how it stands now."""
        busy = [one.busy_since for one in self._known.values() if one.busy_since is not None]
        ended, took = self._cell or (None, None)
        return Activity(
            at=self._clock(),
            kernels=len(self._known),
            kernels_busy=len(busy),
            busy_since=min(busy, default=None),
            cell_ended_at=ended,
            cell_s=took,
            output_at=self._output,
            terminals=self._terminal_count(),
            input_at=self._input,
            out_of_memory_at=self._memory,
        )

    def look(self) -> None:
        """Look once at every kernel; one that has gone is forgotten."""
        ids = set(self._kernels.list_kernel_ids())
        for gone in self._known.keys() - ids:
            self._leave(self._known.pop(gone))
        for kernel_id in ids:
            with suppress(KeyError):
                self._look_at(kernel_id, self._kernels.get_kernel(kernel_id))

    def close(self) -> None:
        """Stop listening to kernels."""
        for one in self._known.values():
            self._leave(one)
        self._known = {}

    async def run(self) -> None:
        """Look and tell for ever."""
        loop = asyncio.get_running_loop()
        told_s = -self.every_s
        while True:
            try:
                self.look()
                wait_s = self.gap_s if self._news.is_set() else self.every_s
                if loop.time() - told_s >= wait_s:
                    self._news.clear()
                    told_s = loop.time()
                    with suppress(UnreachableError, RefusedError):
                        await self._tell(self.activity())
            except Exception as error:  # noqa: BLE001 - who falls silent for good is no witness
                self._say_once(f"{type(error).__name__}: {error}")
            await asyncio.sleep(self.look_s)

    def _say_once(self, words: str) -> None:
        """Log a fault, once as long as it stays the same."""
        if words != self._fault:
            self.log.warning("What this server does is not told in full: %s", words)
        self._fault = words

    def _look_at(self, kernel_id: str, kernel: Any) -> None:  # noqa: ANN401 - a kernel manager
        known = self._known.setdefault(kernel_id, _Kernel())
        if known.stream is None or known.stream.closed():
            known.stream = self._ear(kernel)
        now, is_busy = self._clock(), getattr(kernel, "execution_state", "") == "busy"
        if is_busy and known.busy_since is None:
            known.busy_since = now
        elif not is_busy and known.busy_since is not None:
            self._cell = (now, int((now - known.busy_since).total_seconds()))
            known.busy_since = None
            self._news.set()
        said = getattr(kernel, "last_activity", None)
        if isinstance(said, datetime) and said.tzinfo is not None:
            self._output = said if self._output is None else max(self._output, said)

    def _ear(self, kernel: Any) -> Any:  # noqa: ANN401 - a kernel manager
        """Listen to a kernel; None where it cannot be heard just now, as while it starts anew."""
        try:
            return self._hear(kernel)
        except Exception as error:  # noqa: BLE001 - its state is told all the same
            self._say_once(f"a kernel is not heard: {type(error).__name__}: {error}")
            return None

    def _hear(self, kernel: Any) -> Any:  # noqa: ANN401 - a kernel manager
        """Listen to what a kernel says, for the words of a full memory alone."""
        if not hasattr(kernel, "connect_iopub"):
            # A gateway's kernel runs elsewhere.
            return None
        # A session of its own: the kernel's would take each message for a repetition.
        session = Session(config=kernel.session.config, key=kernel.session.key)
        stream = kernel.connect_iopub()

        def heard(frames: list[Any]) -> None:
            try:
                _ids, parts = session.feed_identities(frames)
                message = session.deserialize(parts)
            except Exception:  # noqa: BLE001 - a message that cannot be read says nothing
                return
            if is_out_of_memory(message):
                self._memory = self._clock()
                self._news.set()

        if not hasattr(stream, "on_recv"):
            stream.close()
            return None
        stream.on_recv(heard)
        return stream

    def _leave(self, one: _Kernel) -> None:
        if one.stream is None:
            return
        try:
            if not one.stream.closed():
                one.stream.close()
        except Exception as error:  # noqa: BLE001 - what is given up cannot be given up better
            self._say_once(f"a kernel is not let go: {type(error).__name__}: {error}")

    def _terminal_count(self) -> int:
        try:
            return len(self._terminals.list()) if self._terminals is not None else 0
        except (OSError, KeyError):
            return 0


def is_out_of_memory(message: dict[str, Any]) -> bool:
    """Whether a kernel's message says that the GPU's memory was full. Nothing of it is kept."""
    content = message.get("content") or {}
    match message.get("msg_type"):
        case "error":
            text = f"{content.get('ename', '')}: {content.get('evalue', '')}"
        case "stream":
            text = str(content.get("text", ""))
        case _:
            return False
    # Where both ends meet, what stands across is seen whole.
    ends = (text,) if len(text) <= 2 * MOST_SCANNED else (text[:MOST_SCANNED], text[-MOST_SCANNED:])
    return any(OUT_OF_MEMORY.search(end) is not None for end in ends)
