"""How long figures of money take at a large site, with one year on the books and with ten."""

import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from hub_ext.budget import month_name
from hub_ext.lease import GOVERNOR, Ask, Choice, LeaseId, Posting, ProfileName, ServerKey, UserName
from hub_ext.ledger.store import Ledger
from hub_ext.policy.load import loads
from hub_ext.service.money.settling import settle_all
from hub_ext.service.money.usage import Scope
from tests.bench.table import Row, against, percentiles, timed
from tests.support.governing import Site, settings_in
from tests.support.ledger_parts import a_lease, a_posting
from tests.support.ledger_year import Writer, put

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
TEAMS, PEOPLE, RUNNING = 50, 5_000, 1_000
THIS_MONTH, A_MONTH_BEFORE = 20_000, 2_000
SHORT, LONG = 1, 10
ROUNDS = 20
HELD_S = 5_400


class Figures(NamedTuple):
    """Seconds of each figure; pairs are the first call and the median of those after it."""

    report: tuple[float, float]
    sums: float
    site: tuple[float, float]
    person: tuple[float, float]
    view: float
    account: float
    budgets: float
    settling: float


def rows() -> Iterator[Row]:
    """Hold each figure against its limit, and ten years of history against one."""
    short, long = measured(SHORT), measured(LONG)
    month = f"of {THIS_MONTH:,} leases in the month"
    yield against(f"report of a team's month, {month}, the first time", long.report[0], 0.05, "")
    yield against(f"report of a team's month, {month}, again", long.report[1], 0.05, "")
    yield against(f"the site's month by team and kind of GPU, {month}", long.sums, 0.05, "")
    yield against(f"the site's month with a row for each lease, {month}", long.site[1], 2.0, "")
    yield against("a person's month, the first time", long.person[0], 0.005, "")
    yield against("a person's month, again", long.person[1], 0.005, "")
    yield against("what the panel shows of a lease", long.view, 0.005, "")
    scale = f"{PEOPLE:,} people, {RUNNING:,} running leases"
    yield against(f"what runs, accounted until now: {scale}", long.account, 1.0, "")
    yield against(f"what runs, held against the budgets: {scale}", long.budgets, 1.0, "")
    yield against(f"what runs, put on the books: {scale}", long.settling, 1.0, "")
    for what, ours, peer in (
        ("report of a team's month", long.report[1], short.report[1]),
        ("the site's month", long.site[1], short.site[1]),
        ("a person's month", long.person[1], short.person[1]),
        ("what runs, accounted until now", long.account, short.account),
    ):
        yield Row(
            f"{what}, {LONG} years on the books",
            f"{ours * 1000:.2f} ms",
            f"with {SHORT} year {peer * 1000:.2f} ms",
            f"{ours / peer:.2f}",
        )


def measured(years: int) -> Figures:
    """Fill a site and time it."""
    with tempfile.TemporaryDirectory() as name:
        site = _site(Path(name) / "state", years)
        try:
            return _figures(site)
        finally:
            site.governor.close()


def _figures(site: Site) -> Figures:
    governor, now = site.governor, site.now
    start, end = NOW.replace(day=1, hour=0), NOW + timedelta(days=2)
    month = month_name(start, "UTC")
    key = ServerKey(user=UserName(_person(7)))
    spent = _pair(lambda: governor.month_report("team-07", month, now=now))
    everybody = Scope("site")
    whole = _pair(lambda: governor.usage(everybody, start, end, now=now))
    own = Scope("me", user=_person(7))
    person = _pair(lambda: governor.usage(own, start, end, now=now))
    view = percentiles(timed(lambda: governor.view(key, now=now), rounds=ROUNDS))[0]
    minute = NOW - timedelta(minutes=1)
    account = _pair(lambda: governor.usage(everybody, minute, end, now=now))[1]
    budgets = _pair(lambda: governor.tend_budgets(now=now))[1]

    def settle() -> None:
        with governor._desk.turn(now) as turn:
            settle_all(turn, now)

    def add_up() -> None:
        with governor._desk.turn(now) as turn:
            assert len(turn.tx.flavor_sums(start, end)) >= TEAMS

    sums = percentiles(timed(add_up, rounds=ROUNDS))[0]
    return Figures(spent, sums, whole, person, view, account, budgets, timed(settle, rounds=1)[0])


