"""Ends a service together with the process that started it.

A hub that dies by SIGKILL leaves its services behind, still on their ports; each watches for that.
"""

import os
import threading
import time
from collections.abc import Callable

EVERY_S = 0.5
"""How often a service looks whether its parent lives: one system call."""


def watch_parent(on_gone: Callable[[], object], *, every_s: float = EVERY_S) -> None:
    """Call `on_gone` once, in a thread of its own, when the parent process has died.

    The kernel's own signal (PDEATHSIG) is not used: it also comes when the *thread* that started
    us ends, which in a hub says nothing. A parent that died before this call is not noticed.
    """
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(every_s)
        on_gone()

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()
