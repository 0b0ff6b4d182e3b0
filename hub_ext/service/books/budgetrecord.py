"""Steps of budgets that were reached, as the record has them: each is told once a period."""

from dataclasses import dataclass, field
from datetime import datetime

from ...lease import Event
from ...lease.budgets import Budgeted, StepTaken
from ...ledger.store import Tx

REACHED = "budget.reached"
"""Kind of the event: so much of a budget is spent that a step stands."""

Key = tuple[str, str, str, int]
"""Budget, person or nobody, start of the period, percent."""

_PAGE = 500


@dataclass
class Reached:
    """Steps on the record in the present periods, and when they were reached."""

    at: dict[Key, datetime] = field(default_factory=dict)
    _since: datetime | None = None

    def load(self, tx: Tx, since: datetime) -> None:
        """Read the record back to an instant, once; what comes later is put into `at`."""
        if self._since is not None and self._since <= since:
            return
        self._since, before = since, None
        while page := tx.events(kinds=(REACHED,), before=before, limit=_PAGE, newest=True):
            for _seq, event in page:
                self.at.setdefault(_key_in(event), event.at)
            before = page[-1][0]
            if page[-1][1].at < since:
                return


def key_of(budget: Budgeted, holder: str, step: StepTaken) -> Key:
    """Name a step of a budget in its period, for a person where it is for each."""
    whose = holder if budget.each else ""
    return (budget.name, whose, budget.start.isoformat(), step.at_percent)


def _key_in(event: Event) -> Key:
    body = event.body
    return (
        str(body["budget"]),
        str(body["user"] or ""),
        str(body["period_start"]),
        int(str(body["at_percent"])),
    )
