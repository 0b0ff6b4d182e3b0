"""Which idle rules act, and which are still tried: a new or changed rule stops nobody at first.

Until an administrator switches a rule on, the former one of its name stays in force. Pure: what
changes is told, and the caller keeps it on record.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from ..policy.model import IdleRule, Policy
from ..policy.model.idle import OFF
from ..policy.model.keep import KeepTimes
from ..units import duration_text

Why = Literal[
    "at-once", "before-trials", "renamed", "went-back", "changed", "taken-back", "removed", ""
]
"""Why a rule acts without a trial, or why its trial is given up."""

_BYTES = frozenset({"memory_active", "disk_active", "network_active"})


@dataclass(frozen=True)
class Form:
    """What a rule says and which task types name it, the same however it is written.

    How long it is tried is no part of it.
    """

    rule: IdleRule
    task_types: tuple[str, ...] = ()


@dataclass(frozen=True)
class Trial:
    """A rule that is tried; `watched` is for how long servers were really judged by it."""

    form: Form
    begun_at: datetime
    watched: timedelta = OFF


@dataclass(frozen=True)
class Switched:
    """What the record says: rules that act by name, and those on trial.

    `before` are rules that acted last before those, or before they were removed: they are no news.
    `known` is false before anything was recorded.
    """

    acting: Mapping[str, Form] = field(default_factory=dict)
    trials: Mapping[str, Trial] = field(default_factory=dict)
    before: Mapping[str, Form] = field(default_factory=dict)
    known: bool = False


class Change(NamedTuple):
    """One step: a rule is tried, acts, is tried no more, or acts no more."""

    step: Literal["trial", "acts", "dropped", "ended"]
    rule: str
    form: Form
    why: Why = ""


def forms(policy: Policy) -> dict[str, Form]:
    """Give each declared rule in the form in which rules are compared."""
    return {name: form_of(policy, name) for name in policy.idle}


def form_of(policy: Policy, name: str) -> Form:
    """Give one declared rule in the form in which rules are compared."""
    named = (task for task, one in policy.task_types.items() if one.idle == name)
    return _form(policy.idle[name], named)


def changes(switched: Switched, policy: Policy) -> tuple[Change, ...]:
    """Tell what a policy changes; nothing where it was taken into account before.

    A rule that is called otherwise and says the same goes on. One that the policy no longer has
    acts no more: nobody is stopped by a rule that cannot be read anywhere.
    """
    declared = forms(policy)
    gone = {name: form for name, form in switched.acting.items() if name not in declared}
    found: list[Change] = []
    for name, form in declared.items():
        acting = switched.acting.get(name)
        former = next((one for one, was in gone.items() if acting is None and was == form), None)
        if former is not None:
            found += [
                Change("ended", former, gone.pop(former), "renamed"),
                *_dropped(switched, name, "taken-back"),
                Change("acts", name, form, "renamed"),
            ]
        else:
            found += _of(switched, name, form, acting, policy.idle[name].trial)
    for name in switched.trials.keys() - declared.keys():
        found += _dropped(switched, name, "removed")
    return (*(Change("ended", name, form, "removed") for name, form in gone.items()), *found)


def _of(
    switched: Switched, name: str, form: Form, acting: Form | None, span: timedelta
) -> Iterator[Change]:
    trial = switched.trials.get(name)
    if acting == form:
        yield from _dropped(switched, name, "taken-back")
    elif span == OFF or switched.before.get(name) == form:
        # Whoever goes back to what acted before, as after a mistake, shall not wait for it.
        why: Why = "at-once" if span == OFF else "went-back"
        yield from _dropped(switched, name, why)
        yield Change("acts", name, form, why)
    elif trial is None or trial.form != form:
        yield from _dropped(switched, name, "changed")
        yield Change("trial", name, form)


def _dropped(switched: Switched, name: str, why: Why) -> Iterator[Change]:
    if name in switched.trials:
        yield Change("dropped", name, switched.trials[name].form, why)


def acting(policy: Policy, switched: Switched) -> Policy:
    """Give the policy with the rules that act in place of those that it declares.

    Where idleness is only observed nobody is told or stopped, so that what is declared is what is
    recorded. Of two rules for one server, one that acts as it is declared goes before a former.
    """
    declared = forms(policy)
    if policy.modes.idle == "observe" or switched.acting == declared:
        return policy
    current = {name: form for name, form in declared.items() if switched.acting.get(name) == form}
    former = {name: form for name, form in switched.acting.items() if name not in current}
    rules = {name: policy.idle[name] for name in current}
    named: dict[str, str] = {}
    for name, form in (*current.items(), *former.items()):
        rules.setdefault(name, form.rule)
        for task in form.task_types:
            named.setdefault(task, name)
    tasks = {
        name: task.model_copy(update={"idle": named.get(name)})
        for name, task in policy.task_types.items()
    }
    return policy.model_copy(update={"idle": rules, "task_types": tasks})


def left(trial: Trial, span: timedelta) -> timedelta:
    """How long it still has to be watched, of so long in all; zero is over."""
    return max(OFF, span - trial.watched)


def written(form: Form) -> dict[str, object]:
    """Write a rule as a policy would, whole, with every value that it has."""
    return {
        name: _value(name, value)
        for name, value in form.rule
        if value is not None and name != "trial"
    }


def form_written(text: Mapping[str, object], task_types: tuple[str, ...]) -> Form:
    """Read what `written` wrote; ValidationError where this version has no such rule."""
    return _form(IdleRule.model_validate(dict(text)), task_types)


def _value(name: str, value: object) -> object:
    match value:
        case timedelta():
            return duration_text(value)
        case tuple():
            return list(value)
        case KeepTimes():
            return {part: _value(part, span) for part, span in value if span is not None}
        case int() if name in _BYTES:
            return f"{value}B"
        case _:
            return value


def _form(rule: IdleRule, task_types: Iterator[str] | tuple[str, ...]) -> Form:
    ordered = {
        name: tuple(sorted(set(getattr(rule, name)))) for name in ("applies", "profiles", "teams")
    }
    return Form(rule.model_copy(update={**ordered, "trial": OFF}), tuple(sorted(task_types)))
