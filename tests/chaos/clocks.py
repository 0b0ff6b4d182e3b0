"""Compares charges with what the servers' own clocks and the watch from outside say.

Both ends are compared: a server that ended by itself is noticed at the hub's next look; one that
ended while governor or hub were away is charged at most to where it was last known to live.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hub_ext.lease import Cause, OpenLease
from tests.chaos.layout import SEEN_S
from tests.chaos.record import Breach

FAVOUR = "charge in the site's favour"
SHORT = "charge short by more than a heartbeat"
FREE = "server with a GPU that is on no charge"
UNKNOWN = "server with a GPU that no lease of the ledger names"

NOTICED_S = 6.0
"""From a server's end until the hub has noticed and told: its poll of 2 s, on a busy machine."""

UNTOLD_S = 40.0
"""Until a server runs for the ledger whose report was lost with a hub: that has to come back."""

SLEPT_S = 8.0
"""Longest sleep that a schedule gives hub or governor: an end that was asked is seen after it."""


@dataclass(frozen=True)
class Run:
    """One process as its own clock has it, in seconds since 1970 by the machine's clock."""

    lease_id: str
    pid: int
    device: str
    start: float
    end: float


def runs(folder: Path, lived: Mapping[int, float]) -> list[Run]:
    """Read the clocks of all servers; a process that slept lived until it was last seen."""
    found = []
    for file in sorted(folder.glob("*.jsonl")):
        lines = [json.loads(line) for line in file.read_text().splitlines() if line.endswith("}")]
        if lines:
            first, last = lines[0], lines[-1]
            end = max(last["at"], lived.get(first["pid"], 0.0))
            found.append(Run(first["lease"], first["pid"], first["device"], first["at"], end))
    return found


@dataclass(frozen=True)
class Books:
    """What charges are compared with.

    Attributes
    ----------
    charged
        By lease: when its charges begin and end by the governor's clock, and their sum.
    offset_at
        How far the governor's clock was off at an instant.
    away
        Stretches in which the governor did not answer.
    """

    leases: Mapping[str, OpenLease]
    charged: Mapping[str, tuple[float, float]]
    offset_at: Callable[[float], float]
    away: Iterable[tuple[float, float]]

    def compare(self, known: Iterable[Run]) -> list[Breach]:
        """Compare every server that had a GPU with its lease's charge."""
        return [breach for run in known if run.device for breach in self._one(run)]

    def _one(self, run: Run) -> Iterator[Breach]:
        lease = self.leases.get(run.lease_id)
        if lease is None:
            yield UNKNOWN, f"pid {run.pid} on {run.device}, lease {run.lease_id or 'none'}"
            return
        if lease.started_at is None:
            # A start that never came to run is charged nothing; one that did is found to run.
            if run.end - run.start > UNTOLD_S + self._deaf_s(run):
                yield FREE, f"lease {lease.id} ({lease.key}) never came to run for the ledger"
            return
        if lease.id not in self.charged:
            yield FREE, f"lease {lease.id} ({lease.key}), closed as {lease.cause}"
            return
        end = self.charged[lease.id][1]
        truth = run.end + self.offset_at(run.end)
        over_s = end - truth
        crashed = lease.cause in {Cause.failed, Cause.lost}
        if over_s > NOTICED_S + (0.0 if crashed else SLEPT_S):
            yield FAVOUR, _words(lease, over_s)
        if -over_s > SEEN_S + self._deaf_s(run):
            yield SHORT, _words(lease, over_s)

    def _deaf_s(self, run: Run) -> float:
        """Longest time that the governor could note no heartbeat of a server, with a margin."""
        stretches = [last - first for first, last in self.away if last >= run.start]
        return max(stretches, default=0.0) + NOTICED_S


def _words(lease: OpenLease, over_s: float) -> str:
    return (
        f"lease {lease.id} ({lease.key}), closed as {lease.cause}: charged until "
        f"{over_s:+.1f} s of its server's end"
    )
