"""A year of several teams on the books: models, projects, prices that changed, readings, budgets.

It is written in bulk before the governor opens the ledger, so that pages of a year are seen in
seconds. All of it follows from one seed.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from random import Random
from typing import Any

from sqlalchemy import insert

from hub_ext.lease import (
    GOVERNOR,
    Cause,
    Device,
    DeviceId,
    LeaseId,
    OpenLease,
    PoolName,
    Posting,
    ProfileName,
    ProjectName,
    ServerKey,
    Standing,
    TeamName,
    UserName,
)
from hub_ext.ledger.readings import HOUR_US, metadata, rollup_hour
from hub_ext.ledger.samples import FILE as SAMPLES
from hub_ext.ledger.sqlite import writer
from hub_ext.ledger.store import Ledger, Tx
from hub_ext.policy.load import loads
from hub_ext.units import instant_us
from tests.support.governing import Site, settings_in
from tests.support.ledger_parts import a_lease, a_posting
from tests.support.ledger_year import Writer, put, put_ended

NOW = datetime(2026, 11, 19, 13, 20, tzinfo=UTC)
FIRST = date(2025, 12, 1)
RAISE = date(2026, 7, 1)
"""From that day on the large GPUs cost more."""

IDLE = 1
"""Percent up to which a lease of the year did nothing all the time."""

TEAMS = ("vision", "speech", "robots")


@dataclass(frozen=True)
class Kind:
    """What is held: profile, pool, flavor, its units, its prices before and after the raise."""

    profile: str
    pool: str
    flavor: str
    model: str
    units: int
    per_hour: tuple[int, int] | None
    usual_busy: int


KINDS = (
    Kind("one-h200", "large", "gpu-1", "h200-141gb", 840, (4_200_000, 4_620_000), 71),
    Kind("slice", "slices", "1g.18gb", "h200-141gb", 105, (600_000, 600_000), 34),
    Kind("card", "cards", "gpu-1", "l40s", 840, (1_100_000, 1_100_000), 55),
    Kind("trial", "trial", "gpu-1", "l40s", 840, None, 22),
)

_LIFE = {"default": "4h", "longest": "1d"}


def policy_text(teams: tuple[str, ...] = TEAMS, **more: Any) -> str:
    """Write the policy of the year; JSON is YAML."""
    policy: dict[str, Any] = {
        "version": 1,
        "currency": "EUR",
        "timezone": "Europe/Paris",
        "modes": {"quota": "enforce", "idle": "enforce", "budget": "advise"},
        "pools": {
            "large": {"model": "h200-141gb", "nodes": [{"name": "node-1", "gpus": 8}]},
            "slices": {
                "model": "h200-141gb",
                "nodes": [{"name": "node-2", "gpus": 1, "geometry": [["1g.18gb"] * 7]}],
            },
            "cards": {"model": "l40s", "nodes": [{"name": "node-3", "gpus": 8}]},
            "trial": {"model": "l40s", "nodes": [{"name": "node-4", "gpus": 1}]},
        },
        "teams": {
            name: {
                "groups": [name],
                "leads": [f"lead-{name}"],
                "over_quota": "borrow",
                "quota": {
                    "large": {"nominal": "1" if number < len(TEAMS) else "0"},
                    "slices": {"nominal": "0.25" if number < len(TEAMS) else "0"},
                    "cards": {"nominal": "1" if number < len(TEAMS) else "0"},
                    "trial": {"nominal": "0"},
                },
            }
            for number, name in enumerate(teams)
        },
        "projects": {name: {"team": team} for team in teams for name in projects_of(team)},
        "profiles": {
            one.profile: {
                "title": one.profile,
                "pool": one.pool,
                "flavor": {"gpus": 1} if one.flavor == "gpu-1" else {"mig": one.flavor},
                "cpu": "1",
                "memory": "1GiB",
                "lifetime": _LIFE,
            }
            for one in KINDS
        },
        "task_types": {"training": {"title": "Training", "weight": 500}},
        "prices": list(_prices()),
        "budgets": {
            f"{name}-month": {
                "team": name,
                "amount": "360.00",
                "steps": [{"at": 80, "act": "tell"}],
            }
            for name in teams[: len(TEAMS) - 1]
        },
        "idle": {"gpus": {"applies": ["gpu", "mig"], "limit": "30m", "notice": "10m"}},
        **more,
    }
    return json.dumps(policy, indent=1)


def projects_of(team: str) -> tuple[str, ...]:
    """Name a team's projects."""
    return tuple(f"{team}-{name}" for name in ("atlas", "corpus", "grant"))


def people_of(team: str) -> tuple[str, ...]:
    """Name a team's people."""
    return tuple(f"{team}-{name}" for name in ("ada", "ben", "cleo", "dan"))


def plant(
    state: Path,
    policy: str,
    *,
    teams: tuple[str, ...] = TEAMS,
    a_day: float = 2.0,
    bare: bool = False,
) -> None:
    """Write the year into an empty state directory.

    Parameters
    ----------
    a_day
        Leases of a team on a working day, in the mean.
    bare
        Whether charges alone are written: no life of the leases, no readings.
    """
    state.mkdir(parents=True, exist_ok=True)
    ledger, pen = Ledger.open(state), Writer()
    made = list(_leases(teams, a_day))
    with ledger.transaction() as tx:
        _add_policy(tx, policy)
        pen.seq, pen.chain = tx._head()
        if bare:
            put(tx, (pen.charged(lease, charge) for lease, charge, _busy in made))
        else:
            lives = (pen.lived(lease, charge.start, charge) for lease, charge, _busy in made)
            put(tx, (row for life in lives for row in life))
            put_ended(tx, pen)
    ledger.close()
    if not bare:
        _read(state, made)


