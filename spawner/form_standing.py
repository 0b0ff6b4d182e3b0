"""How offers stand to the quota, in words; for each project where projects have shares of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hub_ext.i18n import _
from hub_ext.lease import Offer, ProjectName, Standing

_STARTS = frozenset({Standing.guaranteed, Standing.borrowed, Standing.unmetered})
MARKS = {
    Standing.guaranteed: "✓",
    Standing.borrowed: "⇄",
    Standing.unmetered: "✓",
    Standing.would_queue: "…",
    Standing.denied: "✕",
}


@dataclass(frozen=True)
class ShareRow:
    """How an offer stands for one project, where projects have shares.

    `number` is the project's place among those of the page; `usual` is where none is chosen.
    """

    number: int
    words: str
    standing: Standing
    mark: str
    badge: str
    outcome: str
    usual: bool


def standing_words(standing: Standing) -> str:
    """Say how an offer stands to the quota."""
    match standing:
        case Standing.guaranteed:
            return _("guaranteed")
        case Standing.borrowed:
            return _("borrowed")
        case Standing.would_queue:
            return _("would have to wait")
        case Standing.denied:
            return _("not possible")
        case Standing.unmetered:
            return _("no quota needed")


def outcome_words(standing: Standing, name: str) -> str:
    """Say what Start does with an offer; nothing of what cannot be chosen."""
    match standing:
        case Standing.guaranteed:
            words = _("{name} can start now: its team's guarantee covers it.")
        case Standing.borrowed:
            words = _("{name} can start now, on quota that others leave free.")
        case Standing.unmetered:
            words = _("{name} can start now: it needs no quota.")
        case Standing.would_queue:
            words = _(
                "{name} cannot start now. Start would only tell the reason, or let it wait as "
                "chosen above; neither is charged."
            )
        case Standing.denied:
            return ""
    return words.format(name=name)


def starts(offer: Offer) -> bool:
    """Whether it can start now, for one of its projects at least."""
    return bool(_STARTS & {offer.standing, *(one.standing for one in offer.shares)})


def impossible(offer: Offer) -> bool:
    """Whether it can never start, whichever project is chosen."""
    standings = {offer.standing, *(one.standing for one in offer.shares)}
    return standings == {Standing.denied}


def share_rows(offers: Sequence[Offer], offer: Offer, name: str) -> Iterable[ShareRow]:
    """Tell the standing of one of `offers` for each project; `name` is what it is called."""
    numbers = {project: number for number, project in enumerate(share_projects(offers), start=1)}
    for one in offer.shares:
        badge = standing_words(one.standing)
        yield ShareRow(
            number=numbers[one.project],
            words=_("For project {project}: {standing}. {why}").format(
                project=one.project, standing=badge, why=one.reason.message
            ),
            standing=one.standing,
            mark=MARKS[one.standing],
            badge=badge,
            outcome=outcome_words(one.standing, name),
            usual=one.project == offer.project,
        )


def share_projects(offers: Iterable[Offer]) -> tuple[ProjectName, ...]:
    """Projects for which an offer stands otherwise than for others, each once."""
    return tuple(dict.fromkeys(one.project for offer in offers for one in offer.shares))
