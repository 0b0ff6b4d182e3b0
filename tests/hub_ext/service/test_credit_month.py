"""A scripted week with crashes, an outage and launches at once: the total is right."""

from pathlib import Path

from tests.support.credit_month import (
    HEARTBEAT_S,
    HOUR_S,
    a_month,
    by_governor,
    by_wallets,
    ends_of,
)


def test_the_total_is_off_by_a_heartbeat_a_crash_at_most_and_never_to_the_sites_good(
    tmp_path: Path,
) -> None:
    script = a_month(days=5)
    ended_by_crash = sum(1 for work, end in ends_of(script).items() if end < work.end_s)
    assert ended_by_crash > 0
    ours = by_governor(script, tmp_path / "state")
    assert -HEARTBEAT_S * ended_by_crash <= ours.error <= 0
    # The outage itself, and crashes that leave servers alive, cost nothing at all.
    gentle = script._replace(away=tuple(one for one in script.away if one.kind != "machine"))
    assert by_governor(gentle, tmp_path / "gentle").error == 0


def test_money_for_one_starts_one_of_three(tmp_path: Path) -> None:
    script = a_month(days=1)._replace(work=(), away=())
    ours = by_governor(script, tmp_path / "state")
    assert (ours.launched, ours.charged, ours.held) == (1, HOUR_S, HOUR_S)
    assert by_wallets(script).launched == 3


def test_the_model_loses_an_outage_as_the_program_was_seen_to() -> None:
    script = a_month(days=5)
    outage = 3 * 6 * HOUR_S
    assert by_wallets(script).error < -outage
