"""Judge from readings whether a lease is idle, with the evidence. Acts on nothing.

Unknown is never idle: a missing, stale or interrupted reading starts the quiet clock anew, and
GPU and processes must both be quiet for the whole limit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from .i18n import _
from .lease import (
    DeviceId,
    DeviceSample,
    Exemption,
    OpenLease,
    ProcessSample,
    Signal,
    Value,
    Verdict,
    VerdictState,
)
from .policy.model import FlavorKind, IdleRule, Policy
from .units import duration_text, whole_seconds

STALE_PERIODS = 3
"""A reading older than this many periods says nothing of now, and a longer gap nothing of then."""


_CPU = "cpu"
"""Name of the signal of a lease's processes."""


class Readings(Value):
    """What was read of one lease. `devices` holds one series a device; order does not matter."""

    devices: tuple[tuple[DeviceSample, ...], ...] = ()
    processes: tuple[ProcessSample, ...] = ()
    period_s: float
    source: str


def rule_for(
    policy: Policy, kind: FlavorKind, task_type: str | None = None
) -> tuple[str, IdleRule] | None:
    """Find the idle rule of a task type, else of a kind of flavor; None where there is none."""
    task = policy.task_types.get(task_type or "")
    if task is not None and task.idle in policy.idle:
        return str(task.idle), policy.idle[str(task.idle)]
    return next(((name, rule) for name, rule in policy.idle.items() if kind in rule.applies), None)


def lookback(rule: IdleRule, period_s: float) -> timedelta:
    """How far back readings must reach for `judge` to be able to see a whole quiet limit."""
    return rule.limit + timedelta(seconds=(STALE_PERIODS + 1) * period_s)


@dataclass(frozen=True, slots=True)
class _Point:
    """One reading of one witness: None is unknown."""

    at: datetime
    value: int | None


@dataclass(frozen=True, slots=True)
class _Witness:
    """A signal's series against its threshold; `quiet_since` is None unless it is quiet now."""

    signal: Signal
    quiet_since: datetime | None


def judge(
    rule_name: str | None,
    rule: IdleRule | None,
    lease: OpenLease,
    readings: Readings,
    now: datetime,
    *,
    required_devices: Sequence[DeviceId],
) -> Verdict:
    """Judge one lease at `now`.

    Parameters
    ----------
    rule_name, rule
        The rule of its kind of flavor; None is never idle.
    readings
        Everything read since `lookback`; readings after `now` are not believed.
    required_devices
        Devices that must all be quiet; empty only for a lease without a GPU.
    """
    if rule is None:
        return Verdict(
            state=VerdictState.unknown,
            rule=None,
            at=now,
            quiet_since=None,
            limit_s=None,
            words=_("No idle rule applies to this profile, so it is never stopped as idle."),
        )
    witnesses = _witnesses(rule, lease, readings, now, required_devices)
    state, quiet_since = _combine(witnesses, now, rule)
    hold = _held_off(rule, lease, now)
    if state is VerdictState.idle and hold is not None:
        state = VerdictState.quiet
    return Verdict(
        state=state,
        rule=rule_name,
        at=now,
        quiet_since=quiet_since,
        limit_s=int(rule.limit.total_seconds()),
        signals=tuple(one.signal for one in witnesses),
        words=_words(state, rule, witnesses, now - (quiet_since or now), hold),
    )


def exempted(verdict: Verdict, exemption: Exemption | None, now: datetime) -> Verdict:
    """Say in a verdict that an administrator's exemption holds; what is idle is only quiet then."""
    if exemption is None or verdict.rule is None:
        return verdict
    words = _("{verdict} Exempt from the idle rule for another {rest}: {why} ({by}).").format(
        verdict=verdict.words,
        rest=duration_text(exemption.until - now),
        why=exemption.reason.rstrip("."),
        by=exemption.by,
    )
    idle = verdict.state is VerdictState.idle
    state = VerdictState.quiet if idle else verdict.state
    return verdict.model_copy(update={"state": state, "words": words})


def _witnesses(
    rule: IdleRule,
    lease: OpenLease,
    readings: Readings,
    now: datetime,
    required: Sequence[DeviceId],
) -> tuple[_Witness, ...]:
    """Hear every device and the processes; a lease with GPUs and no device to ask is unknown."""
    by_device: dict[DeviceId, list[_Point]] = {device: [] for device in required}
    for series in readings.devices:
        for sample in series:
            if sample.device in by_device:
                by_device[sample.device].append(_Point(sample.at, sample.util_percent))
    cpu = [_Point(one.at, one.cpu_millis) for one in readings.processes if one.lease_id == lease.id]
    period = timedelta(seconds=readings.period_s)
    gauge = _Gauge(now, period, rule.limit)
    heard = [
        gauge.hear(f"gpu {device}", points, rule.gpu_active_percent, readings.source)
        for device, points in by_device.items()
    ]
    if lease.units and not heard:
        heard.append(gauge.hear("gpu", [], rule.gpu_active_percent, readings.source))
    heard.append(gauge.hear(_CPU, cpu, rule.cpu_active_millis, "process"))
    return tuple(heard)


