"""Charts as plain JSON for the page's own script; the only place that knows Plotly.

A chart repeats a table that stands beside it and is never the only carrier of a figure. Colours
come from the page; what a bar means is also told by its pattern and its legend.
"""

from collections.abc import Sequence
from datetime import datetime
from html import escape, unescape
from zoneinfo import ZoneInfo

from plotly import graph_objects as go

from ..i18n import _
from ..lease import Value
from ..units import MICRO, SECONDS_PER_HOUR, UNITS_PER_GPU
from .burndown import BurnDown
from .days import Stack

MOST_BARS = 12
"""More bars are not read; the table has the rest."""

AXIS_CHARACTERS = 22
"""Longer names would push the bars off a small screen; the table has them whole."""

ROW_PX = 34
FRAME_PX = 110
TALL_PX = 340

MOST_SERIES = 7
"""Names that are told apart in a stack; the page has a colour and a pattern for each."""

PATTERNS = ("", "/", "x", ".", "\\", "-", "+")
"""Of the names of a stack, in order: it can be read without any colour."""


class HeldBar(Value):
    """GPU time of one row, in unit-seconds. `busy` + `idle` + `unmeasured` are what was held."""

    label: str
    busy: int
    idle: int
    unmeasured: int

    @property
    def held(self) -> int:
        """All of it."""
        return self.busy + self.idle + self.unmeasured


def held_against_utilised(bars: Sequence[HeldBar]) -> str:
    """Draw what was held, and what of it was really used, as stacked bars; JSON for Plotly.

    The largest come first; those beyond `MOST_BARS` are joined into one.
    """
    shown = _largest(bars)
    labels = [escape(bar.label, quote=False) for bar in shown]
    places = list(range(len(shown)))
    parts = (
        ("busy", _("busy"), [bar.busy for bar in shown], ""),
        ("idle", _("held, not busy"), [bar.idle for bar in shown], "/"),
        ("unmeasured", _("held, not measured"), [bar.unmeasured for bar in shown], "."),
    )
    figure = go.Figure(
        data=[
            go.Bar(
                name=title,
                meta=role,
                orientation="h",
                y=places,
                customdata=labels,
                x=[_hours(value) for value in values],
                marker={"pattern": {"shape": pattern, "solidity": 0.25}},
                hovertemplate=_("%{customdata}: %{x:.3~f} GPU-hours") + "<extra></extra>",
            )
            for role, title, values, pattern in parts
        ],
        layout=go.Layout(
            template="none",
            barmode="stack",
            height=FRAME_PX + ROW_PX * len(shown),
            margin={"l": 8, "r": 16, "t": 8, "b": 48},
            xaxis={"title": {"text": _("GPU-hours")}, "rangemode": "tozero", "fixedrange": True},
            yaxis={
                "autorange": "reversed",
                "automargin": True,
                "fixedrange": True,
                "tickvals": places,
                "ticktext": [_short(label) for label in labels],
            },
            legend={
                "orientation": "h",
                "y": 1.02,
                "yanchor": "bottom",
                "x": 0,
                "traceorder": "normal",
            },
        ),
    )
    return str(figure.to_json())


def stacked_money(stack: Stack, currency: str) -> str:
    """Draw amounts over time, one bar a day or month, stacked by name; JSON for Plotly."""
    bars = [
        go.Bar(
            name=_short(escape(name, quote=False)),
            meta=f"series-{index}",
            x=list(range(len(stack.titles))),
            y=[_money(amount) for amount in amounts],
            customdata=list(stack.titles),
            marker={"pattern": {"shape": PATTERNS[index % len(PATTERNS)], "solidity": 0.2}},
            hovertemplate="%{customdata}: %{y:,.2f} "
            + escape(currency)
            + "<extra>%{fullData.name}</extra>",
        )
        for index, (name, amounts) in enumerate(stack.amounts.items())
    ]
    ticks = _ticks(len(stack.titles))
    layout = _layout(
        barmode="stack",
        bargap=0.15,
        xaxis={
            "fixedrange": True,
            "tickvals": ticks,
            "ticktext": [_tick(stack.titles[index]) for index in ticks],
        },
        yaxis={"title": {"text": escape(currency)}, "fixedrange": True, "automargin": True},
    )
    return str(go.Figure(data=bars, layout=layout).to_json())


def burned_down(one: BurnDown) -> str:
    """Draw what is left of a budget, the even pace, and the band to the period's end."""

    def clock(at: datetime) -> str:
        # Plotly knows no time zones: it is handed what the clock on the wall says.
        return f"{at.astimezone(ZoneInfo(one.zone)):%Y-%m-%d %H:%M}"

    whole = [clock(one.period.start), clock(one.period.end)]
    past = [clock(mark.at) for mark in one.past]
    lines = [
        _line(_("even pace"), "even", whole, [one.amount, 0], "dot"),
        _line(_("left"), "busy", past, [mark.left for mark in one.past], "solid"),
    ]
    if one.ahead:
        times = [clock(fan.at) for fan in one.ahead]
        low = _line(_("if much is used"), "idle", times, [fan.low for fan in one.ahead], "dash")
        high = _line(
            _("if little is used"), "idle", times, [fan.high for fan in one.ahead], "dashdot"
        )
        lines += [low, high.update(fill="tonexty")]
    layout = _layout(
        xaxis={"type": "date", "fixedrange": True},
        yaxis={
            "title": {"text": escape(one.currency)},
            "fixedrange": True,
            "automargin": True,
            "zeroline": True,
        },
    )
    return str(go.Figure(data=lines, layout=layout).to_json())


def _line(name: str, role: str, x: list[str], y: Sequence[int], dash: str) -> go.Scatter:
    return go.Scatter(
        name=name,
        meta=role,
        mode="lines",
        x=x,
        y=[_money(amount) for amount in y],
        line={"dash": dash, "width": 2},
        hovertemplate="%{x|%d %b}: %{y:,.2f}<extra>%{fullData.name}</extra>",
    )


def _layout(**more: object) -> go.Layout:
    return go.Layout(
        template="none",
        height=TALL_PX,
        margin={"l": 8, "r": 16, "t": 8, "b": 40},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "traceorder": "normal"},
        **more,
    )


def _ticks(count: int) -> list[int]:
    """Name so many bars as there is room for below them."""
    return list(range(0, count, -(-count // MOST_BARS))) if count else []


def _tick(title: str) -> str:
    """Leave the year away from a day: the heading names it."""
    return title[5:] if title.count("-") > 1 else title


def _money(micro: int) -> float:
    """Round for a picture; the table beside it has the exact figure."""
    return round(micro / MICRO, 2)


def _largest(bars: Sequence[HeldBar]) -> list[HeldBar]:
    ordered = sorted(bars, key=lambda bar: (-bar.held, bar.label))
    shown, rest = ordered[:MOST_BARS], ordered[MOST_BARS:]
    if rest:
        shown.append(
            HeldBar(
                label=_("{n} others").format(n=len(rest)),
                busy=sum(bar.busy for bar in rest),
                idle=sum(bar.idle for bar in rest),
                unmeasured=sum(bar.unmeasured for bar in rest),
            )
        )
    return shown


def _short(label: str) -> str:
    """Cut a label for the axis. Plotly reads markup in labels, so what is shown stays escaped."""
    plain = unescape(label)
    return label if len(plain) <= AXIS_CHARACTERS else f"{escape(plain[:AXIS_CHARACTERS])}…"


def _hours(unit_s: int) -> float:
    """Round for a picture; the table beside it has the exact figure."""
    return round(unit_s / (UNITS_PER_GPU * SECONDS_PER_HOUR), 6)
