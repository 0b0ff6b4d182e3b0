"""A thousand waiting requests: one turn of the queue, one answer, one page, as medians and p95."""

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from hub_ext.errors import RefusedError
from hub_ext.lease import Ask, Choice, LeaseState, ProfileName, ServerKey, UserName, When
from hub_ext.service.basis.access import Caller
from hub_ext.service.sheets import waiting
from tests.bench.table import Row, percentiles, timed
from tests.support.governing import Site, site_in

TICKETS = 1000
LIMIT_MS = 1000
"""Who waits shall see a change within a second."""


def rows() -> Iterator[Row]:
    """Measure with every GPU taken and a thousand who wait for one."""
    with tempfile.TemporaryDirectory() as folder, site_in(Path(folder)) as site:
        blocking = [site.run("sam"), site.run("sue")]
        for number in range(TICKETS):
            _wait(site, number)
        assert _waiting(site) == TICKETS
        site.serve()
        yield _row("turn of the queue, nothing free", timed(site.serve, rounds=30))
        numbers = iter(range(TICKETS, TICKETS + 100))
        yield _row("ask that joins it", timed(lambda: _wait(site, next(numbers)), rounds=30))
        caller = Caller(kind="person", name="w-500", groups=("speech",))

        def page() -> None:
            site.now += timedelta(seconds=6)
            waiting.sheet(waiting.gather(site.governor, caller, site.now))

        yield _row("page of one who waits", timed(page, rounds=30))
        seconds = []
        for grant in blocking:
            site.stop(grant)
            seconds += timed(site.serve, rounds=1)
        assert sum(one.state is LeaseState.held for one in site.governor.leases()) == len(seconds)
        yield _row("device freed until it is held", [*seconds, *seconds])


def _wait(site: Site, number: int) -> None:
    asked = Ask(
        attempt_id=f"bench-attempt-{number:05d}",
        key=ServerKey(user=UserName(f"w-{number}")),
        groups=("speech",),
        choice=Choice(profile=ProfileName("one")),
        when=When.start,
    )
    site.now += timedelta(milliseconds=10)
    with suppress(RefusedError):
        site.ask(asked)


def _waiting(site: Site) -> int:
    return sum(one.state is LeaseState.queued for one in site.governor.leases())


def _row(what: str, seconds: list[float]) -> Row:
    middle, high = (1000 * one for one in percentiles(seconds))
    return Row(
        f"{TICKETS} tickets: {what}, p50 / p95",
        f"{middle:.0f} / {high:.0f} ms",
        f"{LIMIT_MS} ms",
        f"{high / LIMIT_MS:.2f}",
    )
