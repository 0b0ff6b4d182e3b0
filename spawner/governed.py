"""A spawner that asks before it starts, then applies what was granted. It decides nothing.

The order of the hub's calls that forces this shape: clear_state, apply_user_options, hooks,
start; at the end stop (not always), run_post_stop_hook (always), clear_state.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from traitlets import Any as AnyTrait
from traitlets import Bool, Unicode, default

from hub_ext.errors import RefusedError, UnreachableError
from hub_ext.i18n import _
from hub_ext.lease import (
    Ask,
    Choice,
    Grant,
    Liveness,
    Offer,
    OfferSheet,
    UserName,
)

from .catalogue import catalogue_in
from .form import Page, render
from .options import Options, options_from_form, read_options
from .refusal import SpawnRefusal
from .reporting import ReportingMixin
from .terms import NO_DEVICE, OURS, Terms, granted, variables, without_governor
from .trace import Trace, new_trace

WAITING = frozenset({"queued", "held"})
"""Codes of refusals that mean: the request waits."""

API_VARIABLE = "GPU_COMMONS_API_URL"


def apply_user_options(_spawner: object, user_options: object) -> None:
    """Check options however they came, so that a REST start meets the same words as the form."""
    try:
        read_options(user_options)
    except RefusedError as error:
        raise SpawnRefusal(error) from error


class GovernedMixin(ReportingMixin):
    """Mix in before a spawner class to have its starts governed."""

    state_dir = Unicode(help="The product's state directory.").tag(config=True)
    start_without_governor = Bool(
        default_value=True,
        help="Whether profiles without a GPU start from the catalogue last seen while the "
        "governor does not answer.",
    ).tag(config=True)

    user_options = AnyTrait(
        default_value={},
        help="What the person chose. Any shape is taken, as JupyterHub 5 stores any JSON and "
        "would answer 500 where a dictionary is demanded; apply_user_options refuses the rest.",
    )

    terms: Terms | None = None
    grant: Grant | None = None

    # -- options and form ---------------------------------------------------------------

    @default("apply_user_options")
    def _governed_apply(self) -> Any:  # noqa: ANN401 - a trait that is a callable
        return apply_user_options

    @default("options_from_form")
    def _governed_from_form(self) -> Any:  # noqa: ANN401 - a trait that is a callable
        return options_from_form

    @default("options_form")
    def _governed_form(self) -> Any:  # noqa: ANN401 - a trait that is a callable
        return GovernedMixin.offers_form

    async def offers_form(self) -> str:
        """Render what the server's owner may choose now; never fails."""
        try:
            options = read_options(self.user_options)
        except RefusedError:
            options = Options()
        sheet, problem = None, ""
        try:
            sheet = await self._sheet()
        except RefusedError as error:
            problem = error.message
        except UnreachableError as error:
            self.log.warning("Offers are missing on the form: %s", error)
            problem = _away_words(self._offers_last_seen())
        page = Page(
            sheet=sheet,
            problem=problem,
            last_seen=() if sheet is not None else self._offers_last_seen(),
            chosen=options,
            enforced=self.separates_devices(),
            cautions=self.cautions(),
            queue_page=self.queue_page,
        )
        return render(page)

    def cautions(self) -> tuple[str, ...]:
        """Sentences for the form on what this way of starting servers cannot enforce."""
        return ()

    def separates_devices(self) -> bool:
        """Whether a server is kept by force from devices that it was not given."""
        return False

    # -- start ---------------------------------------------------------------------------

    @property
    def state_path(self) -> Path | None:
        """The state directory, where one is configured."""
        return Path(self.state_dir) if self.state_dir else None

    def group_names(self) -> tuple[str, ...]:
        """Hub groups of the server's owner."""
        return tuple(sorted(group.name for group in self.user.groups))

    async def start(self) -> Any:  # noqa: ANN401 - whatever the real spawner returns
        """Ask first thing, then start under the terms that were granted."""
        self.trace, self.terms, self.grant = new_trace(), None, None
        self.asking = True
        try:
            terms = await self._settle_terms(read_options(self.user_options), self.trace)
            self.asking = False
            self.trace = self.trace.model_copy(
                update={"lease_id": terms.lease_id, "launched": True}
            )
            self.apply_terms(terms)
            where = await self.launch()
            self.trace = self.trace.model_copy(update={"process": self.server_process()})
        except RefusedError as error:
            raise SpawnRefusal(error) from error
        except BaseException as error:
            if not isinstance(error, Exception):
                # Cancelled: the grant may exist. The hook will report again with what poll()
                # says, but it does not run where the hub itself is being ended.
                self.trace = self.trace.model_copy(update={"asked": True})
                self.report_end(Liveness.unknown if self.trace.launched else Liveness.gone)
            raise
        finally:
            self.asking = False
        self.report_start()
        return where

    async def launch(self) -> Any:  # noqa: ANN401 - as `start`
        """Start the real spawner, under terms that were applied."""
        return await super().start()

    async def _settle_terms(self, options: Options, trace: Trace) -> Terms:
        former = await self.former_liveness()
        try:
            choice = await self._choice(options)
            asked = self._make_ask(trace, choice, former, options)
            grant = await self.client().ask(asked)
        except RefusedError as error:
            self.trace = trace.model_copy(update={"settled": True})
            raise self._with_queue_page(error) from error
        except UnreachableError as error:
            self.log.warning("Start of %s without an answer: %s", self._log_name, error)
            return self._terms_alone(options, trace, former)
        if former is not Liveness.gone:
            raise _former_lives()
        self.grant, self.terms = grant, granted(grant)
        return self.terms

    def _with_queue_page(self, error: RefusedError) -> RefusedError:
        """Say to somebody who waits where they see how far they are."""
        if error.code not in WAITING:
            return error
        words = _("See your place, change or leave it: {page}").format(page=self.queue_page)
        return RefusedError(
            error.code,
            f"{error.message} {words}",
            figures=error.figures,
            status=error.status,
            retry_after_s=error.retry_after_s,
        )

    @property
    def queue_page(self) -> str:
        """Path of the page on which people see what waits."""
        return f"{urlsplit(self.governor_url).path.partition('/api/')[0]}/queue"

    def _make_ask(self, trace: Trace, choice: Choice, former: Liveness, options: Options) -> Ask:
        return Ask(
            attempt_id=trace.attempt_id,
            key=self.key,
            groups=self.group_names(),
            choice=choice,
            former=former,
            when=options.when,
            purpose=options.purpose,
        )

    async def _choice(self, options: Options) -> Choice:
        """Fill in the profile where none was named: the first without a GPU."""
        if options.profile is not None:
            return options.choice(options.profile)
        sheet = await self._sheet()
        for offer in sheet.offers:
            if offer.pool is None:
                return options.choice(offer.profile)
        if sheet.message is not None:
            raise RefusedError(sheet.message.code, sheet.message.message, status=403)
        raise _name_a_profile(sheet.offers)

    def _terms_alone(self, options: Options, trace: Trace, former: Liveness) -> Terms:
        """Decide nothing, but start what needs no decision: a known profile without a GPU."""
        offers = self._offers_last_seen()
        offer = next((one for one in offers if _fits(options, one)), None)
        terms = (
            None if offer is None else without_governor(trace.attempt_id, offer, self.state_path)
        )
        if offer is None or terms is None:
            words = _away_words(offers)
            raise RefusedError("governor-away", words, status=429, retry_after_s=30)
        if former is not Liveness.gone:
            raise _former_lives()
        try:
            # It starts at once, so it never waits.
            now = options.model_copy(update={"when": None})
            choice = options.choice(offer.profile)
            self.client().ask_later(self._make_ask(trace, choice, former, now))
        except UnreachableError as error:
            self.log.warning("Start of %s is not recorded: %s", self._log_name, error)
        self.terms = terms
        return terms

    def apply_terms(self, terms: Terms) -> None:
        """Copy what was granted to the hub's own traits; a spawner class adds its own."""
        self.cpu_limit = terms.cpu_millis / 1000
        self.mem_limit = terms.memory_bytes

    def get_env(self) -> dict[str, str]:
        """Environment of the server. What the terms say wins over what a site or person sets."""
        env: dict[str, str] = super().get_env()
        kept = {
            name: value
            for name, value in env.items()
            if name == API_VARIABLE or not name.startswith(OURS)
        }
        if self.terms is None:
            return {**kept, **NO_DEVICE}
        return {**kept, **variables(self.terms, self.state_path)}

    async def progress(self) -> AsyncIterator[dict[str, Any]]:
        """Tell on the progress page what was granted, if the page comes early enough to see it."""
        if self.grant is not None:
            yield {"progress": 20, "message": grant_words(self.grant)}
        async for event in super().progress():
            yield event

    # -- offers --------------------------------------------------------------------------

    async def _sheet(self) -> OfferSheet:
        groups = self.group_names()
        sheet = await self.client().offers(UserName(self.user.name), groups)
        catalogue_in(self.state_path).keep(groups, sheet)
        return sheet

    def _offers_last_seen(self) -> tuple[Offer, ...]:
        if not self.start_without_governor:
            return ()
        seen = catalogue_in(self.state_path).recall(self.group_names())
        return tuple(offer for offer in seen if self.may_start_alone(offer))

    def may_start_alone(self, _offer: Offer) -> bool:
        """Whether enough is known of an offer without a GPU to start it without the governor."""
        return True


