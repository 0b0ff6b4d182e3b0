"""Aligned columns, for what is printed on a terminal."""

from collections.abc import Sequence

Rows = Sequence[Sequence[str]]


def table(head: Sequence[str], rows: Rows) -> str:
    """Write a head and rows as columns, with nothing after the last."""
    every = [head, *rows]
    widths = [max(len(row[at]) for row in every) for at in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in every
    )
