"""The routes by which people say what leases are for, and spend is explained."""

from ...i18n import _
from ...lease.value import LeaseValue, ValueWish
from ...lease.worth import ChangeSheet, DearSheet, ModelSheet, OwnerMap, ValueSheet
from ...reports.spend import DIMENSIONS
from .route import Query, Route
from .spendroutes import WHO, WINDOW
from .value import ValueHandler
from .worth import (
    MOST_DEAR,
    ChangesHandler,
    DearestHandler,
    ModelsHandler,
    OwnersHandler,
    ValueOfSpendHandler,
)

VALUE_ROUTES = (
    Route(
        "GET",
        "leases/{lease_id}/value",
        ValueHandler,
        _("What a lease was for, and what came of it; its free text for the team alone"),
        _("its owner, their server, leads of its team, admins"),
        gives=LeaseValue,
    ),
    Route(
        "POST",
        "leases/{lease_id}/value",
        ValueHandler,
        _("Say what a lease is for, or what came of it, now or after its end"),
        _("its owner, their server, admins"),
        takes=ValueWish,
        gives=LeaseValue,
    ),
    Route(
        "GET",
        "spend/changes",
        ChangesHandler,
        _("What a window cost more or less than the one before, by price, hours and mix"),
        WHO,
        gives=ChangeSheet,
        queries=(
            *WINDOW,
            Query(
                "aggregate",
                _("one or more of {words}; `team,project` where it is absent").format(
                    words=", ".join(f"`{one}`" for one in DIMENSIONS)
                ),
            ),
        ),
    ),
    Route(
        "GET",
        "spend/models",
        ModelsHandler,
        _("GPU models compared: held, busy, cost of a busy hour, waits"),
        WHO,
        gives=ModelSheet,
        queries=WINDOW,
    ),
    Route(
        "GET",
        "spend/dearest",
        DearestHandler,
        _("The dearest leases of a window, with what makes them so"),
        WHO,
        gives=DearSheet,
        queries=(
            *WINDOW,
            Query(
                "limit",
                _("how many, 10 where it is absent, at most {most}").format(most=MOST_DEAR),
                "integer",
            ),
        ),
    ),
    Route(
        "GET",
        "spend/owners",
        OwnersHandler,
        _("Who answers for what of which pool, month by month"),
        WHO,
        gives=OwnerMap,
        queries=WINDOW,
    ),
    Route(
        "GET",
        "value",
        ValueOfSpendHandler,
        _("Spend by value class, task type and outcome, and what has no purpose"),
        WHO,
        gives=ValueSheet,
        queries=WINDOW,
    ),
)
