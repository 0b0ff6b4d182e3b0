"""The routes by which people say what leases are for, and are told it."""

from ...i18n import _
from ...lease.value import LeaseValue, ValueWish
from .route import Route
from .value import ValueHandler

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
)
