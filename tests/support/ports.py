"""Ports of loopback for programs that must be told theirs before they start, and again later.

They lie below those that the kernel gives to everybody's connections: a hub that is killed and
started again finds its own port free, however much goes on beside it.
"""

import itertools
import os
import socket
from pathlib import Path

FIRST = 10_000
KERNELS = Path("/proc/sys/net/ipv4/ip_local_port_range")
STEP = 97


def _last() -> int:
    given = int(KERNELS.read_text().split()[0]) if KERNELS.exists() else 32_768
    return given if given > FIRST + 1000 else 32_768


# Lanes have neighbouring ids; each begins somewhere else and seldom meets another.
_numbers = itertools.count(os.getpid() * STEP)


def free_port() -> int:
    """A port that nobody listens on and that this process has not named before."""
    span = _last() - FIRST
    for number in itertools.islice(_numbers, span):
        port = FIRST + number % span
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise AssertionError("every port is taken")
