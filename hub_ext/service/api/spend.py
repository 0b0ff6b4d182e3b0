"""Spend, told apart as somebody asks: `window` and `aggregate` as in OpenCost, in whole numbers.

A person asks for their own, a lead for the team's, an admin for all of it.
"""

from datetime import datetime
from http import HTTPStatus
from typing import NamedTuple

from ...errors import RefusedError
from ...i18n import _
from ...lease import LeaseId
from ...lease.spend import SpendDimension, SpendSheet
from ...reports.spend import DIMENSIONS
from ..books.leasefacts import AT_ONCE
from ..core.governor import Governor
from ..http.web import BaseHandler
from ..money.spending import Stretch
from ..money.usage import Scope
from .figures import scope_of
from .frozen import Frozen, cursor, digest, read_cursor
from .queries import stretch, whole_number

ROWS, MOST_ROWS = 100, 1000
"""Rows of a page where no `limit` is given, and at most."""

_ME, _TEAM = "me", "team"

_ASKED = ("scope", "window", "start", "end")
"""Arguments that decide, beside `aggregate`, what is answered."""


class Asked(NamedTuple):
    """What a request is about; `start` and `end` are as of the request."""

    scope: Scope
    stretch: Stretch


class SpendDoor(BaseHandler):
    """What all questions on spend share: scope, window, and answers that are told apart by tags."""

    act = _("see spend")

    _tag: str | None = None

    async def asked(self) -> Asked:
        """Read scope and window, and let all that a report will tell of be read.

        Raises
        ------
        RefusedError
            400 for what cannot be read; 403 for what is not the caller's to see.
        """
        caller, text = self.caller, self.get_query_argument("scope", _ME)
        words = self.get_query_argument("window", "month") or "month"

        def act(core: Governor, now: datetime) -> Asked:
            policy = core.policy
            scope = scope_of(caller, text, caller.leads(policy))
            start, end = stretch(self, now, policy.timezone, otherwise="month")
            return Asked(scope, Stretch(words, start, end))

        asked = await self.core.run(act)
        lacking = await self.core.run(lambda core, now: core.lacking_facts(*asked, now=now))
        for first in range(0, len(lacking), AT_ONCE):
            await self._read(lacking[first : first + AT_ONCE])
        return asked

    async def _read(self, some: tuple[LeaseId, ...]) -> None:
        await self.core.run(lambda core, now: core.read_facts(some, now=now))

    def set_default_headers(self) -> None:
        """Let a client keep an answer, if it asks each time whether it still holds."""
        super().set_default_headers()
        self.set_header("Cache-Control", "private, no-cache")

    def tag(self, *words: str) -> None:
        """Name this answer by what is in it; `finish` answers 304 to who has it already."""
        self._tag = f'W/"{digest(*words)}"'

    def compute_etag(self) -> str | None:
        """Give that name: what is told of the instant of asking is not in it."""
        return self._tag

    def people_hidden(self, core: Governor) -> bool:
        """Whether the policy keeps figures of single people from this caller."""
        mine = self.get_query_argument("scope", _ME) == _ME
        return not (mine or self.caller.admin or core.policy.statement.members)

    def aggregate(self, otherwise: str) -> tuple[SpendDimension, ...]:
        """Read what rows are told apart by.

        Raises
        ------
        RefusedError
            400 for a word that is none, or that is there twice.
        """
        text = self.get_query_argument("aggregate", None) or otherwise
        words = [word.strip() for word in text.split(",")]
        found = tuple(one for word in words for one in DIMENSIONS if one == word)
        if len(found) != len(words) or len(set(found)) != len(found):
            raise _bad(
                _(
                    "aggregate names each of these at most once, with commas between: {words}. "
                    "For example aggregate=team,project."
                ).format(words=", ".join(DIMENSIONS))
            )
        return found

    async def check_people(self, by: tuple[SpendDimension, ...]) -> None:
        """See to it that nobody is told of single people from whom the policy keeps it.

        Raises
        ------
        RefusedError
            403 where rows would name people.
        """
        if not {"user", "lease"}.isdisjoint(by) and await self.core.run(
            lambda core, _now: self.people_hidden(core)
        ):
            raise RefusedError(
                "no-people",
                _(
                    "The policy shows leads no figures of single people (statement.members). "
                    "Leave `user` and `lease` out of aggregate."
                ),
                status=HTTPStatus.FORBIDDEN,
            )


class SpendHandler(SpendDoor):
    """`GET spend`: held, charged and used in a window, told apart by `aggregate`."""

    @property
    def frozen(self) -> Frozen:
        """Answers of which pages are left."""
        frozen: Frozen = self.settings["frozen"]
        return frozen

    async def get(self) -> None:
        """Answer with the first page, or with the one that a cursor names."""
        by, limit, text = (
            self.aggregate(_TEAM),
            self._limit(),
            self.get_query_argument("cursor", None),
        )
        await self.check_people(by)
        words = (self.get_query_argument(name, "") or "" for name in _ASKED)
        question = digest(self.caller.kind, self.caller.name, *words, *by)
        if text is None:
            asked = await self.asked()
            whole = await self.core.run(lambda core, now: core.spend(*asked, by, now=now))
            # What is told of the instant of asking makes no other answer.
            same = whole.model_copy(update={"as_of": whole.end}).model_dump_json()
            answer_id, offset = digest(question, same), 0
            self.frozen.keep(answer_id, question, whole, len(whole.rows))
        else:
            answer_id, offset = read_cursor(text)
            whole = self.frozen.found(answer_id, question, SpendSheet)
            # A right that was taken away meanwhile holds for the rest as well.
            await self._may_still(whole.scope)
        after = offset + limit
        more = cursor(answer_id, after) if after < len(whole.rows) else None
        self.tag(answer_id, str(offset), str(limit))
        self.answer(
            whole.model_copy(update={"rows": whole.rows[offset:after], "next_cursor": more})
        )

    async def _may_still(self, scope: str) -> None:
        caller = self.caller
        await self.core.run(lambda core, _now: scope_of(caller, scope, caller.leads(core.policy)))

    def _limit(self) -> int:
        limit = whole_number(self, "limit")
        if limit is None:
            return ROWS
        if 1 <= limit <= MOST_ROWS:
            return limit
        raise _bad(_("limit is a number from 1 to {most}.").format(most=MOST_ROWS))


def _bad(words: str) -> RefusedError:
    return RefusedError("bad-request", words, status=HTTPStatus.BAD_REQUEST)
