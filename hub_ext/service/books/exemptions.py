"""Which exemptions hold: kept in memory, made of the ledger's own events.

Every change is an event first, with who and why; the end comes by the clock alone.
"""

from dataclasses import dataclass, field
from datetime import datetime

from ...lease import Event, Exemption, OpenLease
from ...ledger.store import Ledger, Tx

EXEMPT = "admin.exempt"
END = "admin.exempt_end"


@dataclass
class Exemptions:
    """The state that the events so far have made."""

    known: dict[str, Exemption] = field(default_factory=dict)

    def apply(self, event: Event) -> None:
        """Take one event."""
        match event.kind:
            case "admin.exempt":
                given = Exemption.model_validate(event.body["exemption"])
                self.known[given.id] = given
            case "admin.exempt_end":
                self.known.pop(str(event.body["id"]), None)
            case _:
                pass

    def holding(self, now: datetime) -> tuple[Exemption, ...]:
        """Those that hold at an instant, the first to end first."""
        found = [one for one in self.known.values() if now < one.until]
        return tuple(sorted(found, key=lambda one: (one.until, one.id)))

    def of(self, lease: OpenLease, now: datetime) -> Exemption | None:
        """The exemption of a lease that lasts longest."""
        found = [one for one in self.holding(now) if one.covers(lease)]
        return found[-1] if found else None


def read(ledger: Ledger) -> Exemptions:
    """Make the present state of all events; they are few, and found by their kind."""
    with ledger.transaction() as tx:
        return of_ledger(tx)


def of_ledger(tx: Tx) -> Exemptions:
    """Make it in a transaction, be it one that only reads."""
    exemptions = Exemptions()
    for event in tx.every((EXEMPT, END)):
        exemptions.apply(event)
    return exemptions
