"""Answers in pages: all pages of one answer are cut from what was summed up for the first.

So they fit together, whatever is charged meanwhile. They are kept for a while and in number; who
may not see the first page sees no other.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Callable
from http import HTTPStatus
from typing import NamedTuple, TypeVar

from ...errors import RefusedError
from ...i18n import _
from ...lease import Value

KEPT_S = 600.0
"""How long the rest of an answer can be fetched."""

MOST_ROWS = 200_000
"""Rows that are kept of all answers together; the oldest answers go first."""

V = TypeVar("V", bound=Value)


class Kept(NamedTuple):
    """One answer whole, whose question it answers, and until when it is kept."""

    question: str
    value: Value
    rows: int
    until: float


class Frozen:
    """Answers of which not every page was fetched, by their ids.

    Parameters
    ----------
    clock
        Seconds that only go forward.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kept: dict[str, Kept] = {}

    def keep(self, answer_id: str, question: str, value: Value, rows: int) -> None:
        """Keep an answer by its id, which is the same for the same answer to the same question.

        So a cursor of a page that a client has kept, and that still holds, works again.
        """
        now = self._clock()
        self._kept = {name: one for name, one in self._kept.items() if one.until > now}
        self._kept.pop(answer_id, None)
        self._kept[answer_id] = Kept(question, value, rows, now + KEPT_S)
        while len(self._kept) > 1 and sum(one.rows for one in self._kept.values()) > MOST_ROWS:
            del self._kept[next(iter(self._kept))]

    def found(self, answer_id: str, question: str, shape: type[V]) -> V:
        """Give an answer again to whoever asks the same question.

        Raises
        ------
        RefusedError
            400 where the cursor is of another question; 410 where the answer is gone.
        """
        kept = self._kept.get(answer_id)
        if kept is None or kept.until <= self._clock():
            raise RefusedError(
                "cursor-over",
                _(
                    "The rest of that answer is no longer kept: it is for {minutes} minutes, and "
                    "not over a restart. Ask again without `cursor`."
                ).format(minutes=int(KEPT_S) // 60),
                status=HTTPStatus.GONE,
            )
        if kept.question != question or not isinstance(kept.value, shape):
            raise _bad_cursor(_("It belongs to another question."))
        return kept.value


def digest(*words: str) -> str:
    """Name what these words decide: a question, by its caller and arguments; or its answer."""
    return hashlib.sha256(json.dumps(words).encode()).hexdigest()[:24]


def cursor(answer_id: str, offset: int) -> str:
    """Write a cursor: which answer, and how many of its rows were sent."""
    text = f"{answer_id}.{offset}"
    return base64.urlsafe_b64encode(f"{text}.{_check(text)}".encode()).decode().rstrip("=")


def read_cursor(text: str) -> tuple[str, int]:
    """Read a cursor.

    Raises
    ------
    RefusedError
        400 for anything that is none.
    """
    try:
        padded = text + "=" * (-len(text) % 4)
        whole = base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii")
        head, _dot, check = whole.rpartition(".")
        answer_id, _dot, offset = head.rpartition(".")
        if check == _check(head) and offset.isdecimal():
            return answer_id, int(offset)
    except (ValueError, binascii.Error):
        pass
    raise _bad_cursor(_("It was cut or changed."))


def _check(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _bad_cursor(why: str) -> RefusedError:
    return RefusedError(
        "bad-cursor",
        _(
            "This cursor does not fit. {why} Send `next_cursor` of the page before as it is, with "
            "the same scope, window and aggregate, or ask again without `cursor`."
        ).format(why=why),
        status=HTTPStatus.BAD_REQUEST,
    )
