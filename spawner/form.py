"""The offers of one person as HTML for the hub's spawn page. Decides and sums nothing of its own.

The hub supplies the <form>, its address and its button. Everything works without JavaScript.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from jinja2 import Environment as Templates
from jinja2 import FileSystemLoader

from hub_ext.i18n import _, ngettext, spoken_language
from hub_ext.lease import (
    Isolation,
    Offer,
    OfferSheet,
    ProjectName,
    Standing,
    TeamName,
    local_text,
)
from hub_ext.lease.value import MOST_PURPOSE
from hub_ext.units import accrue, bytes_text, money_text, settle

from .form_choices import (
    alone_words,
    borrow_words,
    few,
    lifetimes_of,
    longest_s,
    shown_lifetime,
    span_words,
    task_types,
    unnamed_task,
    wait_words,
)
from .form_memory import estimating
from .form_servers import ended_words, running_words
from .form_standing import (
    MARKS,
    ShareRow,
    impossible,
    outcome_words,
    share_projects,
    share_rows,
    standing_words,
    starts,
)
from .options import (
    ALONE,
    BORROW,
    NO_BORROWING,
    NO_WAIT,
    OFFER,
    PURPOSE,
    SHARED,
    TASK,
    WAIT,
    Options,
)

_STARTS = frozenset({Standing.guaranteed, Standing.borrowed, Standing.unmetered})


@dataclass(frozen=True)
class Page:
    """What the form shows.

    `problem` says why there is no sheet; `last_seen` are the profiles that start nevertheless.
    `enforced` tells whether servers are kept by force from devices that they were not given.
    """

    sheet: OfferSheet | None
    problem: str
    last_seen: tuple[Offer, ...]
    chosen: Options
    enforced: bool
    cautions: tuple[str, ...]
    queue_page: str = ""

    @property
    def offers(self) -> tuple[Offer, ...]:
        """Offers to show: those of now, or the ones without a GPU that were last seen."""
        return self.last_seen if self.sheet is None else self.sheet.offers


@dataclass(frozen=True)
class Row:
    """One offer in words."""

    value: str
    title: str
    description: str
    standing: Standing
    mark: str
    badge: str
    device: tuple[str, ...]
    machine: tuple[str, ...]
    price: str
    costs: tuple[tuple[str, str], ...]
    """For each lifetime that can be chosen ("" is the default): the price for all of it."""
    reason: str
    smaller: str
    """That a cheaper profile would do, where the past tells so."""
    outcome: str
    """What Start does when this is chosen."""
    simulated: bool
    disabled: bool
    checked: bool
    shares: tuple[ShareRow, ...] = ()
    gpu_memory: int | None = None


def render(page: Page) -> str:
    """Render the fields of the form; every text from outside is escaped."""
    lifetimes = lifetimes_of(page.offers)
    checked = _checked(page)
    groups = [
        (
            team,
            [_row(page, offer, lifetimes, checked) for offer in page.offers if offer.team == team],
        )
        for team in dict.fromkeys(offer.team for offer in page.offers)
    ]
    return _TEMPLATES.get_template("form.html").render(
        offer_field=OFFER,
        groups=groups,
        lifetimes=[(value, words) for value, words, _seconds in lifetimes],
        lifetime=shown_lifetime(page.chosen, lifetimes),
        projects=(projects := _projects(page)),
        project=page.chosen.project or _usual_project(page, projects),
        shared_out=_shared_out(page),
        share_projects=share_projects(page.offers) if page.sheet is not None else (),
        problem=page.problem,
        nothing="" if page.offers or page.problem else _nothing_words(page.sheet),
        simulated=any(offer.simulated for offer in page.offers),
        cautions=page.cautions,
        unchosen=_unchosen_words(page),
        queue_page=page.queue_page,
        running=running_words(page.sheet, page.queue_page),
        ended=ended_words(page.sheet, page.queue_page),
        wait_field=WAIT,
        waits=wait_words() if _may_wait(page) else (),
        wait=page.chosen.when or NO_WAIT,
        task_field=TASK,
        tasks=[] if page.sheet is None else task_types(page.offers),
        task=page.chosen.task_type,
        no_task=unnamed_task(page.offers),
        borrow_field=BORROW,
        borrows=borrow_words() if _may_borrow(page) else (),
        borrow=NO_BORROWING if page.chosen.only_guaranteed else "",
        alone_field=ALONE,
        alones=[] if page.sheet is None else alone_words(page.offers),
        alone=page.chosen.alone or SHARED,
        purpose_field=PURPOSE,
        purposes=_purposes(page),
        purpose=page.chosen.purpose,
        most_purpose=MOST_PURPOSE,
        memory=estimating(page.sheet, page.queue_page),
        reservations_page=page.queue_page.removesuffix("queue") + "reservations",
        as_of="" if page.sheet is None else local_text(page.sheet.at, page.sheet.timezone),
    )


def _row(
    page: Page, offer: Offer, lifetimes: list[tuple[str, str, int]], checked: Offer | None
) -> Row:
    return Row(
        value=f"{offer.profile}/{offer.team}",
        title=offer.title,
        description=offer.description,
        standing=offer.standing,
        mark=MARKS[offer.standing],
        badge=standing_words(offer.standing),
        device=tuple(_device_facts(page, offer)),
        machine=tuple(_machine_facts(page, offer)),
        price=offer.price_text,
        costs=tuple(_costs(offer, lifetimes)),
        # Words of the last sheet would be about a time that is over.
        gpu_memory=offer.gpu_memory_bytes,
        reason="" if page.sheet is None or offer.pool is None else _reason(offer),
        smaller="" if page.sheet is None or offer.smaller is None else offer.smaller.words,
        outcome=outcome_words(offer.standing, _name(page, offer)),
        simulated=offer.simulated,
        disabled=impossible(offer),
        checked=offer is checked,
        shares=_shares(page, offer),
    )


def _shares(page: Page, offer: Offer) -> tuple[ShareRow, ...]:
    """Standing for each project; a sheet that is gone tells none."""
    return () if page.sheet is None else tuple(share_rows(page.offers, offer, _name(page, offer)))


def _reason(offer: Offer) -> str:
    """Why it stands so; of what is borrowed also until when it is safe, else when it starts."""
    if offer.forecast is not None:
        return f"{offer.reason.message} {offer.forecast.words}"
    if offer.contract is None or not offer.contract.called_in:
        return offer.reason.message
    return f"{offer.reason.message} {offer.contract.words}"


def _may_wait(page: Page) -> bool:
    """Whether something here has a GPU, and so might have to wait by the time of Start."""
    return page.sheet is not None and any(offer.pool is not None for offer in page.offers)


def _may_borrow(page: Page) -> bool:
    """Whether something here may go beyond a guarantee, so that waiting for it is a choice."""
    return page.sheet is not None and any(offer.may_borrow for offer in page.offers)


def _purposes(page: Page) -> str:
    """Say for what a purpose has to be said; empty where this site asks for none."""
    if page.sheet is None or not page.sheet.takes_purpose:
        return ""
    stays = _("It stays in your team; others see figures.")
    asking = [offer for offer in page.offers if offer.needs_purpose]
    if not asking:
        return stays
    every = len(asking) == len([offer for offer in page.offers if offer.pool is not None])
    words = _("Has to be said.") if every else _("Has to be said for {profiles}.")
    return " ".join((words.format(profiles=few(asking, page.offers)), stays))


def _name(page: Page, offer: Offer) -> str:
    """Title of an offer, with its team where several are shown."""
    if len({one.team for one in page.offers}) == 1:
        return offer.title
    return _("{title} for team {team}").format(title=offer.title, team=offer.team)


def _unchosen_words(page: Page) -> str:
    """What stands in the outcome's place while nothing is chosen."""
    if any(starts(offer) for offer in page.offers):
        return _("Choose a profile.")
    return _("Nothing here can start now; each profile says why.")


