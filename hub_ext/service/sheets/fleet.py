"""Where all that is installed went, in words: held, the site's own, out of service, nobody's."""

from ...admission.offer import model_title
from ...i18n import _
from ...lease.fleet import FleetRow, FleetSheet
from ...lease.usage import Amount
from ..books import formats
from . import amounts
from .laid import shares


def sheet(found: FleetSheet, title: str) -> dict[str, object]:
    """Put it into rows; each row and each column adds up."""
    charged = amounts.column([one.charged for one in found.rows])
    nobodys = amounts.column([one.unallocated_amounts for one in found.rows])
    return {
        "title_of_time": title,
        "difference": found.difference,
        "rows": [
            _row(one, charged[at], _nobodys(one, nobodys[at])) for at, one in enumerate(found.rows)
        ],
        "totals": _row(found.total, _money(found.total.charged), _nobodys_total(found.total)),
        "words": _words(found),
    }


def _row(one: FleetRow, charged: str, nobodys: str) -> dict[str, object]:
    parts = (one.held_unit_s, one.site_unit_s, one.out_unit_s, one.unallocated_unit_s)
    return {
        "pool": one.pool or _("together"),
        "model": model_title(one.model) if one.model else "",
        "installed": formats.gpu_hours(one.installed_unit_s + one.beyond_unit_s),
        "cells": [
            (formats.gpu_hours(part), share)
            for part, share in zip(parts, shares(parts), strict=True)
        ],
        "charged": charged,
        "nobodys": nobodys,
    }


def _words(found: FleetSheet) -> str:
    total = found.total
    parts = (
        total.held_unit_s,
        total.site_unit_s,
        total.out_unit_s,
        total.unallocated_unit_s,
    )
    if not sum(parts):
        return _("Nothing was installed in this time, as far as policies say.")
    held, site, out, nobody = shares(parts)
    return _(
        "Of {hours} GPU-hours {held} were held by teams, {site} by the site, {out} were out of "
        "service, and {nobody} were held by nobody."
    ).format(
        hours=formats.gpu_hours(total.installed_unit_s + total.beyond_unit_s),
        held=held,
        site=site,
        out=out,
        nobody=nobody,
    )


def _nobodys(one: FleetRow, priced: str) -> str:
    if not one.unallocated_unpriced_unit_s:
        return priced if one.unallocated_amounts else _("nothing")
    unpriced = _("{hours} GPU-hours not priced").format(
        hours=formats.gpu_hours(one.unallocated_unpriced_unit_s)
    )
    return f"{priced}; {unpriced}" if one.unallocated_amounts else unpriced


def _nobodys_total(one: FleetRow) -> str:
    return _nobodys(one, _money(one.unallocated_amounts))


def _money(found: tuple[Amount, ...]) -> str:
    return amounts.column([found])[0] if found else _("nothing")
