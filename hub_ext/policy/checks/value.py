"""Value classes: named by projects as they are given, and by all of them."""

from collections.abc import Iterator

from ...i18n import _
from ..model import Policy
from ..problems import Problem, error, nearest, quoted, warning


def check_value(policy: Policy) -> Iterator[Problem]:
    """Find classes that are not there, and projects that reports could not place."""
    classes = policy.value.classes
    for name, project in policy.projects.items():
        known = project.value_class
        if known is not None and known not in classes:
            yield error(
                ("projects", name, "value_class"),
                _("there is no value class {name}").format(name=quoted(known)),
                nearest(known, list(classes))
                if classes
                else _("list the classes in `value: {classes: …}`, or take it away"),
            )
        if classes and known is None:
            yield warning(
                ("projects", name),
                _("its spend stands under no value class"),
                _("add `value_class`: one of {names}").format(names=", ".join(classes)),
            )
        if classes and project.owner is None:
            yield warning(
                ("projects", name),
                _("nobody owns it, so its team's leads answer for its spend"),
                _("add `owner` with somebody's user name"),
            )
    if policy.value.purpose_above is not None and not policy.prices:
        yield warning(
            ("value", "purpose_above"),
            _("nothing is priced, so every GPU lease needs a purpose"),
            _("give prices, or take it away"),
        )
