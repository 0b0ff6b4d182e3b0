"""The page of one lease: why it stands or ended as it did, with evidence, charges and timeline."""

from collections.abc import Sequence
from datetime import datetime

from ...i18n import _
from ...lease import LeaseView, OpenLease, Posting, Verdict
from ...lease.reserving import REST
from ...metering import SITE, WAIVED, footed
from ...policy.model import Policy
from ..basis.words import cause_words, notice_words
from ..books import formats
from ..leasing.dossier import MOST_EVENTS, Dossier
from ..leasing.timeline import timeline
from ..queueing.tickets import WAITS
from . import starving
from .amounts import CENTS
from .rows import busy_now


def sheet(file: Dossier, policy: Policy | None) -> dict[str, object]:
    """Put one lease's record into words."""
    zone = policy.timezone if policy else "UTC"
    lease = file.lease
    return {
        "lease": lease,
        "owner": lease.key.user,
        "server": formats.server_name(lease.key.server),
        "state": formats.state_words(lease.state),
        "answer": answer(file.view, lease, zone),
        "facts": [
            *facts(file.view, lease, zone),
            *waived_in(file.lines, zone),
            *_unseen_end(file.lines, zone),
        ],
        "verdict": file.evidence,
        "verdict_at": formats.instant(file.evidence.at, zone) if file.evidence else "",
        "signals": signals(file.evidence),
        "lines": lines(file.lines, zone),
        "line_total": _line_total(file.lines, lease.currency),
        "priced": lease.pool is not None,
        "timeline": timeline(file.events, zone, lease.currency),
        "older": len(file.events) >= MOST_EVENTS,
        "open": lease.open,
        "again": file.may_ask_again,
        "busy": busy_now(file.view.readings) if lease.open else "",
        "simulated": any(device.simulated for device in lease.devices),
        **starving.sheet(file.view.waits_for, zone),
    }


def answer(view: LeaseView, lease: OpenLease, zone: str) -> str:
    """Answer in a sentence why it was stopped, or that it was not."""
    if lease.notice is not None:
        return notice_words(lease.notice, zone)
    if lease.cause is not None:
        why = _("It ended because {why}.").format(why=cause_words(lease.cause))
        return lease.reason.message if lease.reason else why
    if lease.state in WAITS and lease.reason is not None:
        return lease.reason.message
    if view.verdict is not None:
        return _("It was not stopped. {verdict}").format(verdict=view.verdict.words)
    return _("It was not stopped.")


def facts(view: LeaseView, lease: OpenLease, zone: str) -> list[tuple[str, str]]:
    """Name and value of everything that was agreed and happened."""
    cost = view.cost if lease.pool is not None else None
    rows: list[tuple[str, str | None]] = [
        (_("Cause"), cause_words(lease.cause) if lease.cause else None),
        (_("Team"), lease.team),
        (_("Project"), lease.project or _("no project")),
        (_("Profile"), lease.profile),
        (_("What it is for"), view.task_title or None),
        (_("Beyond the guarantee"), _("waits") if lease.only_guaranteed else None),
        (_("Device"), formats.device_words(lease.devices)),
        (_("Joined"), view.joined or None),
        (_("Shared with nobody"), _alone(lease)),
        (_("Reserved until"), _optional(lease.reserved_until, zone)),
        (_("Standing"), formats.standing_words(lease.standing)),
        (_("Why so"), lease.reason.message if lease.reason and not lease.cause else None),
        (_("Environment"), _environment(lease)),
        (_("Requested"), formats.instant(lease.requested_at, zone)),
        (_("Started"), formats.instant(lease.started_at, zone) if lease.started_at else None),
        (_("Ends at the latest"), formats.instant(lease.ends_at, zone) if lease.open else None),
        (_("Kept by its owner until"), _optional(lease.kept_until, zone)),
        (_("What it may be kept for"), view.keep.words if view.keep else None),
        (_("One more keep costs"), _next_keep(view)),
        (_("Ended"), _optional(lease.closed_at, zone)),
        (_("Price"), cost.rate_text if cost else _("no charge for GPUs")),
        (_("Cost"), cost.so_far_text if cost else None),
        (_("Policy generation"), str(lease.policy_generation)),
        (_("Lease"), lease.id),
    ]
    return [(name, value) for name, value in rows if value is not None]


