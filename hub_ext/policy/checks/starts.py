"""Slowed starts: a first pause above the longest."""

from collections.abc import Iterator

from ...i18n import _
from ..model import Policy
from ..problems import Problem, error


def check_starts(policy: Policy) -> Iterator[Problem]:
    """Refuse a first pause that is longer than the longest."""
    if policy.starts.pause > policy.starts.longest_pause:
        yield error(
            ("starts", "pause"),
            _("the first pause is longer than `longest_pause`"),
            _("make it at most as long"),
        )
