"""The rules by which a lease is active, quiet, idle or unknown, in their order.

1 young or kept; 2 something the agent sees works; 3 a required figure is unknown; 4 a figure that
only holds off does; 5 what the server says holds off for a while; 6 the limits. Nothing else.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from ..i18n import _
from ..lease import Activity, DeviceId, Exemption, OpenLease, Verdict, VerdictState
from ..lease.showing import Ground, HeldBy
from ..policy.model import FlavorKind, IdleRule
from ..policy.model.idle import OFF, gpu_unused, never_used, no_progress
from ..units import duration_text
from . import words
from .evidence import GPU, USED, Readings, Witness, clocks_of, said, witnesses
from .tracks import Clocks


class Judged(NamedTuple):
    """A verdict, and the clocks that the next judgement begins with."""

    verdict: Verdict
    clocks: Clocks


class Hold(NamedTuple):
    """What holds idleness off, in a word and for people."""

    by: HeldBy
    words: str


class _Limit(NamedTuple):
    """After how much quiet a lease is idle, and which limit that is."""

    ground: Ground
    span: timedelta


class _Found(NamedTuple):
    """What the rules found; `hold` is what the server says that holds idleness off."""

    state: VerdictState
    ground: Ground
    quiet_since: datetime | None
    limit: timedelta
    hold: Hold | None = None


def judge(  # noqa: PLR0913 - what a judgement stands on, each named at its calls
    rule_name: str | None,
    rule: IdleRule | None,
    lease: OpenLease,
    readings: Readings,
    now: datetime,
    *,
    required_devices: Sequence[DeviceId],
    kind: FlavorKind = "gpu",
) -> Verdict:
    """Judge one lease at `now` from everything read since `lookback`; see `judge_on`."""
    return judge_on(
        Clocks(),
        rule_name,
        rule,
        lease,
        readings,
        now,
        required_devices=required_devices,
        kind=kind,
    ).verdict


def judge_on(  # noqa: PLR0913 - what a judgement stands on, each named at its calls
    former: Clocks,
    rule_name: str | None,
    rule: IdleRule | None,
    lease: OpenLease,
    readings: Readings,
    now: datetime,
    *,
    required_devices: Sequence[DeviceId],
    kind: FlavorKind = "gpu",
) -> Judged:
    """Judge one lease at `now`, going on from where it was last judged.

    Parameters
    ----------
    former
        Clocks of the last judgement by the same rule; none are known at the first.
    rule_name, rule
        The rule of its kind of flavor; None is never idle.
    readings
        Everything since the last judgement and a window before it, or since `lookback`; readings
        after `now` are not believed.
    required_devices
        Devices that must all be quiet; empty only for a lease without a GPU.
    """
    if rule is None:
        return Judged(_unruled(now), Clocks())
    heard = witnesses(rule, lease, readings, now, required_devices, former)
    clocks = clocks_of(heard)
    shown = [one.signal for one in heard if not one.name.startswith(USED)]
    progress = any(one.signal.state == "active" and not one.veto for one in heard)
    shown += said(readings.activity, now, rule, progress=progress)
    agent = _agent_quiet_since(heard)
    gpu = _quiet_since([one for one in heard if one.name.split(" ")[0] == GPU])
    if progress:
        unused = gpu is not None and OFF < gpu_unused(rule, kind) <= now - gpu
        found = _Found(VerdictState.active, "gpu_unused" if unused else "", None, rule.limit)
    elif agent is None:
        found = _Found(VerdictState.unknown, "", None, rule.limit)
    else:
        reached = _limit(rule, kind, lease, heard, readings.activity)
        found = _of_quiet(rule, readings.activity, agent, reached, now)
    hold = _held_off(rule, lease, now) or (None if progress else _vetoed(heard)) or found.hold
    if found.state is VerdictState.idle and hold is not None:
        found = found._replace(state=VerdictState.quiet)
    quiet = now - (found.quiet_since or now)
    verdict = Verdict(
        state=found.state,
        rule=rule_name,
        at=now,
        quiet_since=found.quiet_since,
        limit_s=int(found.limit.total_seconds()),
        signals=tuple(shown),
        words=words.of(found.state, found.ground, found.limit, heard, quiet, hold and hold.words),
        ground=found.ground,
        held_by="" if hold is None else hold.by,
        gpu_quiet_since=gpu,
        agent_quiet_since=agent,
    )
    return Judged(verdict, clocks)


def _of_quiet(
    rule: IdleRule, activity: Activity | None, agent: datetime, reached: _Limit, now: datetime
) -> _Found:
    quiet_since, hold = _extended(rule, activity, agent, now)
    if now - quiet_since < reached.span:
        if hold is None and reached.ground == "no_progress" and now - quiet_since >= rule.limit:
            hold = Hold("kernel", _("A kernel says that it is busy, which holds it off."))
        return _Found(VerdictState.quiet, "", quiet_since, reached.span, hold)
    return _Found(VerdictState.idle, reached.ground, quiet_since, reached.span)


def exempted(verdict: Verdict, exemption: Exemption | None, now: datetime) -> Verdict:
    """Say in a verdict that an administrator's exemption holds; what is idle is only quiet then."""
    if exemption is None or verdict.rule is None:
        return verdict
    text = _("{verdict} Exempt from the idle rule for another {rest}: {why} ({by}).").format(
        verdict=verdict.words,
        rest=duration_text(exemption.until - now),
        why=exemption.reason.rstrip("."),
        by=exemption.by,
    )
    idle = verdict.state is VerdictState.idle
    state = VerdictState.quiet if idle else verdict.state
    return verdict.model_copy(update={"state": state, "words": text, "held_by": "exemption"})


