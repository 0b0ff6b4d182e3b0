"""A real governor on a real ledger, with a clock that the story moves and a machine of its own."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from hub_ext.errors import RefusedError
from hub_ext.lease import (
    Ask,
    Choice,
    Grant,
    Inventory,
    LeaseId,
    LeaseState,
    Liveness,
    OpenLease,
    ProcessRef,
    ProfileName,
    ProjectName,
    Report,
    ReportKind,
    SampleBatch,
    ServerKey,
    ServerName,
    TeamName,
    UserName,
    When,
)
from hub_ext.ledger.samples import Samples
from hub_ext.ledger.store import Ledger
from hub_ext.policy.load import loads
from hub_ext.service.books.config import GovernorConfig, Settings
from hub_ext.service.books.floor import declared
from hub_ext.service.core.governor import Governor

START = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)

POLICY = """\
version: 1
currency: EUR
timezone: UTC
modes: {quota: enforce, idle: enforce}
pools:
  mig:
    model: h200-141gb
    nodes: [{name: node-1, gpus: 1, geometry: [[1g.18gb, 1g.18gb, 1g.18gb]]}]
  whole:
    model: h200-141gb
    nodes: [{name: node-2, gpus: 3}]
teams:
  vision:
    groups: [vision]
    leads: [lena]
    quota:
      mig: {nominal: "0.25"}
      whole: {nominal: "1", borrowing_limit: "1"}
    over_quota: borrow
  speech:
    groups: [speech]
    leads: [lars]
    quota:
      whole: {nominal: "2"}
projects:
  maps: {team: vision}
profiles:
  cpu: {title: No GPU, flavor: none, cpu: "1", memory: 1GiB, lifetime: {default: 8h, longest: 24h}}
  small:
    {title: MIG, pool: mig, flavor: {mig: 1g.18gb}, cpu: "1", memory: 1GiB,
     lifetime: {default: 1h, longest: 4h}}
  one:
    {title: One GPU, pool: whole, flavor: {gpus: 1}, cpu: "2", memory: 2GiB,
     lifetime: {default: 1h, longest: 2h}}
  two:
    {title: Two GPUs, pool: whole, flavor: {gpus: 2}, cpu: "2", memory: 2GiB,
     lifetime: {default: 1h, longest: 2h}}
prices:
  - {pool: whole, from: 2026-01-01, per_hour: "3.60"}
  - {pool: mig, flavor: 1g.18gb, from: 2026-01-01, per_hour: "0.72"}
idle:
  gpus: {applies: [gpu, mig], limit: 10m, notice: 5m, start_grace: 0s, keep: 30m, trial: 0s}
