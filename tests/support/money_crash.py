"""A governor that charges, dies by SIGKILL before one write after another, and is told all again.

Run as a program of one thread with a directory, the first kill point and the step between two, and
GPU_COMMONS_LEDGER_URL for a PostgreSQL; prints what was on the books in the end, as JSON lines.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import event as signals

from hub_ext.errors import RefusedError
from hub_ext.lease import Actor, LeaseId, LeaseState, ProcessRef
from hub_ext.lease.months import CorrectionWish
from hub_ext.ledger.places import place
from hub_ext.ledger.store import Ledger
from hub_ext.ledger.verify import examine
from hub_ext.policy.load import loads
from hub_ext.service.core.governor import Governor
from tests.support.governing import POLICY, START, Site, settings_in
from tests.support.ledger_crash import born, forked
from tests.support.ledger_places import open_after_a_death

ADMIN = Actor(kind="user", name="root", admin=True)

FIRST = POLICY.replace(
    "lifetime: {default: 1h, longest: 2h}", "lifetime: {default: 99h, longest: 99h}"
).replace(
    'from: 2026-01-01, per_hour: "3.60"', 'from: 2026-01-01, per_hour: "3.60", borrowed: "1.80"'
)
SECOND = FIRST.replace('"3.60"', '"7.20"')

MIDNIGHT = datetime(2026, 12, 1, tzinfo=START.tzinfo)

NEW_PRICES = 3
"""Step at which prices change."""

WRITES = ("INSERT", "UPDATE", "DELETE")


class Told:
    """What the people and the spawner say, step by step; each may be said again."""

    def __init__(self, site: "Named") -> None:
        self.site = site

    def steps(self) -> list[tuple[int, Callable[[], object]]]:
        """Seconds after the start, and what is said then."""
        night = int((MIDNIGHT - START).total_seconds())
        return [
            (0, lambda: self.start("vera")),
            (100, lambda: self.start("viktor")),
            (200, lambda: self.end("vera")),
            (300, self.new_prices),
            (400, lambda: self.start("sam")),
            (night + 60, self.seen),
            (night + 120, self.close_month),
            (night + 180, lambda: self.end("viktor")),
            (night + 240, self.correct),
            (night + 300, lambda: self.end("sam")),
        ]

    def start(self, user: str) -> None:
        site = self.site
        site.called = user
        grant = site.ask(site.asking(user, attempt=f"attempt-{user}"))
        process = ProcessRef(pid=1000 + len(user), created_us=7)
        site.machine.living.add(process)
        lease = site.lease(grant)
        if lease.state is LeaseState.starting:
            site.machine.start = lambda at: process  # type: ignore[method-assign]
            site.started(grant)

    def end(self, user: str) -> None:
        site = self.site
        lease = site.governor.lease(LeaseId(f"l-{user}"))
        assert lease is not None
        site.machine.living.clear()
        if lease.open:
            assert lease.grant is not None
            site.ended(lease.grant)

    def new_prices(self) -> None:
        self.site.governor.set_policy(loads(SECOND), now=self.site.now)
        self.site.policy_text = SECOND

    def seen(self) -> None:
        with self.site.ledger.transaction() as tx:
            tx.seen([lease.id for lease in tx.leases()], at=self.site.now)

    def close_month(self) -> None:
        # It is refused where it was closed already.
        with suppress(RefusedError):
            self.site.governor.close_month("2026-11", reason="over", actor=ADMIN, now=self.site.now)

    def correct(self) -> None:
        wanted = CorrectionWish(
            lease_id=LeaseId("l-vera"), start=START, price_micro_per_hour=1_000_000
        )
        # "Nothing changes" where it was corrected already.
        with suppress(RefusedError):
            self.site.governor.correct_charge(
                wanted, reason="agreed", actor=ADMIN, now=self.site.now
            )


class Named(Site):
    """A site whose leases are called after the step at which they were asked for."""

    called = ""

    def _open(self) -> Governor:
        governor = super()._open()
        governor._desk.new_id = lambda: LeaseId(f"l-{self.called}")
        return governor


def opened(state: Path, url: str | None, at_step: int) -> Named:
    """Open a site as it is at a step, on the same ledger."""
    text = FIRST if at_step <= NEW_PRICES else SECOND
    return Named(state, settings_in(state, ledger_url=url or ""), policy_text=text)


def lived(state: Path, url: str | None, first: int, die_at: int | None) -> None:
    """Say everything from a step on; with `die_at` die before the write of that number."""
    site = opened(state, url, first)
    told = Told(site)
    if die_at is not None:
        _die_before(die_at, site.ledger)
    for number, (seconds, say) in enumerate(told.steps()):
        if number < first:
            continue
        (state / "step").write_text(str(number))
        site.now = START + timedelta(seconds=seconds)
        site.report_devices()
        say()
    site.governor.close()


def _die_before(number: int, ledger: Ledger) -> None:
    count = 0

    def tick(*details: Any, **_more: Any) -> None:
        nonlocal count
        words = details[2] if len(details) > 2 else "COMMIT"
        if words == "COMMIT" or str(words).lstrip().upper().startswith(WRITES):
            count += 1
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)

    for name in ("before_cursor_execute", "commit"):
        signals.listen(ledger._engine, name, tick)


def main(directory: Path, url: str | None, first: int, step: int) -> None:
    """Go through kill points until a story is told to its end."""
    for number in range(first, 10_000, step):
        state = directory / f"w{number}"
        born(state, url)
        ended = forked(lambda state=state, number=number: lived(state, url, 0, number))  # type: ignore[misc]
        open_after_a_death(state, url).close()
        reached = int((state / "step").read_text())
        if ended != 0:
            lived(state, url, reached, None)
        print(json.dumps(_books(state, url) | {"ended": ended, "step": reached}), flush=True)
        shutil.rmtree(state)
        if ended == 0:
            return


def _books(state: Path, url: str | None) -> dict[str, Any]:
    ledger = open_after_a_death(state, url)
    with ledger.transaction() as tx:
        lines = tx.postings(start=START - timedelta(days=9), end=START + timedelta(days=9))
        sums = tx.sums(start=START - timedelta(days=9), end=START + timedelta(days=9))
        found = {
            "lines": [
                [line.lease_id.partition("~")[0], line.seconds, line.amount_micro, line.standing]
                for line in lines
            ],
            "sums": sums,
            "open": [lease.id for lease in tx.leases()],
            "months": [month.name for month in tx.months()],
        }
    ledger.close()
    return found | {"difference": examine(place(state, url)).difference}


if __name__ == "__main__":
    main(
        Path(sys.argv[1]),
        os.environ.get("GPU_COMMONS_LEDGER_URL"),
        int(sys.argv[2]),
        int(sys.argv[3]),
    )
