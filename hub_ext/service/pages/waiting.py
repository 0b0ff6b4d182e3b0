"""`/queue`: what of mine waits, how far it is, and what I can do with it; live while it is open.

Works without JavaScript by reload. The page is told of news by a stream, never by polling.
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Awaitable
from datetime import datetime
from http import HTTPStatus
from typing import ClassVar

from tornado.iostream import StreamClosedError

from ...errors import FencedError, RefusedError
from ...i18n import _
from ...lease import Choice, LeaseId, OpenLease, ProfileName, TaskTypeName, TeamName, When
from ..api.leases import own
from ..api.waiting import asked_again
from ..core.governor import Governor
from ..sheets import waiting
from .overview import PageHandler, Route

MOST_STREAMS = 8
"""Open pages of one person that are told of news; more are told to reload."""

SIGN_OF_LIFE_S = 15
"""Proxies cut a stream that is silent for long."""

SETTLE_S = 0.2
"""Several leases often change at once; the page is told of them once."""


class QueuePage(PageHandler):
    """The page itself."""

    async def get(self) -> None:
        """Show it."""
        figures = await self.core.run(lambda core, now: waiting.gather(core, self.caller, now))
        form = {"xsrf": self.xsrf_token.decode()}
        await self.show(
            "queue.html",
            lambda: {**waiting.sheet(figures), **form},
            title=_("Waiting"),
            here="queue",
        )


class QueueNews(PageHandler):
    """`/queue/news`: a stream of server-sent events, one for each change of what the page shows."""

    _open: ClassVar[Counter[str]] = Counter()
    _gone = False
    _news: asyncio.Event | None = None

    async def get(self) -> None:
        """Tell of changes until the page is closed or the service ends."""
        name = self.caller.name
        if self._open[name] >= MOST_STREAMS:
            raise RefusedError(
                "too-many-waiting",
                _("{most} pages of yours are kept up to date already. Close one.").format(
                    most=MOST_STREAMS
                ),
                status=HTTPStatus.TOO_MANY_REQUESTS,
            )
        self.set_header("Content-Type", "text/event-stream")
        self._open[name] += 1
        try:
            await self._tell()
        except StreamClosedError:
            pass
        finally:
            self._open[name] -= 1

    async def _tell(self) -> None:
        seen = await self._mark()
        await self._write(f"retry: 2000\nevent: seen\ndata: {seen}\n\n")
        with self.core.stream.watcher() as news:
            self._news = news
            while not (self._gone or self.core.stream.closed):
                if not await _within(news.wait(), SIGN_OF_LIFE_S):
                    await self._write(": here\n\n")
                    continue
                await asyncio.sleep(SETTLE_S)
                news.clear()
                mark = await self._mark()
                if mark != seen:
                    seen = mark
                    await self._write(f"event: change\ndata: {seen}\n\n")

    def on_connection_close(self) -> None:
        """Stop telling somebody who is gone."""
        self._gone = True
        if self._news is not None:
            self._news.set()

    async def _mark(self) -> str:
        """Name what the page would show now, so that only a change is told."""
        try:
            shown = await self.core.run(lambda core, now: waiting.mark(core, self.caller, now))
        except FencedError:
            raise StreamClosedError from None
        return hashlib.sha256(repr(shown).encode()).hexdigest()[:16]

    async def _write(self, text: str) -> None:
        self.write(text)
        await self.flush()


class CancelPage(PageHandler):
    """`/queue/cancel`: leave the queue, by the page's own form."""

    async def post(self) -> None:
        """Take the request out and show the page again."""
        caller, wanted = self.caller, LeaseId(self.get_body_argument("lease", ""))

        def act(core: Governor, now: datetime) -> OpenLease:
            return core.cancel(own(caller, core, wanted).id, actor=caller.actor, now=now)

        await self.core.run(act)
        self.redirect(f"{self.hub_auth.base_url}queue")


class ChangePage(PageHandler):
    """`/queue/change`: wait for something else, by the page's own form."""

    async def post(self) -> None:
        """Change the request and show the page again."""
        caller, wanted = self.caller, LeaseId(self.get_body_argument("lease", ""))
        profile, _slash, team = self.get_body_argument("offer", "").partition("/")
        when = self.get_body_argument("when", "")
        if not profile or when not in set(When):
            raise RefusedError(
                "bad-request",
                _("Choose a profile and what shall happen when its turn comes."),
                status=HTTPStatus.BAD_REQUEST,
            )
        task = self.get_body_argument("task_type", "")
        choice = Choice(
            profile=ProfileName(profile),
            team=TeamName(team) if team else None,
            task_type=TaskTypeName(task) if task else None,
            only_guaranteed=self.get_body_argument("borrow", "yes") == "no",
        )

        def act(core: Governor, now: datetime) -> OpenLease:
            lease = own(caller, core, wanted)
            return core.change(lease.id, choice, When(when), actor=caller.actor, now=now)

        await self.core.run(act)
        self.redirect(f"{self.hub_auth.base_url}queue")


class AgainPage(PageHandler):
    """`/queue/again`: wait again in the old place, by the form on the page of a lease."""

    async def post(self) -> None:
        """Let it wait and show the queue."""
        caller, wanted = self.caller, LeaseId(self.get_body_argument("lease", ""))

        def act(core: Governor, now: datetime) -> OpenLease:
            return asked_again(caller, core, wanted, When.start, now)

        await self.core.run(act)
        self.redirect(f"{self.hub_auth.base_url}queue")


async def _within(waiting_for: Awaitable[object], seconds: float) -> bool:
    try:
        await asyncio.wait_for(waiting_for, seconds)
    except TimeoutError:
        return False
    return True


def handlers(prefix: str) -> list[Route]:
    """Routes of the queue's page below `prefix`, which ends in a slash."""
    return [
        (rf"{prefix}queue", QueuePage),
        (rf"{prefix}queue/news", QueueNews),
        (rf"{prefix}queue/cancel", CancelPage),
        (rf"{prefix}queue/change", ChangePage),
        (rf"{prefix}queue/again", AgainPage),
    ]
