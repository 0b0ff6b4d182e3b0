"""What a lease was for and what came of it, in words, with the form for its owner."""

from typing import get_args

from ...i18n import _
from ...lease.value import MOST_PURPOSE, LeaseValue, Outcome
from ..books import formats

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


def sheet(value: LeaseValue, *, mine: bool, ran: bool) -> dict[str, object]:
    """Put it into words; free text is in it only for whoever is of the team.

    Parameters
    ----------
    mine
        The reader may say something of it.
    ran
        The server has run, so that something can have come of it.
    """
    return {
        "said": list(_said(value)),
        "may_say": mine,
        "purpose": value.purpose or "",
        "most_purpose": MOST_PURPOSE,
        "link": value.link or "",
        "outcome": value.outcome or "",
        "outcomes": [(one, formats.outcome_words(one)) for one in OUTCOMES] if ran else [],
    }


def _said(value: LeaseValue) -> list[tuple[str, str]]:
    hidden = _("said; its text stays in the team")
    rows: list[tuple[str, str]] = []
    if value.has_purpose:
        rows.append((_("Purpose"), hidden if value.purpose is None else value.purpose))
    if value.outcome is not None:
        rows.append((_("What came of it"), formats.outcome_words(value.outcome)))
    if value.has_link:
        rows.append((_("Result"), hidden if value.link is None else value.link))
    if value.value_class is not None:
        rows.append((_("Value class"), value.value_class))
    return rows
