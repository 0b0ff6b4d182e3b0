"""What idle rules on trial would have done so far: in memory, made of the ledger's events."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ...idle.trying import Switched
from ...lease import Event, LeaseId
from ...lease.trying import WouldStop
from ...ledger.store import Ledger, Tx
from . import trialrecord

WOULD_STOP = "idle.would_stop"
WOULD_END = "idle.would_end"
WOULD_KEEP = "idle.would_keep"

_KINDS = (*trialrecord.KINDS, WOULD_STOP, WOULD_END, WOULD_KEEP)


@dataclass
class TrialBook:
    """Episodes of the rules that are on trial now, and when the last pass was counted."""

    open: dict[tuple[str, LeaseId], WouldStop] = field(default_factory=dict)
    over: dict[str, list[WouldStop]] = field(default_factory=dict)
    kept: dict[str, set[LeaseId]] = field(default_factory=dict)
    """Servers that the rule in force stopped and the one on trial would not have, by the latter."""
    ticked: datetime | None = None
    unwritten: timedelta = timedelta(0)

    def apply(self, event: Event) -> None:
        """Take one event."""
        rule = str(event.body.get("rule", ""))
        match event.kind:
            case "idle.would_stop":
                one = WouldStop.model_validate(event.body["stop"])
                self.open[rule, one.lease_id] = one
            case "idle.would_end":
                one = WouldStop.model_validate(event.body["stop"])
                self.open.pop((rule, one.lease_id), None)
                self.over.setdefault(rule, []).append(one)
            case "idle.would_keep" if event.lease_id is not None:
                self.kept.setdefault(rule, set()).add(event.lease_id)
            case "idle.trial" | "idle.acts" | "idle.trial_dropped" | "admin.idle_switch_on":
                self._forget(rule)
            case _:
                pass

    def _forget(self, rule: str) -> None:
        self.open = {key: one for key, one in self.open.items() if key[0] != rule}
        self.over.pop(rule, None)
        self.kept.pop(rule, None)


def read(ledger: Ledger, switched: Switched) -> TrialBook:
    """Make the present state of the events since the oldest trial that is on began."""
    book = TrialBook()
    if switched.trials:
        with ledger.transaction() as tx:
            for event in tx.every(_KINDS, _before(tx, switched)):
                book.apply(event)
    return book


def _before(tx: Tx, switched: Switched) -> int:
    """Number of the event before the oldest trial that is on."""
    oldest = min(one.begun_at for one in switched.trials.values())
    seq = tx.head()
    for number, event in tx.events(kinds=(trialrecord.BEGUN,), newest=True, limit=1000):
        if event.at < oldest:
            break
        seq = min(seq, number - 1)
    return seq
