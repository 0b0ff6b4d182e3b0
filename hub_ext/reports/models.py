"""GPU models compared: held, busy, the cost of a busy hour, and how long people waited. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from ..lease.spend import SpendRow
from ..lease.worth import ModelRow
from .spend import OwnersOf, Piece, rows
from .waits import quantiles


def models(
    pieces: Iterable[Piece], waited: Mapping[str, Iterable[int]], owners_of: OwnersOf
) -> tuple[tuple[ModelRow, ...], SpendRow]:
    """Compare the models that were held.

    Parameters
    ----------
    waited
        Seconds until requests had devices, by model.

    Returns
    -------
    Rows, the dearest busy hour first and those without one last, and the total.
    """
    known = tuple(one for one in pieces if one.line.units)
    made, total = rows(known, ("model",), owners_of)
    busy = _busy(known)
    found = [_row(row, busy, waited) for row in made]
    found.sort(key=_dearness)
    return tuple(found), total


def _busy(pieces: Iterable[Piece]) -> dict[str | None, list[int]]:
    """Give the busy share of each measured lease in percent, by model."""
    sums: dict[tuple[str | None, str], list[int]] = defaultdict(lambda: [0, 0])
    for one in pieces:
        heap = sums[one.facts.model, one.line.lease_id]
        heap[0] += one.measured_s
        heap[1] += one.percent_seconds
    shares: dict[str | None, list[int]] = defaultdict(list)
    for (model, _lease), (measured_s, percent_seconds) in sums.items():
        if measured_s:
            shares[model].append(percent_seconds // measured_s)
    return shares


def _row(
    row: SpendRow, busy: Mapping[str | None, list[int]], waited: Mapping[str, Iterable[int]]
) -> ModelRow:
    model = row.names["model"]
    waits = quantiles(waited.get(model or "", ()))
    told = {
        "waits": waits.count if waits else 0,
        "wait_p50_s": waits.p50_s if waits else None,
        "wait_p90_s": waits.p90_s if waits else None,
    }
    shares = sorted(busy.get(model, ())) if row.utilised_percent is not None else []
    if shares:
        told |= {
            "measured_leases": len(shares),
            "busy_p50_percent": _least(shares, 50),
            "busy_p95_percent": _least(shares, 95),
        }
    return ModelRow.model_validate({"row": row, **told})


def _least(ordered: list[int], percent: int) -> int:
    """Give the least value that at least so many percent do not exceed."""
    return ordered[-(-len(ordered) * percent // 100) - 1]


def _dearness(one: ModelRow) -> tuple[bool, int, str]:
    hour = one.row.per_busy_hour
    return (
        not hour,
        -max((amount.micro for amount in hour), default=0),
        one.row.names["model"] or "",
    )
