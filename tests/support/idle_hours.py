"""Hours of a server as an agent would have read them, a reading a minute; and their judgement."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from hub_ext.idle import Clocks, Readings, judge_on
from hub_ext.lease import (
    Activity,
    DeviceId,
    DeviceSample,
    LeaseId,
    OpenLease,
    ProcessSample,
    Verdict,
    VerdictState,
)
from hub_ext.policy.model import FlavorKind, IdleRule
from tests.support.ledger_parts import a_lease

GPU = DeviceId("GPU-1")
MINUTE = timedelta(minutes=1)
WHOLE = {"applies": ["gpu"], "limit": "60m", "notice": "15m"}
"""The rule of a whole GPU, all of its defaults."""


@dataclass
class Hours:
    """One server's readings, minute after minute."""

    rule: IdleRule = field(default_factory=lambda: IdleRule.model_validate(WHOLE))
    kind: FlavorKind = "gpu"
    start: datetime = field(default_factory=lambda: a_lease().requested_at)
    devices: list[DeviceSample] = field(default_factory=list)
    processes: list[ProcessSample] = field(default_factory=list)
    said: dict[str, Any] | None = None
    now: datetime = field(init=False)

    def __post_init__(self) -> None:
        self.now = self.start
        self.clocks = Clocks()
        self.first_idle: datetime | None = None
        self.verdict: Verdict | None = None

    @property
    def lease(self) -> OpenLease:
        """The lease, running since the start."""
        return a_lease("L", assigned_at=self.start, started_at=self.start)

    def pass_by(self, minutes: int, **reads: Any) -> "Hours":
        """Let minutes pass with the same readings each; a list gives them in turn.

        `gpu`, `memory`, `changes`, `power`, `processes` are the device's; `cpu`, `disk`, `net` are
        of the processes. What is left away is unknown, but for a quiet GPU and CPU.
        """
        for number in range(minutes):
            one = {key: _turn(value, number) for key, value in reads.items()}
            self._read(one)
            self._judge()
            self.now += MINUTE
        return self

    def tells(self, **said: Any) -> "Hours":
        """Let the server tell of itself from now on, each minute anew; `input=True` is just now."""
        self.said = said
        return self

    def is_idle(self) -> bool:
        """Whether it was idle at any time."""
        return self.first_idle is not None

    def idle_after(self) -> int | None:
        """After how many minutes it was first idle."""
        return None if self.first_idle is None else int((self.first_idle - self.start) / MINUTE)

    def _read(self, one: dict[str, Any]) -> None:
        self.devices.append(
            DeviceSample(
                device=GPU,
                at=self.now,
                util_percent=one.get("gpu", 0),
                memory_used_bytes=one.get("memory"),
                memory_total_bytes=None,
                processes=one.get("processes"),
                process_changes=one.get("changes"),
                power_mw=one.get("power"),
            )
        )
        self.processes.append(
            ProcessSample(
                lease_id=LeaseId("L"),
                at=self.now,
                cpu_millis=one.get("cpu", 10),
                processes=1,
                disk_bytes_s=one.get("disk"),
                net_bytes_s=one.get("net"),
            )
        )

    def readings(self, minutes: int | None = None) -> Readings:
        """All readings, or the newest so many minutes of them."""
        since = self.start if minutes is None else self.now - minutes * MINUTE
        return Readings(
            devices=(tuple(one for one in self.devices if one.at >= since),),
            processes=tuple(one for one in self.processes if one.at >= since),
            period_s=60.0,
            source="nvml",
            activity=self.activity(),
        )

    def activity(self) -> Activity | None:
        """What the server says now."""
        if self.said is None:
            return None
        said = dict(self.said)
        if said.pop("input", False):
            said["input_at"] = self.now
        values = {"at": self.now, "kernels": 1, "kernels_busy": 0, **said}
        return Activity.model_validate(values)

    def _judge(self) -> None:
        judged = judge_on(
            self.clocks,
            "gpus",
            self.rule,
            self.lease,
            self.readings(12),
            self.now,
            required_devices=(GPU,),
            kind=self.kind,
        )
        self.verdict, self.clocks = judged
        if judged.verdict.state is VerdictState.idle and self.first_idle is None:
            self.first_idle = self.now

    def whole(self) -> Verdict:
        """Judge everything at once, as if the governor had just started."""
        last = self.now - MINUTE
        readings = self.readings()
        return judge_on(
            Clocks(),
            "gpus",
            self.rule,
            self.lease,
            readings,
            last,
            required_devices=(GPU,),
            kind=self.kind,
        ).verdict


def _turn(value: Any, number: int) -> Any:
    return value[number % len(value)] if isinstance(value, list) else value
