"""Ways out for notices: teams that are none, and kinds and ways that are there twice."""

from collections.abc import Iterator

from ...i18n import _
from ..model import Policy
from ..problems import Problem, error, nearest, quoted, warning


def check_notices(policy: Policy) -> Iterator[Problem]:
    """Find names that are none, and what would be told twice."""
    seen: dict[tuple[object, ...], str] = {}
    for name, route in policy.notices.items():
        for index, team in enumerate(route.teams):
            if team not in policy.teams:
                yield error(
                    ("notices", name, "teams", index),
                    _("there is no team {name}").format(name=quoted(team)),
                    nearest(team, list(policy.teams)),
                )
        for index, kind in enumerate(route.kinds):
            if kind in route.kinds[:index]:
                yield warning(
                    ("notices", name, "kinds", index),
                    _("{kind} is here twice").format(kind=quoted(kind)),
                    _("take one away"),
                )
        same = (set(route.kinds) and frozenset(route.kinds), frozenset(route.teams), route.webhook)
        if route.webhook is not None and same in seen:
            yield warning(
                ("notices", name, "webhook"),
                _("{other} posts the same there already").format(other=quoted(seen[same])),
                _("take one away, or let each have kinds of its own"),
            )
        seen.setdefault(same, name)
