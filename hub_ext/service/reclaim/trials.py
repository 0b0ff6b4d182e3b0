"""Idle rules on trial, for administrators: whom they would have stopped, and the word that counts.

Nothing switches itself on.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from ...errors import RefusedError
from ...i18n import _
from ...idle.trying import Form, Trial, left, written
from ...lease import Actor, Event, TeamName, UserName
from ...lease.trying import IdleTrial, TrialPerson, TrialSheet, WouldStop
from ...policy.model import IdleRule
from ...units import duration_text
from ..books import trialrecord
from ..books.desk import Desk
from .wouldstops import so_far

MOST_PEOPLE = 100
MOST_STOPS = 100
"""People and stops that are listed; the sums are over all."""

_SAID = ("applies", "limit", "notice")
_PLAIN = IdleRule.model_validate({"applies": (), "limit": "1s", "notice": "0s"})
_UNSAID: dict[str, object] = {
    **{name: value for name, value in written(Form(_PLAIN)).items() if name not in _SAID},
    "task_types": [],
}
"""What a rule says that says nothing but what every rule must."""


def sheet(desk: Desk, *, now: datetime) -> TrialSheet:
    """Report on every rule on trial."""
    policy = desk.book.known
    return TrialSheet(
        at=now,
        timezone=policy.timezone if policy else "UTC",
        currency=policy.currency if policy else "",
        mode=policy.modes.idle if policy else "observe",
        trials=tuple(
            _report(desk, name, trial, now) for name, trial in desk.book.switched.trials.items()
        ),
        estimate=_estimate(),
    )


def by_state(desk: Desk) -> tuple[int, int]:
    """Count rules that are still tried, and those whose time is over and which wait for a word."""
    book = desk.book
    over = sum(not left(one, book.trial_of(rule)) for rule, one in book.switched.trials.items())
    return len(book.switched.trials) - over, over


def switch_on(
    desk: Desk, rule: str, *, before_its_time: bool, reason: str, actor: Actor, now: datetime
) -> TrialSheet:
    """Let a rule act that is on trial, from the next pass on.

    Raises
    ------
    RefusedError
        When no rule of that name is on trial, or its trial is not over and that was not overruled.
    """
    trial = desk.book.switched.trials.get(rule)
    if trial is None:
        raise _no_trial(desk, rule)
    rest = left(trial, desk.book.trial_of(rule))
    if rest and not before_its_time:
        raise RefusedError(
            "trial-runs",
            _(
                "Idle rule {rule} is still on trial for {left}: what it would have done is not "
                "known well enough yet. Wait, or look at the report and switch it on before its "
                "time, with the reason."
            ).format(rule=repr(rule), left=duration_text(rest)),
            figures={"left_s": int(rest.total_seconds())},
        )
    found = _report(desk, rule, trial, now)
    body = {
        **trialrecord.of_form(rule, trial.form),
        "reason": reason,
        "before_its_time": bool(rest),
        "watched_s": found.watched_s,
        "stops": found.stops,
        "worked_again": found.worked_again,
        "unit_s": found.unit_s,
        "amount_micro": found.amount_micro,
    }
    event = Event(kind=trialrecord.SWITCHED_ON, at=now, actor=actor, body=body)
    with desk.turn(now, actor) as turn:
        turn.tx.append(event)
    # Only what is on the record acts.
    desk.book.take((event,))
    return sheet(desk, now=now)


def _report(desk: Desk, name: str, trial: Trial, now: datetime) -> IdleTrial:
    stops = tuple(so_far(desk, name, now=now))
    span, former = desk.book.trial_of(name), desk.book.switched.acting.get(name)
    rest = left(trial, span)
    return IdleTrial(
        rule=name,
        begun_at=trial.begun_at,
        trial_s=int(span.total_seconds()),
        watched_s=int(trial.watched.total_seconds()),
        left_s=int(rest.total_seconds()),
        over=not rest,
        changes=_changes(former, trial.form),
        replaces=former is not None,
        servers=len({one.lease_id for one in stops}),
        stops=len(stops),
        worked_again=_again(stops),
        unit_s=sum(one.unit_s for one in stops),
        unpriced_unit_s=sum(one.unpriced_unit_s for one in stops),
        amount_micro=_amount(stops),
        kept=len(desk.book.trials.kept.get(name, ())),
        people=_people(stops)[:MOST_PEOPLE],
        newest=stops[::-1][:MOST_STOPS],
    )


def _people(stops: Sequence[WouldStop]) -> tuple[TrialPerson, ...]:
    whose: dict[tuple[UserName, TeamName], list[WouldStop]] = {}
    for one in stops:
        whose.setdefault((one.user, one.team), []).append(one)
    rows = [
        TrialPerson(
            user=user,
            team=team,
            servers=len({one.lease_id for one in own}),
            stops=len(own),
            worked_again=_again(own),
            unit_s=sum(one.unit_s for one in own),
            unpriced_unit_s=sum(one.unpriced_unit_s for one in own),
            amount_micro=_amount(own),
        )
        for (user, team), own in whose.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.unit_s, row.user, row.team)))


def _again(stops: Iterable[WouldStop]) -> int:
    return sum(one.worked_again_at is not None for one in stops)


def _amount(stops: Iterable[WouldStop]) -> int | None:
    priced = [one.amount_micro for one in stops if one.amount_micro is not None]
    return sum(priced) if priced else None


def _changes(former: Form | None, form: Form) -> tuple[str, ...]:
    """Tell by field what it says otherwise than the former one, or than a rule need say."""
    before = _UNSAID if former is None else _lines(former)
    after = _lines(form)
    return tuple(
        f"{name}: {_text(before.get(name))} -> {_text(after.get(name))}"
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
    )


def _lines(form: Form) -> dict[str, object]:
    return {**written(form), "task_types": list(form.task_types)}


def _text(value: object) -> str:
    if value is None:
        return _("absent")
    return f"[{', '.join(str(one) for one in value)}]" if isinstance(value, list) else str(value)


def _no_trial(desk: Desk, rule: str) -> RefusedError:
    known = ", ".join(desk.book.switched.trials) or _("none")
    return RefusedError(
        "no-such-trial",
        _("No idle rule {rule} is on trial. On trial: {known}.").format(
            rule=repr(rule[:80]), known=known
        ),
        status=404,
    )


def _estimate() -> str:
    return _(
        "An estimate: each stop is counted when its notice would have run out. It gives back the "
        "GPU time from then until the server was used again, ended, or now, at the prices of that "
        "time. A notice would have brought some people back sooner, and some would have started "
        "again at once: neither is known."
    )
