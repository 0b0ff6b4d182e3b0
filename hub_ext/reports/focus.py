"""Charges as rows of the FOCUS specification, 1.4 or 1.2. Pure.

A row's cost is the exact product of its printed price and quantity, as the specification wants;
the ledger rounds once a lease. One row a month, team and currency carries the difference, so that
the sum of all rows is the ledger's.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from decimal import Context, Decimal
from typing import Literal, NamedTuple

from ..budget import Period, month_name, months
from ..i18n import _
from ..lease import LeaseId, Posting
from ..lease.reserving import ASIDE
from ..metering import NO_TEAMS, Use, clip
from ..policy.model import Policy
from ..policy.prices import priced_as
from ..units import MICRO, SECONDS_PER_HOUR

Version = Literal["1.4", "1.2"]
Row = dict[str, str]
"""Column to text; an empty text is null."""

HOURS, SECONDS = "Hours", "Seconds"
"""Units of what is priced and of what was consumed."""

USAGE, ADJUSTMENT = "Usage", "Adjustment"

_EXACT = Context(prec=60)
"""No sum of money that a ledger can hold loses a digit in it."""

_TWELVE = Decimal(1).scaleb(-12)


class Terms(NamedTuple):
    """What all rows of one export share.

    `person` gives the name that stands for somebody, or None where nobody is named; `used` is what
    samples say of each lease in the window of the export.
    """

    policy: Policy
    version: Version
    person: Callable[[str], str | None]
    used: Mapping[LeaseId, Use]
    start: datetime
    end: datetime


class _Home(NamedTuple):
    """Where a row belongs: what the difference is made up for."""

    month: Period
    team: str
    currency: str


def rows(lines: Iterable[Posting], terms: Terms) -> tuple[Row, ...]:
    """Make the rows of what was charged inside the terms' window, month by month.

    Lines of no length carry no money and are left out. What had no price is there, at a cost of 0,
    with `x_Priced` false and no unit price: it is not for free.
    """
    sums: dict[_Home, Decimal] = defaultdict(Decimal)
    made: list[tuple[_Home, Row]] = []
    for month in months(terms.policy.timezone, terms.start, terms.end):
        inside = [
            clip(line, max(month.start, terms.start), min(month.end, terms.end)) for line in lines
        ]
        for line in sorted(
            filter(None, inside), key=lambda one: (one.team, one.start, one.lease_id)
        ):
            if line.corrects is None and line.start == line.end:
                continue
            home = _Home(month, line.team, line.currency)
            product = _product(line)
            rest = _EXACT.subtract(_money(line.amount_micro or 0), product)
            sums[home] = _EXACT.add(sums[home], rest)
            made.append((home, _usage(line, home, product, terms)))
    rests = [(home, _rest(home, rest, terms)) for home, rest in sums.items() if rest]
    ordered = sorted([*made, *rests], key=lambda one: (one[0].month.start, one[0].team))
    return tuple(row for _home, row in ordered)


def columns(version: Version) -> tuple[str, ...]:
    """Columns of an export, in order."""
    names = (
        ("ServiceProviderName", "HostProviderName")
        if version == "1.4"
        else ("ProviderName", "PublisherName")
    )
    return (*_COLUMNS, *names, *(() if version == "1.4" else _ONLY_12), *_OURS)


def money_of(rows: Iterable[Row]) -> dict[str, Decimal]:
    """Add up the effective cost of an export, by currency."""
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for row in rows:
        currency = row["BillingCurrency"]
        sums[currency] = _EXACT.add(sums[currency], Decimal(row["EffectiveCost"]))
    return dict(sums)


def _usage(line: Posting, home: _Home, product: Decimal, terms: Terms) -> Row:
    cost = _text(product)
    row = _shared(home, cost, terms)
    row |= {
        "ChargeCategory": USAGE,
        "ChargeFrequency": "Usage-Based",
        "ChargePeriodStart": _instant(line.start),
        "ChargePeriodEnd": _instant(line.end),
        "ChargeDescription": _description(line),
        "ConsumedQuantity": "",
        "ResourceId": str(line.lease_id),
        "ResourceType": "GPU lease",
        "Tags": json.dumps(_tags(line), sort_keys=True),
        **_priced(line),
        **_ours(line, terms),
    }
    if line.corrects is not None:
        row |= _correction(line, month=home.month)
    if terms.version == "1.2":
        for kind in ("ListUnitPrice", "ContractedUnitPrice"):
            row[f"PricingCurrency{kind}"] = row[kind]
    person = terms.person(line.user)
    row["ResourceName"] = f"{person}/{line.server or '-'}" if person else ""
    return row


def _priced(line: Posting) -> Row:
    """Price, quantity and what was bought; all null where there was no price."""
    if line.price_micro_per_hour is None:
        return {"x_Priced": "false"}
    price = _text(_money(line.price_micro_per_hour))
    flavor, _times = priced_as(line.flavor)
    sku = f"{line.pool}/{flavor}"
    return {
        "PricingCategory": "Standard",
        "PricingQuantity": _text(_hours(line.seconds)),
        "PricingUnit": HOURS,
        "ConsumedQuantity": _text(Decimal(line.seconds)),
        "ConsumedUnit": SECONDS,
        "ListUnitPrice": price,
        "ContractedUnitPrice": price,
        "SkuId": sku,
        "SkuPriceId": f"{sku}@{line.price_micro_per_hour}",
        "SkuMeter": "Time held",
        "SkuPriceDetails": json.dumps({"x_Flavor": line.flavor, "x_Pool": line.pool or ""}),
        "x_Priced": "true",
    }


def _correction(line: Posting, month: Period) -> Row:
    """Say what is corrected, over the time of that; one of this month itself is no `Correction`."""
    lease_id, _space, stretch = str(line.corrects).partition(" ")
    start, end = map(datetime.fromisoformat, stretch.split("/"))
    return {
        "ChargeClass": "Correction" if start < month.start else "",
        "ChargePeriodStart": _instant(start),
        "ChargePeriodEnd": _instant(end),
        "ChargeDescription": _("Correction of a charge of lease {lease}").format(lease=lease_id),
        "ResourceId": lease_id,
        "x_Priced": "true",
    }


def _rest(home: _Home, rest: Decimal, terms: Terms) -> Row:
    """Make up the difference between exact products and what the ledger rounded."""
    return _shared(home, _text(rest), terms) | {
        "ChargeCategory": ADJUSTMENT,
        "ChargeFrequency": "One-Time",
        "ChargePeriodStart": _instant(max(home.month.start, terms.start)),
        "ChargePeriodEnd": _instant(min(home.month.end, terms.end)),
        "ChargeDescription": _("Rounding: the ledger rounds once a lease, this export does not"),
        "x_Priced": "true",
    }


def _shared(home: _Home, cost: str, terms: Terms) -> Row:
    statement = terms.policy.statement
    pays = statement.kind == "chargeback" and home.team not in NO_TEAMS
    provider = statement.provider
    host = statement.host or provider
    row = dict.fromkeys(columns(terms.version), "")
    row |= {
        "BilledCost": cost if pays else _text(Decimal(0)),
        "EffectiveCost": cost,
        "ListCost": cost,
        "ContractedCost": cost,
        "BillingAccountId": statement.billed_to,
        "BillingAccountName": statement.billed_to_name,
        "BillingCurrency": home.currency,
        "BillingPeriodStart": _instant(home.month.start),
        "BillingPeriodEnd": _instant(home.month.end),
        "InvoiceIssuerName": provider,
        "InvoiceId": _statement_id(home, terms) if pays else "",
        "ServiceName": "GPU notebooks",
        "ServiceCategory": "AI and Machine Learning",
        "ServiceSubcategory": "AI Platforms",
        "SubAccountId": home.team,
        "SubAccountName": home.team,
        "SubAccountType": "Platform" if home.team in NO_TEAMS else "Team",
        "RegionId": statement.region or "",
        "RegionName": statement.region or "",
    }
    if terms.version == "1.4":
        return row | {"ServiceProviderName": provider, "HostProviderName": host}
    return row | {
        "ProviderName": provider,
        "PublisherName": host,
        "PricingCurrency": home.currency,
        "PricingCurrencyEffectiveCost": cost,
    }


def _ours(line: Posting, terms: Terms) -> Row:
    used = terms.used.get(line.lease_id)
    sampled = used is not None and used.sampled_s > 0
    return {
        "x_UserId": terms.person(line.user) or "",
        "x_Project": line.project or "",
        "x_Profile": line.profile,
        "x_Pool": line.pool or "",
        "x_Flavor": line.flavor,
        "x_Standing": line.standing.value,
        "x_EndCause": line.cause.value if line.cause else "",
        "x_EndBounded": "true" if line.bounded else "false",
        "x_HeldSeconds": str(line.seconds),
        "x_LedgerAmountMicro": "" if line.amount_micro is None else str(line.amount_micro),
        "x_LeaseUtilisationPct": str(used.percent_seconds // used.sampled_s)
        if used is not None and sampled
        else "",
        "x_LeaseSampledSeconds": str(used.sampled_s) if used is not None else "",
    }


def _tags(line: Posting) -> dict[str, str]:
    given = {"project": line.project, "profile": line.profile, "standing": line.standing.value}
    return {name: str(value) for name, value in given.items() if value}


def _description(line: Posting) -> str:
    words = (
        _("{flavor} of pool {pool} kept and not used")
        if line.flavor in ASIDE
        else _("{flavor} of pool {pool} held by a server")
    ).format(flavor=line.flavor, pool=line.pool)
    if line.price_micro_per_hour is None:
        return _("{words}; not priced: no price was in force").format(words=words)
    return words


def _statement_id(home: _Home, terms: Terms) -> str:
    return f"{month_name(home.month.start, terms.policy.timezone)}/{home.team}"


def _product(line: Posting) -> Decimal:
    if line.corrects is not None:
        return _money(line.amount_micro or 0)
    if line.price_micro_per_hour is None:
        return Decimal(0)
    return _EXACT.multiply(_money(line.price_micro_per_hour), _hours(line.seconds))


def _hours(seconds: int) -> Decimal:
    return (Decimal(seconds) / SECONDS_PER_HOUR).quantize(_TWELVE)


def _money(micro: int) -> Decimal:
    return Decimal(micro) / MICRO


def _text(value: Decimal) -> str:
    """Write a number without exponent, with one decimal at least and no needless zeros.

    A column of whole numbers alone would be read as one of integers, which the validator refuses.
    """
    whole, _dot, part = f"{value:f}".partition(".")
    return f"{whole}.{part.rstrip('0') or '0'}"


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


_COLUMNS = (
    "BilledCost",
    "EffectiveCost",
    "ListCost",
    "ContractedCost",
    "BillingAccountId",
    "BillingAccountName",
    "BillingCurrency",
    "BillingPeriodStart",
    "BillingPeriodEnd",
    "ChargeCategory",
    "ChargeClass",
    "ChargeDescription",
    "ChargeFrequency",
    "ChargePeriodStart",
    "ChargePeriodEnd",
    "ConsumedQuantity",
    "ConsumedUnit",
    "ContractedUnitPrice",
    "InvoiceId",
    "InvoiceIssuerName",
    "ListUnitPrice",
    "PricingCategory",
    "PricingQuantity",
    "PricingUnit",
    "RegionId",
    "RegionName",
    "ResourceId",
    "ResourceName",
    "ResourceType",
    "ServiceCategory",
    "ServiceName",
    "ServiceSubcategory",
    "SkuId",
    "SkuMeter",
    "SkuPriceDetails",
    "SkuPriceId",
    "SubAccountId",
    "SubAccountName",
    "SubAccountType",
    "Tags",
)

_ONLY_12 = (
    "BillingAccountType",
    "CommitmentDiscountCategory",
    "CommitmentDiscountId",
    "CommitmentDiscountName",
    "CommitmentDiscountQuantity",
    "CommitmentDiscountStatus",
    "CommitmentDiscountType",
    "CommitmentDiscountUnit",
    "PricingCurrency",
    "PricingCurrencyContractedUnitPrice",
    "PricingCurrencyEffectiveCost",
    "PricingCurrencyListUnitPrice",
)
"""The validator of 1.2 asks for columns that do not apply; they are there and null."""

_OURS = (
    "x_UserId",
    "x_Project",
    "x_Profile",
    "x_Pool",
    "x_Flavor",
    "x_Standing",
    "x_EndCause",
    "x_EndBounded",
    "x_HeldSeconds",
    "x_Priced",
    "x_LedgerAmountMicro",
    "x_LeaseUtilisationPct",
    "x_LeaseSampledSeconds",
)