def _pair(act: object) -> tuple[float, float]:
    first, *later = timed(act, rounds=ROUNDS)  # type: ignore[arg-type]
    return first, percentiles(later)[0]


def _person(number: int) -> str:
    return f"person-{number:04d}"


def _policy() -> str:
    nodes = ", ".join(f"{{name: node-{n}, gpus: 8}}" for n in range(RUNNING // 8))
    teams = "".join(
        f"  team-{n:02d}: {{groups: [team-{n:02d}], over_quota: deny, "
        f'quota: {{whole: {{nominal: "{RUNNING // TEAMS}"}}}}}}\n'
        for n in range(TEAMS)
    )
    budgets = "".join(
        f'  month-{n:02d}: {{team: team-{n:02d}, amount: "900000", '
        "steps: [{at: 80, act: tell}]}\n"
        for n in range(TEAMS)
    )
    return (
        "version: 1\ncurrency: EUR\nmodes: {quota: enforce, budget: advise}\n"
        f"pools:\n  whole: {{model: h200-141gb, nodes: [{nodes}]}}\n"
        f"teams:\n{teams}budgets:\n{budgets}"
        'profiles:\n  one: {title: One GPU, pool: whole, flavor: {gpus: 1}, cpu: "2", '
        "memory: 2GiB, lifetime: {default: 8h, longest: 24h}}\n"
        'prices: [{pool: whole, from: 2016-01-01, per_hour: "3.60"}]\n'
    )


def _site(state: Path, years: int) -> Site:
    state.mkdir(parents=True)
    ledger, pen = Ledger.open(state), Writer()
    loaded = loads(_policy())
    with ledger.transaction() as tx:
        tx.add_generation(
            text=loaded.text,
            sha256=loaded.sha256,
            summary="first policy",
            at=NOW - timedelta(days=365 * years),
            actor=GOVERNOR,
        )
        pen.seq, pen.chain = tx._head()
        put(tx, (pen.charged(a_lease(line.lease_id), line) for line in _history(years)))
    ledger.close()
    site = Site(state, settings_in(state), now=NOW - timedelta(hours=3), policy_text=_policy())
    site.report_devices()
    for number in range(RUNNING):
        asked = Ask(
            attempt_id=f"attempt-{number:05d}",
            key=ServerKey(user=UserName(_person(number))),
            groups=(f"team-{number % TEAMS:02d}",),
            choice=Choice(profile=ProfileName("one")),
        )
        site.started(site.ask(asked))
    site.now = NOW
    site.report_devices()
    while site.governor.read_past_days(now=site.now):
        continue
    return site


def _history(years: int) -> Iterator[Posting]:
    begin = NOW.replace(day=1, hour=0)
    before = A_MONTH_BEFORE * 12 * years
    step = timedelta(days=365 * years) / before
    starts = [begin - timedelta(days=365 * years) + step * n for n in range(before)]
    step = (NOW - timedelta(hours=4) - begin) / THIS_MONTH
    starts += [begin + step * n for n in range(THIS_MONTH)]
    for number, at in enumerate(starts):
        made = a_posting(
            LeaseId(f"past-{number}"),
            0,
            HELD_S,
            user=UserName(_person(number % PEOPLE)),
            team=f"team-{number % TEAMS:02d}",
            project=None,
            pool="whole",
            profile="one",
        )
        first = at.replace(microsecond=0)
        yield made.model_copy(update={"start": first, "end": first + timedelta(seconds=HELD_S)})
