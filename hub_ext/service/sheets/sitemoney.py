"""The site's page of money in words: a year by team, how months close, prices, what was done."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...budget import month_name
from ...i18n import _
from ...lease import Event, Posting
from ...lease.months import ClosedMonth
from ...metering import SITE, WAIVED, footed
from ...policy.model import Policy, PriceEntry
from ...policy.prices import entries_for, local_day
from ...reports.days import Stack, largest
from ...reports.figures import MOST_SERIES, stacked_money
from ...reports.repricing import Moved, Wish, repriced
from ...units import money_text
from ..books import formats
from ..money.sitemoney import SiteMoney
from . import amounts
from .laid import plain_money, shares, stack_words
from .rows import Tile


@dataclass(frozen=True)
class YearLine:
    """One team's year: bare amounts a month, with the address of each month's report."""

    team: str
    href: str
    cells: tuple[tuple[str, str], ...]
    total: str
    share: str


def sheet(site: SiteMoney, wish: Wish | None, kind: str) -> dict[str, object]:
    """Put it into rows; every table foots, and the year's total is the ledger's and what runs."""
    stack = _stack(site)
    title = _("the last {n} months").format(n=len(site.months))
    currency = site.policy.currency
    return {
        "tiles": _tiles(site),
        "months": site.names,
        "year": _year(site, stack),
        "year_totals": _totals(stack),
        "year_words": stack_words(stack, title, currency),
        "year_figure": stacked_money(_drawn(stack), currency) if stack.amounts else "",
        "other_money": _others(site),
        "currency": currency,
        "closed": [_closed(one, site.policy.timezone) for one in site.closed],
        "review": site.review,
        "review_money": _reviewed(site),
        "corrections": [_correction(one, site.policy.timezone) for one in site.corrections],
        "prices": [_price(one, site) for one in _prices(site.policy)],
        "pools": tuple(site.policy.pools),
        "wish": None if wish is None else _wish(site, wish),
        "acts": [_act(seq, one, site.policy.timezone) for seq, one in site.acts],
        "kind": kind,
    }


def _reviewed(site: SiteMoney) -> str:
    found = () if site.review is None else site.review.amounts
    return amounts.column([found])[0] if found else _("nothing")


def _sums(site: SiteMoney) -> Mapping[str, list[int]]:
    """Give each team's amounts by month: of the books, and of what runs."""
    currency, found = site.policy.currency, dict[str, list[int]]()
    for at, sums in enumerate(site.sums):
        for one in sums:
            if one.currency == currency and one.micro:
                found.setdefault(one.team, [0] * len(site.months))[at] += one.micro
    for at, micro, team in _run_up(site):
        found.setdefault(team, [0] * len(site.months))[at] += micro
    return found


def _run_up(site: SiteMoney) -> Sequence[tuple[int, int, str]]:
    names = list(site.names)
    found = []
    for line in site.running:
        if line.amount_micro and line.currency == site.policy.currency:
            name = month_name(line.start, site.policy.timezone)
            found.append((names.index(name), line.amount_micro, line.team))
    return found


def _stack(site: SiteMoney) -> Stack:
    sums = _sums(site)
    order = sorted(sums, key=lambda team: (-sum(sums[team]), team))
    return Stack(site.names, {team: tuple(sums[team]) for team in order})


def _drawn(stack: Stack) -> Stack:
    shown = largest(stack, MOST_SERIES, _("others"))
    return Stack(shown.titles, {_payer(name): row for name, row in shown.amounts.items()})


def _payer(team: str) -> str:
    named = {str(SITE): _("paid by the site"), str(WAIVED): _("waived: a device at fault")}
    return named.get(team, team)


def _year(site: SiteMoney, stack: Stack) -> tuple[YearLine, ...]:
    parts = shares([sum(row) for row in stack.amounts.values()])
    cells = _footed_columns(stack)
    names = tuple(stack.amounts)
    return tuple(
        YearLine(
            team=_payer(team),
            href=f"team/{team}" if team in site.policy.teams else "",
            cells=tuple(
                (name, plain_money(cells[at][row]) if cells[at][row] else "")
                for at, name in enumerate(stack.titles)
            ),
            total=plain_money(sum(column[row] for column in cells)),
            share=parts[row],
        )
        for row, team in enumerate(names)
    )


def _footed_columns(stack: Stack) -> list[tuple[int, ...]]:
    """Round each month so that it foots; a team's year is the sum of its rounded months."""
    columns = zip(*stack.amounts.values(), strict=True)
    return [footed(column, amounts.CENTS) for column in columns]


def _totals(stack: Stack) -> tuple[str, ...]:
    columns = [sum(column) for column in _footed_columns(stack)]
    return tuple(plain_money(one) for one in (*columns, sum(columns)))


def _others(site: SiteMoney) -> tuple[str, ...]:
    """Say what other currencies have: they are never added."""
    found: dict[str, int] = {}
    for sums in site.sums:
        for one in sums:
            if one.currency != site.policy.currency and one.micro:
                found[one.currency] = found.get(one.currency, 0) + one.micro
    return tuple(money_text(micro, code) for code, micro in sorted(found.items()))