@contextmanager
def year_in(state: Path, *, policy: str = "", **more: Any) -> Iterator[Site]:
    """Open a site whose ledger holds a year, with some servers that run now."""
    text = policy or policy_text(more.get("teams", TEAMS))
    plant(state, text, **more)
    site = Site(state, settings_in(state), now=NOW, policy_text=text)
    site.report_devices()
    try:
        while site.governor.read_past_days(now=site.now):
            continue
        yield site
    finally:
        site.governor.close()


Planted = tuple[OpenLease, Posting, int | None]
"""A lease, its charge, and how busy it was in percent; None where nobody measured it."""


def _leases(teams: tuple[str, ...], a_day: float) -> Iterator[Planted]:
    number = 0
    for place, team in enumerate(teams):
        dice = Random(f"{team} {place}")
        day = FIRST
        while day < NOW.date():
            busy_day = 0.25 if day.weekday() >= 5 else 1.0
            mean = a_day * busy_day * (0.7 + 0.1 * (place % 7))
            for _each in range(int(mean + dice.random())):
                number += 1
                yield _one(number, team, day, dice)
            day += timedelta(days=1)


def _one(number: int, team: str, day: date, dice: Random) -> Planted:
    kind = dice.choices(KINDS, (5, 4, 4, 0.3))[0]
    user, server = dice.choices(people_of(team), (6, 4, 2, 1))[0], ""
    project = dice.choices((*projects_of(team), None), (6, 4, 2, 0.7))[0]
    start = datetime.combine(day, time(7), UTC) + timedelta(seconds=dice.randrange(36_000))
    seconds = dice.choice((1800, 3600, 7200, 14_400, 28_800, 43_200)) + dice.randrange(900)
    seconds = min(seconds, int((NOW - start).total_seconds()) - 60)
    price = None if kind.per_hour is None else kind.per_hour[day >= RAISE]
    idle = dice.random() < 0.15
    busy = (
        None if dice.random() < 0.05 else IDLE if idle else min(99, kind.usual_busy + number % 25)
    )
    lease_id = LeaseId(f"l-{number:06d}")
    device = Device(
        id=DeviceId(f"{kind.pool}-{number}"),
        pool=PoolName(kind.pool),
        node="node-1",
        gpu=0,
        model=kind.model,
        mig_profile=None if kind.flavor == "gpu-1" else kind.flavor,
    )
    shared: dict[str, Any] = {
        "team": TeamName(team),
        "project": None if project is None else ProjectName(project),
        "profile": ProfileName(kind.profile),
        "pool": PoolName(kind.pool),
        "flavor": kind.flavor,
        "units": kind.units,
        "standing": Standing.borrowed if number % 4 == 0 else Standing.guaranteed,
    }
    lease = a_lease(
        lease_id,
        key=ServerKey(user=UserName(user)),
        devices=(device,),
        started_at=start,
        assigned_at=start,
        task_type="training" if number % 3 else None,
        closed_at=start + timedelta(seconds=seconds),
        **shared,
    )
    charge = a_posting(
        lease_id,
        0,
        seconds,
        user=UserName(user),
        server=server,
        price_micro_per_hour=price,
        amount_micro=None if price is None else price * seconds // 3600,
        cause=Cause.culled if idle else Cause.user,
        **shared,
    )
    end = start + timedelta(seconds=seconds)
    return lease, charge.model_copy(update={"start": start, "end": end}), busy


def _add_policy(tx: Tx, text: str) -> None:
    loaded = loads(text)
    begin = datetime.combine(FIRST, time(), UTC) - timedelta(hours=2)
    tx.add_generation(
        text=loaded.text, sha256=loaded.sha256, summary="first policy", at=begin, actor=GOVERNOR
    )


def _read(state: Path, made: list[Planted]) -> None:
    """Write the hourly sums of the readings."""
    rows = [
        {
            "lease_id": lease.id,
            "device": lease.devices[0].id,
            "hour": hour,
            "sampled_ms": 3_600_000,
            "percent_ms": 3_600_000 * busy,
            "unknown_ms": 0,
            "peak_percent": busy,
            "idle_ms": 3_600_000 if busy <= IDLE and hour % 3 else 0,
            "hoarded_ms": 3_600_000 if busy <= IDLE and not hour % 3 else 0,
        }
        for lease, charge, busy in made
        if busy is not None
        for hour in range(instant_us(charge.start) // HOUR_US, instant_us(charge.end) // HOUR_US)
    ]
    engine = writer(state / SAMPLES, synchronous="NORMAL")
    with engine.begin() as connection:
        metadata.create_all(connection)
        connection.execute(insert(rollup_hour), rows)
    engine.dispose()


def _prices() -> Iterator[dict[str, str]]:
    for one in KINDS:
        flavor = "gpu" if one.flavor == "gpu-1" else one.flavor
        for day, price in zip((FIRST, RAISE), one.per_hour or (), strict=False):
            yield {
                "pool": one.pool,
                "flavor": flavor,
                "from": day.isoformat(),
                "per_hour": f"{price / 1_000_000:.2f}",
            }
