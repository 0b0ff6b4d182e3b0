"""A change is taken apart into price, hours and mix, which add up to it to the micro-unit."""

from collections.abc import Mapping
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.lease import LeaseId, Posting, ProjectName
from hub_ext.lease.spend import SpendDimension
from hub_ext.lease.worth import Change
from hub_ext.reports.changes import Heap, changes, taken_apart
from hub_ext.reports.spend import LeaseFacts, Part, Piece, pieces
from tests.support.ledger_parts import NOON, a_posting

Key = tuple[str | None, ...]

WEEK = timedelta(days=7)
FACTS = {
    LeaseId("old"): LeaseFacts(model="a100"),
    LeaseId("big"): LeaseFacts(model="h200"),
}

cells = st.dictionaries(
    st.sampled_from(["a100", "h200", "mig"]).map(lambda name: (name,)),
    st.builds(Heap, st.integers(0, 10**12), st.integers(0, 10**15)),
)


@given(cells, cells)
def test_the_parts_add_up_whatever_was_held(before: dict[Key, Heap], now: dict[Key, Heap]) -> None:
    parts = taken_apart(before, now)
    change = sum(one.micro for one in now.values()) - sum(one.micro for one in before.values())
    assert parts.price + parts.hours + parts.mix == change


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(1, 50), st.integers(0, 50))
def test_more_of_the_same_is_hours_and_dearer_of_the_same_is_price(
    first: int, second: int, price: int, more: int
) -> None:
    before: dict[Key, Heap] = {
        ("a100",): Heap(first, first * price),
        ("h200",): Heap(second, second * 2 * price),
    }
    grown = {key: Heap(one.unit_s * 3, one.micro * 3) for key, one in before.items()}
    parts = taken_apart(before, grown)
    assert (parts.price, parts.mix) == (0, 0)
    dearer = {key: Heap(one.unit_s, one.micro + one.unit_s * more) for key, one in before.items()}
    parts = taken_apart(before, dearer)
    assert (parts.price, parts.hours, parts.mix) == ((first + second) * more, 0, 0)


def explain(
    before: list[Posting], now: list[Posting], by: tuple[SpendDimension, ...] = ("project",)
) -> tuple[tuple[Change, ...], Change]:
    return changes(cut(before), cut(now), by, owners, "EUR")


def cut(lines: list[Posting]) -> tuple[Piece, ...]:
    return tuple(pieces(lines, FACTS, (Part(NOON, NOON + WEEK, {}),)))


def owners(names: Mapping[str, str | None]) -> tuple[str, ...]:
    return ("olga",) if names.get("project") == "maps" else ()


def held(lease: str, hours: int, micro: int, project: str = "maps") -> Posting:
    return a_posting(lease, 0, hours * 3600, amount_micro=micro, project=ProjectName(project))


def test_a_move_to_dearer_gpus_is_mix() -> None:
    rows, total = explain(
        [held("old", 10, 10_000_000), held("big", 1, 5_000_000)],
        [held("old", 1, 1_000_000), held("big", 10, 50_000_000)],
    )
    assert (rows[0].change_micro, rows[0].main) == (36_000_000, "mix")
    assert (rows[0].price_micro, rows[0].hours_micro) == (0, 0)
    assert (
        rows[0].words == "EUR 36.00 more, of which EUR 36.00 more because of which GPUs were held."
    )
    assert total.mix_micro == 36_000_000


def test_what_is_new_is_hours_and_the_total_is_the_sum_of_the_rows() -> None:
    rows, total = explain(
        [held("old", 4, 4_000_000)],
        [held("old", 4, 6_000_000), held("big", 2, 10_000_000, "words")],
    )
    assert [(row.names["project"], row.main, row.change_micro) for row in rows] == [
        ("words", "hours", 10_000_000),
        ("maps", "price", 2_000_000),
    ]
    assert [row.owners for row in rows] == [(), ("olga",)]
    assert (total.price_micro, total.hours_micro, total.mix_micro) == (2_000_000, 10_000_000, 0)
    assert total.change_micro == sum(row.change_micro for row in rows)


def test_what_did_not_change_says_so_and_other_money_is_not_compared() -> None:
    same = held("old", 4, 4_000_000)
    other = a_posting("big", currency="CHF")
    rows, _total = explain([same, other], [same])
    assert [(row.main, row.words) for row in rows] == [("none", "As before.")]
