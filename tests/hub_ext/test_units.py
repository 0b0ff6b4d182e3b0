"""Numbers as people write them, and the arithmetic that money and quota rest on."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_ext.errors import UnitError
from hub_ext.units import (
    UNITS_PER_GPU,
    Units,
    accrue,
    bytes_text,
    duration_text,
    gpus_text,
    instant_us,
    money_text,
    parse_bytes,
    parse_duration,
    parse_gpus,
    parse_price,
    quota_text,
    settle,
    whole_seconds,
)

BOMBS = ["1e999999999", "9" * 5000, "1/" + "9" * 5000, "0." + "9" * 5000, "1_000", "٣", "\udc80"]


@given(st.integers(0, 999_999 * UNITS_PER_GPU))
def test_every_quota_reads_back_as_it_was_written(units: int) -> None:
    assert parse_gpus(quota_text(Units(units))) == units


@given(st.integers(0, 1000), st.integers(1, 999))
def test_a_share_is_taken_exactly_or_refused_with_its_two_neighbours(top: int, bottom: int) -> None:
    exact = Fraction(top, bottom) * UNITS_PER_GPU
    if exact.denominator == 1:
        assert parse_gpus(f"{top}/{bottom}") == exact
        return
    with pytest.raises(UnitError) as caught:
        parse_gpus(f"{top}/{bottom}")
    below, above = (parse_gpus(word) for word in str(caught.value).split("'")[3::2])
    assert below < exact < above
    assert above - below == 1


def test_a_third_written_as_a_decimal_is_told_what_is_meant() -> None:
    with pytest.raises(UnitError, match="nearest quotas are '93/280' and '1/3'"):
        parse_gpus("0.3333")


@pytest.mark.parametrize("text", ["", "two", "-1", "1/0", "1/00", "inf", "nan", ".5", "1.", *BOMBS])
def test_what_is_no_number_of_gpus_is_refused_at_once(text: str) -> None:
    with pytest.raises(UnitError) as caught:
        parse_gpus(text)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("units", "text"), [(0, "0"), (840, "1"), (105, "0.125"), (240, "0.286"), (84000, "100")]
)
def test_people_read_gpus_with_two_decimals_at_most(units: int, text: str) -> None:
    assert gpus_text(units) == text


@given(st.integers(0, 3650 * 86400))
def test_every_duration_reads_back_as_it_was_written(seconds: int) -> None:
    span = timedelta(seconds=seconds)
    assert parse_duration(duration_text(span)) == span


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("90s", timedelta(seconds=90)),
        ("1h30m", timedelta(minutes=90)),
        ("7d", timedelta(days=7)),
        ("0s", timedelta(0)),
    ],
)
def test_durations_are_read_as_people_write_them(text: str, span: timedelta) -> None:
    assert parse_duration(text) == span


@pytest.mark.parametrize(
    "text", ["", " ", "5", "5 m", "1m1h", "-1s", "3651d", "999999999d", "1.5h", *BOMBS]
)
def test_what_is_no_duration_is_refused_at_once(text: str) -> None:
    with pytest.raises(UnitError):
        parse_duration(text)


@given(st.integers(0, 2**50))
def test_bytes_read_back_as_they_were_written(count: int) -> None:
    text = bytes_text(count)
    if len(text) <= 13:
        assert parse_bytes(text) == count


@pytest.mark.parametrize("text", ["", "16", "16GB", "1.5GiB", "-1GiB", *BOMBS])
def test_what_is_no_memory_is_refused_at_once(text: str) -> None:
    with pytest.raises(UnitError):
        parse_bytes(text)


@given(st.integers(0, 10**15))
def test_prices_are_exact_to_the_millionth(micro: int) -> None:
    assert parse_price(f"{micro // 10**6}.{micro % 10**6:06d}") == micro


@pytest.mark.parametrize("text", ["", "free", "-1", "NaN", "1e3", "4,20", "1000000001", *BOMBS])
def test_what_is_no_price_is_refused_at_once(text: str) -> None:
    with pytest.raises(UnitError):
        parse_price(text)


def test_a_price_finer_than_a_millionth_is_refused() -> None:
    with pytest.raises(UnitError, match="finer than a millionth"):
        parse_price("0.0000001")


@given(st.integers(0, 10**24))
def test_an_hour_is_divided_once_half_to_even(product: int) -> None:
    exact = Decimal(product // 3600) + (Decimal(product % 3600) / Decimal(3600)).quantize(
        Decimal(1), rounding=ROUND_HALF_EVEN
    )
    half = product % 3600 == 1800
    assert settle(product) == (product // 3600 + (product // 3600) % 2 if half else int(exact))


@given(st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 10**7)), max_size=10))
def test_stretches_settled_together_are_within_half_a_millionth(
    parts: list[tuple[int, int]],
) -> None:
    product = sum(accrue(price, seconds) for price, seconds in parts)
    assert abs(settle(product) * 3600 - product) * 2 <= 3600


def test_money_is_shown_with_its_currency_and_rounded_half_to_even() -> None:
    assert money_text(4_200_000, "EUR") == "EUR 4.20"
    assert money_text(1_005_000, "EUR") == "EUR 1.00"
    assert money_text(1_015_000, "EUR") == "EUR 1.02"
    assert money_text(1_234_567_890_000, "CHF") == "CHF 1,234,567.89"


@given(
    st.datetimes(datetime(1971, 1, 1), datetime(9000, 1, 1)),  # noqa: DTZ001 - zones are added below
    st.integers(-(10**12), 10**12),
    st.integers(-14, 14),
)
def test_seconds_are_whole_never_negative_and_blind_to_zones(
    naive: datetime, shift_us: int, hours: int
) -> None:
    start = naive.replace(tzinfo=UTC)
    end = (start + timedelta(microseconds=shift_us)).astimezone(timezone(timedelta(hours=hours)))
    assert whole_seconds(start, end) == max(0, shift_us // 1_000_000)
    assert instant_us(end) - instant_us(start) == shift_us


def test_an_instant_without_a_zone_is_no_instant() -> None:
    with pytest.raises(UnitError, match="no time zone"):
        instant_us(datetime(2026, 1, 1))  # noqa: DTZ001 - that is the fault under test
