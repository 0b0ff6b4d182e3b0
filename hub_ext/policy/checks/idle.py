"""Idle rules: for each server at most one, with limits that do not contradict each other."""

from collections.abc import Iterator
from itertools import combinations

from ...i18n import _
from ...units import duration_text
from ..model import IdleRule, Policy, flavor_kind
from ..model.idle import LOOKS_A_LIMIT, OFF, window_of
from ..problems import Path, Problem, error, nearest, quoted, warning


def check_idle(policy: Policy) -> Iterator[Problem]:
    """Find servers with two rules, names that are none, limits that cannot act, and no rule."""
    named = {task.idle for task in policy.task_types.values()}
    for name, rule in policy.idle.items():
        if not rule.applies and name not in named:
            yield warning(
                ("idle", name, "applies"),
                _("the rule is for no kind of flavor, and no task type names it"),
                _("add kinds, or name it as `idle` of a task type"),
            )
        yield from _twice(name, rule)
        yield from _names(policy, name, rule)
        yield from _limits(name, rule)
    for (first, one), (second, other) in combinations(policy.idle.items(), 2):
        yield from _both(first, one, second, other)
    yield from _unruled(policy)
    yield from _stops(policy)


def _twice(name: str, rule: IdleRule) -> Iterator[Problem]:
    for index, kind in enumerate(rule.applies):
        if kind in rule.applies[:index]:
            yield warning(
                ("idle", name, "applies", index),
                _("{kind} is here twice").format(kind=quoted(kind)),
                _("take one away"),
            )


def _names(policy: Policy, name: str, rule: IdleRule) -> Iterator[Problem]:
    for field, known, what in (
        ("profiles", list(policy.profiles), _("there is no profile {name}")),
        ("teams", list(policy.teams), _("there is no team {name}")),
    ):
        for index, one in enumerate(getattr(rule, field)):
            if one not in known:
                path: Path = ("idle", name, field, index)
                yield error(path, what.format(name=quoted(one)), nearest(one, known))


def _limits(name: str, rule: IdleRule) -> Iterator[Problem]:
    if window_of(rule) >= rule.limit:
        yield warning(
            ("idle", name, "window"),
            _("the window is as long as the limit, so one use counts for all of it"),
            _("write a shorter window, at most a quarter of the limit"),
        )
    if rule.never_used is not None and rule.never_used != OFF and rule.never_used >= rule.limit:
        yield warning(
            ("idle", name, "never_used"),
            _("it is no shorter than the limit, so it changes nothing"),
            _("write less than the limit, or `0s` to switch it off"),
        )
    if rule.no_progress is not None and OFF < rule.no_progress <= rule.limit:
        yield warning(
            ("idle", name, "no_progress"),
            _("it is no longer than the limit, so a busy kernel changes nothing"),
            _("write more than the limit, or `0s` to switch it off"),
        )
    yield from _keeps(name, rule)
    if rule.advise is not None and rule.advise >= rule.limit:
        yield warning(
            ("idle", name, "advise"),
            _("it is no shorter than the limit, so nobody is advised by it"),
            _("write less than the limit, half of it for example, or take it away"),
        )
    blind = rule.gpu_unused_stop and rule.gpu_unused == OFF
    if blind:
        yield error(
            ("idle", name, "gpu_unused_stop"),
            _("a GPU beside work is to be taken, and `gpu_unused` is off"),
            _("say after how long, or take `gpu_unused_stop` away"),
        )


def _keeps(name: str, rule: IdleRule) -> Iterator[Problem]:
    for field, most in (("server", rule.keep.server), ("week", rule.keep.week)):
        if most is not None and most < rule.keep.each:
            yield error(
                ("idle", name, "keep", field),
                _('one "keep" lasts longer than all of them may'),
                _("write at least {each}, or let each last less").format(
                    each=duration_text(rule.keep.each)
                ),
            )


def _both(first: str, one: IdleRule, second: str, other: IdleRule) -> Iterator[Problem]:
    """Two rules of the same rank must not be for the same server."""
    ranks = {(bool(rule.profiles), bool(rule.teams)) for rule in (one, other)}
    apart = (
        (one.profiles and not set(one.profiles) & set(other.profiles))
        or (one.teams and not set(one.teams) & set(other.teams))
        or len(ranks) > 1
    )
    for index, kind in enumerate(other.applies):
        if kind in one.applies and not apart:
            yield error(
                ("idle", second, "applies", index),
                _("the rule {first} is already for {kind}").format(
                    first=quoted(first), kind=quoted(kind)
                ),
                _("let each kind of flavor have one rule, or name other profiles or teams"),
            )


def _unruled(policy: Policy) -> Iterator[Problem]:
    if policy.modes.idle != "enforce":
        return
    ruled = {kind for rule in policy.idle.values() for kind in rule.applies}
    held = {flavor_kind(one.flavor) for one in policy.profiles.values()}
    for kind in sorted(held - ruled):
        yield warning(
            ("idle",) if policy.idle else ("modes", "idle"),
            _("no rule is for {kind}, so such servers are never idle").format(kind=quoted(kind)),
            _("add it to a rule's `applies`"),
        )


def _stops(policy: Policy) -> Iterator[Problem]:
    """Bounds that bind nothing: a fault would then stop everybody at once."""
    stops = policy.idle_stops
    if stops.together_percent == _ALL:
        yield warning(
            ("idle_stops", "together_percent"),
            _("no more than all servers can turn idle together, so that never holds idle stops"),
            _("write less than 100"),
        )
    if stops.percent_a_pass == _ALL and stops.most_a_pass > _MANY:
        yield warning(
            ("idle_stops", "percent_a_pass"),
            _("one pass may stop every server, up to {n}").format(n=stops.most_a_pass),
            _("write less than 100, or at most {n} for `most_a_pass`").format(n=_MANY),
        )
    # By the shortest: who is idle only after days is looked at more seldom, and misses less.
    limits = (rule.limit for rule in policy.idle.values() if set(rule.applies) - {"none"})
    between = min(limits, default=OFF) / LOOKS_A_LIMIT
    if stops.together_within < between:
        yield warning(
            ("idle_stops", "together_within"),
            _(
                "quiet servers are judged each {span}, so those that turn idle together are missed"
            ).format(span=duration_text(between)),
            _("write at least {span}").format(span=duration_text(between)),
        )


_ALL = 100
_MANY = 50
"""Stops in one pass that are too many to be looked at by a person."""
