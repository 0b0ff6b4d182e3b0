"""Idle rules: one for each kind of flavor that people can hold."""

from collections.abc import Iterator

from ..i18n import _
from .model import Policy, flavor_kind
from .problems import Problem, error, quoted, warning


def check_idle(policy: Policy) -> Iterator[Problem]:
    """Find kinds with two rules, and kinds with none where idleness acts."""
    ruled: dict[str, str] = {}
    named = {task.idle for task in policy.task_types.values()}
    for name, rule in policy.idle.items():
        if not rule.applies and name not in named:
            yield warning(
                ("idle", name, "applies"),
                _("the rule is for no kind of flavor, and no task type names it"),
                _("add kinds, or name it as `idle` of a task type"),
            )
        for index, kind in enumerate(rule.applies):
            first = ruled.setdefault(kind, name)
            if first != name:
                yield error(
                    ("idle", name, "applies", index),
                    _("the rule {first} is already for {kind}").format(
                        first=quoted(first), kind=quoted(kind)
                    ),
                    _("let each kind of flavor have one rule"),
                )
            elif kind in rule.applies[:index]:
                yield warning(
                    ("idle", name, "applies", index),
                    _("{kind} is here twice").format(kind=quoted(kind)),
                    _("take one away"),
                )
    if policy.modes.idle != "enforce":
        return
    held = {flavor_kind(one.flavor) for one in policy.profiles.values()}
    for kind in sorted(held - set(ruled)):
        yield warning(
            ("idle",) if policy.idle else ("modes", "idle"),
            _("no rule is for {kind}, so such servers are never idle").format(kind=quoted(kind)),
            _("add it to a rule's `applies`"),
        )
