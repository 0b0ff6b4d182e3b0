"""Posts a signed JSON document to an address that the settings allow, once and in a short time.

Signed as Standard Webhooks has it: HMAC-SHA256 over id, time and body. No redirect is followed,
and what the other says is not repeated but for its status.
"""

import base64
import hashlib
import hmac
from pathlib import Path

from tornado.httpclient import HTTPRequest
from tornado.simple_httpclient import HTTPTimeoutError, SimpleAsyncHTTPClient

from ...errors import GpuCommonsError
from ...i18n import _
from ...lease.outward import OutwardMessage

LONGEST_S = 10.0
"""For one post, connection and answer; the longest that a receiver should take is 2 s."""

_MOST_ANSWER = 65_536
_PREFIX = "whsec_"
_GONE = 410


class NotSentError(GpuCommonsError):
    """A message did not go; `for_good` where another try would be the same.

    `stale`: it need not go any more, which is no fault of the way.
    """

    def __init__(self, words: str, *, for_good: bool = False, stale: bool = False) -> None:
        super().__init__(words)
        self.for_good = for_good or stale
        self.stale = stale


def allowed(url: str, urls: str) -> bool:
    """Whether an address begins with one that is allowed, up to a boundary of its path."""
    return any(
        url == one or url.startswith(one if one.endswith("/") else f"{one}/")
        for one in urls.split()
    )


def secret_in(path: str) -> bytes:
    """Read a secret: the text as it is, or base64 behind `whsec_`.

    Raises
    ------
    NotSentError
        Where there is none; the words name the file and nothing of its content.
    """
    try:
        text = Path(path).read_text("utf-8").strip() if path else ""
        given = base64.b64decode(text.removeprefix(_PREFIX)) if text.startswith(_PREFIX) else None
    except (OSError, ValueError):
        text, given = "", None
    secret = text.encode() if given is None else given
    if not secret:
        raise NotSentError(_("there is no secret in the file that the setting notice_secret names"))
    return secret


def signature(secret: bytes, message_id: str, at_s: int, body: bytes) -> str:
    """Sign what is posted."""
    signed = f"{message_id}.{at_s}.".encode() + body
    digest = hmac.new(secret, signed, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


class Webhook:
    """One client for all posts, apart from the one that speaks to the hub."""

    def __init__(self) -> None:
        self._http = SimpleAsyncHTTPClient(force_instance=True, max_body_size=_MOST_ANSWER)

    async def post(self, url: str, told: OutwardMessage, *, secret: bytes, at_s: int) -> None:
        """Post one message.

        Parameters
        ----------
        at_s
            Seconds since 1970 of this try; receivers refuse what is old.

        Raises
        ------
        NotSentError
            When it was not taken.
        """
        body = told.model_dump_json().encode()
        request = HTTPRequest(
            url,
            method="POST",
            body=body,
            headers={
                "Content-Type": "application/json",
                "User-Agent": "gpu-commons",
                "webhook-id": told.id,
                "webhook-timestamp": str(at_s),
                "webhook-signature": signature(secret, told.id, at_s, body),
            },
            connect_timeout=LONGEST_S / 2,
            request_timeout=LONGEST_S,
            follow_redirects=False,
        )
        try:
            answer = await self._http.fetch(request, raise_error=False)
        except HTTPTimeoutError:
            raise NotSentError(_("it did not answer in time")) from None
        except (OSError, ValueError):
            raise NotSentError(_("no connection to it")) from None
        if not 200 <= answer.code < 300:  # noqa: PLR2004 - HTTP's success
            raise NotSentError(
                _("it answered with HTTP status {code}").format(code=answer.code),
                for_good=answer.code == _GONE,
            )

    def close(self) -> None:
        """End open posts."""
        self._http.close()
