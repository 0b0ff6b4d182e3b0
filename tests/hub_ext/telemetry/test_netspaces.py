"""A server's network is its own only where nobody else is in it; real namespaces of the kernel."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from hub_ext.lease import LeaseId
from hub_ext.telemetry.netspaces import moved_bytes, namespaces

ONE, TWO = LeaseId("lease-one"), LeaseId("lease-two")

TABLE = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop
    lo:  500 5 0 0 0 0 0 0 500 5 0 0 0 0 0 0
  eth0: 1000 9 0 0 0 0 0 0 200 3 0 0 0 0 0 0
  net1:30 1 0 0 0 0 0 0 4 1 0 0 0 0 0 0
"""


def test_all_interfaces_but_the_loopback_count_both_ways() -> None:
    assert moved_bytes(TABLE) == 1234


@pytest.fixture
def apart() -> Iterator[int]:
    """Run a process in a network namespace of its own."""
    code = "print('ready', flush=True); import time; time.sleep(600)"
    with ExitStack() as ends:
        made = subprocess.Popen(
            ["unshare", "--net", sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
        )
        ends.callback(made.wait, timeout=10)
        ends.callback(made.kill)
        assert made.stdout is not None
        ends.callback(made.stdout.close)
        if made.stdout.readline().strip() != "ready":
            pytest.skip("no right to make a network namespace here")
        yield made.pid


def test_a_network_of_its_own_is_read_and_the_machines_is_not(apart: int) -> None:
    found = namespaces([(apart, ONE), (os.getpid(), TWO)])
    assert list(found) == [ONE]
    assert list(found[ONE].values()) == [0]


def test_a_network_that_two_leases_share_says_nothing_of_either(apart: int) -> None:
    assert namespaces([(apart, ONE), (apart, TWO)]) == {}


def test_what_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    for pid, text in (("7", "no table\n"), ("8", TABLE.replace("1000", "x"))):
        (tmp_path / pid / "ns").mkdir(parents=True)
        (tmp_path / pid / "ns" / "net").write_text("", encoding="ascii")
        (tmp_path / pid / "net").mkdir()
        (tmp_path / pid / "net" / "dev").write_text(text, encoding="ascii")
    found = namespaces([(7, ONE), (8, TWO), (9, TWO)], tmp_path)
    assert [list(spaces.values()) for spaces in found.values()] == [[0]]
