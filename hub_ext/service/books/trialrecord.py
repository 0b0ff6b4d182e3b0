"""Trials of idle rules on record: each step is an event with the rule's whole text.

The state is made of the events alone, so that a restart changes nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from pydantic import ValidationError

from ...errors import PolicyError
from ...i18n import _
from ...idle.trying import Change, Form, Switched, Trial, changes, form_written, forms, written
from ...lease import GOVERNOR, Actor, Event
from ...ledger.store import Ledger, Tx
from ...policy.load import loads
from ...policy.model import Policy
from ...units import duration_text

BEGUN = "idle.trial"
ACTS = "idle.acts"
DROPPED = "idle.trial_dropped"
ENDED = "idle.rule_ended"
WATCHED = "idle.trial_watched"
SWITCHED_ON = "admin.idle_switch_on"

KINDS = (BEGUN, ACTS, DROPPED, ENDED, WATCHED, SWITCHED_ON)

_STEPS = {"trial": BEGUN, "acts": ACTS, "dropped": DROPPED, "ended": ENDED}


def read(ledger: Ledger) -> Switched:
    """Make the present state of all events; they are few, and found by their kind."""
    with ledger.transaction() as tx:
        return of_ledger(tx)


def of_ledger(tx: Tx) -> Switched:
    """Make it in a transaction, be it one that only reads."""
    switched = Switched()
    for event in tx.every(KINDS):
        switched = applied(switched, event)
    return switched


def applied(switched: Switched, event: Event) -> Switched:
    """Take one event into account."""
    acting, trials = dict(switched.acting), dict(switched.trials)
    before = dict(switched.before)
    name, form = str(event.body.get("rule", "")), _form(event.body)
    former = acting.get(name)
    match event.kind:
        case "idle.trial" if form is not None:
            trials[name] = Trial(form, event.at)
        case "idle.acts" | "admin.idle_switch_on" | "idle.rule_ended":
            fresh = None if event.kind == ENDED else form
            if former is not None and former != fresh:
                before[name] = former
            acting.pop(name, None)
            trials.pop(name, None)
            if fresh is not None:
                acting[name] = fresh
        case "idle.trial_dropped":
            trials.pop(name, None)
        case "idle.trial_watched":
            trials = _seen(trials, _watched(event.body))
        case _:
            # A trial that names no rule: nothing to try.
            pass
    return Switched(acting, trials, before, known=True)


def _seen(trials: Mapping[str, Trial], watched_s: Mapping[str, int]) -> dict[str, Trial]:
    return {
        name: replace(one, watched=timedelta(seconds=watched_s[name])) if name in watched_s else one
        for name, one in trials.items()
    }


def steps(
    tx: Tx, switched: Switched, policy: Policy, *, actor: Actor, now: datetime
) -> tuple[Event, ...]:
    """Tell what a policy changes, in the order in which it is to be recorded.

    Rules that were in force before anything was recorded go on: they were agreed already.
    """
    found: list[Event] = []
    if not switched.known:
        found += _from_before(tx, now)
    for one in found:
        switched = applied(switched, one)
    found += [event(change, policy, actor=actor, now=now) for change in changes(switched, policy)]
    return tuple(found)


def event(change: Change, policy: Policy, *, actor: Actor, now: datetime) -> Event:
    """Put one change on record."""
    body = {**of_form(change.rule, change.form), "why": change.why}
    body["words"] = _words(change, policy)
    if change.step == "trial":
        body["trial_s"] = int(policy.idle[change.rule].trial.total_seconds())
    return Event(kind=_STEPS[change.step], at=now, actor=actor, body=body)


def of_form(name: str, form: Form) -> dict[str, object]:
    """Write a rule into an event's body."""
    return {"v": 1, "rule": name, "text": written(form), "task_types": list(form.task_types)}


def watched(trials: Iterable[tuple[str, timedelta]], now: datetime) -> Event:
    """Put on record for how long rules on trial have been watched so far."""
    seconds = {name: int(span.total_seconds()) for name, span in trials}
    return Event(kind=WATCHED, at=now, actor=GOVERNOR, body={"v": 1, "watched_s": seconds})


def _from_before(tx: Tx, now: datetime) -> list[Event]:
    newest = tx.generation()
    try:
        before = None if newest is None else loads(newest[1]).policy
    except PolicyError:
        # This version's checks refuse what an older one accepted: then nothing is known to act.
        before = None
    if before is None:
        return []
    return [
        event(Change("acts", name, form, "before-trials"), before, actor=GOVERNOR, now=now)
        for name, form in forms(before).items()
    ]


def _words(change: Change, policy: Policy) -> str:
    match change.step, change.why:
        case "trial", _why:
            words = _(
                "idle rule {rule} is on trial for {span}: until an administrator switches it on, "
                "the former rule of this name stays in force, and where there is none nobody is "
                "stopped by it"
            )
            return words.format(
                rule=change.rule, span=duration_text(policy.idle[change.rule].trial)
            )
        case "acts", "before-trials":
            words = _("idle rule {rule} was in force before and acts as it stands")
        case "acts", "renamed":
            words = _("idle rule {rule} says what one of another name said, and acts at once")
        case "acts", "went-back":
            words = _("idle rule {rule} acts again as it did before, at once")
        case "acts", _why:
            words = _("idle rule {rule} acts at once: its trial is 0s")
        case "dropped", "removed":
            words = _("the trial of idle rule {rule} is over: the policy has it no more")
        case "dropped", "taken-back" | "went-back":
            words = _("the trial of idle rule {rule} is over: it says what acts already")
        case "dropped", _why:
            words = _("the trial of idle rule {rule} is over: the rule was changed again")
        case _:
            words = _("idle rule {rule} acts no more: the policy has it no more")
    return words.format(rule=change.rule)


def _form(body: dict[str, object]) -> Form | None:
    text, named = body.get("text"), body.get("task_types")
    if not isinstance(text, dict) or not isinstance(named, list):
        return None
    try:
        return form_written(text, tuple(str(one) for one in named))
    except ValidationError:
        # A rule of another version: it is tried anew rather than guessed at.
        return None


def _watched(body: dict[str, object]) -> dict[str, int]:
    found = body.get("watched_s")
    return {str(name): int(s) for name, s in found.items()} if isinstance(found, dict) else {}
