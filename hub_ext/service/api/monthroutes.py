"""The routes by which months close and charges are corrected."""

from ...i18n import _
from ...lease.months import ClosedMonth, Correction, MonthSheet
from .hands import ByHand
from .months import CloseMonthHandler, CorrectByHand, CorrectionsHandler, MonthsHandler
from .route import Route

_HANDS = _("admins, and the service `gpu-commons-cli`")

MONTH_ROUTES = (
    Route(
        "GET",
        "months",
        MonthsHandler,
        _("Closed months, and what stands in the way of the next"),
        _HANDS,
        gives=MonthSheet,
    ),
    Route(
        "POST",
        "months/{month}/close",
        CloseMonthHandler,
        _("Close the month that is next, for good"),
        _HANDS,
        takes=ByHand,
        gives=ClosedMonth,
        status=202,
    ),
    Route(
        "POST",
        "corrections",
        CorrectionsHandler,
        _("Correct one charge: reversed, and stated anew in the open month"),
        _HANDS,
        takes=CorrectByHand,
        gives=Correction,
        status=202,
    ),
)
