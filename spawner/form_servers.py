"""What the form says of a person's servers: those that run, and how others ended lately."""

from urllib.parse import quote

from hub_ext.i18n import _
from hub_ext.lease import OfferSheet, local_text


def running_words(sheet: OfferSheet | None, queue_page: str) -> list[tuple[str, str]]:
    """Words and address for each server that runs and could change its profile instead."""
    if sheet is None or not queue_page:
        return []
    pages = queue_page.removesuffix("queue")
    return [(_named(one.server, one.has), f"{pages}switch/{one.lease_id}") for one in sheet.running]


def _named(server: str, has: str) -> str:
    if not server:
        return _("Your server runs with {profile}.").format(profile=has)
    return _("Your server {name} runs with {profile}.").format(name=server, profile=has)


def ended_words(sheet: OfferSheet | None, queue_page: str) -> list[tuple[str, str]]:
    """Words on how each server ended that did not end by its owner's word, and where more is."""
    if sheet is None:
        return []
    pages, user = queue_page.removesuffix("queue"), quote(sheet.user, safe="")
    return [
        (
            _("{server} ended at {at}. {why}").format(
                server=_("Your server {name}").format(name=one.server)
                if one.server
                else _("Your server"),
                at=local_text(one.at, sheet.timezone),
                why=one.words,
            ),
            f"{pages}why/{user}/{one.server or '-'}" if pages else "",
        )
        for one in sheet.ended
    ]
