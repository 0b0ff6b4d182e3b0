"""Asks a Prometheus, for sites whose machines let no agent in.

It stands for all machines at once. It can change nothing there, and reads only what is asked for.
"""

import json
import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

from tornado.httpclient import HTTPClient, HTTPClientError, HTTPRequest

from ..errors import UnreachableError
from ..i18n import _
from ..lease import ClockOffset, SampleBatch, WatchList
from .dcgm import QUESTIONS, Answers, Asked, Series, batches
from .sample import Reading

LOG = logging.getLogger("gpu_commons.agent")

PERIOD_S = 30.0
"""The exporter reads each 30 s unless told otherwise; asking more often tells nothing new."""

STALE_PERIODS = 3
MOST_BYTES = 16 * 2**20
"""Largest answer, some 40,000 series."""

CONNECT_S, ANSWER_S = 3.0, 10.0


@dataclass(frozen=True)
class Where:
    """Address of a Prometheus, and how we show who we are."""

    url: str
    token_file: Path | None = None
    ca_file: Path | None = None


class PrometheusReader:
    """Asks all questions of one period; a `Reader` that knows no machine of its own.

    Parameters
    ----------
    where
        The Prometheus.
    period_s
        Seconds between two rounds.
    """

    source: Literal["prometheus"] = "prometheus"

    def __init__(self, where: Where, period_s: float) -> None:
        self._where = where
        self._period_s = max(period_s, self.floor_s)
        self._mute = ""

    @property
    def floor_s(self) -> float:
        """Shortest period in seconds."""
        return PERIOD_S / 2

    def read(self, watch: WatchList, now: datetime) -> tuple[Reading, ...]:  # noqa: ARG002 - a Reader's
        """Give nothing: the figures are of other machines, see `batches`."""
        return ()

    def close(self) -> None:
        """Hold nothing."""

    def batches(
        self, watches: Mapping[str, WatchList], now: datetime, clock: ClockOffset | None
    ) -> list[SampleBatch]:
        """Ask, and make one batch for each machine; none while there is no answer.

        A machine without a batch falls silent at the governor, so nothing there counts as idle.
        """
        try:
            answers, server_now = self._ask()
        except UnreachableError as error:
            if str(error) != self._mute:
                LOG.warning(_("Nothing is read: {reason}. Trying again.").format(reason=error))
            self._mute = str(error)
            return []
        self._mute = ""
        stale = timedelta(seconds=STALE_PERIODS * self._period_s)
        asked = Asked(now, server_now, stale, self._period_s)
        return batches(answers, watches, asked, clock=clock)

    def _ask(self) -> tuple[Answers, datetime]:
        client = HTTPClient(max_body_size=MOST_BYTES)
        try:
            found: dict[str, tuple[Series, ...]] = {}
            server_now = None
            for name, query in QUESTIONS.items():
                found[name], at = answer(self._fetch(client, query))
                server_now = server_now or at
            if server_now is None:
                # No series at all: then nothing is known, and its clock is of no use.
                server_now = datetime.now(UTC)
            return found, server_now
        finally:
            client.close()

    def _fetch(self, client: HTTPClient, query: str) -> bytes:
        where = self._where
        request = HTTPRequest(
            f"{where.url.rstrip('/')}/api/v1/query",
            method="POST",
            headers={"Content-Type": "application/x-www-form-urlencoded", **_authorised(where)},
            body=urlencode({"query": query, "timeout": f"{ANSWER_S - 1:.0f}s"}),
            connect_timeout=CONNECT_S,
            request_timeout=ANSWER_S,
            ca_certs=None if where.ca_file is None else str(where.ca_file),
            follow_redirects=False,
        )
        try:
            return client.fetch(request).body
        except HTTPClientError as error:
            raise UnreachableError(
                _("Prometheus at {url} answers {status}: {why}").format(
                    url=where.url, status=error.code, why=_refusal(error)
                )
            ) from error
        except OSError as error:
            raise UnreachableError(
                _("Prometheus at {url} does not answer: {why}").format(
                    url=where.url, why=error.strerror or error
                )
            ) from error


def answer(body: bytes) -> tuple[tuple[Series, ...], datetime | None]:
    """Read an answer to an instant query: its series, and the clock of whoever gave it.

    Raises
    ------
    UnreachableError
        When it is no such answer.
    """
    try:
        told: Any = json.loads(body)
        found = [(one["metric"], *one["value"]) for one in told["data"]["result"]]
        series = tuple(
            Series({str(key): str(text) for key, text in labels.items()}, float(value))
            for labels, _at, value in found
            if math.isfinite(float(value))
        )
        at = datetime.fromtimestamp(float(found[0][1]), UTC) if found else None
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError) as error:
        raise UnreachableError(
            _("Prometheus gave no answer that can be read: {why}").format(why=str(error)[:200])
        ) from error
    return series, at


def _authorised(where: Where) -> dict[str, str]:
    if where.token_file is None:
        return {}
    try:
        # Read each time: such tokens are renewed in place.
        return {"Authorization": f"Bearer {where.token_file.read_text('ascii').strip()}"}
    except (OSError, ValueError) as error:
        raise UnreachableError(
            _("the token file {file} cannot be read: {why}").format(
                file=where.token_file, why=error
            )
        ) from error


def _refusal(error: HTTPClientError) -> str:
    if error.response is not None and error.response.body:
        try:
            return str(json.loads(error.response.body)["error"])[:200]
        except (ValueError, KeyError, TypeError):
            return str(error.message)
    return str(error.message)
