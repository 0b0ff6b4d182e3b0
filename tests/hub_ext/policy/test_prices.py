"""Prices begin with their day where the site is, through every change of the clock."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import example, given
from hypothesis import strategies as st

from hub_ext.policy.model import Policy
from hub_ext.policy.prices import day_start, price_at, price_spans, priced_as
from tests.support.policies import policy, policy_data

PARIS = ZoneInfo("Europe/Paris")
ZONES = ["UTC", "Europe/Paris", "America/Sao_Paulo", "Asia/Beirut", "Pacific/Apia", "Africa/Cairo"]


@st.composite
def priced_policies(draw: st.DrawFn) -> Policy:
    days = draw(st.lists(st.dates(date(2008, 1, 1), date(2030, 1, 1)), max_size=5, unique=True))
    entries = []
    for day in sorted(days):
        lasting = draw(st.none() | st.integers(1, 400))
        until = None if lasting is None else (day + timedelta(days=lasting)).isoformat()
        price = f"{draw(st.integers(0, 3))}.50"
        entries.append(
            {"pool": "cards", "from": day.isoformat(), "until": until, "per_hour": price}
        )
    data = policy_data("prices", to=entries)
    data["timezone"] = draw(st.sampled_from(ZONES))
    return Policy.model_validate(data)


INSTANTS = st.datetimes(datetime(2007, 1, 1), datetime(2031, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - the zone is given beside


@given(rules=priced_policies(), start=INSTANTS, end=INSTANTS, inside=st.floats(0, 0.999999))
def test_spans_tile_the_stretch_and_agree_with_the_price_at_each_instant(
    rules: Policy, start: datetime, end: datetime, inside: float
) -> None:
    spans = price_spans(rules, "cards", "gpu-3", start, end)
    if end <= start:
        assert spans == ()
        return
    assert spans[0].start == start
    assert spans[-1].end == end
    for one in spans:
        assert one.start < one.end
        at = one.start + (one.end - one.start) * inside
        assert price_at(rules, "cards", "gpu-3", at) == one.price_micro_per_hour
    for before, after in pairwise(spans):
        assert before.end == after.start
        assert before.price_micro_per_hour != after.price_micro_per_hour


@given(
    day=st.dates(date(1990, 1, 1), date(2035, 1, 1)),
    zone=st.sampled_from(ZONES),
)
@example(day=date(2011, 12, 30), zone="Pacific/Apia")
@example(day=date(2018, 11, 4), zone="America/Sao_Paulo")
@example(day=date(2023, 10, 29), zone="Asia/Beirut")
def test_a_day_begins_at_its_first_instant(day: date, zone: str) -> None:
    begin = day_start(day, zone)
    before = (begin - timedelta(microseconds=1)).astimezone(ZoneInfo(zone)).date()
    assert begin.astimezone(ZoneInfo(zone)).date() >= day > before


def test_the_first_and_last_day_of_the_calendar_are_no_accident() -> None:
    assert day_start(date.min, "Asia/Tokyo").year == 1
    assert day_start(date.max, "America/New_York").year == 9999


def test_a_price_begins_at_midnight_in_paris_not_in_utc() -> None:
    rules = policy()
    last = datetime(2026, 4, 1, 0, 0, tzinfo=PARIS) - timedelta(microseconds=1)
    assert price_at(rules, "slices", "1g.18gb", last) == 500_000
    assert price_at(rules, "slices", "1g.18gb", last + timedelta(microseconds=1)) == 600_000
    assert datetime(2026, 3, 31, 22, 0, tzinfo=UTC) == last + timedelta(microseconds=1)


def test_a_price_that_ends_on_the_day_the_clock_changes_ends_at_its_midnight() -> None:
    spans = price_spans(
        policy("prices", 3, "until", to="2026-03-29"),
        "vault",
        "gpu-1",
        datetime(2026, 3, 28, 12, tzinfo=PARIS),
        datetime(2026, 3, 29, 12, tzinfo=PARIS),
    )
    assert [(one.end - one.start, one.price_micro_per_hour) for one in spans] == [
        (timedelta(hours=12), 9_000_000),
        (timedelta(hours=11), None),
    ]


def test_two_gpus_cost_twice_and_a_slice_never_borrows_the_price_of_a_gpu() -> None:
    at = datetime(2026, 5, 1, tzinfo=UTC)
    assert price_at(policy(), "cards", "gpu-2", at) == 2_400_000
    assert price_at(policy(), "slices", "gpu-1", at) is None
    assert price_at(policy(), "cards", "1g.18gb", at) is None
    assert price_at(policy(), None, "none", at) is None
    assert price_at(policy(), "cards", "gpu-2", datetime(2025, 5, 1, tzinfo=UTC)) is None
    assert priced_as("gpu-12") == ("gpu", 12)
    assert priced_as("1g.24gb-me") == ("1g.24gb-me", 1)
