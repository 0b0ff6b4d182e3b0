"""`python -m tests.controlplane.kubelet SETTINGS`: be one node until SIGTERM."""

import asyncio
import signal
import sys
from contextlib import suppress
from pathlib import Path

from .client import Client
from .node import Node
from .settings import Settings


async def run(settings: Settings) -> None:
    """Be a node until asked to end."""
    task = asyncio.current_task()
    assert task
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    async with Client(Path(settings.kubeconfig)) as client:
        await Node(client, settings).run()


if __name__ == "__main__":
    with suppress(asyncio.CancelledError):
        asyncio.run(run(Settings.read(Path(sys.argv[1]))))
