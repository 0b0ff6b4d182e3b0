"""Hands a mail to the site's mail server, in a thread and for a limited time.

What the server says is not repeated but for its code: it may quote addresses or passwords.
"""

import re
import smtplib
import ssl
from email.message import EmailMessage
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from ...i18n import _
from .webhook import NotSentError

WAIT_S = 10.0
"""For each answer of the mail server."""

_SCHEMES = {"smtp": 25, "smtps": 465, "smtp+starttls": 587}
_ADDRESS = re.compile(r"[^\s@<>,;\"\x00-\x1f\x7f]{1,64}@[A-Za-z0-9][A-Za-z0-9.-]{0,252}")
_REFUSED_FOR_GOOD = 500


class MailServer(NamedTuple):
    """Where mails are handed in; a password comes from a file."""

    scheme: str
    host: str
    port: int
    user: str

    @classmethod
    def read(cls, url: str) -> "MailServer":
        """Read `smtp://HOST:PORT`, `smtps://…` or `smtp+starttls://USER@HOST:PORT`.

        Raises
        ------
        NotSentError
            When it is none of these, or holds a password.
        """
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        if parts.scheme not in _SCHEMES or not parts.hostname or parts.password is not None:
            raise NotSentError(
                _(
                    "the setting notice_smtp is no mail server; write smtp://HOST:PORT, "
                    "smtps://HOST or smtp+starttls://USER@HOST, and the password into a file"
                )
            )
        user = unquote(parts.username or "")
        return cls(parts.scheme, parts.hostname, port or _SCHEMES[parts.scheme], user)


def address_of(to: str, people: str) -> str:
    """Give the address of a person by name, or an address as it is.

    Parameters
    ----------
    people
        How addresses follow from names: `{user}@example.org`; `{user}` where names are addresses.

    Raises
    ------
    NotSentError
        When there is none.
    """
    address = to if "@" in to and _ADDRESS.fullmatch(to) else people.replace("{user}", to)
    if not _ADDRESS.fullmatch(address):
        raise NotSentError(
            _("no mail address follows from the setting notice_people for a receiver"),
            for_good=True,
        )
    return address


def hand_in(server: MailServer, mail: EmailMessage, *, password_file: str = "") -> None:
    """Hand one mail in; blocks, so call it in a thread.

    Raises
    ------
    NotSentError
        When the server did not take it.
    """
    try:
        with _connected(server) as smtp:
            if server.user:
                smtp.login(server.user, _password(password_file))
            smtp.send_message(mail)
    except smtplib.SMTPRecipientsRefused as error:
        codes = [code for code, _said in error.recipients.values()]
        raise _no(codes[0] if codes else 0) from None
    except smtplib.SMTPResponseException as error:
        raise _no(error.smtp_code) from None
    except (smtplib.SMTPException, OSError, ValueError):
        raise NotSentError(_("the mail server did not take it")) from None


def _connected(server: MailServer) -> smtplib.SMTP:
    context = ssl.create_default_context()
    if server.scheme == "smtps":
        return smtplib.SMTP_SSL(server.host, server.port, timeout=WAIT_S, context=context)
    smtp = smtplib.SMTP(server.host, server.port, timeout=WAIT_S)
    if server.scheme == "smtp+starttls":
        smtp.starttls(context=context)
    return smtp


def _password(path: str) -> str:
    try:
        return Path(path).read_text("utf-8").strip()
    except (OSError, ValueError):
        raise NotSentError(
            _("there is no password in the file that the setting notice_smtp_password names")
        ) from None


def _no(code: int) -> NotSentError:
    return NotSentError(
        _("the mail server refused it with code {code}").format(code=code),
        for_good=code >= _REFUSED_FOR_GOOD,
    )
