"""Charts as SVG that needs no script: for mail, print and files. Pure.

Bars carry patterns beside colours, and the picture its words; the table has the figures.
"""

from collections.abc import Iterator
from html import escape

from ..units import MICRO, money_text
from .days import Stack

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 720, 260, 70, 46, 28
STEPS = 4
"""Lines across, above the lowest."""

COLOURS = ("#4fae9c", "#e0b04f", "#6c9bd2", "#cf8bab", "#b4b95c", "#d98a63", "#b3bac0")
DASHES = ("none", "4 2", "1 2", "6 2 1 2", "2 2", "8 2", "3 1")
"""Of the outline of each name, so that none is told by its colour alone."""

_INK, _FAINT = "#1b2126", "#c3cad0"


def stacked(stack: Stack, words: str, currency: str) -> str:
    """Draw amounts over time as stacked bars; `words` say what is to be seen."""
    top = _above(max(stack.sums, default=0))
    parts = [*_grid(top, currency), *_bars(stack, top), *_titles(stack), *_legend(stack)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{escape(words)}" '
        f'font-family="sans-serif" font-size="11"><title>{escape(words)}</title>'
        f"{''.join(parts)}</svg>"
    )


def _grid(top: int, currency: str) -> Iterator[str]:
    for step in range(STEPS + 1):
        at = _y(top * step // STEPS, top)
        label = money_text(top * step // STEPS, currency)
        yield f'<line x1="{LEFT}" x2="{WIDTH}" y1="{at}" y2="{at}" stroke="{_FAINT}"/>'
        place = f'x="{LEFT - 6}" y="{at + 4}" text-anchor="end" fill="{_INK}"'
        yield f"<text {place}>{escape(label)}</text>"


def _bars(stack: Stack, top: int) -> Iterator[str]:
    slot = (WIDTH - LEFT) / max(1, len(stack.titles))
    floor = [0] * len(stack.titles)
    for index, amounts in enumerate(stack.amounts.values()):
        colour, dash = COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)]
        for at, amount in enumerate(amounts):
            if amount <= 0:
                continue
            low, floor[at] = floor[at], floor[at] + amount
            high, base = _y(floor[at], top), _y(low, top)
            yield (
                f'<rect x="{LEFT + at * slot + slot * 0.1:.1f}" y="{high}" '
                f'width="{slot * 0.8:.1f}" height="{base - high:.1f}" fill="{colour}" '
                f'stroke="{_INK}" stroke-width="0.7" stroke-dasharray="{dash}"/>'
            )


def _titles(stack: Stack) -> Iterator[str]:
    slot = (WIDTH - LEFT) / max(1, len(stack.titles))
    every = -(-len(stack.titles) // 10) if stack.titles else 1
    for at in range(0, len(stack.titles), every):
        middle = LEFT + (at + 0.5) * slot
        yield (
            f'<text x="{middle:.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle" '
            f'fill="{_INK}">{escape(_short(stack.titles[at]))}</text>'
        )


def _legend(stack: Stack) -> Iterator[str]:
    at = LEFT
    for index, name in enumerate(stack.amounts):
        colour, dash = COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)]
        yield (
            f'<rect x="{at}" y="{HEIGHT - 18}" width="11" height="11" fill="{colour}" '
            f'stroke="{_INK}" stroke-width="0.7" stroke-dasharray="{dash}"/>'
            f'<text x="{at + 15}" y="{HEIGHT - 8}" fill="{_INK}">{escape(name[:18])}</text>'
        )
        at += 30 + 7 * min(18, len(name))


def _above(amount: int) -> int:
    """Give the next round amount that is not below; one cent of nothing."""
    step = MICRO // 100
    for times in _round():
        if step * times >= amount:
            return step * times
    raise AssertionError


def _round() -> Iterator[int]:
    power = 1
    while True:
        yield from (power, 2 * power, 4 * power, 8 * power)
        power *= 10


def _y(amount: int, top: int) -> float:
    room = HEIGHT - TOP - BOTTOM
    return round(TOP + room - room * amount / top, 1)


def _short(title: str) -> str:
    return title[5:] if title.count("-") > 1 else title
