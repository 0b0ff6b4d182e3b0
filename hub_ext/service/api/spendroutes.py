"""The routes by which spend is asked for, told apart as somebody wants."""

from ...i18n import _
from ...lease.fleet import FleetSheet
from ...lease.spend import SpendSheet
from ...lease.waste import WasteSheet
from ...reports.spend import DIMENSIONS
from .fleet import FleetHandler
from .route import Query, Route
from .spend import MOST_ROWS, ROWS, SpendHandler
from .waste import DIMENSIONS as WASTED
from .waste import WasteHandler

WINDOW = (
    Query("scope", _("`me`, `team:NAME` or `all`; `me` where it is absent")),
    Query(
        "window",
        _(
            "`today`, `yesterday`, `week`, `lastweek`, `month` (where it is absent), `lastmonth`, "
            "`2026-11`, `24h`, `30d`, or `FROM,TO` with days, instants or seconds since 1970"
        ),
    ),
    Query("start", _("instant with its zone, in place of `window`")),
    Query("end", _("instant with its zone, in place of `window`")),
)
"""Whose spend, and when."""

WHO = _("everybody for `me`, leads for their teams, admins for all")

SPEND_ROUTES = (
    Route(
        "GET",
        "spend",
        SpendHandler,
        _("Spend of a window, told apart by any of a dozen words, a page at a time"),
        WHO,
        gives=SpendSheet,
        queries=(
            *WINDOW,
            Query(
                "aggregate",
                _("one or more of {words}, with commas between; `team` where it is absent").format(
                    words=", ".join(f"`{one}`" for one in DIMENSIONS)
                ),
            ),
            Query(
                "limit",
                _("rows of a page, {rows} where it is absent, at most {most}").format(
                    rows=ROWS, most=MOST_ROWS
                ),
                "integer",
            ),
            Query("cursor", _("`next_cursor` of the page before, with the same question")),
        ),
    ),
    Route(
        "GET",
        "waste",
        WasteHandler,
        _("What was held and did no work, priced, and what stopping idle servers saved"),
        WHO,
        gives=WasteSheet,
        queries=(
            *WINDOW,
            Query(
                "aggregate",
                _("one or more of {words}, with commas between; `team` where it is absent").format(
                    words=", ".join(f"`{one}`" for one in WASTED)
                ),
            ),
        ),
    ),
    Route(
        "GET",
        "fleet",
        FleetHandler,
        _("Where all that is installed went: held, out of service, held by nobody, priced"),
        _("admins"),
        gives=FleetSheet,
        queries=WINDOW[1:],
    ),
)
