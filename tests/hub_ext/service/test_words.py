"""What is said of announced stops: on the policy's clock, and advice without a time."""

from datetime import UTC, datetime, timedelta

from hub_ext.lease import Cause, Notice, Reason
from hub_ext.service.basis.words import ADVICE, notice_words
from tests.support.governing import Site

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def notice(code: str) -> Notice:
    return Notice(
        cause=Cause.culled,
        given_at=NOON,
        stops_at=NOON + timedelta(minutes=5),
        reason=Reason(code=code, message="Idle: quiet for 2m; the limit is 2m."),
    )


def test_an_announced_stop_has_its_time_on_the_policys_clock() -> None:
    assert notice_words(notice("idle"), "Europe/Paris") == (
        "It stops at 2026-11-30 13:05:00 CET. Idle: quiet for 2m; the limit is 2m."
    )


def test_advice_stops_nothing_so_it_has_no_time() -> None:
    assert notice_words(notice(ADVICE), "Europe/Paris") == "Idle: quiet for 2m; the limit is 2m."


def test_a_silent_agent_is_told_on_the_policys_clock(site: Site) -> None:
    heard = f"{site.now:%Y-%m-%d %H:%M:%S} UTC"
    site.later(86400)
    silent = site.governor.problems(now=site.now)["agents"]
    assert silent
    assert all(line.endswith(f"is silent since {heard}") for line in silent)
