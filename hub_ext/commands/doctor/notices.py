"""Checks of the ways out for notices: their addresses are allowed, their secrets are private."""

import stat
from collections.abc import Iterator
from pathlib import Path

from ...errors import PolicyError
from ...i18n import _
from ...policy.load import load
from ...policy.model.notices import OutwardNotice
from ...service.books.config import ENVIRONMENT_PREFIX
from ...service.workers.mailhook import MailServer, address_of
from ...service.workers.webhook import NotSentError, allowed, secret_in
from .findings import Finding, Look, ok, warn, wrong


def notices(look: Look) -> Iterator[Finding]:
    """Whether what the policy names can be posted to and mailed; nothing is sent."""
    ways = _ways(look)
    if not ways:
        yield ok(_("the policy names no way out for notices; JupyterLab and the pages tell them"))
        return
    faults = [*_posted(look, ways), *_mailed(look, ways), *_private(look)]
    yield from faults
    if not faults:
        yield ok(_("{n} ways out for notices can be used").format(n=len(ways)))


def _ways(look: Look) -> dict[str, OutwardNotice]:
    try:
        return {} if look.site.policy is None else load(look.site.policy).policy.notices
    except (PolicyError, OSError):
        # The check of the policy says so.
        return {}


def _told(look: Look, setting: str) -> str:
    return look.told(f"{ENVIRONMENT_PREFIX}{setting.upper()}")


def _posted(look: Look, ways: dict[str, OutwardNotice]) -> Iterator[Finding]:
    posted = {name: str(one.webhook) for name, one in ways.items() if one.webhook is not None}
    urls = _told(look, "notice_urls")
    for name, url in posted.items():
        if not allowed(url, urls):
            yield wrong(
                _("the address of {name} is none that the setting notice_urls allows").format(
                    name=name
                ),
                _("add it to GPU_COMMONS_NOTICE_URLS and restart the governor, or take it away"),
            )
    if posted:
        try:
            secret_in(_told(look, "notice_secret"))
        except NotSentError as error:
            yield wrong(
                str(error), _("write one into a file, for example with `openssl rand -hex 32`")
            )


def _mailed(look: Look, ways: dict[str, OutwardNotice]) -> Iterator[Finding]:
    if not any(one.mail for one in ways.values()):
        return
    try:
        MailServer.read(_told(look, "notice_smtp"))
        address_of(_told(look, "notice_from"), "{user}")
    except NotSentError as error:
        yield wrong(
            _("mails cannot go out: {why}").format(why=error),
            _("set notice_smtp and notice_from, and restart the governor"),
        )


def _private(look: Look) -> Iterator[Finding]:
    for setting in ("notice_secret", "notice_smtp_password"):
        path = _told(look, setting)
        try:
            mode = Path(path).stat().st_mode if path else 0
        except OSError as error:
            why = error.strerror
            yield warn(
                _("{path} cannot be looked at: {why}").format(path=path, why=why),
                _("name a file that the governor can read"),
            )
            continue
        if stat.S_IMODE(mode) & 0o077:
            yield wrong(_("{path} can be read by others").format(path=path), _("chmod 600 it"))