notice: {lifetime: 10m, stop_limit: 5m}
"""
"""Two pools, two teams; EUR 3.60 an hour is 1 000 micro-euros a second."""

GROUPS = {"vera": ("vision",), "viktor": ("vision",), "sam": ("speech",), "sue": ("speech",)}


class Machine:
    """Processes that live, as the probe of this machine sees them. `blind` sees nothing."""

    def __init__(self) -> None:
        self.living: set[ProcessRef] = set()
        self.blind = False
        self._pids = count(1000)

    def start(self, at: datetime) -> ProcessRef:
        """Make a process."""
        process = ProcessRef(pid=next(self._pids), created_us=int(at.timestamp() * 1_000_000))
        self.living.add(process)
        return process

    def end(self, process: ProcessRef) -> None:
        """End one."""
        self.living.discard(process)

    def probe(self, lease: OpenLease) -> Liveness:
        """Look whether the process of a lease lives."""
        if self.blind or lease.process is None:
            return Liveness.unknown
        return Liveness.alive if lease.process in self.living else Liveness.gone


@dataclass
class Site:
    """One hub's governor, its ledger, its machine and its clock."""

    state: Path
    settings: Settings
    machine: Machine = field(default_factory=Machine)
    now: datetime = START
    ids: Iterator[int] = field(default_factory=lambda: count(1))
    attempts: Iterator[int] = field(default_factory=lambda: count(1))
    policy_text: str = POLICY

    def __post_init__(self) -> None:
        self.governor = self._open()

    def _open(self) -> Governor:
        ledger = Ledger.open(self.state, url=self.settings.ledger_url or None)
        governor = Governor(
            ledger,
            Samples.open(self.state),
            self.settings,
            alive=self.machine.probe,
            new_id=lambda: LeaseId(f"l-{next(self.ids):04d}"),
        )
        governor.set_policy(loads(self.policy_text), now=self.now)
        self.ledger = ledger
        return governor

    def restart(self) -> None:
        """End the governor and start another on the same files; the agents report again."""
        self.governor.close()
        self.governor = self._open()
        self.report_devices()

    def later(self, seconds: float) -> datetime:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)
        return self.now

    def report_devices(self, *, without: frozenset[str] = frozenset()) -> None:
        """Let the agents tell of every declared device but some."""
        devices = [one for one in declared(self.governor.policy) if one.id not in without]
        for node in sorted({device.node for device in declared(self.governor.policy)}):
            here = tuple(device for device in devices if device.node == node)
            inventory = Inventory(node=node, source="simulated", at=self.now, devices=here)
            batch = SampleBatch(
                node=node,
                source="simulated",
                sent_at=self.now,
                period_s=3600,
                inventory=inventory,
            )
            self.governor.take_samples(batch, now=self.now)

    def asking(
        self,
        user: str,
        profile: str = "one",
        *,
        server: str = "",
        attempt: str | None = None,
        former: Liveness = Liveness.gone,
        team: str | None = None,
        project: str | None = None,
        when: When | None = None,
    ) -> Ask:
        """Make the ask of a start."""
        return Ask(
            attempt_id=attempt or f"attempt-{next(self.attempts):04d}",
            key=ServerKey(user=UserName(user), server=ServerName(server)),
            groups=GROUPS.get(user, ()),
            choice=Choice(
                profile=ProfileName(profile),
                team=TeamName(team) if team is not None else None,
                project=ProjectName(project) if project is not None else None,
            ),
            former=former,
            when=when,
        )

    def waits(
        self, user: str, profile: str = "one", *, server: str = "", when: When = When.start
    ) -> OpenLease:
        """Ask for what cannot start now, and let it wait."""
        asked = self.asking(user, profile, server=server, when=when)
        with suppress(RefusedError):
            self.ask(asked)
        lease = self.governor.view(asked.key, now=self.now).lease
        assert lease is not None
        assert lease.state is LeaseState.queued
        return lease

    def serve(self) -> int:
        """Turn the queue."""
        return self.governor.serve_queue(now=self.now)

    def now_is(self, lease: OpenLease) -> OpenLease:
        """Read a lease as it stands now."""
        found = self.governor.lease(lease.id)
        assert found is not None
        return found

    def ask(self, asked: Ask) -> Grant:
        """Ask now."""
        return self.governor.ask(asked, now=self.now)

    def started(self, grant: Grant, began: datetime | None = None) -> ProcessRef:
        """Let the granted server come up and be reported; `began` is by the hub's clock."""
        process = self.machine.start(self.now)
        told = Report(
            kind=ReportKind.started,
            key=grant.key,
            liveness=Liveness.alive,
            process=process,
            hub_started_at=began,
        )
        self.governor.report(grant.attempt_id, told, now=self.now)
        return process

    def run(self, user: str, profile: str = "one", *, server: str = "") -> Grant:
        """Ask and start."""
        grant = self.ask(self.asking(user, profile, server=server))
        self.started(grant)
        return grant

    def ended(
        self,
        grant: Grant,
        liveness: Liveness = Liveness.gone,
        *,
        asked: bool = True,
        refused: bool = False,
        exit_code: int | None = None,
        age_s: int = 0,
    ) -> None:
        """Let the spawner report the end, as its own poll saw it `age_s` ago."""
        told = Report(
            kind=ReportKind.ended,
            key=grant.key,
            liveness=liveness,
            asked=asked,
            refused=refused,
            exit_code=exit_code,
            age_ms=1000 * age_s,
        )
        self.governor.report(grant.attempt_id, told, now=self.now)

    def lease(self, grant: Grant) -> OpenLease:
        """Read a grant's lease."""
        lease = self.governor.lease(grant.lease_id)
        assert lease is not None
        return lease

    def held(self) -> list[str]:
        """Ids of all devices that open leases hold."""
        return [device.id for lease in self.governor.leases() for device in lease.devices]

    def stop(self, grant: Grant) -> None:
        """Let the process end and its end be reported."""
        process = self.lease(grant).process
        if process is not None:
            self.machine.end(process)
        self.ended(grant)


def settings_in(state: Path, **traits: object) -> Settings:
    """Make settings for tests."""
    return GovernorConfig(state=str(state), policy=str(state / "policy.yaml"), **traits).settings()


@contextmanager
def site_in(state: Path, *, policy: str = POLICY, **traits: object) -> Iterator[Site]:
    """Open a site whose agents have reported."""
    state.mkdir(parents=True, exist_ok=True)
    site = Site(state, settings_in(state, **traits), policy_text=policy)
    site.report_devices()
    try:
        yield site
    finally:
        site.governor.close()
