"""One scripted month of GPU servers, charged by a real governor and by a model of a credit wallet.

The model is of jupyterhub-credit-service 0.4.2, written from what was read of it and seen of it
running; it is not that program. A credit is a GPU-second here, for both.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Literal, NamedTuple

from hub_ext.errors import RefusedError
from hub_ext.lease import Grant, Liveness
from tests.support.governing import START, Site, site_in

HEARTBEAT_S = 60
"""How often a server is noted as seen, and how often the wallet's loop bills."""

HOUR_S, DAY_S = 3600, 86_400
WALLET = 5 * HOUR_S
"""Credits that a wallet is filled up to each day."""

MICRO_A_CREDIT = 1000

POLICY = """\
version: 1
currency: EUR
timezone: UTC
modes: {quota: enforce, idle: observe, budget: enforce}
pools:
  whole: {model: h200-141gb, nodes: [{name: node-2, gpus: 8}]}
teams:
  lab: {groups: [lab], quota: {whole: {nominal: "5"}}}
  rush: {groups: [rush], quota: {whole: {nominal: "3"}}}
projects:
  work: {team: lab}
  hurry: {team: rush}
profiles:
  one:
    {title: One GPU, pool: whole, flavor: {gpus: 1}, cpu: "2", memory: 2GiB,
     lifetime: {default: 1h, longest: 24h}}
budgets:
  hurry: {project: hurry, amount: "3.60", period: month, hard: true}
prices:
  - {pool: whole, from: 2026-01-01, per_hour: "3.60"}
notice: {lifetime: 10m, stop_limit: 5m}
"""
"""EUR 3.60 an hour: 1 000 micro-euros a second. The budget is for one hour of one server."""


class Work(NamedTuple):
    """A server that its owner starts and stops, in seconds since the month began."""

    user: str
    start_s: int
    end_s: int


class Away(NamedTuple):
    """The hub and what charges are away: killed, or cut off.

    `machine` goes down with all servers; `torn` is killed between two commits of one bill.
    """

    start_s: int
    end_s: int
    kind: Literal["killed", "torn", "machine", "outage"]


class Script(NamedTuple):
    """What happens. At `rush_s` one person starts three servers at once, with money for one."""

    days: int
    work: tuple[Work, ...]
    away: tuple[Away, ...]
    rush_s: int


class Total(NamedTuple):
    """What was charged, what was really held, and what the three launches at once came to."""

    charged: int
    held: int
    launched: int

    @property
    def error(self) -> int:
        """Credits that were charged too much, or too little where it is below 0."""
        return self.charged - self.held


