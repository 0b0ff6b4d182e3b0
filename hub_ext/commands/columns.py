"""Prints rows in columns, for whoever reads a command's answer. It knows no subject."""


def print_table(rows: list[tuple[str, ...]]) -> None:
    """Print rows in columns that fit."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
