"""The routes of anomalies."""

from ...i18n import _
from ...lease.anomalies import AnomalySheet
from .anomalies import AnomaliesHandler, DeedByHand, DeedHandler
from .route import Route

_LEADS = _("leads for their teams, admins and the service `gpu-commons-cli` for all")

ANOMALY_ROUTES = (
    Route(
        "GET",
        "anomalies",
        AnomaliesHandler,
        _("What is odd about how GPUs are used, with whose it is and what it has cost"),
        _LEADS,
        gives=AnomalySheet,
    ),
    Route(
        "POST",
        "anomalies/{anomaly}/act",
        DeedHandler,
        _("Tell or ask the owner; for admins also quarantine, stop with notice, close"),
        _LEADS,
        takes=DeedByHand,
        gives=AnomalySheet,
        status=202,
    ),
)
