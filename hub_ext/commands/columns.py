"""Prints rows in columns, for whoever reads a command's answer. It knows no subject."""

from ..reports.columns import in_columns


def print_table(rows: list[tuple[str, ...]]) -> None:
    """Print rows in columns that fit."""
    print(in_columns(rows))