def _unruled(now: datetime) -> Verdict:
    return Verdict(
        state=VerdictState.unknown,
        rule=None,
        at=now,
        quiet_since=None,
        limit_s=None,
        words=_("No idle rule applies to this profile, so it is never stopped as idle."),
    )


def _agent_quiet_since(heard: Sequence[Witness]) -> datetime | None:
    """Since when all that the agent sees is quiet; None while a required figure is unknown."""
    if any(one.required and one.track.state != "quiet" for one in heard):
        return None
    quiet = _quiet_since([one for one in heard if not one.veto and one.track.state == "quiet"])
    return None if quiet is None else max([quiet, *_lost_at(heard)])


def _lost_at(heard: Sequence[Witness]) -> Iterator[datetime]:
    """When witnesses fell silent: what they would have told since then nobody knows.

    So quiet begins no sooner than that, and the whole limit passes from there.
    """
    for one in heard:
        clock = one.track.clock
        lost = one.track.state == "unknown" and not one.name.startswith(USED)
        if lost and clock is not None and clock.known_at is not None:
            yield clock.known_at


def _quiet_since(heard: Sequence[Witness]) -> datetime | None:
    """The latest begin of quiet of some witnesses; None where one is not quiet."""
    begins = [one.track.quiet_since for one in heard]
    known = [at for at in begins if at is not None]
    return max(known) if known and len(known) == len(begins) else None


def _extended(
    rule: IdleRule, activity: Activity | None, agent: datetime, now: datetime
) -> tuple[datetime, Hold | None]:
    """Let input and the end of a long cell move the quiet later, but only so far.

    Its owner could forge both, so they count for `user_extends` after what the agent saw last.
    """
    if activity is None:
        return agent, None
    most = min(agent + rule.user_extends, now)
    found: tuple[datetime, Hold | None] = (agent, None)
    if activity.input_at is not None and min(activity.input_at, most) > found[0]:
        by = Hold("input", _("Somebody worked in it since the GPU and CPU were last used."))
        found = (min(activity.input_at, most), by)
    ended, took = activity.cell_ended_at, activity.cell_s or 0
    if ended is not None and timedelta(seconds=took) >= rule.long_cell:
        # Idle no sooner than so much after its end, however short the limit is.
        begin = min(ended + max(OFF, rule.after_long_cell - rule.limit), most)
        if begin > found[0]:
            by = Hold("cell", _("A long cell ended not long ago; its result shall be seen."))
            found = (begin, by)
    return found


def _limit(
    rule: IdleRule,
    kind: FlavorKind,
    lease: OpenLease,
    heard: Sequence[Witness],
    activity: Activity | None,
) -> _Limit:
    """Which limit is for a quiet lease: of a busy kernel, of a GPU never used, or the usual one."""
    if activity is not None and activity.kernels_busy and no_progress(rule, kind) > rule.limit:
        return _Limit("no_progress", no_progress(rule, kind))
    shorter = never_used(rule, kind)
    if OFF < shorter < rule.limit and _untouched(lease, heard):
        return _Limit("never_used", shorter)
    return _Limit("quiet", rule.limit)


def _untouched(lease: OpenLease, heard: Sequence[Witness]) -> bool:
    """Whether no process was ever on its devices since it started, as far as all is known."""
    used = [one.track for one in heard if one.name.startswith(USED)]
    devices = sum(1 for one in heard if one.name.startswith(f"{GPU} "))
    if lease.started_at is None or not used or len(used) < devices:
        return False
    first = lease.started_at + timedelta(minutes=1)
    return all(
        one.state == "quiet" and one.quiet_since is not None and one.quiet_since <= first
        for one in used
    )


def _vetoed(heard: Sequence[Witness]) -> Hold | None:
    """A GPU that draws power is not idle, whatever its counter says."""
    for one in heard:
        if one.veto and one.track.state == "active" and not one.name.startswith(USED):
            return Hold(
                "power",
                _(
                    "It draws power as if it worked, so its counter is not believed: {value}."
                ).format(value=one.signal.value),
            )
    return None


def _held_off(rule: IdleRule, lease: OpenLease, now: datetime) -> Hold | None:
    """Say why idleness must not count yet; None where it may."""
    if lease.started_at is None:
        return Hold("not_started", _("It has not started yet."))
    if now - lease.started_at < rule.start_grace:
        return Hold(
            "start_grace",
            _("It started less than {grace} ago and is not judged yet.").format(
                grace=duration_text(rule.start_grace)
            ),
        )
    if lease.kept_until is not None and now < lease.kept_until:
        rest = duration_text(lease.kept_until - now)
        return Hold("keep", _("Its owner keeps it for another {rest}.").format(rest=rest))
    return None
