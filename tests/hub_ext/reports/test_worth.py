"""Models compared, the dearest leases with their reasons, and what came of it all."""

from collections.abc import Mapping
from datetime import timedelta

from hub_ext.lease import Amount, LeaseId, PoolName, Posting, TeamName
from hub_ext.lease.value import Outcome
from hub_ext.metering import Use
from hub_ext.reports.dearest import dearest
from hub_ext.reports.models import models
from hub_ext.reports.spend import LeaseFacts, Part, Piece, pieces
from hub_ext.reports.worth import (
    by_value,
    owner_rows,
    unlabelled_percent,
    value_row,
    without_purpose,
)
from tests.support.ledger_parts import NOON, a_posting

DAY = timedelta(days=1)


def owners(_names: Mapping[str, str | None]) -> tuple[str, ...]:
    return ("olga",)


def busy(**percents: int) -> dict[LeaseId, Use]:
    return {
        LeaseId(lease): Use(
            lease_id=LeaseId(lease),
            sampled_s=3600,
            percent_seconds=3600 * percent,
            peak_percent=percent,
        )
        for lease, percent in percents.items()
    }


def facts(
    model: str = "h200",
    task: str | None = None,
    outcome: Outcome | None = None,
    *,
    purpose: bool = False,
) -> LeaseFacts:
    return LeaseFacts(
        model=model, task_type=task, value_class="core", has_purpose=purpose, outcome=outcome
    )


def cut(
    lines: list[Posting], known: Mapping[str, LeaseFacts], used: dict[LeaseId, Use] | None = None
) -> tuple[Piece, ...]:
    by_id = {LeaseId(lease): one for lease, one in known.items()}
    return tuple(pieces(lines, by_id, (Part(NOON, NOON + 9 * DAY, used or {}, "2026-11"),)))


def test_models_are_compared_by_what_a_busy_hour_costs() -> None:
    lines = [a_posting(lease) for lease in ("a", "b", "c", "d")]
    known = {lease: facts("h200") for lease in "ab"} | {"c": facts("a100"), "d": facts("t4")}
    found, total = models(
        cut(lines, known, busy(a=100, b=20, c=50)), {"a100": [60, 10, 30]}, owners
    )
    assert [one.row.names["model"] for one in found] == ["a100", "h200", "t4"]
    dear, usual, unknown = found
    assert dear.row.per_busy_hour == (Amount(currency="EUR", micro=8_400_000),)
    assert usual.row.per_busy_hour == (Amount(currency="EUR", micro=7_000_000),)
    assert (usual.measured_leases, usual.busy_p50_percent, usual.busy_p95_percent) == (2, 20, 100)
    assert (dear.waits, dear.wait_p50_s, dear.wait_p90_s) == (3, 30, 60)
    assert (unknown.row.unsaid, unknown.busy_p50_percent) == ("not measured", None)
    assert total.leases == 4


def test_no_busy_share_is_told_of_a_model_that_nobody_answers_for() -> None:
    known = {"a": facts()}
    found, _total = models(cut([a_posting("a")], known, busy(a=10)), {}, lambda _names: ())
    assert (found[0].row.unsaid, found[0].busy_p50_percent) == ("no owner", None)


def test_the_dearest_say_why() -> None:
    lines = [
        *(a_posting(lease) for lease in ("a", "b", "c")),
        a_posting("long", 0, 36_000, amount_micro=42_000_000),
        a_posting("large", 0, 3600, units=1680, amount_micro=8_400_000),
        a_posting("dear", 0, 3600, amount_micro=12_000_000),
        a_posting("quiet", 0, 3600, amount_micro=4_300_000),
        a_posting("free", 0, 3600, amount_micro=None),
    ]
    found, count = dearest(
        cut(lines, {}, busy(quiet=10)),
        owners,
        "EUR",
        most=4,
        open_ids=frozenset({"long"}),
        members=False,
    )
    assert count == 7
    assert [(one.lease_id, one.why) for one in found] == [
        ("long", ("long",)),
        ("dear", ("dear",)),
        ("large", ("large",)),
        ("quiet", ("not busy",)),
    ]
    assert found[0].words == "Held 10 times as long as the usual lease."
    assert (found[0].open, found[0].user, found[0].idle_micro) == (True, None, None)
    assert found[3].idle_micro == 4_300_000 - 430_000


def test_cost_is_told_per_useful_lease() -> None:
    lines = [a_posting(lease, amount_micro=6_000_000) for lease in ("a", "b", "c", "d")]
    known = {
        "a": facts(task="train", outcome="useful", purpose=True),
        "b": facts(task="train", outcome="useful"),
        "c": facts(outcome="failed", purpose=True),
    }
    found = cut(lines, known)
    train, unlabelled = by_value(found, "taskType", owners)
    assert train.per_useful == (Amount(currency="EUR", micro=6_000_000),)
    assert (train.outcomes["useful"], train.silent) == (2, 0)
    assert (unlabelled.outcomes["failed"], unlabelled.silent, unlabelled.per_useful) == (1, 1, ())
    whole = value_row(found, train.row)
    assert sum(whole.outcomes.values()) + whole.silent == 4
    silent = without_purpose(found, owners)
    assert (silent.leases, silent.amounts[0].micro) == (2, 12_000_000)
    assert unlabelled_percent(found) == 50
    assert unlabelled_percent(()) is None


def test_the_map_of_owners_is_pool_by_team_by_month() -> None:
    lines = [
        a_posting("a", pool=PoolName("big")),
        a_posting("b", pool=PoolName("big"), team=TeamName("speech")),
        a_posting("c", pool=PoolName("small")),
    ]
    found = owner_rows(cut(lines, {}), owners)
    assert [(row.pool, row.team, row.owners) for row in found] == [
        ("big", "speech", ("olga",)),
        ("big", "vision", ("olga",)),
        ("small", "vision", ("olga",)),
    ]
    assert [cell.month for cell in found[0].cells] == ["2026-11"]
