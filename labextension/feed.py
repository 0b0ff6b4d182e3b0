"""Holds the one long poll to the governor and hands each answer to the pages that watch.

Must not poll for a page's sake faster than the governor is asked to wait, nor hide that the
figures are old.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from traitlets import Float, Integer, Unicode
from traitlets.config import LoggingConfigurable

from hub_ext.errors import RefusedError, UnreachableError
from hub_ext.i18n import _
from hub_ext.lease import LeaseView

from .governor import Governor
from .hook import BeforeStop, HookState
from .notices import NoticeWatch
from .page import Link, PageState
from .place import Place


class LabFeed(LoggingConfigurable):
    """State of this server's lease, kept fresh by one background task."""

    watched_wait_s = Integer(
        5, min=0, config=True, help="Seconds between figures while a page watches."
    )
    quiet_wait_s = Integer(
        25, min=0, config=True, help="Seconds between figures while no page watches."
    )
    least_gap_s = Float(0.5, min=0.0, config=True, help="Least seconds between two questions.")
    longest_pause_s = Float(30.0, config=True, help="Longest pause after a failed question.")
    heartbeat_s = Float(15.0, config=True, help="Seconds between signs of life to a page.")
    before_stop = Unicode(
        "~/.gpu-commons/before-stop",
        config=True,
        help="Program of the person that is run before an announced stop; empty for none.",
    )
    before_stop_s = Float(60.0, min=1.0, config=True, help="Longest time that it may run.")
    most_streams = Integer(8, config=True, help="Most pages that one person may have watching.")

    def __init__(
        self,
        place: Place,
        emit: Callable[[dict[str, str | int]], None],
        **settings: Any,  # noqa: ANN401 - traitlets
    ) -> None:
        super().__init__(**settings)
        self.place = place
        self.governor = Governor(place)
        self._emit = emit
        self._notices = NoticeWatch()
        self._state = PageState(link=Link.connecting, pages_path=place.pages_path)
        self._answered: float | None = None
        self._watchers: Counter[str] = Counter()
        self._bells: set[asyncio.Event] = set()
        self._hurry = asyncio.Event()
        self._hook = BeforeStop(
            Path(self.before_stop or "/").expanduser(), self.before_stop_s, self._hooked
        )
        if not place.user:
            self._state = PageState(link=Link.no_hub)
        elif not place.api_url or not place.token:
            self._state = PageState(link=Link.no_governor)

    @property
    def state(self) -> PageState:
        """What pages are shown now, with the age of its figures."""
        if self._answered is None:
            return self._state
        return self._state.model_copy(update={"age_s": int(time.monotonic() - self._answered)})

    @contextmanager
    def watch(self, user: str) -> Iterator[asyncio.Event]:
        """Count a page as watching and give it a bell that rings on each new state.

        Raises
        ------
        RefusedError
            When the person has too many pages watching already.
        """
        if self._watchers[user] >= self.most_streams:
            raise RefusedError(
                "too-many-pages",
                _(
                    "{count} pages of this server already show its lease; close one, "
                    "and this one will follow"
                ).format(count=self._watchers[user]),
                figures={"count": self._watchers[user]},
                status=429,
                retry_after_s=30,
            )
        if not self._bells:
            self._hurry.set()
        self._watchers[user] += 1
        bell = asyncio.Event()
        self._bells.add(bell)
        try:
            yield bell
        finally:
            self._bells.discard(bell)
            self._watchers[user] -= 1

    async def run(self) -> None:
        """Ask the governor for ever; ends at once where there is none to ask."""
        if self._state.link is not Link.connecting:
            return
        failures = 0
        after = 0
        while True:
            asked = time.monotonic()
            try:
                view = await self._ask(after)
            except UnreachableError as error:
                failures += 1
                self._fail(Link.stale, str(error))
                await self._pause(self._back_off(failures))
                continue
            except RefusedError as error:
                failures += 1
                self._fail(Link.refused, error.message)
                await self._pause(max(self._back_off(failures), error.retry_after_s or 0))
                continue
            except Exception as error:
                # A fault of ours must not leave every page with old figures for good.
                self.log.exception("The lease of this server cannot be read; trying again")
                failures += 1
                self._fail(Link.stale, f"{type(error).__name__}: {error}")
                await self._pause(self._back_off(failures))
                continue
            failures = 0
            if view is not None:
                after = view.seq
                self._take(view)
            # A governor that never waits must not be asked in a tight loop.
            await asyncio.sleep(max(0.0, self.least_gap_s - (time.monotonic() - asked)))

    async def _ask(self, after: int) -> LeaseView | None:
        """Hold one long poll; None when the first page came and it is better to ask anew."""
        known = self._state.link is Link.live
        hurried = self._hurry.is_set()
        self._hurry.clear()
        wait_s = 0 if hurried or not known else self._rhythm()
        poll = asyncio.ensure_future(self.governor.view(after=after, wait_s=wait_s))
        if wait_s <= self.watched_wait_s:
            return await poll
        hurry = asyncio.ensure_future(self._hurry.wait())
        try:
            await asyncio.wait({poll, hurry}, return_when=asyncio.FIRST_COMPLETED)
            return poll.result() if poll.done() else None
        finally:
            poll.cancel()
            hurry.cancel()

    def _rhythm(self) -> int:
        return self.watched_wait_s if self._bells else self.quiet_wait_s

    def _back_off(self, failures: int) -> float:
        step = min(self.longest_pause_s, 2.0 ** min(failures - 1, 10))
        return step * random.uniform(0.75, 1.0)  # noqa: S311 - spreads retries, guards nothing

    async def _pause(self, seconds: float) -> None:
        """Wait, but at most a moment once a page comes to look."""
        self._hurry.clear()
        await asyncio.sleep(min(seconds, 1.0))
        try:
            await asyncio.wait_for(self._hurry.wait(), max(0.0, seconds - 1.0))
        except TimeoutError:
            return

    def _take(self, view: LeaseView) -> None:
        self._answered = time.monotonic()
        event = self._notices.compare(view)
        self._hook.look(view)
        self._show(
            PageState(
                link=Link.live,
                view=view,
                since=datetime.now(UTC),
                pages_path=self.place.pages_path,
                before_stop=self._state.before_stop,
                before_stop_s=int(self.before_stop_s),
            )
        )
        if event is not None:
            self._emit(event)

    def _hooked(self, state: HookState) -> None:
        self._show(self._state.model_copy(update={"before_stop": state}))

    def _fail(self, link: Link, words: str) -> None:
        if self._state.link is link and self._state.words == words:
            return
        self.log.warning("GPU Commons: %s", words)
        self._show(self._state.model_copy(update={"link": link, "words": words}))

    def _show(self, state: PageState) -> None:
        self._state = state
        for bell in self._bells:
            bell.set()
