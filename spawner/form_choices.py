"""What can be chosen besides the profile: lifetime, task type, borrowing, waiting; in words.

Each choice is one select, which needs no JavaScript; what does not go with every offer says so.
"""

from collections.abc import Sequence
from datetime import timedelta

from hub_ext.i18n import _, ngettext
from hub_ext.lease import Offer, TaskChoice, When
from hub_ext.units import duration_text

from .options import BORROWS, NO_WAIT, SHARED, Options

_STEPS_S = tuple(
    int(timedelta(**step).total_seconds())
    for step in (
        {"minutes": 30},
        *({"hours": hours} for hours in (1, 2, 4, 8, 12)),
        *({"days": days} for days in (1, 2, 4, 7, 14, 30)),
    )
)
"""Lifetimes that are offered where a profile allows them, besides its own."""

_MOST_NAMED = 3


def wait_words() -> tuple[tuple[str, str], ...]:
    """What may happen to a request that cannot start at once: value and words."""
    return (
        (NO_WAIT, _("do not wait")),
        (When.start, _("start it for me")),
        (When.hold, _("hold it and tell me")),
    )


def borrow_words() -> tuple[tuple[str, str], ...]:
    """What happens beyond the guarantee: value and words, what is usual first."""
    yes, no = BORROWS
    return (
        (yes, _("start on GPUs that others leave free")),
        (no, _("wait until the guarantee covers it")),
    )


def alone_words(offers: Sequence[Offer]) -> list[tuple[str, str]]:
    """What may be had without sharing it: value and words; none where nothing may be."""
    names = {"gpu": _("the whole GPU"), "node": _("the whole machine")}
    found = [(SHARED, _("others may use what this leaves of it"))]
    for what, words in names.items():
        having = [one for one in offers if what in one.alone]
        if len(having) == len(offers):
            found.append((what, words))
        elif having:
            only = _("{title} (only {profiles})")
            found.append((what, only.format(title=words, profiles=few(having, offers))))
    return found if len(found) > 1 else []


def task_types(offers: Sequence[Offer]) -> list[tuple[str, str]]:
    """Task types to choose from, value and words; none where nobody has a choice.

    A type that does not go with each offer says with which it does.
    """
    known = {one.name: one for offer in offers for one in offer.task_types}
    if all(offer.task_type == name for offer in offers for name in known):
        return []
    return [(name, _task_words(one, offers)) for name, one in known.items()]


def unnamed_task(offers: Sequence[Offer]) -> str:
    """Say what it is where no task type is named."""
    if any(offer.task_type is not None for offer in offers):
        return _("as the profile says")
    return _("not labelled")


def _task_words(task: TaskChoice, offers: Sequence[Offer]) -> str:
    having = [one for one in offers if task in one.task_types]
    if len(having) == len(offers):
        return task.title
    return _("{title} (only {profiles})").format(title=task.title, profiles=few(having, offers))


def span_words(seconds: int) -> str:
    """Write a lifetime for people: "4 hours", "1 day 12 hours", "90 seconds"."""
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    parts = [
        ngettext("{n} day", "{n} days", days).format(n=days) if days else "",
        ngettext("{n} hour", "{n} hours", hours).format(n=hours) if hours else "",
        ngettext("{n} minute", "{n} minutes", minutes).format(n=minutes) if minutes else "",
        ngettext("{n} second", "{n} seconds", rest).format(n=rest) if rest else "",
    ]
    return " ".join(part for part in parts if part)


def longest_s(offer: Offer) -> int:
    """Longest life of an offer, with the task type that allows the most."""
    return max(offer.lifetime_longest_s, *(one.lifetime_longest_s for one in offer.task_types), 0)


def lifetimes_of(offers: Sequence[Offer]) -> list[tuple[str, str, int]]:
    """Lifetimes to choose from: value, words and seconds; says for whom a longer one is not."""
    if not offers:
        return []
    most = max(longest_s(offer) for offer in offers)
    own = {s for offer in offers for s in (offer.lifetime_default_s, offer.lifetime_longest_s)}
    steps = sorted({step for step in _STEPS_S if step <= most} | own)
    return [
        (duration_text(timedelta(seconds=seconds)), _life_words(seconds, offers), seconds)
        for seconds in steps
    ]


def _life_words(seconds: int, offers: Sequence[Offer]) -> str:
    long = [one for one in offers if longest_s(one) >= seconds]
    short = [one for one in offers if longest_s(one) < seconds]
    words = span_words(seconds)
    if not any(one.lifetime_longest_s >= seconds for one in offers):
        kinds = {
            task.title: None
            for one in long
            for task in one.task_types
            if task.lifetime_longest_s >= seconds
        }
        words = _("{lifetime} as {kinds}").format(lifetime=words, kinds=_(" or ").join(kinds))
    if len(long) < len(short):
        return _("{lifetime} (only {profiles})").format(lifetime=words, profiles=few(long, offers))
    if short:
        return _("{lifetime} (not for {profiles})").format(
            lifetime=words, profiles=few(short, offers)
        )
    return words


def shown_lifetime(chosen: Options, lifetimes: list[tuple[str, str, int]]) -> str:
    """Lifetime that is selected at first: the last one, where it is still offered."""
    return next((value for value, _words, seconds in lifetimes if seconds == chosen.lifetime_s), "")


def few(some: list[Offer], offers: Sequence[Offer]) -> str:
    """Name some offers, with their team where another team is offered the same."""
    teams: dict[str, set[str]] = {}
    for one in offers:
        teams.setdefault(one.title, set()).add(one.team)
    names = [
        _("{title} of {team}").format(title=one.title, team=one.team)
        if len(teams[one.title]) > 1
        else one.title
        for one in some
    ]
    if len(names) <= _MOST_NAMED:
        return ", ".join(names)
    rest = len(names) - _MOST_NAMED
    return ngettext("{names} and {n} other", "{names} and {n} others", rest).format(
        names=", ".join(names[:_MOST_NAMED]), n=rest
    )
