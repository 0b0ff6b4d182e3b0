"""The routes of shares and limits."""

from ...i18n import _
from ...lease import LimitSheet, MoveSheet
from ...lease.keeping import KeepGrantSheet
from ...lease.monthreport import MonthReport
from ...lease.outlook import TeamOutlook
from .keeps import GrantKeep, KeepsHandler
from .outlook import OutlookHandler
from .route import Query, Route
from .sharing import LimitsHandler, MoveQuota, MovesHandler
from .teammonths import TeamMonthHandler

_LEADS = _("leads of the team, admins, and the service `gpu-commons-cli`")

SHARE_ROUTES = (
    Route(
        "GET",
        "limits",
        LimitsHandler,
        _("Every rule that binds a person, with its place in the policy"),
        _("everybody for themselves; admins for anybody"),
        gives=LimitSheet,
        queries=(
            Query("user", _("whose limits")),
            Query("group", _("a group of that user; may be repeated"), many=True),
        ),
    ),
    Route(
        "GET",
        "teams/{team}/outlook",
        OutlookHandler,
        _("Where a team's month is going: spent, agreed, likely, and when budgets are spent"),
        _LEADS,
        gives=TeamOutlook,
    ),
    Route(
        "GET",
        "teams/{team}/months/{month}",
        TeamMonthHandler,
        _("What a team's month came to, by project, GPU, day and person; every table adds up"),
        _LEADS,
        gives=MonthReport,
    ),
    Route(
        "GET",
        "teams/{team}/moves",
        MovesHandler,
        _("Shares of a team's projects, and the quota that was moved between them"),
        _LEADS,
        gives=MoveSheet,
    ),
    Route(
        "POST",
        "teams/{team}/moves",
        MovesHandler,
        _("Move quota between two projects of a team from a day on"),
        _LEADS,
        takes=MoveQuota,
        gives=MoveSheet,
        status=202,
    ),
    Route(
        "GET",
        "teams/{team}/keeps",
        KeepsHandler,
        _("What leads let people of a team keep servers for, beyond the policy"),
        _LEADS,
        gives=KeepGrantSheet,
    ),
    Route(
        "POST",
        "teams/{team}/keeps",
        KeepsHandler,
        _("Let somebody of a team keep servers for longer, until a time"),
        _LEADS,
        takes=GrantKeep,
        gives=KeepGrantSheet,
        status=202,
    ),
)
