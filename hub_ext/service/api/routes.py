"""The table of routes: what the server mounts and what openapi.json tells come from here alone."""

from ...i18n import _
from ...lease import (
    Activity,
    Ask,
    Grant,
    Health,
    LeaseView,
    OfferSheet,
    PolicyView,
    QueueSheet,
    Report,
    SampleBatch,
    SwitchSheet,
    Usage,
    WatchList,
)
from ...lease.waits import WaitSheet
from ...lease.why import WhySheet
from .activity import ActivityHandler
from .anomalyroutes import ANOMALY_ROUTES
from .attempts import AttemptsHandler, OffersHandler, ReportsHandler, SamplesHandler
from .figures import HealthHandler, PolicyHandler, QueueHandler, UsageHandler
from .handroutes import HAND_ROUTES
from .leases import (
    ExtendHandler,
    Extension,
    KeepHandler,
    LeaseHandler,
    LeaseList,
    LeasesHandler,
    ServerLeaseHandler,
    StopHandler,
)
from .monthroutes import MONTH_ROUTES
from .reservations import RESERVATION_ROUTES
from .route import Query, Route
from .shareroutes import SHARE_ROUTES
from .spendroutes import SPEND_ROUTES
from .valueroutes import VALUE_ROUTES
from .waiting import (
    Again,
    AgainHandler,
    CancelHandler,
    ChangeHandler,
    Switch,
    SwitchHandler,
    Wish,
)
from .waits import WaitsHandler
from .why import WhyHandler

API = "api/v1/"
"""Where the API lives below the service's prefix."""


_SPAWNER = _("the spawner's own service token")
_SEES = _("the owner, the server's own token, leads of the team, admins")
_OWNS = _("the owner, the server's own token, admins")
_WINDOW = (
    Query(
        "window",
        _("`today`, `month`, `last-month`, `2026-11` or 30d; 30d if absent"),
    ),
    Query("start", _("instant with zone; instead of window")),
    Query("end", _("instant with zone; instead of window")),
)

ROUTES = (
    Route(
        "POST", "attempts", AttemptsHandler, _("Ask for a grant"), _SPAWNER, takes=Ask, gives=Grant
    ),
    Route(
        "POST",
        "attempts/{attempt_id}/reports",
        ReportsHandler,
        _("Report a start or an end of an attempt"),
        _SPAWNER,
        takes=Report,
        status=204,
    ),
    Route(
        "GET",
        "offers",
        OffersHandler,
        _("Offers of a person, decided as a start would be"),
        _("everybody for themselves; the spawner and admins for anybody"),
        gives=OfferSheet,
        queries=(
            Query("user", _("whose offers")),
            Query("group", _("a group of that user; may be repeated"), many=True),
        ),
    ),
    Route("GET", "leases", LeasesHandler, _("Open leases"), _SEES, gives=LeaseList),
    Route("GET", "leases/{lease_id}", LeaseHandler, _("One lease"), _SEES, gives=LeaseView),
    Route(
        "POST",
        "leases/{lease_id}/stop",
        StopHandler,
        _("Ask for the stop of a server"),
        _OWNS,
        gives=LeaseView,
        status=202,
    ),
    Route(
        "POST",
        "leases/{lease_id}/extend",
        ExtendHandler,
        _("Let a lease live longer"),
        _OWNS,
        takes=Extension,
        gives=LeaseView,
        status=202,
    ),
    Route(
        "POST",
        "leases/{lease_id}/keep",
        KeepHandler,
        _("Hold off the idle rule once"),
        _OWNS,
        gives=LeaseView,
        status=202,
    ),
    Route(
        "POST",
        "leases/{lease_id}/cancel",
        CancelHandler,
        _("Leave the queue"),
        _OWNS,
        gives=LeaseView,
    ),
    Route(
        "POST",
        "leases/{lease_id}/change",
        ChangeHandler,
        _("Wait for something else; a smaller wish keeps its place"),
        _OWNS,
        takes=Wish,
        gives=LeaseView,
    ),
    Route(
        "POST",
        "leases/{lease_id}/again",
        AgainHandler,
        _("Wait again in the old place, after it was called in"),
        _OWNS,
        takes=Again,
        gives=LeaseView,
    ),
    Route(
        "GET",
        "leases/{lease_id}/switch",
        SwitchHandler,
        _("Profiles that a server that runs could change to, decided as a start would be"),
        _OWNS,
        gives=SwitchSheet,
    ),
    Route(
        "POST",
        "leases/{lease_id}/switch",
        SwitchHandler,
        _("Give a server that runs another profile, once there is capacity for it"),
        _OWNS,
        takes=Switch,
        gives=LeaseView,
        status=202,
    ),
    Route(
        "GET",
        "why",
        WhyHandler,
        _("Why leases and requests stand as they do"),
        _SEES,
        gives=WhySheet,
        queries=(Query("of", _("a lease's id, a person, or USER/SERVER; without it, one's own")),),
    ),
    *HAND_ROUTES,
    *MONTH_ROUTES,
    *RESERVATION_ROUTES,
    *SHARE_ROUTES,
    *ANOMALY_ROUTES,
    *SPEND_ROUTES,
    *VALUE_ROUTES,
    Route(
        "GET",
        "servers/{user}/{server}/lease",
        ServerLeaseHandler,
        _("A server's lease; `-` is the server without a name"),
        _SEES,
        gives=LeaseView,
        queries=(
            Query("after", _("answer when the newest event is another one"), "integer"),
            Query("wait_s", _("seconds to wait for that, at most 60"), "integer"),
        ),
    ),
    Route(
        "POST",
        "servers/{user}/{server}/activity",
        ActivityHandler,
        _("Tell of kernels, terminals and the last input; at most every 2 seconds"),
        _("the server's own token"),
        takes=Activity,
        status=204,
    ),
    Route(
        "GET",
        "usage",
        UsageHandler,
        _("What was held, used and charged"),
        _("everybody for `me`, leads for their teams, admins for all"),
        gives=Usage,
        queries=(Query("scope", _("`me`, `team:NAME` or `all`")), *_WINDOW),
    ),
    Route(
        "GET",
        "waits",
        WaitsHandler,
        _("How long people waited in the last 30 days, and how often a guarantee was kept"),
        _("leads for their teams, admins for all"),
        gives=WaitSheet,
    ),
    Route(
        "GET",
        "queue",
        QueueHandler,
        _("Load of the pools, and who waits"),
        _("people"),
        gives=QueueSheet,
    ),
    Route(
        "POST",
        "samples",
        SamplesHandler,
        _("Report what an agent read"),
        _("the agent's own service token"),
        takes=SampleBatch,
        gives=WatchList,
    ),
    Route("GET", "policy", PolicyHandler, _("Policy in force"), _("people"), gives=PolicyView),
)
"""Below `API`."""

OPEN_ROUTES = (Route("GET", "healthz", HealthHandler, _("Health"), _("everybody"), gives=Health),)
"""Beside the API, open to everybody."""
