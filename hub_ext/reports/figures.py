"""Charts as plain JSON for the page's own script; the only place that knows Plotly.

A chart repeats a table that stands beside it and is never the only carrier of a figure. Colours
come from the page; what a bar means is also told by its pattern and its legend.
"""

from collections.abc import Sequence
from html import escape, unescape

from plotly import graph_objects as go

from ..i18n import _
from ..lease import Value
from ..units import SECONDS_PER_HOUR, UNITS_PER_GPU

MOST_BARS = 12
"""More bars are not read; the table has the rest."""

AXIS_CHARACTERS = 22
"""Longer names would push the bars off a small screen; the table has them whole."""

ROW_PX = 34
FRAME_PX = 110


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
