"""Shows leases from the ledger: beside a living governor, or where none lives."""

import argparse
import json

from ...errors import GpuCommonsError
from ...i18n import _
from ...lease import Event, LeaseId, OpenLease, utc_text
from ...ledger.beside import reading
from ...ledger.said import outside
from ..columns import print_table
from ..onsite import onsite

MOST_EVENTS = 500
"""Events of one lease that are shown: far more than any has."""


def listing(args: argparse.Namespace) -> None:
    """Print the open leases, one a line."""
    site = onsite(args.state)
    with reading(site.state, url=site.ledger_url) as tx:
        leases = tx.leases()
    chosen = [
        lease
        for lease in leases
        if args.team in {None, lease.team} and args.user in {None, lease.key.user}
    ]
    if args.json:
        print(json.dumps([lease.model_dump(mode="json") for lease in chosen], indent=2))
        return
    if not chosen:
        print(_("no lease is open"))
        return
    heads = (_("lease"), _("server"), _("state"), _("team"), _("profile"), _("devices"), _("since"))
    print_table([heads, *(_row(lease) for lease in chosen)])


def show(args: argparse.Namespace) -> None:
    """Print all that is on record about one lease.

    Raises
    ------
    GpuCommonsError
        When the ledger never had it.
    """
    site = onsite(args.state)
    with reading(site.state, url=site.ledger_url) as tx:
        lease = tx.lease(LeaseId(args.lease))
        events = tx.events(lease_id=LeaseId(args.lease), limit=MOST_EVENTS)
    if lease is None:
        raise GpuCommonsError(
            _("there is no lease {lease}; `gpu-commons lease list` names the open ones").format(
                lease=args.lease
            )
        )
    if args.json:
        lines = [{"seq": seq, **outside(event).model_dump(mode="json")} for seq, event in events]
        print(json.dumps({"lease": lease.model_dump(mode="json"), "events": lines}, indent=2))
        return
    for name, value in _facts(lease):
        print(f"{name:<12}{value}")
    print()
    for seq, event in events:
        print(f"{seq:>8}  {utc_text(event.at)}  {event.kind:<20} {_by(event)}")


def _row(lease: OpenLease) -> tuple[str, ...]:
    return (
        lease.id,
        str(lease.key),
        lease.state.value,
        lease.team if lease.project is None else f"{lease.team}, {lease.project}",
        lease.profile,
        ", ".join(device.id for device in lease.devices) or "-",
        utc_text(lease.state_since),
    )


def _facts(lease: OpenLease) -> list[tuple[str, str]]:
    process = _("unknown") if lease.process is None else str(lease.process.pid)
    facts = [
        (_("lease"), lease.id),
        (_("server"), str(lease.key)),
        (_("state"), f"{lease.state.value}, {utc_text(lease.state_since)}"),
        (_("team"), _row(lease)[3]),
        (_("profile"), f"{lease.profile} ({lease.flavor}), {lease.standing.value}"),
        (_("devices"), _row(lease)[5]),
        (_("process"), process),
    ]
    instants = (
        (_("asked"), lease.requested_at),
        (_("last seen"), lease.last_seen_at),
        (_("ends"), lease.ends_at),
        (_("closed"), lease.closed_at),
    )
    facts += [(name, utc_text(at)) for name, at in instants if at is not None]
    if lease.cause is not None:
        facts.append((_("cause"), lease.cause.value))
    if lease.reason is not None:
        facts.append((_("reason"), lease.reason.message))
    return facts


def _by(event: Event) -> str:
    reason = event.body.get("reason")
    by = f"{event.actor.name} ({event.actor.kind})"
    return f"{by}: {reason}" if isinstance(reason, str) else by
