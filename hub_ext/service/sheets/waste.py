"""What was held and did no work, as a table of a team's page: one line a kind, with its money."""

from ...i18n import _
from ...lease.waste import SavedRow, WasteKind, WasteRow, WasteSheet
from ..books import formats
from . import amounts
from .laid import shares


def sheet(found: WasteSheet | None) -> dict[str, object]:
    """Put it into rows; None is a time that is too long to be looked through."""
    if found is None:
        return {"waste": None}
    kinds = [one for one in found.totals if one.unit_s]
    cells = amounts.column([one.amounts for one in kinds])
    held = found.held_total
    parts = shares([one.unit_s for one in kinds])
    return {
        "waste": [
            (
                kind_words(one.kind),
                str(one.leases),
                formats.gpu_hours(one.unit_s),
                parts[at],
                _priced(one, cells[at]),
            )
            for at, one in enumerate(kinds)
        ],
        "measured": held.measured_unit_s > 0,
        "waste_held": _(
            "{held} GPU-hours were held, of which {measured} were measured; what nobody measured "
            "is unknown and in no line."
        ).format(
            held=formats.gpu_hours(held.unit_s), measured=formats.gpu_hours(held.measured_unit_s)
        ),
        "saved": _("Stopping what was idle saved {money}, {hours} GPU-hours. {rule}").format(
            money=_priced(found.saved_total, amounts.column([found.saved_total.amounts])[0]),
            hours=formats.gpu_hours(found.saved_total.unit_s),
            rule=found.saved_rule,
        )
        if found.saved_total.unit_s
        else "",
    }


def _priced(one: WasteRow | SavedRow, priced: str) -> str:
    if not one.unpriced_unit_s:
        return priced if one.amounts else _("nothing")
    unpriced = _("{hours} GPU-hours not priced").format(
        hours=formats.gpu_hours(one.unpriced_unit_s)
    )
    return f"{priced}; {unpriced}" if one.amounts else unpriced


def kind_words(kind: WasteKind) -> str:
    """Name a kind of waste."""
    match kind:
        case "never_used":
            return _("never used")
        case "idle":
            return _("held, idle")
        case "hoarded":
            return _("memory held, idle")
        case "notice":
            return _("idle while a stop was announced")
        case "reserved_unused":
            return _("reserved, not used")
        case "queue":
            return _("held for somebody who waited")