def _tiles(site: SiteMoney) -> tuple[Tile, ...]:
    currency = site.policy.currency
    this = sum(one.micro for one in site.sums[-1] if one.currency == currency)
    run = sum(micro for at, micro, _team in _run_up(site) if at == len(site.months) - 1)
    before = sum(one.micro for one in site.sums[-2] if one.currency == currency)
    unpriced = sum(one.unpriced_s for one in site.sums[-1])
    last = site.closed[0].name if site.closed else _("none yet")
    return (
        Tile(
            _("Charged in {month}").format(month=site.names[-1]),
            money_text(this + run, currency),
            _("{money} of it runs still and is not on the books").format(
                money=money_text(run, currency)
            ),
            "#year",
        ),
        Tile(
            _("The month before, {month}").format(month=site.names[-2]),
            money_text(before, currency),
            _("on the books"),
            "#year",
        ),
        Tile(
            _("Without a price, {month}").format(month=site.names[-1]),
            formats.span(unpriced) if unpriced else _("none"),
            _("held and in no amount; it is not free"),
            "#prices",
        ),
        Tile(_("Newest closed month"), last, _("closed months never reopen"), "#close"),
    )


def _closed(one: ClosedMonth, zone: str) -> dict[str, str]:
    return {
        "name": one.name,
        "by": one.by,
        "reason": one.reason,
        "digest": one.digest,
        "at": formats.minute(one.at, zone),
        "money": amounts.column([one.amounts])[0] if one.amounts else _("nothing"),
    }


def _correction(line: Posting, zone: str) -> dict[str, str]:
    lease, _space, stretch = str(line.corrects).partition(" ")
    return {
        "href": f"leases/{lease}#charges",
        "at": formats.minute(line.start, zone),
        "lease": lease,
        "of": stretch.partition("/")[0][:16].replace("T", " "),
        "team": _payer(line.team),
        "project": line.project or "",
        "what": _("reversed") if (line.amount_micro or 0) < 0 else _("stated anew"),
        "money": formats.money(line.amount_micro, line.currency),
    }


def _prices(policy: Policy) -> Sequence[PriceEntry]:
    """List every price, those of one kind by their first day."""
    return sorted(policy.prices, key=lambda one: (one.pool, one.flavor, one.from_))


def _price(entry: PriceEntry, site: SiteMoney) -> dict[str, str]:
    state, badge = _standing(entry, site)

    def told(micro: int | None) -> str:
        return _("the same") if micro is None else money_text(micro, site.policy.currency)

    return {
        "pool": entry.pool,
        "flavor": _("whole GPU") if entry.flavor == "gpu" else entry.flavor,
        "from": entry.from_.isoformat(),
        "until": entry.until.isoformat() if entry.until else "",
        "per_hour": money_text(entry.per_hour, site.policy.currency),
        "borrowed": told(entry.borrowed),
        "state": state,
        "badge": badge,
    }


def _standing(entry: PriceEntry, site: SiteMoney) -> tuple[str, str]:
    today = local_day(site.now, site.policy.timezone)
    mine = entries_for(site.policy, entry.pool, entry.flavor)
    newest = max((one.from_ for one in mine if one.from_ <= today), default=None)
    if entry.from_ > today:
        return _("to come"), "quiet"
    if entry.from_ == newest and (entry.until is None or entry.until > today):
        return _("in force"), "guaranteed"
    return _("over"), "unknown"


def _wish(site: SiteMoney, wish: Wish) -> dict[str, object]:
    currency, month = site.policy.currency, site.months[-2]
    moved = repriced(site.repriced or (), month, wish)
    cells = [footed(row, amounts.CENTS) for row in (_was(moved), _would(moved))]
    was, would = map(sum, cells)
    if not moved:
        words = _("Nobody held {flavor} of {pool} in {month}, so nothing would have moved.")
    elif would >= was:
        words = _("{month} would have come to {apart} more for {flavor} of {pool}.")
    else:
        words = _("{month} would have come to {apart} less for {flavor} of {pool}.")
    return {
        "pool": wish.pool,
        "flavor": wish.flavor,
        "per_hour": f"{wish.per_hour / 1_000_000:.2f}",
        "words": words.format(
            month=site.names[-2],
            apart=money_text(abs(would - was), currency),
            flavor=_("a whole GPU") if wish.flavor == "gpu" else wish.flavor,
            pool=wish.pool,
        ),
        "rows": [
            (
                _payer(one.team),
                formats.span(one.seconds),
                money_text(cells[0][at], currency),
                money_text(cells[1][at], currency),
                money_text(cells[1][at] - cells[0][at], currency),
            )
            for at, one in enumerate(moved)
        ],
        "totals": tuple(money_text(one, currency) for one in (was, would, would - was)),
    }


def _was(moved: Sequence[Moved]) -> list[int]:
    return [one.was for one in moved]


def _would(moved: Sequence[Moved]) -> list[int]:
    return [one.would for one in moved]


def _act(seq: int, one: Event, zone: str) -> dict[str, str]:
    reason = one.body.get("reason") or one.body.get("summary") or ""
    lines = str(reason).splitlines()
    more = _(" and {n} more").format(n=len(lines) - 1) if len(lines) > 1 else ""
    return {
        "seq": str(seq),
        "at": formats.minute(one.at, zone),
        "who": one.actor.name,
        "kind": one.kind,
        "about": one.lease_id or "",
        "href": f"leases/{one.lease_id}" if one.lease_id else "",
        "words": f"{lines[0]}{more}" if lines else "",
    }
