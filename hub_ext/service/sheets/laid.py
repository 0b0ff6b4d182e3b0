"""Charges of a page laid out: by project and GPU, by GPU, by person, over time. Made once a page.

Sums come from `reports`; here they become rows with the address of their evidence.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from ...admission.offer import model_title
from ...budget import Period
from ...i18n import _, ngettext
from ...lease import Posting, Usage
from ...lease.spend import SpendDimension, SpendRow
from ...metering import footed
from ...policy.model import Policy
from ...reports import conservation, spend, tables
from ...reports.days import Stack, largest, stacked
from ...reports.figures import MOST_SERIES
from ...reports.spend import UNKNOWN, Part, Piece
from ...units import money_text
from ..books import formats
from ..money.grounds import Ground
from ..money.spending import owners_of
from ..money.usage import agreeing
from . import amounts
from .narrowing import NONE, Filters, Offered, check, offered
from .rows import busy_of

_PERCENT = 100
MANY_UNLABELLED = 20
"""Percent of GPU-hours without a task type from which it is told."""


@dataclass(frozen=True)
class SpendLine:
    """One sum of a table. `href` narrows the page to what it is made of."""

    href: str
    names: tuple[str, ...]
    leases: str
    hours: str
    busy: str
    amount: str
    share: str
    per_busy: str


@dataclass(frozen=True)
class Laid:
    """What a page of money is made from, narrowed to what was asked."""

    ground: Ground
    asked: Filters
    right: Offered
    policy: Policy | None
    lines: tuple[Posting, ...]
    usage: Usage
    pieces: tuple[Piece, ...]

    @property
    def zone(self) -> str:
        """Time zone of days and months."""
        return self.policy.timezone if self.policy else "UTC"

    @property
    def currency(self) -> str:
        """Currency of amounts that stand alone."""
        return self.policy.currency if self.policy else ""

    def rows(self, *by: SpendDimension) -> tuple[SpendRow, ...]:
        """Sum up by names."""
        if self.policy is None:
            return ()
        return spend.rows(self.pieces, by, owners_of(self.policy, self.ground.scope))[0]

    def stack(self) -> Stack:
        """Lay the amounts out over time, by project."""
        window = Period(self.ground.window.start, max(self.ground.end, self.ground.window.start))
        if window.start >= window.end:
            return Stack((), {})
        made = stacked(
            self.lines, self.zone, self.currency, window, lambda one: one.project or _("no project")
        )
        return largest(made, MOST_SERIES, _("others"))


def lay(
    ground: Ground,
    asked: Filters,
    policy: Policy | None,
    *,
    known: Offered,
    by: Sequence[tables.Dimension] = tables.BY_PERSON,
    ever: Iterable[str] = (),
) -> Laid:
    """Narrow charges to what was asked and sum them up.

    Raises
    ------
    RefusedError
        400 for a name that nothing here has; 409 where sums do not agree.
    """
    right = offered(ground.lines, ground.facts, known)
    check(asked, right, ever=ever)
    lines = tuple(
        line for line in ground.lines if asked.keeps(line, ground.facts.get(line.lease_id, UNKNOWN))
    )
    currency = policy.currency if policy else ""
    report = tables.Asked(ground.scope.name, ground.window.start, ground.end, ground.now, currency)
    usage = tables.usage(lines, ground.used, report, running=ground.running, by=by)
    agreeing(conservation.within(usage))
    part = Part(ground.window.start, ground.end, ground.used)
    made = tuple(spend.pieces(lines, ground.facts, (part,)))
    return Laid(ground, asked, right, policy, lines, usage, made)


def spend_lines(
    rows: Sequence[SpendRow], laid: Laid, *named: SpendDimension
) -> tuple[SpendLine, ...]:
    """Make lines of sums, the dearest first; amounts foot, and shares foot to 100 %.

    Model and flavor are one name.
    """
    order = sorted(rows, key=lambda one: (-_own(one, laid.currency), -one.unit_s))
    cells = amounts.column([one.amounts for one in order])
    parts = shares([_own(one, laid.currency) for one in order])
    return tuple(
        SpendLine(
            href=f"?{laid.asked.query(**_narrowing(one))}#leases-of-window",
            names=tuple(_name(word, one.names) for word in named if word != "flavor"),
            leases=str(one.leases),
            hours=formats.gpu_hours(one.unit_s),
            busy=busy_words(one),
            amount=amount,
            share=part,
            per_busy=_per_busy(one),
        )
        for one, amount, part in zip(order, cells, parts, strict=True)
    )


def shares(values: Sequence[int]) -> tuple[str, ...]:
    """Write values as whole percents that add up to 100; nothing of nothing has no share."""
    whole = sum(values)
    if whole <= 0 or any(value < 0 for value in values):
        return tuple(_("none") for _value in values)
    down = [value * _PERCENT // whole for value in values]
    lost = sorted(range(len(values)), key=lambda at: (-(values[at] * _PERCENT % whole), at))
    for at in lost[: _PERCENT - sum(down)]:
        down[at] += 1
    return tuple(f"{one} %" for one in down)


def busy_words(one: SpendRow) -> str:
    """How much of the measured time was busy, or why that is not told."""
    if one.utilised_percent is None:
        return _("not shown: nobody answers for it") if one.unsaid == "no owner" else _("unknown")
    return busy_of(one.utilised_percent, one.measured_unit_s, one.unit_s)


def gpu_title(model: str | None, flavor: str | None) -> str:
    """Name a GPU or a part of one, or what else is charged beside leases."""
    title = model_title(model) if model else _("unknown model")
    if flavor is None or flavor.startswith("gpu-"):
        return title
    return f"{title} · {formats.line_words(flavor) or flavor}"


def days_table(stack: Stack) -> dict[str, object]:
    """Make the table beside the stack: a row a day or month, a column a name; all foot.

    Cells are bare numbers, as the heading names the currency once; nothing charged is left empty.
    """
    columns = [*stack.amounts.values(), stack.sums] if stack.amounts else []
    totals = [sum(column) for column in columns]
    cells = [
        [plain_money(micro) if micro else "" for micro in footed(column, amounts.CENTS)]
        for column in columns
    ]
    rows = zip(*cells, strict=True) if cells else ()
    return {
        "names": tuple(stack.amounts),
        "rows": tuple(zip(stack.titles, rows, strict=False)),
        "totals": tuple(plain_money(one) for one in totals),
    }


def plain_money(micro: int) -> str:
    """Write an amount without its currency, to the cent."""
    return money_text(micro, "").strip()


def stack_words(stack: Stack, title: str, currency: str) -> str:
    """Say in a sentence what the stack shows."""
    total = sum(stack.sums)
    if not total:
        return _("No amount was charged in this time ({window}).").format(window=title)
    at = max(range(len(stack.titles)), key=lambda index: stack.sums[index])
    name = next(iter(stack.amounts))
    part = shares([sum(row) for row in stack.amounts.values()])[0]
    return _(
        "{total} in all ({window}); {name} has most of it, {part}; the dearest is {day} with {top}."
    ).format(
        total=money_text(total, currency),
        window=title,
        name=name,
        part=part,
        day=stack.titles[at],
        top=money_text(stack.sums[at], currency),
    )


def hints(laid: Laid) -> tuple[str, ...]:
    """Say what a reader must know of the figures: corrections, no price, no label."""
    found = []
    late = [one for one in laid.lines if one.corrects is not None]
    if late:
        money = sum(one.amount_micro or 0 for one in late)
        found.append(
            _("Corrections of earlier charges are among these: {money} together.").format(
                money=money_text(money, late[0].currency)
            )
        )
    total = laid.usage.total
    if total.unpriced_s:
        n = total.unpriced_leases
        found.append(
            ngettext(
                "{n} lease had no price for {time}; that is in no amount here, and not free.",
                "{n} leases had no price for {time}; that is in no amount here, and not free.",
                n,
            ).format(n=n, time=formats.span(total.unpriced_s))
        )
    held = sum(one.line.seconds * one.line.units for one in laid.pieces)
    dark = sum(
        one.line.seconds * one.line.units for one in laid.pieces if one.facts.task_type is None
    )
    if laid.policy and laid.policy.task_types and held and dark * _PERCENT > held * MANY_UNLABELLED:
        found.append(
            _(
                "Nobody said what {percent} % of the GPU-hours were for: a task type on the start "
                "form tells it."
            ).format(percent=dark * _PERCENT // held)
        )
    return tuple(found)


def standing(laid: Laid) -> tuple[str, str]:
    """Say whether the books of this time are closed: a key and words."""
    window, until = laid.ground.window, laid.ground.closed_until
    if until is not None and window.end <= until:
        return "guaranteed", _("closed")
    if window.end > laid.ground.now - timedelta(seconds=1):
        return "noticed", _("open: figures so far")
    return "quiet", _("not closed yet")


def _own(one: SpendRow, currency: str) -> int:
    return sum(amount.micro for amount in one.amounts if amount.currency == currency)


def _narrowing(one: SpendRow) -> dict[str, str]:
    arguments = {"project": "project", "user": "person", "profile": "profile", "model": "model"}
    return {arguments[word]: name or NONE for word, name in one.names.items() if word in arguments}


def _name(word: SpendDimension, names: Mapping[str, str | None]) -> str:
    name = names.get(word)
    if word == "model":
        return gpu_title(name, names.get("flavor"))
    if name is None:
        return {"project": _("no project"), "taskType": _("unlabelled")}.get(word, _("unknown"))
    return name


def _per_busy(one: SpendRow) -> str:
    if not one.per_busy_hour:
        return _("unknown") if one.utilised_percent is None else _("nothing was busy")
    return " + ".join(money_text(each.micro, each.currency) for each in one.per_busy_hour)