def isolation_words(isolation: Isolation, *, enforced: bool) -> str:
    """Say what keeps a server apart from the others on its GPU, and whether that is enforced."""
    match isolation:
        case Isolation.node:
            words = _("a machine of your own")
        case Isolation.gpu:
            words = _("a GPU of your own")
        case Isolation.mig:
            words = _("a MIG slice of your own")
        case Isolation.vgpu:
            words = _("a virtual GPU: memory of your own, computing in turns")
        case Isolation.time_slice:
            words = _("a GPU shared in turns, memory not apart")
        case Isolation.none:
            return ""
    return words if enforced else _("{words}, not enforced").format(words=words)


def _device_facts(page: Page, offer: Offer) -> Iterable[str]:
    yield offer.flavor_title
    if offer.pool is None:
        return
    # What was free when the sheet was last seen says nothing of now.
    if offer.free is not None and page.sheet is not None:
        some = ngettext("{n} free now", "{n} free now", offer.free).format(n=offer.free)
        yield some if offer.free else _("none free now")
    if words := isolation_words(offer.isolation, enforced=page.enforced):
        # What was found when the sheet was last seen says nothing of now.
        if page.sheet is None:
            yield words
        elif offer.found:
            yield _("{words}, found on the node").format(words=words)
        else:
            yield _("{words}; the policy says so, no node was found with it").format(words=words)


