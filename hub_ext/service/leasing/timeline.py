"""The events of one lease in words, newest first: what happened, when, and by whom."""

from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from ...i18n import _
from ...lease import Event, Notice, OpenLease, Posting, Reason, Verdict
from ...lease.value import SAID, Said
from ..basis.words import cause_words
from ..books import formats

_OF_SERVERS = {
    "budget.unenforced": _("If budgets were enforced: {words}"),
    "verdict.unenforced": _("If idleness were enforced, a stop would be announced now."),
    "idle.would_stop": _("Idle rule {rule} is on trial and stops nobody; it would stop it now."),
    "idle.would_end": _("Used again, or over, since idle rule {rule} would have stopped it."),
    "idle.would_keep": _("Idle rule {rule}, which is on trial, would not stop it now."),
    "call.unenforced": _("If quota were enforced, it would be called in now: {words}"),
    "server.adopted": _("Found running without a lease, and adopted."),
    "server.signalled": _("{signal} is sent to what is left of the server."),
}


def timeline(events: Sequence[tuple[int, Event]], zone: str, currency: str) -> list[dict[str, str]]:
    """Describe each event; one that a newer release wrote is shown by its kind alone."""
    return [
        {
            "seq": str(seq),
            "at": formats.instant(event.at, zone),
            "by": _by(event),
            "what": what_happened(event, zone, currency),
            "decision": decision_in(event),
        }
        for seq, event in events
    ]


def _by(event: Event) -> str:
    if event.actor.kind == "governor":
        return _("governor")
    return event.actor.name


def what_happened(event: Event, zone: str, currency: str) -> str:
    """Say one event in a sentence."""
    try:
        if event.kind == SAID:
            return _said(Said.model_validate(event.body["said"]))
        return _sentence(event, zone, currency)
    except (ValidationError, TypeError):
        return event.kind


def decision_in(event: Event) -> str:
    """Name the judgement of idleness that an event is of or rests on; empty where it is of none."""
    of: object = event.body
    for part in ("verdict", "notice", "lease"):
        of = event.body.get(part) or of
    if event.kind == "lease.noticed" and isinstance(of, dict):
        of = of.get("notice")
    return str(of.get("decision") or "") if isinstance(of, dict) else ""


def _sentence(event: Event, zone: str, currency: str) -> str:
    match event.kind:
        case "notice.given":
            return _announced(Notice.model_validate(event.body["notice"]), zone)
        case "notice.withdrawn":
            return _withdrawn(event.body)
        case "verdict.changed" | "verdict.acted_on":
            last = _("Looked at once more before the stop: {words}")
            head = _("Judged: {words}") if event.kind == "verdict.changed" else last
            return head.format(words=Verdict.model_validate(event.body["verdict"]).words)
        case "charge.posted":
            return _charged(event.body, currency)
        case _ if event.kind.startswith("lease."):
            return _state(event.kind, OpenLease.model_validate(event.body["lease"]), zone)
        case _:
            words = _OF_SERVERS.get(event.kind)
            return words.format(**event.body) if words is not None else event.kind


def _said(told: Said) -> str:
    """Tell that something was said; the text itself is for the team."""
    if told.outcome is not None:
        words = _("Its owner says what came of it: {outcome}.")
        return words.format(outcome=formats.outcome_words(told.outcome))
    return _("Its owner says what it is for.")


def _announced(notice: Notice, zone: str) -> str:
    why = notice.reason.message
    if notice.is_advice:
        return _("Advised: {why}").format(why=why)
    at = formats.instant(notice.stops_at, zone)
    return _("Stop announced for {at}: {why}").format(at=at, why=why)


def _withdrawn(body: Mapping[str, object]) -> str:
    if body.get("reason") is None:
        return _("Announced stop withdrawn.")
    why = Reason.model_validate(body["reason"]).message
    return _("Announced stop withdrawn: {why}").format(why=why)


def _charged(body: Mapping[str, object], currency: str) -> str:
    lines = body["postings"]
    if not isinstance(lines, list):
        raise TypeError("postings are a list")
    postings = [Posting.model_validate(line) for line in lines]
    priced = [one.amount_micro for one in postings if one.amount_micro is not None]
    return _("Charged: {amount}.").format(
        amount=formats.money(sum(priced) if priced else None, currency)
    )


def _state(kind: str, lease: OpenLease, zone: str) -> str:
    match kind:
        case "lease.starting":
            return _("Granted, {standing}: {device}.").format(
                standing=formats.standing_words(lease.standing),
                device=formats.device_words(lease.devices),
            )
        case "lease.running":
            return _("Running.")
        case "lease.noticed":
            return _("A stop is announced.")
        case "lease.stopping" | "lease.closed":
            head = _("Stopping") if kind == "lease.stopping" else _("Ended")
            why = lease.reason.message if lease.reason else cause_words(lease.cause)
            return f"{head}: {why}"
        case "lease.updated":
            changed = _("Changed: {standing}, ends {end}.").format(
                standing=formats.standing_words(lease.standing),
                end=formats.instant(lease.ends_at, zone) if lease.ends_at else _("never"),
            )
            return f"{changed} {_waived(lease, zone)}".rstrip()
        case _:
            return _("{state}.").format(state=formats.state_words(lease.state).capitalize())


def _waived(lease: OpenLease, zone: str) -> str:
    """Say what its team does not pay."""
    if not lease.waived:
        return ""
    newest = lease.waived[-1]
    start = formats.instant(newest.start, zone)
    if newest.end is None:
        return _("Nothing is charged from {start} on.").format(start=start)
    return _("Nothing is charged from {start} to {end}.").format(
        start=start, end=formats.instant(newest.end, zone)
    )
