"""What must hold in an export and no public validator looks for. Pure.

They miss a wrong effective cost, an unknown unit and a period that ends before it begins; and none
of them knows the ledger that the sum must meet.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation

from ..i18n import _
from ..lease.reserving import CORRECTION as FLAVOR
from .focus import ADJUSTMENT, HOURS, SECONDS, USAGE, Row, money_of

_PAIRS = (
    ("ResourceType", "ResourceId"),
    ("ResourceName", "ResourceId"),
    ("SubAccountName", "SubAccountId"),
    ("SubAccountType", "SubAccountId"),
    ("PricingUnit", "PricingQuantity"),
    ("ConsumedUnit", "ConsumedQuantity"),
    ("SkuPriceId", "SkuId"),
)
"""The first may stand only beside the second."""

CORRECTION = "Correction"
"""Class of a row that mends a closed month."""

_UNITS = {"PricingUnit": HOURS, "ConsumedUnit": SECONDS}

MOST = 20
"""Faults that are told; one mistake is often on every row."""


def faults(rows: Sequence[Row], ledger: Mapping[str, Decimal]) -> tuple[str, ...]:
    """Find what is wrong with an export; nothing where all is right.

    Parameters
    ----------
    ledger
        What the ledger says that was charged in the window, by currency.
    """
    found = [*_all(rows), *_sums(rows, ledger)]
    return tuple(found[:MOST])


def _all(rows: Iterable[Row]) -> Iterator[str]:
    for number, row in enumerate(rows, start=1):
        try:
            for words in _of(row):
                yield _("row {n}: {words}").format(n=number, words=words)
        except (InvalidOperation, ValueError, TypeError, KeyError) as error:
            words = _("a figure or an instant cannot be read: {error}")
            yield _("row {n}: {words}").format(n=number, words=words.format(error=repr(error)))


def _of(row: Row) -> Iterator[str]:
    yield from _costs(row)
    yield from _times(row)
    for one, other in _PAIRS:
        if row[one] and not row[other]:
            yield _("{one} without {other}").format(one=one, other=other)
    for column, unit in _UNITS.items():
        if row[column] not in {"", unit}:
            yield _("{column} is {found} and not {unit}").format(
                column=column, found=repr(row[column]), unit=unit
            )
    if row["ChargeCategory"] not in {USAGE, ADJUSTMENT}:
        yield _("ChargeCategory is {found}").format(found=repr(row["ChargeCategory"]))


def _costs(row: Row) -> Iterator[str]:
    effective, billed = Decimal(row["EffectiveCost"]), Decimal(row["BilledCost"])
    if billed not in {Decimal(0), effective}:
        yield _("BilledCost is neither 0 nor the EffectiveCost")
    for column in ("ListCost", "ContractedCost"):
        if Decimal(row[column]) != effective:
            yield _("{column} is not the EffectiveCost").format(column=column)
    if billed and not row["InvoiceId"]:
        yield _("BilledCost without an InvoiceId")
    bare = not row["ListUnitPrice"] and row["ChargeCategory"] == USAGE
    if bare and effective and row["x_Flavor"] != FLAVOR:
        yield _("a cost without a price")


def _times(row: Row) -> Iterator[str]:
    names = ("BillingPeriodStart", "ChargePeriodStart", "ChargePeriodEnd", "BillingPeriodEnd")
    first, start, end, last = (datetime.fromisoformat(row[name]) for name in names)
    # What is corrected was in a former period.
    early = row["ChargeClass"] == CORRECTION
    if not start < end <= last or (start < first) != early:
        yield _("the charge period is not a stretch inside the billing period")


def _sums(rows: Sequence[Row], ledger: Mapping[str, Decimal]) -> Iterator[str]:
    try:
        exported = money_of(rows)
    except InvalidOperation:
        return
    for currency in sorted({*exported, *ledger}):
        out, books = exported.get(currency, Decimal(0)), ledger.get(currency, Decimal(0))
        if out != books:
            yield _("{currency}: the rows add up to {out}, the ledger to {books}").format(
                currency=currency, out=f"{out:f}", books=f"{books:f}"
            )
