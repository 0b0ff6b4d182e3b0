"""Reads instants as people type them on the hub's machine: the policy's clock, or any zone."""

from datetime import UTC, datetime

from ..errors import GpuCommonsError, PolicyError
from ..i18n import _
from ..ledger.beside import reading
from ..policy.load import loads
from ..reservation import instant_of
from .onsite import Onsite


def zone_of(site: Onsite) -> str:
    """Time zone of the newest policy; UTC where there is none that can be used."""
    with reading(site.state, url=site.ledger_url) as tx:
        newest = tx.generation()
    try:
        return "UTC" if newest is None else loads(newest[1]).policy.timezone
    except PolicyError:
        return "UTC"


def instant(text: str, zone: str, now: datetime) -> datetime:
    """Read `now`, `2026-12-04T06:00` on the clock of `zone`, or an instant with its own zone.

    Raises
    ------
    GpuCommonsError
        When it is none of these.
    """
    if text == "now":
        return now
    try:
        read = datetime.fromisoformat(text)
    except ValueError as error:
        raise GpuCommonsError(
            _("{text} is no time; write `now`, `2026-12-04T06:00` or `2026-12-04T06:00Z`").format(
                text=repr(text[:40])
            )
        ) from error
    return instant_of(read, zone) if read.tzinfo is None else read.astimezone(UTC)
