"""What a page of money is narrowed to, as its address says: time, project, person, profile, model.

A name is taken only where something has it; a wrong one is answered with those that are right.
"""

from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import urlencode

from ...errors import RefusedError
from ...i18n import _
from ...lease import LeaseId, Posting, Value
from ...reports.spend import UNKNOWN, LeaseFacts
from ..api.queries import HasQuery
from ..basis.windows import Window, window

DEFAULT_WINDOW = "month"

NONE = "-"
"""Stands for what has no project, as in addresses of servers without a name."""

MOST_NAMED = 12
"""Right names that a refusal lists."""

_DAY = timedelta(days=1)


class Filters(Value):
    """What is asked for; an empty text is all of it."""

    window: Window
    project: str = ""
    person: str = ""
    profile: str = ""
    model: str = ""

    @property
    def names(self) -> dict[str, str]:
        """The names that narrow it, by argument."""
        found = {name: getattr(self, name) for name in KINDS}
        return {name: value for name, value in found.items() if value}

    def keeps(self, line: Posting, facts: LeaseFacts) -> bool:
        """Whether a charge is asked for."""
        return (
            self.project in {"", line.project or NONE}
            and self.person in {"", line.user}
            and self.profile in {"", line.profile}
            and self.model in {"", facts.model or NONE}
        )

    def query(self, **changes: str) -> str:
        """Write the address's arguments, with some of them changed."""
        said = {"window": self.window.name, **self.names, **changes}
        return urlencode({name: value for name, value in said.items() if value})


KINDS = ("project", "person", "profile", "model")


class Offered(NamedTuple):
    """Names that each filter can have here, in the order in which they are offered."""

    project: tuple[str, ...]
    person: tuple[str, ...]
    profile: tuple[str, ...]
    model: tuple[str, ...]


def read(request: HasQuery, now: datetime, zone: str) -> Filters:
    """Read a request's filters; whether their names are right is for `check` to say.

    Raises
    ------
    RefusedError
        400 where the time cannot be read.
    """

    def text(name: str) -> str:
        return (request.get_query_argument(name, "") or "").strip()

    words = text("window") or DEFAULT_WINDOW
    if text("from") or text("to"):
        words = _between(text("from"), text("to"))
    names = {name: text(name) for name in KINDS}
    return Filters(window=window(words, now, zone), **names)


def offered(
    lines: Iterable[Posting], facts: Mapping[LeaseId, LeaseFacts], known: Offered
) -> Offered:
    """Add what was charged to what the policy knows: it may know a name no more."""
    found = {name: dict.fromkeys(getattr(known, name)) for name in KINDS}
    for line in lines:
        found["project"][line.project or NONE] = None
        found["person"][line.user] = None
        found["profile"][line.profile] = None
        found["model"][facts.get(line.lease_id, UNKNOWN).model or NONE] = None
    sorted_ = {
        name: tuple(sorted(names, key=lambda one: (one == NONE, one)))
        for name, names in found.items()
    }
    return Offered(**sorted_)


def check(asked: Filters, right: Offered, *, ever: Iterable[str] = ()) -> None:
    """Refuse a name that nothing here has.

    Parameters
    ----------
    ever
        People who are known here beside those of this time.

    Raises
    ------
    RefusedError
        400, with the names that are right.
    """
    kinds = {
        "project": _("project"),
        "person": _("person"),
        "profile": _("profile"),
        "model": _("GPU model"),
    }
    for kind, value in asked.names.items():
        names = getattr(right, kind)
        if value in names or (kind == "person" and value in ever):
            continue
        listed = ", ".join(names[:MOST_NAMED]) + (", …" if len(names) > MOST_NAMED else "")
        raise RefusedError(
            "unknown-filter",
            _("Nothing here has the {kind} {name}. {remedy}").format(
                kind=kinds[kind],
                name=repr(value[:80]),
                remedy=_("Choose one of: {names}.").format(names=listed)
                if names
                else _("There is none to choose yet; leave it away."),
            ),
            status=HTTPStatus.BAD_REQUEST,
        )


def _between(first: str, last: str) -> str:
    """Turn two days, both of them in it, into the words of a window."""
    try:
        start, end = date.fromisoformat(first), date.fromisoformat(last)
        if start <= end:
            return f"{start},{end + _DAY}"
    except (ValueError, OverflowError):
        pass
    raise RefusedError(
        "unknown-window",
        _(
            "from and to are two days, the first not after the last, for example "
            "from=2026-11-01 and to=2026-11-08."
        ),
        status=HTTPStatus.BAD_REQUEST,
    )