def grant_words(grant: Grant) -> str:
    """Say in one line what was granted."""
    devices = [device.part or device.model for device in grant.devices]
    return _("Granted: {title} ({devices})").format(
        title=grant.title, devices=", ".join(devices) or _("no GPU")
    )


def _fits(options: Options, offer: Offer) -> bool:
    return (
        options.profile in (None, offer.profile)
        and options.team in (None, offer.team)
        # The environment of another project is not known here.
        and options.project in (None, offer.project)
    )


def _former_lives() -> RefusedError:
    return RefusedError(
        "still-alive",
        _(
            "Your former server still runs, so no second one was started beside it. It is being "
            "asked to end: try again in a minute. If this stays, tell an administrator."
        ),
        retry_after_s=30,
    )


def _away_words(offers: tuple[Offer, ...]) -> str:
    words = _(
        "GPU Commons does not answer, so no GPU can be given out now. Try again in a minute; if "
        "this stays, tell an administrator that the governor is away."
    )
    if not offers:
        return words
    names = ", ".join(dict.fromkeys(offer.title for offer in offers))
    return " ".join((words, _("Servers without a GPU still start: {names}.").format(names=names)))


def _name_a_profile(offers: tuple[Offer, ...]) -> RefusedError:
    names = ", ".join(dict.fromkeys(offer.profile for offer in offers)) or _("none")
    return RefusedError(
        "no-profile",
        _(
            "No profile was named, and none without a GPU is offered to you. Name one of: {names}."
        ).format(names=names),
        status=400,
    )
