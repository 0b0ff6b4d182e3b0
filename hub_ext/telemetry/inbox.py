"""The way to the governor's inbox: one POST, and what it answers. It keeps no state."""

import json

from pydantic import ValidationError
from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest

from ..errors import NotTakenError, UnreachableError
from ..i18n import _
from ..lease import SampleBatch, WatchList

FOR_GOOD = frozenset({400, 413, 422})
"""Answers to what a batch is: the same one will be refused for ever. All others may pass later: a
token can be mended (401, 403), a wrong address too (404), and the rest says so itself."""

CONNECT_S = 2.0
ANSWER_S = 5.0


class Inbox:
    """The governor's `samples` route.

    Parameters
    ----------
    api_url
        Base of the API, without the last slash.
    token
        The agent's own token.
    """

    def __init__(self, api_url: str, token: str) -> None:
        self._url = f"{api_url.rstrip('/')}/samples"
        self._token = token
        self._client = AsyncHTTPClient(force_instance=True)

    async def post(self, batch: SampleBatch) -> WatchList:
        """Hand over one batch and return what to watch.

        Raises
        ------
        UnreachableError
            The governor did not take it, and may later; in words.
        NotTakenError
            It never will.
        """
        request = HTTPRequest(
            self._url,
            method="POST",
            headers={
                "Authorization": f"token {self._token}",
                "Content-Type": "application/json",
            },
            body=batch.model_dump_json(),
            connect_timeout=CONNECT_S,
            request_timeout=ANSWER_S,
        )
        try:
            response = await self._client.fetch(request)
            return WatchList.model_validate_json(response.body)
        except HTTPClientError as error:
            kind = NotTakenError if error.code in FOR_GOOD else UnreachableError
            raise kind(_refusal(error)) from error
        except OSError as error:
            raise UnreachableError(
                _("the governor at {url} does not answer: {why}").format(
                    url=self._url, why=error.strerror or error
                )
            ) from error
        except ValidationError as error:
            raise UnreachableError(
                _("{url} answers, but not as a governor does").format(url=self._url)
            ) from error

    def close(self) -> None:
        """Drop open connections."""
        self._client.close()


def _refusal(error: HTTPClientError) -> str:
    detail = ""
    if error.response is not None:
        try:
            problem = json.loads(error.response.body)
            detail = str(problem.get("detail", ""))
        except (ValueError, AttributeError):
            detail = ""
    words = detail or str(error.message)
    return _("the governor took no samples (HTTP {status}): {words}").format(
        status=error.code, words=words
    )
