"""One chaos run from its seed to the verdict: turmoil, recovery, the look at what must hold."""

import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.chaos import clocks, invariants
from tests.chaos.faults import Turmoil
from tests.chaos.record import Breach
from tests.chaos.schedule import names, schedule
from tests.chaos.site import Site

_SHOWN = 8
"""Pieces of evidence printed for each rule; the rest is counted."""


@dataclass(frozen=True)
class Plan:
    """What is to be run.

    Attributes
    ----------
    recovery_s
        Seconds that everything gets to come right once no fault lasts.
    poll_s
        Seconds between two looks of the hub at its services.
    """

    seed: int
    seconds: float
    people: int
    recovery_s: float = 120.0
    poll_s: int = 30


def carry_out(plan: Plan, folder: Path) -> list[Breach]:
    """Run it in a folder of its own, and return every breach with its evidence."""
    happening = schedule(plan.seed, seconds=plan.seconds, people=plan.people)
    with Site.running(folder, people=plan.people, poll_s=plan.poll_s) as site:
        turmoil = Turmoil(site)
        turmoil.run(happening)
        _tell(f"{len(happening.faults)} faults, {len(happening.wishes)} requests are over")
        _tell(", ".join(f"{said}: {count}" for said, count in sorted(turmoil.answers.items())))
        until = time.monotonic() + plan.recovery_s
        breaches = _within(until, lambda: invariants.agreement(site.hub))
        turmoil.count_hub_failures()
        _stop_all(site, plan.people)
        breaches += _within(
            time.monotonic() + plan.recovery_s, lambda: invariants.stranded(site.hub)
        )
        known = clocks.runs(site.folder.clocks, site.watch.lived)
        _tell(f"{sum(bool(one.device) for one in known)} of {len(known)} servers had a GPU")
        return breaches + invariants.afterwards(turmoil)


def report(breaches: Iterable[Breach]) -> str:
    """Write one line a rule with its count, and the evidence below."""
    found = list(breaches)
    lines = []
    for rule in invariants.RULES:
        evidence = [words for broken, words in found if broken == rule]
        lines.append(f"{len(evidence):6}  {rule}")
        lines += [f"          {words}" for words in evidence[:_SHOWN]]
    return "\n".join(lines) + "\n"


def _within(until: float, look: Callable[[], list[Breach]]) -> list[Breach]:
    """Look until all is right, or time is up; a look that fails is a breach of its own."""
    while True:
        try:
            breaches = look()
        except (AssertionError, KeyError, TypeError, ValueError) as error:
            breaches = [(invariants.LOST, f"ledger and hub could not be asked: {error}")]
        if not breaches or time.monotonic() > until:
            return breaches
        time.sleep(1)


def _stop_all(site: Site, people: int) -> None:
    """Let everybody stop, and leave the queue, until nobody runs or waits."""
    hub = site.hub

    def ended() -> list[Breach]:
        for name in names(people):
            hub.stop(name)
        for lease in hub.leases().values():
            hub.api("POST", f"/leases/{lease.id}/stop", {})
        time.sleep(2)
        return invariants.stranded(hub)

    _within(time.monotonic() + 60, ended)


def _tell(words: str) -> None:
    sys.stderr.write(words + "\n")
