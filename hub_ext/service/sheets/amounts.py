"""Money of a table: rounded to cents so that each column adds up, every currency by itself."""

from collections.abc import Sequence

from ...i18n import _
from ...lease import Amount, UsageRow, UsageSum
from ...metering import footed
from ..books import formats

CENTS = 2


def of_row(row: UsageRow) -> tuple[Amount, ...]:
    """Amounts of one lease; none where nothing of it was priced."""
    if row.amount_micro is None:
        return ()
    return (Amount(currency=row.currency, micro=row.amount_micro),)


def column(cells: Sequence[tuple[Amount, ...]]) -> tuple[str, ...]:
    """Write a column of amounts; the cells of each currency foot."""
    shown: list[list[str]] = [[] for _cell in cells]
    for currency in sorted({amount.currency for cell in cells for amount in cell}):
        places = [
            (index, amount.micro)
            for index, cell in enumerate(cells)
            for amount in cell
            if amount.currency == currency
        ]
        rounded = footed([micro for _index, micro in places], CENTS)
        for (index, _micro), micro in zip(places, rounded, strict=True):
            shown[index].append(formats.money(micro, currency))
    return tuple(" + ".join(texts) or _("not priced") for texts in shown)


def total(whole: UsageSum) -> str:
    """Write the total of a column, and for how long no price was in force."""
    if not whole.amounts:
        return _("not priced") if whole.unpriced_s else _("nothing yet")
    text = column((whole.amounts,))[0]
    if not whole.unpriced_s:
        return text
    return _("{amount} and {time} not priced").format(
        amount=text, time=formats.span(whole.unpriced_s)
    )