def _machine_facts(page: Page, offer: Offer) -> Iterable[str]:
    cores = format(Decimal(offer.cpu_millis) / 1000, "f")
    yield ngettext("{n} CPU core", "{n} CPU cores", 1 if cores == "1" else 2).format(n=cores)
    yield _("{size} memory").format(size=_size_words(offer.memory_bytes))
    if offer.lifetime_default_s == offer.lifetime_longest_s:
        yield _("for {lifetime}").format(lifetime=span_words(offer.lifetime_default_s))
    else:
        yield _("for {lifetime}, at most {longest}").format(
            lifetime=span_words(offer.lifetime_default_s),
            longest=span_words(offer.lifetime_longest_s),
        )
    if offer.environment is not None and len(_projects_of(page, offer)) <= 1:
        yield _("environment {name}").format(name=offer.environment.name)


def _size_words(count: int) -> str:
    text = bytes_text(count)
    digits = text.rstrip("BKMGTi")
    return f"{digits} {text[len(digits) :]}"


def _costs(offer: Offer, lifetimes: list[tuple[str, str, int]]) -> Iterable[tuple[str, str]]:
    """Price for the default and for each lifetime that the offer allows."""
    price = offer.price_micro_per_hour
    if price is None:
        return
    for value, _words, seconds in (("", "", offer.lifetime_default_s), *lifetimes):
        if seconds <= longest_s(offer):
            yield (
                value,
                _("{amount} for {lifetime}").format(
                    amount=money_text(settle(accrue(price, seconds)), offer.currency),
                    lifetime=span_words(seconds),
                ),
            )
        else:
            yield value, _("at most {longest}").format(longest=span_words(offer.lifetime_longest_s))


def _checked(page: Page) -> Offer | None:
    """Offer that is checked at first: the person's last one if it can be, else the first to start.

    One that would have to wait stays checked: a form keeps what was chosen when it is refused.
    """
    starting = [offer for offer in page.offers if offer.standing in _STARTS]
    last = [
        offer
        for offer in page.offers
        if not impossible(offer)
        and offer.profile == page.chosen.profile
        and page.chosen.team in (None, offer.team)
    ]
    return next(iter([*last, *starting]), None)


def _projects_of(page: Page, offer: Offer) -> tuple[ProjectName, ...]:
    if offer.projects:
        return offer.projects
    several_teams = len({one.team for one in page.offers}) > 1
    return () if page.sheet is None or several_teams else page.sheet.projects


def _projects(page: Page) -> list[tuple[TeamName, tuple[ProjectName, ...]]]:
    """Projects by team, where somebody has a choice."""
    if page.sheet is None:
        return []
    by_team: dict[TeamName, dict[ProjectName, None]] = {}
    for offer in page.offers:
        by_team.setdefault(offer.team, {}).update(dict.fromkeys(_projects_of(page, offer)))
    return [(team, tuple(projects)) for team, projects in by_team.items() if len(projects) > 1]


def _shared_out(page: Page) -> tuple[str, ...]:
    """Projects whose standing the offers tell, where projects have shares of their own."""
    told = (offer.project for offer in page.offers if offer.shared_out and offer.project)
    return tuple(dict.fromkeys(told)) if page.sheet is not None else ()


def _usual_project(
    page: Page, projects: list[tuple[TeamName, tuple[ProjectName, ...]]]
) -> ProjectName | None:
    """Project where none is named, if it is the same for all that can be chosen."""
    usual = {offer.project for offer in page.offers}
    return usual.pop() if len(projects) == 1 and len(usual) == 1 else None


def _nothing_words(sheet: OfferSheet | None) -> str:
    if sheet is not None and sheet.message is not None:
        return sheet.message.message
    return _("No profile is offered to you. Ask an administrator which teams you belong to.")


_TEMPLATES = Templates(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.globals.update(_=_, language=spoken_language())