def _next_keep(view: LeaseView) -> str | None:
    if view.keep is None or not view.keep.adds_s:
        return None
    return _("{price} for {span}").format(
        price=view.keep.price_text, span=formats.span(view.keep.adds_s)
    )


def waived_in(postings: Sequence[Posting], zone: str) -> list[tuple[str, str]]:
    """What the team does not pay, because the device was at fault."""
    return [
        (
            _("Not charged"),
            _("{amount}, from {start} to {end}: the device was at fault").format(
                amount=formats.money(one.amount_micro, one.currency),
                start=formats.instant(one.start, zone),
                end=formats.instant(one.end, zone),
            ),
        )
        for one in postings
        if one.team == WAIVED
    ]


def _unseen_end(postings: Sequence[Posting], zone: str) -> list[tuple[str, str]]:
    """What is charged where nobody saw the end: less than it ran, never more."""
    words = _("{instant}: nobody saw its end, and nothing is charged after it was last seen")
    return [
        (_("Charged until"), words.format(instant=formats.instant(one.end, zone)))
        for one in postings
        if one.bounded and one.flavor not in REST.values()
    ]


def _alone(lease: OpenLease) -> str | None:
    words = {"gpu": _("the whole GPU"), "node": _("the whole machine")}
    return words[lease.alone] if lease.alone is not None else None


def _optional(at: datetime | None, zone: str) -> str | None:
    return None if at is None else formats.instant(at, zone)


def _environment(lease: OpenLease) -> str | None:
    environment = lease.grant.environment if lease.grant else None
    if environment is None:
        return None
    return f"{environment.name} ({environment.digest[:19]}…)"


def signals(verdict: Verdict | None) -> list[dict[str, str]]:
    """The witnesses of a judgement, each with its age and source."""
    words = {"active": _("active"), "quiet": _("quiet"), "unknown": _("unknown")}
    return [
        {
            "name": _witness(one.name),
            "state": words[one.state],
            "key": one.state,
            "value": one.value,
            "window": formats.span(one.window_s),
            "age": formats.span(one.age_s),
            "source": _("the server itself") if one.trust == "user" else one.source,
        }
        for one in (verdict.signals if verdict else ())
    ]


def _witness(name: str) -> str:
    """Name of a witness for people: its kind, and the device where it is of one."""
    kind, _space, device = name.partition(" ")
    said = {
        "cpu": _("CPU of its processes"),
        "disk": _("disk"),
        "network": _("network"),
        "kernel": _("kernels"),
        "input": _("keys and pointer"),
        "gpu": _("GPU"),
        "memory": _("GPU memory"),
        "processes": _("processes that came or went on the GPU"),
        "power": _("power"),
    }.get(kind, kind)
    return f"{said} {device}".rstrip()


def lines(postings: Sequence[Posting], zone: str) -> list[dict[str, str]]:
    """Each charge as seconds x price, amounts rounded so that they foot."""
    payers = {SITE: _("the site"), WAIVED: _("the site: the device was at fault")}
    priced = iter(
        footed([one.amount_micro for one in postings if one.amount_micro is not None], CENTS)
    )
    return [
        {
            "start": formats.instant(one.start, zone),
            "end": _end(one, zone),
            "seconds": str(one.seconds),
            "price": _("not priced")
            if one.price_micro_per_hour is None
            else _("{price} / h").format(
                price=formats.money(one.price_micro_per_hour, one.currency)
            ),
            "payer": _payer(one, payers.get(one.team, one.team)),
            "amount": formats.money(
                None if one.amount_micro is None else next(priced), one.currency
            ),
        }
        for one in postings
    ]


def _end(one: Posting, zone: str) -> str:
    at = formats.instant(one.end, zone)
    return _("{instant}, last seen").format(instant=at) if one.bounded else at


def _payer(one: Posting, payer: str) -> str:
    what = formats.line_words(one.flavor)
    return f"{payer}: {what}" if what else payer


def _line_total(postings: Sequence[Posting], currency: str) -> str:
    priced = [one.amount_micro for one in postings if one.amount_micro is not None]
    if not priced:
        return _("not priced") if postings else _("nothing yet")
    return formats.money(sum(footed(priced, CENTS)), currency)
