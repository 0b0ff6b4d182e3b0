"""What spawners and agents tell: asks, reports, samples. Each has a token made for it alone."""

from functools import partial
from http import HTTPStatus

from ...errors import RefusedError
from ...i18n import _
from ...lease import Ask, OfferSheet, Report, SampleBatch, UserName
from ...policy.catalogue import Person
from ..basis.presence import has_left
from ..basis.refusals import not_allowed
from ..http.web import LOG, BaseHandler
from ..workers.asking import AskerGoneError, PinChecks, answer

_LONGEST_ATTEMPT = 64


class AttemptsHandler(BaseHandler):
    """`POST attempts`: one start of one server asks for its grant."""

    kinds = frozenset({"spawner"})
    admins = False
    act = _("ask for grants")

    async def post(self) -> None:
        """Answer with the grant, or with a refusal that says what to do next."""
        asked = self.body(Ask)
        gone = partial(has_left, self.request)
        try:
            grant = await answer(self.core, self.settings["pins"], asked, gone=gone)
        except AskerGoneError:
            LOG.info("attempt %s: nobody waits for an answer any more", asked.attempt_id)
            return
        self.answer(grant)


class ReportsHandler(BaseHandler):
    """`POST attempts/{attempt_id}/reports`: a start or an end happened."""

    kinds = frozenset({"spawner"})
    admins = False
    act = _("report on attempts")

    async def post(self, attempt_id: str) -> None:
        """Take the report; it may come twice or late."""
        if len(attempt_id) > _LONGEST_ATTEMPT:
            raise RefusedError(
                "bad-request",
                _("An attempt id has at most {n} characters. Send the one that asked.").format(
                    n=_LONGEST_ATTEMPT
                ),
                status=HTTPStatus.BAD_REQUEST,
            )
        told = self.body(Report)
        # What lay in the socket while this process slept is older than it says.
        age_ms = told.age_ms + self.core.naps.lain_ms()
        told = told.model_copy(update={"age_ms": age_ms})
        await self.core.run(lambda core, now: core.report(attempt_id, told, now=now))
        self.set_status(HTTPStatus.NO_CONTENT)
        self.finish()


class OffersHandler(BaseHandler):
    """`GET offers`: everything one person could choose, decided as a start would be."""

    kinds = frozenset({"person", "spawner"})
    act = _("see offers")

    async def get(self) -> None:
        """Answer for oneself; a spawner and an admin may name somebody with their groups."""
        person = self._person()
        # Of what pods are made is for the hub alone: it tells of namespaces, claims and secrets.
        terms = self.caller.kind == "spawner"
        sheet = await self.core.run(lambda core, now: core.offers(person, now=now, terms=terms))
        self.answer(located(sheet, self.settings["pins"]))

    def _person(self) -> Person:
        user = self.get_query_argument("user", None)
        if user is not None and (self.caller.kind == "spawner" or self.caller.admin):
            return Person(user=UserName(user), groups=tuple(self.get_query_arguments("group")))
        if self.caller.kind != "person" or (user is not None and user != self.caller.name):
            raise not_allowed(_("see the offers of somebody else"))
        return Person(user=UserName(self.caller.name), groups=self.caller.groups)


def located(sheet: OfferSheet, pins: PinChecks) -> OfferSheet:
    """Give each offered environment its absolute prefix, as a grant has it."""
    offers = tuple(
        offer
        if offer.environment is None
        else offer.model_copy(update={"environment": pins.located(offer.environment)})
        for offer in sheet.offers
    )
    return sheet.model_copy(update={"offers": offers})


class SamplesHandler(BaseHandler):
    """`POST samples`: what one agent read in one period."""

    kinds = frozenset({"agent"})
    admins = False
    act = _("report samples")

    async def post(self) -> None:
        """Keep them; answer with what to watch."""
        batch = self.body(SampleBatch)
        self.answer(await self.core.run(lambda core, now: core.take_samples(batch, now=now)))
