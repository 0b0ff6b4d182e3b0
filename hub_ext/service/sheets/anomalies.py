"""Anomalies in words: what, whose, since when, what it stands for, and what can be done."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...i18n import _
from ...lease.anomalies import Anomaly, AnomalyAct, AnomalyKind, AnomalySheet
from ...units import bytes_text, gpus_text, money_text
from ..books import formats


@dataclass(frozen=True)
class AnomalyRow:
    """One episode. `acts` are value and words of what the reader may do, the proposed one first."""

    id: str
    kind: str
    words: str
    owner: str
    teams: str
    since: str
    lasted: str
    ended: str
    peak: str
    money: str
    act: str
    acts: tuple[tuple[str, str], ...]
    href: str


def kinds() -> dict[AnomalyKind, str]:
    """Name each kind."""
    return {
        "hoarding": _("memory held, nothing runs"),
        "never_used": _("never used"),
        "pool_share": _("most of a pool"),
        "dear": _("much dearer than its like"),
        "outside": _("outside any lease"),
        "forgotten": _("forgotten by the hub"),
        "gap": _("not measured"),
        "unallocated": _("held by nobody"),
        "gaming": _("looks busy, computes nothing"),
    }


def acts() -> dict[AnomalyAct, str]:
    """Name what can be done."""
    return {
        "notice": _("tell the owner"),
        "ask": _("ask the owner"),
        "quarantine": _("take the device out of service"),
        "stop": _("stop with notice"),
        "close": _("end the lease"),
    }


def sheet(found: AnomalySheet, zone: str) -> dict[str, object]:
    """Put all of it into rows."""
    return {
        "open": tuple(row(one, zone) for one in found.open),
        "over": tuple(row(one, zone) for one in found.ended),
        "total": total(found.open),
    }


def row(one: Anomaly, zone: str) -> AnomalyRow:
    """Put one into words."""
    said = acts()
    last = one.ended or one.seen_at
    return AnomalyRow(
        id=one.id,
        kind=kinds()[one.kind],
        words=one.words,
        owner=owner_words(one),
        teams=", ".join(one.teams) or (_("for administrators") if one.owner else _("the site")),
        since=formats.minute(one.began, zone),
        lasted=formats.span(int((last - one.began).total_seconds())),
        ended=formats.minute(one.ended, zone) if one.ended else "",
        peak=peak_words(one),
        money=formats.money(one.money_micro, one.currency),
        act=said[one.act],
        acts=tuple((act, said[act]) for act in one.can),
        href=f"leases/{one.leases[0]}" if len(one.leases) == 1 else "",
    )


def owner_words(one: Anomaly) -> str:
    """Say whose it is: a figure never stands without an owner."""
    if one.owner is not None:
        return one.owner
    if one.leases:
        return _("the owners of {n} servers").format(n=len(one.leases))
    return _("nobody known") if one.kind == "outside" else _("the site")


def peak_words(one: Anomaly) -> str:
    """The largest figure of the episode, in its unit."""
    match one.kind:
        case "hoarding":
            return bytes_text(one.peak // 2**20 * 2**20)
        case "outside" if one.device is not None:
            return bytes_text(one.peak // 2**20 * 2**20)
        case "pool_share":
            return formats.percent(one.peak)
        case "dear":
            return money_text(one.peak, one.currency)
        case "unallocated":
            return _("{n} GPUs").format(n=gpus_text(one.peak))
        case _:
            return formats.span(one.peak)


def total(every: Sequence[Anomaly]) -> str:
    """Say what all of them stand for, and how many have no price."""
    priced = [one.money_micro for one in every if one.money_micro is not None]
    if not every:
        return ""
    if not priced:
        return _("None of it is priced.")
    money = money_text(sum(priced), every[0].currency)
    unpriced = len(every) - len(priced)
    if unpriced:
        return _("Together they stand for {money}; {n} of them are not priced.").format(
            money=money, n=unpriced
        )
    return _("Together they stand for {money}.").format(money=money)