@dataclass(frozen=True, slots=True)
class _Gauge:
    """How every witness of one judgement is read."""

    now: datetime
    period: timedelta
    limit: timedelta

    def hear(self, name: str, points: Sequence[_Point], active_from: int, source: str) -> _Witness:
        """Read one series: active, quiet since when, or unknown."""
        known = sorted(
            (one for one in points if one.at <= self.now),
            key=lambda one: (one.at, one.value is None, one.value or 0),
        )
        newest = known[-1] if known else None
        age = None if newest is None else whole_seconds(newest.at, self.now)
        state: Literal["active", "quiet", "unknown"] = "unknown"
        quiet_since = None
        if newest is None or self._stale(newest.at, self.now) or newest.value is None:
            value = _("no figure")
        elif newest.value >= active_from:
            state, value = "active", _measure(name, newest.value)
        else:
            run = self._quiet_run(known, active_from)
            state, quiet_since = "quiet", run[0].at
            value = _("at most {most}").format(
                most=_measure(name, max(one.value or 0 for one in run))
            )
        window = min(whole_seconds(quiet_since or self.now, self.now), _seconds(self.limit))
        return _Witness(
            Signal(name=name, state=state, value=value, window_s=window, age_s=age, source=source),
            quiet_since,
        )

    def _stale(self, earlier: datetime, later: datetime) -> bool:
        return later - earlier > STALE_PERIODS * self.period

    def _quiet_run(self, known: Sequence[_Point], active_from: int) -> list[_Point]:
        """The unbroken quiet readings up to now; a gap, an unknown or an activity ends it."""
        run: list[_Point] = []
        for point in reversed(known):
            if point.value is None or point.value >= active_from:
                break
            if run and self._stale(point.at, run[-1].at):
                break
            run.append(point)
        return run[::-1]


def _combine(
    witnesses: Sequence[_Witness], now: datetime, rule: IdleRule
) -> tuple[VerdictState, datetime | None]:
    states = {one.signal.state for one in witnesses}
    if "active" in states:
        return VerdictState.active, None
    if "unknown" in states:
        return VerdictState.unknown, None
    quiet_since = max(one.quiet_since for one in witnesses if one.quiet_since is not None)
    idle = now - quiet_since >= rule.limit
    return (VerdictState.idle if idle else VerdictState.quiet), quiet_since


def _held_off(rule: IdleRule, lease: OpenLease, now: datetime) -> str | None:
    """Say why idleness must not count yet; None where it may."""
    if lease.started_at is None:
        return _("It has not started yet.")
    if now - lease.started_at < rule.start_grace:
        return _("It started less than {grace} ago and is not judged yet.").format(
            grace=duration_text(rule.start_grace)
        )
    if lease.kept_until is not None and now < lease.kept_until:
        rest = duration_text(lease.kept_until - now)
        return _("Its owner keeps it for another {rest}.").format(rest=rest)
    return None


def _words(
    state: VerdictState,
    rule: IdleRule,
    witnesses: Sequence[_Witness],
    quiet: timedelta,
    hold: str | None,
) -> str:
    limit = duration_text(rule.limit)
    match state:
        case VerdictState.active:
            words = _("In use.")
        case VerdictState.unknown:
            lost = ", ".join(one.signal.name for one in witnesses if one.signal.state == "unknown")
            words = _("Unknown: no fresh figure of {lost}. Unknown is not idle.").format(lost=lost)
        case VerdictState.quiet | VerdictState.idle:
            text = (
                _("Idle: quiet for {quiet}; the limit is {limit}.")
                if state is VerdictState.idle
                else _("Quiet for {quiet}; it counts as idle after {limit}.")
            )
            words = text.format(quiet=duration_text(quiet), limit=limit)
    return words if hold is None else f"{words} {hold}"


def _measure(name: str, value: int) -> str:
    """A reading with its unit: CPU in cores, a device in percent."""
    if name == _CPU:
        whole, millis = divmod(value, 1000)
        return _("{cores} cores").format(cores=f"{whole}.{millis:03d}")
    return f"{value} %"


def _seconds(span: timedelta) -> int:
    return int(span.total_seconds())
