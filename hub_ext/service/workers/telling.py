"""Carries out duties to tell outside: posts and mails, beside the core, a few at once.

A duty is counted before it is tried, and settled after; a crash in between means that the same
message goes once more, under the same id.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from ...i18n import _
from ...lease.outward import OutwardDuty
from ...ledger.duties import Intent
from ...policy.model.notices import OutwardNotice
from ..books.config import Settings
from ..books.outwardbook import SENT
from ..core.governor import Governor
from ..core.runner import CoreRunner
from .mailhook import MailServer, address_of, hand_in
from .outwardwords import mail
from .webhook import NotSentError, Webhook, allowed, secret_in

_LOG = logging.getLogger(__name__)

MOST_AT_ONCE = 4
"""Messages on their way at the same time."""

A_PASS = 40
"""Messages that are tried in one pass."""

_LONGEST_S = 60.0
"""For one message, whatever a mail server does in between."""


class Teller:
    """Takes what is to be told from the core, and brings back what came of it."""

    def __init__(self, core: CoreRunner, settings: Settings) -> None:
        self._core = core
        self._settings = settings
        self._webhook = Webhook()

    async def tell(self) -> None:
        """Make one pass: new messages become duties, and those that are due are tried."""
        await self._core.run(lambda governor, now: governor.take_outward(now=now))
        due = await self._core.run(lambda governor, now: governor.outward_due(now=now))
        gate = asyncio.Semaphore(MOST_AT_ONCE)
        await asyncio.gather(*(self._one(intent, gate) for intent in due[:A_PASS]))

    def close(self) -> None:
        """End what is on its way."""
        self._webhook.close()

    async def _one(self, intent: Intent, gate: asyncio.Semaphore) -> None:
        duty = OutwardDuty.model_validate(intent.body)
        async with gate:
            await self._core.run(lambda governor, now: governor.retried(intent.id, now=now))
            try:
                await asyncio.wait_for(self._send(duty), _LONGEST_S)
            except NotSentError as error:
                await self._not_sent(intent, duty, error)
            except TimeoutError:
                await self._not_sent(intent, duty, NotSentError(_("it took too long")))
            else:
                await self._core.run(_over(intent, duty, SENT))

    async def _not_sent(self, intent: Intent, duty: OutwardDuty, error: NotSentError) -> None:
        words = str(error)
        if error.stale:
            await self._core.run(_over(intent, duty, words, stale=True))
            return
        _LOG.warning("Notice %s by %s was not sent: %s", duty.message.id, duty.route, words)
        if error.for_good:
            await self._core.run(_over(intent, duty, words))
            return
        await self._core.run(
            lambda governor, now: governor.outward_failed(intent, duty, words, now=now)
        )

    async def _send(self, duty: OutwardDuty) -> None:
        route = await self._core.run(lambda governor, _now: governor.outward_route(duty.route))
        now = self._core.now()
        over = duty.message.stops_at
        if route is None or (over is not None and over + timedelta(minutes=5) < now):
            raise NotSentError(_("it is no news any more"), stale=True)
        if route.webhook is not None:
            await self._post(route, duty, int(now.timestamp()))
        else:
            await self._mail(duty)

    async def _post(self, route: OutwardNotice, duty: OutwardDuty, at_s: int) -> None:
        url = str(route.webhook)
        if not allowed(url, self._settings.notice_urls):
            raise NotSentError(_("its address is none that the setting notice_urls allows"))
        secret = await asyncio.to_thread(secret_in, self._settings.notice_secret)
        await self._webhook.post(url, duty.message, secret=secret, at_s=at_s)

    async def _mail(self, duty: OutwardDuty) -> None:
        given = self._settings
        server = MailServer.read(given.notice_smtp)
        if not given.notice_from:
            raise NotSentError(_("the setting notice_from says nobody that mails come from"))
        zone = await self._core.run(lambda governor, _now: governor.outward_zone())
        made = mail(
            duty.message,
            sender=address_of(given.notice_from, "{user}"),
            to=address_of(duty.to, given.notice_people),
            zone=zone,
            pages=given.notice_pages,
        )
        await asyncio.to_thread(hand_in, server, made, password_file=given.notice_smtp_password)


def _over(
    intent: Intent, duty: OutwardDuty, result: str, *, stale: bool = False
) -> Callable[[Governor, datetime], None]:
    return lambda governor, now: governor.outward_over(intent, duty, result, stale=stale, now=now)
