"""When a server counts as idle: stories, and the laws that no reading can break."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_ext.idle import Readings, judge, lookback, rule_for
from hub_ext.lease import (
    DeviceId,
    DeviceSample,
    LeaseId,
    OpenLease,
    ProcessSample,
    Verdict,
    VerdictState,
)
from hub_ext.policy.model import IdleRule
from tests.support.pools import NOON, make_lease, make_policy, request, team

PERIOD = 10.0
RULE = IdleRule.model_validate(
    {"applies": ["gpu", "mig"], "limit": "5m", "notice": "1m", "start_grace": "2m", "window": "0s"}
)
POLICY = make_policy(
    {"a": team({"whole": {"nominal": "2"}}, name="a")},
    idle={"gpus": {"applies": ["gpu"], "limit": "5m", "notice": "1m"}},
)
GPU = DeviceId("SIM-GPU-1")
OTHER = DeviceId("SIM-GPU-2")
START = NOON - timedelta(hours=1)


def lease(**more: object) -> OpenLease:
    made = make_lease(request(POLICY, "ann", "a", "one", at=START))
    return made.model_copy(update={"id": LeaseId("L"), **more})


def gpu(*values: int | None, device: DeviceId = GPU, end: datetime = NOON) -> list[DeviceSample]:
    """One reading a period, the last one at `end`."""
    return [
        DeviceSample(
            device=device,
            at=end - timedelta(seconds=PERIOD * (len(values) - 1 - n)),
            util_percent=value,
            memory_used_bytes=None,
            memory_total_bytes=None,
        )
        for n, value in enumerate(values)
    ]


def cpu(*values: int | None, end: datetime = NOON) -> list[ProcessSample]:
    return [
        ProcessSample(
            lease_id=LeaseId("L"),
            at=end - timedelta(seconds=PERIOD * (len(values) - 1 - n)),
            cpu_millis=value,
            processes=1,
        )
        for n, value in enumerate(values)
    ]


def verdict(
    devices: list[DeviceSample],
    processes: list[ProcessSample],
    *,
    now: datetime = NOON,
    rule: IdleRule | None = RULE,
    of: OpenLease | None = None,
    required: tuple[DeviceId, ...] = (GPU,),
) -> Verdict:
    readings = Readings(
        devices=(tuple(devices),), processes=tuple(processes), period_s=PERIOD, source="simulated"
    )
    return judge("gpus", rule, of or lease(), readings, now, required_devices=required)


QUIET = (0,) * 35
"""A little more than the limit of five minutes."""


def test_quiet_gpu_and_quiet_processes_for_the_whole_limit_are_idle() -> None:
    answer = verdict(gpu(*QUIET), cpu(*QUIET))
    assert answer.state is VerdictState.idle
    assert answer.quiet_since == NOON - timedelta(seconds=340)
    assert "Idle: quiet for 5m40s; the limit is 5m." in answer.words
    assert [(one.name, one.state, one.source) for one in answer.signals] == [
        (f"gpu {GPU}", "quiet", "simulated"),
        ("cpu", "quiet", "process"),
    ]
    assert answer.signals[0].value == "at most 0 %"
    assert (answer.signals[0].window_s, answer.signals[0].age_s) == (340, 0)


def test_either_witness_alone_is_not_enough() -> None:
    assert verdict(gpu(*QUIET), cpu(*QUIET[:-1], 900)).state is VerdictState.active
    assert verdict(gpu(*QUIET[:-1], 60), cpu(*QUIET)).state is VerdictState.active
    assert verdict(gpu(*QUIET), []).state is VerdictState.unknown
    assert verdict([], cpu(*QUIET)).state is VerdictState.unknown


def test_shorter_quiet_is_quiet_and_says_for_how_long() -> None:
    answer = verdict(gpu(90, *(0,) * 12), cpu(*QUIET))
    assert answer.state is VerdictState.quiet
    assert answer.quiet_since == NOON - timedelta(seconds=110)
    assert "Quiet for 1m50s; it counts as idle after 5m." in answer.words


def test_a_figure_that_the_driver_does_not_give_is_unknown_and_never_idle() -> None:
    answer = verdict(gpu(*(None,) * 35), cpu(*QUIET))
    assert answer.state is VerdictState.unknown
    assert f"no fresh figure of gpu {GPU}" in answer.words
    assert answer.signals[0].value == "no figure"


@pytest.mark.parametrize("lost", [range(5, 9), range(28, 35)])
def test_a_gap_of_more_than_three_periods_starts_the_clock_anew(lost: range) -> None:
    kept = [one for n, one in enumerate(gpu(*QUIET)) if n not in lost]
    answer = verdict(kept, cpu(*QUIET))
    assert answer.state in {VerdictState.quiet, VerdictState.unknown}


def test_a_gap_of_two_periods_is_no_gap() -> None:
    kept = [one for n, one in enumerate(gpu(*QUIET)) if n not in {5, 6}]
    assert verdict(kept, cpu(*QUIET)).state is VerdictState.idle


def test_every_device_of_the_lease_must_be_quiet() -> None:
    both = gpu(*QUIET) + gpu(*QUIET, device=OTHER)
    assert verdict(both, cpu(*QUIET), required=(GPU, OTHER)).state is VerdictState.idle
    assert verdict(gpu(*QUIET), cpu(*QUIET), required=(GPU, OTHER)).state is VerdictState.unknown
    assert verdict(gpu(*QUIET), cpu(*QUIET), required=()).state is VerdictState.unknown


def test_without_a_gpu_the_processes_alone_are_asked() -> None:
    bare = make_lease(request(POLICY, "ann", "a", "cpu", at=START), id=LeaseId("L"))
    rule = RULE.model_copy(update={"applies": ("none",)})
    assert verdict([], cpu(*QUIET), of=bare, rule=rule, required=()).state is VerdictState.idle


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"started_at": None}, "not started yet"),
        ({"started_at": NOON - timedelta(seconds=119)}, "started less than 2m ago"),
        ({"kept_until": NOON + timedelta(seconds=1)}, "keeps it for another 1s"),
    ],
)
def test_the_young_and_the_kept_are_not_idle(more: dict[str, object], words: str) -> None:
    answer = verdict(gpu(*QUIET), cpu(*QUIET), of=lease(**more))
    assert answer.state is VerdictState.quiet
    assert words in answer.words


def test_keeping_ends() -> None:
    answer = verdict(gpu(*QUIET), cpu(*QUIET), of=lease(kept_until=NOON))
    assert answer.state is VerdictState.idle


def test_without_a_rule_nothing_is_idle() -> None:
    answer = verdict(gpu(*QUIET), cpu(*QUIET), rule=None)
    assert answer.state is VerdictState.unknown
    assert answer.rule is None
    assert "never stopped" in answer.words


def test_readings_from_the_future_are_not_believed() -> None:
    later = NOON + timedelta(hours=1)
    answer = verdict(gpu(*QUIET, end=later), cpu(*QUIET))
    assert answer.state is VerdictState.unknown


def test_the_rule_of_a_kind_is_found_by_name() -> None:
    found = rule_for(POLICY, "gpu")
    assert found is not None
    assert found[0] == "gpus"
    assert rule_for(POLICY, "mig") is None


def test_readings_of_the_lookback_suffice_for_a_verdict() -> None:
    since = NOON - lookback(RULE, PERIOD)
    devices = [one for one in gpu(*(0,) * 99) if one.at >= since]
    processes = [one for one in cpu(*(0,) * 99) if one.at >= since]
    assert verdict(devices, processes).state is VerdictState.idle


def test_one_active_reading_in_twenty_is_noise_and_one_in_ten_is_use() -> None:
    rule = RULE.model_copy(update={"limit": timedelta(minutes=30), "window": timedelta(minutes=5)})
    blips = [0 if n % 20 else 60 for n in range(220)]
    assert verdict(gpu(*blips), cpu(*(0,) * 220), rule=rule).state is VerdictState.idle
    often = [0 if n % 10 else 60 for n in range(220)]
    assert verdict(gpu(*often), cpu(*(0,) * 220), rule=rule).state is not VerdictState.idle


values = st.lists(st.sampled_from([0, 0, 0, 0, 0, 0, 4, 5, 90, None]), min_size=0, max_size=60)
mostly_quiet = st.lists(st.sampled_from([0, 1, 4]), min_size=34, max_size=60)
moments = st.integers(0, 33)


@given(mostly_quiet, mostly_quiet, moments, st.booleans(), st.sampled_from([None, 5, 100]))
def test_activity_or_an_unknown_anywhere_inside_the_window_is_never_idle(
    devices: list[int], processes: list[int], moment: int, on_gpu: bool, value: int | None
) -> None:
    inside = min(moment, 30)
    gpus: list[int | None] = list(devices)
    cpus: list[int | None] = list(processes)
    if on_gpu:
        gpus[-1 - inside] = value
    else:
        cpus[-1 - inside] = None if value is None else value + 200
    assert verdict(gpu(*gpus), cpu(*cpus)).state is not VerdictState.idle


@given(values, values, st.sets(st.integers(0, 59)), st.integers(1, 20))
def test_losing_readings_or_a_longer_limit_never_makes_idle(
    devices: list[int | None], processes: list[int | None], lost: set[int], minutes: int
) -> None:
    whole = verdict(gpu(*devices), cpu(*processes))
    quiet = [one for one in gpu(*devices) if (one.util_percent or 0) < 5]
    thinned = [
        one
        for n, one in enumerate(gpu(*devices))
        if n not in lost or one not in quiet or one.util_percent is None
    ]
    if whole.state is not VerdictState.idle:
        assert verdict(thinned, cpu(*processes)).state is not VerdictState.idle
        longer = RULE.model_copy(update={"limit": RULE.limit + timedelta(minutes=minutes)})
        assert verdict(gpu(*devices), cpu(*processes), rule=longer).state is not VerdictState.idle


@given(values, values)
def test_idle_stays_idle_while_nothing_happens_and_order_does_not_matter(
    devices: list[int | None], processes: list[int | None]
) -> None:
    first = verdict(gpu(*devices), cpu(*processes))
    assert verdict(gpu(*devices)[::-1], cpu(*processes)[::-1]) == first
    if first.state is VerdictState.idle:
        later = NOON + timedelta(seconds=PERIOD)
        again = verdict(
            gpu(*devices) + gpu(0, end=later), cpu(*processes) + cpu(0, end=later), now=later
        )
        assert again.state is VerdictState.idle
        assert again.quiet_since == first.quiet_since
