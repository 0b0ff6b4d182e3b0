"""Figures in words: what is unknown or unpriced says so."""

from datetime import UTC, datetime

from hub_ext.lease import LeaseState, Standing
from hub_ext.service.books import formats

AT = datetime(2026, 11, 30, 14, 5, 9, tzinfo=UTC)


def test_unknown_and_unpriced_are_never_zero() -> None:
    assert formats.money(None, "EUR") == "not priced"
    assert formats.money(0, "EUR") == "EUR 0.00"
    assert formats.gpu_hours(1) == "< 0.01"
    assert formats.gpu_hours(0) == "0.00"
    assert formats.percent(None) == "unknown"
    assert formats.percent(0) == "0 %"
    assert formats.span(None) == "unknown"
    assert formats.instant(None, "UTC") == "unknown"


def test_spans_have_their_two_largest_units() -> None:
    spans = [formats.span(seconds) for seconds in (0, 59, 60, 3599, 3600, 86399, 86400, 200000)]
    assert spans == [
        "0 s",
        "59 s",
        "1 min",
        "59 min",
        "1 h 0 min",
        "23 h 59 min",
        "1 d 0 h",
        "2 d 7 h",
    ]


def test_hours_and_gpus_come_from_units() -> None:
    assert formats.gpu_hours(840 * 3600) == "1.00"
    assert formats.gpu_hours(840 * 3600 * 1234) == "1,234.00"
    assert (formats.gpus(105), formats.gpus(840), formats.gpus(1680)) == (
        "0.125 GPU",
        "1 GPU",
        "2 GPUs",
    )


def test_instants_stand_on_the_policys_clock() -> None:
    assert formats.instant(AT, "Europe/Paris") == "2026-11-30 15:05:09 CET"
    assert formats.minute(AT, "UTC") == "2026-11-30 14:05 UTC"


def test_every_state_and_standing_has_words() -> None:
    assert all(formats.state_words(state) for state in LeaseState)
    assert all(formats.standing_words(standing) for standing in Standing)