def a_month(days: int = 30) -> Script:
    """Five people work each weekday; the hub is killed, torn, struck with its machine, and away."""
    work = [
        Work(
            f"user-{n}",
            day * DAY_S + (8 + n) * HOUR_S + 7 * n,
            day * DAY_S + (11 + n) * HOUR_S + 11 * n,
        )
        for day in range(days)
        if day % 7 < 5
        for n in range(5)
    ]
    # On the day of the outage three leave their servers running through it.
    out = 3 * DAY_S
    work = [one for one in work if one.start_s // DAY_S != 3]
    work += [Work(f"user-{n}", out + 9 * HOUR_S + n, out + 18 * HOUR_S + n) for n in range(3)]
    away = [
        Away(DAY_S + 10 * HOUR_S + 31, DAY_S + 10 * HOUR_S + 11 * 60, "killed"),
        Away(2 * DAY_S + 10 * HOUR_S, 2 * DAY_S + 10 * HOUR_S + 5 * 60, "torn"),
        Away(out + 10 * HOUR_S + 17, out + 16 * HOUR_S + 17, "outage"),
        Away(4 * DAY_S + 10 * HOUR_S + 59, 4 * DAY_S + 10 * HOUR_S + 20 * 60, "machine"),
    ]
    return Script(days, tuple(sorted(work, key=lambda one: one.start_s)), tuple(away), HOUR_S)


def ends_of(script: Script) -> dict[Work, int]:
    """When each server really ends: by its owner, or with its machine."""
    down = [one.start_s for one in script.away if one.kind == "machine"]
    return {
        one: min([one.end_s, *(at for at in down if one.start_s <= at < one.end_s)])
        for one in script.work
    }


# The wallet


@dataclass
class _Server:
    """A server that runs, and until when it was billed."""

    started_s: int
    billed_s: int
    wallet: str


@dataclass
class _Wallets:
    """The model: a loop bills whole intervals, and stops what cannot pay all that is due.

    Known of it: the check at the start compares the balance with one interval's price and holds
    nothing; where more is due than there is, the server is stopped and nothing is charged; money
    and the time of the bill are two commits. Which comes first is not known: here the money.
    """

    balance: dict[str, int] = field(default_factory=dict)
    running: dict[str, _Server] = field(default_factory=dict)
    charged: int = 0
    held: int = 0

    def start(self, name: str, wallet: str, at: int) -> bool:
        if self.balance.setdefault(wallet, WALLET) < HEARTBEAT_S:
            return False
        self.running[name] = _Server(at, at, wallet)
        return True

    def end(self, name: str, at: int) -> None:
        server = self.running.pop(name, None)
        if server is not None:
            self.held += at - server.started_s

    def tick(self, at: int, *, torn: bool = False) -> None:
        for name, server in list(self.running.items()):
            due = (at - server.billed_s) // HEARTBEAT_S * HEARTBEAT_S
            if due > self.balance[server.wallet]:
                self.end(name, at)
                continue
            self.balance[server.wallet] -= due
            self.charged += due
            if torn and due:
                # The money is taken, and that it was is not: killed between the commits.
                torn = False
                continue
            server.billed_s += due

    def grant(self) -> None:
        for name in self.balance:
            if name != "rush":
                self.balance[name] = WALLET


def by_wallets(script: Script) -> Total:
    """Charge the month as the model does, a tick a minute."""
    wallets, ends = _Wallets(), ends_of(script)
    wallets.balance["rush"] = HOUR_S
    launched = 0
    gone = sorted((one.start_s, one.end_s, one.kind) for one in script.away)
    for at in range(0, script.days * DAY_S, HEARTBEAT_S):
        window = range(at - HEARTBEAT_S, at)
        for work, end in ends.items():
            if end in window and f"{work}" in wallets.running:
                wallets.end(f"{work}", end)
            if work.start_s in window:
                wallets.start(f"{work}", work.user, work.start_s)
        if script.rush_s in window:
            launched = sum(wallets.start(f"rush-{n}", "rush", script.rush_s) for n in range(3))
        for n in range(3):
            if script.rush_s + HOUR_S in window:
                wallets.end(f"rush-{n}", script.rush_s + HOUR_S)
        if at % DAY_S == 0:
            wallets.grant()
        away = next((kind for start, end, kind in gone if start <= at < end), None)
        torn = any(kind == "torn" and start == at for start, _end, kind in gone)
        if away is None or torn:
            wallets.tick(at, torn=torn)
    return Total(wallets.charged, wallets.held, launched)


# Ours


def by_governor(script: Script, folder: Path) -> Total:
    """Charge the month with a real governor on a real ledger, killed and started again."""
    with site_in(folder, policy=POLICY) as site:
        month = _Month(site, script)
        month.live()
        with site.ledger.transaction() as tx:
            whole = timedelta(days=script.days + 1)
            lines = tx.postings(start=START, end=START + whole)
    micro = sum(line.amount_micro or 0 for line in lines)
    if micro % MICRO_A_CREDIT:
        raise ValueError("a charge of part of a second")
    return Total(micro // MICRO_A_CREDIT, month.held, month.launched)


class _Month:
    """A site that lives through a script."""

    def __init__(self, site: Site, script: Script) -> None:
        self._site = site
        self._script = script
        self._grants: dict[Work, Grant] = {}
        self.held = 0
        self.launched = 0

    def live(self) -> None:
        """Let everything happen in its order."""
        steps: list[tuple[int, int, object]] = []
        for work, end in ends_of(self._script).items():
            steps.append((work.start_s, 1, ("start", work)))
            if end == work.end_s:
                steps.append((end, 0, ("end", work)))
        for away in self._script.away:
            steps += [(away.start_s, 2, away), (away.end_s, 3, away)]
        steps.append((self._script.rush_s, 1, ("rush", None)))
        for at, kind, what in sorted(steps, key=lambda one: one[:2]):
            self._go(at)
            match what:
                case ("start", Work() as work):
                    self._start(work)
                case ("end", Work() as work):
                    self._end(work, at)
                case Away() as away if kind == 2:
                    self._leave(away)
                case Away() as away:
                    self._back(away)
                case _:
                    self._rush(at)

    def _go(self, at: int) -> None:
        self._site.now = START + timedelta(seconds=at)

    def _start(self, work: Work) -> None:
        self._site.report_devices()
        asked = self._site.asking(work.user, team="lab", server=f"s-{work.start_s}")
        asked = asked.model_copy(
            update={
                "groups": ("lab",),
                "choice": asked.choice.model_copy(update={"lifetime_s": DAY_S}),
            }
        )
        grant = self._site.ask(asked)
        self._site.started(grant)
        self._grants[work] = grant

    def _end(self, work: Work, at: int) -> None:
        self._site.stop(self._grants.pop(work))
        self.held += at - work.start_s

    def _leave(self, away: Away) -> None:
        """Note everybody at the last heartbeat; what the machine takes with it is gone then."""
        for work, grant in self._grants.items():
            beat = away.start_s // HEARTBEAT_S * HEARTBEAT_S
            if beat > work.start_s:
                self._site.governor.seen(
                    grant.lease_id, Liveness.alive, now=START + timedelta(seconds=beat)
                )
        if away.kind == "machine":
            for work, grant in self._grants.items():
                process = self._site.lease(grant).process
                if process is not None:
                    self._site.machine.end(process)
                self.held += away.start_s - work.start_s

    def _back(self, away: Away) -> None:
        """Start again on the same files, and look what lives."""
        self._site.restart()
        for work, grant in list(self._grants.items()):
            self._site.governor.look(grant.lease_id, now=self._site.now)
            if away.kind == "machine":
                del self._grants[work]

    def _rush(self, at: int) -> None:
        """Three launches at once, an hour each; whichever start are stopped after their hour."""
        self._site.report_devices()
        grants = []
        for n in range(3):
            asked = self._site.asking("pat", team="rush", server=f"rush-{n}")
            try:
                grants.append(self._site.ask(asked.model_copy(update={"groups": ("rush",)})))
            except RefusedError as refusal:
                if not str(refusal.figures.get("why")).startswith("budget"):
                    raise
        for grant in grants:
            self._site.started(grant)
        self.launched = len(grants)
        self._go(at + HOUR_S)
        for grant in grants:
            self._site.stop(grant)
            self.held += HOUR_S
