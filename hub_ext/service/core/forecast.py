"""The core's part that concerns what may start, and when: offers and forecasts.

Like the rest of the core: synchronous, in one thread, `now` with each call.
"""

from datetime import datetime

from ...admission.decide import offers
from ...admission.forecast import Forecasts, forecast
from ...advice import uses
from ...lease import OfferSheet
from ...policy.catalogue import Person
from ..books.desk import Desk
from ..books.foreseen import Ground
from ..leasing import changing
from ..leasing.awaystarts import with_terms
from ..leasing.lastends import last_ends
from ..money.sizes import with_hints
from ..queueing import forecasting


class ForecastCore:
    """Everything of the governor that offers and forecasts need."""

    _desk: Desk

    def offers(self, person: Person, *, now: datetime, terms: bool = False) -> OfferSheet:
        """Resolve and decide every profile for one person, by the function that decides.

        Parameters
        ----------
        terms
            Tell also what a spawner needs to start those without a GPU while we are away.
        """
        with self._desk.turn(now) as turn:
            made = offers(turn.snapshot(), person)
            mine = {
                "running": changing.running(turn, person.user),
                "ended": last_ends(turn, person.user),
                "memory_uses": uses(),
            }
            made = made.model_copy(update=mine)
            made = with_terms(turn, made, person) if terms else made
        return with_hints(self._desk, forecasting.with_forecasts(self._desk, made, now))

    def look_ahead(self, *, now: datetime) -> Ground | None:
        """Take what a forecast is made from; see `forecasting.look`."""
        return forecasting.look(self._desk, now=now)

    def foresee(self, ground: Ground, made: Forecasts) -> None:
        """Keep what was worked out beside the core."""
        self._desk.foreseen.take(ground, made)

    def forecast(self, *, now: datetime) -> None:
        """Do all of it at once; for stories, since it takes its time."""
        ground = self.look_ahead(now=now)
        if ground is not None:
            self.foresee(ground, forecast(ground.snapshot, ground.known))
