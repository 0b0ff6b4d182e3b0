"""The mail of a message: a subject and a text for each kind, in words that can be translated."""

from email.message import EmailMessage
from email.utils import format_datetime
from hashlib import sha256

from ...i18n import _
from ...lease import local_text
from ...lease.outward import OutwardMessage


def mail(told: OutwardMessage, *, sender: str, to: str, zone: str, pages: str) -> EmailMessage:
    """Write the mail of a message to one address.

    Parameters
    ----------
    zone
        Time zone in which instants are written.
    pages
        Public address of the governor's pages; empty where it is not known.
    """
    made = EmailMessage()
    made["Subject"] = " ".join(subject(told, zone).split())
    made["From"], made["To"] = sender, to
    made["Date"] = format_datetime(told.at)
    # The same for each try: a mailbox that has it keeps one.
    mark = sha256(f"{told.id} {to}".encode()).hexdigest()[:32]
    made["Message-ID"] = f"<{mark}@{sender.rpartition('@')[2]}>"
    made["Auto-Submitted"] = "auto-generated"
    made.set_content(text(told, zone, pages))
    return made


def subject(told: OutwardMessage, zone: str) -> str:
    """Say in a line what it is about."""
    at = "" if told.stops_at is None else local_text(told.stops_at, zone)
    server = told.server or _("your server")
    match told.kind, told.about:
        case "idle", "stop":
            words = _("Idle: {server} stops at {at}")
        case "idle", _about:
            words = _("Idle: somebody may be waiting for the GPU of {server}")
        case "recall", _about:
            words = _("Borrowed GPU called in: {server} stops at {at}")
        case "lifetime", _about:
            words = _("End of the lifetime: {server} stops at {at}")
        case "maintenance", _about:
            words = _("Maintenance: {server} stops at {at}")
        case "budget", "reached":
            words = _("Budget {budget}: {percent} % is spent")
        case "budget", _about:
            words = _("Budget spent: {server} stops at {at}")
        case "anomaly", _about:
            words = _("Something is odd about how GPUs are used")
    return words.format(
        server=server,
        at=at,
        budget=told.figures.get("budget", ""),
        percent=told.figures.get("at_percent", ""),
    )


def text(told: OutwardMessage, zone: str, pages: str) -> str:
    """Write what a person reads: why, what to do, and where to see it."""
    where = _page(told, pages)
    lines = [
        told.words,
        ""
        if told.stops_at is None
        else _("It stops at {at}.").format(at=local_text(told.stops_at, zone)),
        _next(told),
        "" if not where else _("See {page}").format(page=where),
        _("The GPU Commons of this hub sent this. Nobody reads answers to it."),
    ]
    return "\n\n".join(line for line in lines if line) + "\n"


def _next(told: OutwardMessage) -> str:
    if told.about == "reached":
        return _("The team's page shows what is left and what follows.")
    if told.about == "advice" and told.kind != "anomaly":
        return _("Please stop the server if you do not need it.")
    said = {
        "idle": _("Save your work. Use the server, or keep it in JupyterLab, to call it off."),
        "recall": _(
            "Save your work. You can queue again in your old place from the server's page."
        ),
        "lifetime": _("Save your work, or extend the lease in JupyterLab if the policy allows it."),
        "maintenance": _("Save your work, and start the server again afterwards."),
        "budget": _("Save your work. Servers without a GPU start as ever."),
        "anomaly": _("The page of anomalies shows what it stands for and what can be done."),
    }
    return said[told.kind]


def _page(told: OutwardMessage, pages: str) -> str:
    if not pages:
        return ""
    if told.lease is not None:
        return f"{pages}leases/{told.lease}"
    return f"{pages}anomalies" if told.kind == "anomaly" else pages
