"""Idle rules on trial in words: how each stands, and what it would have given back."""

from collections.abc import Mapping

from ...i18n import _, ngettext
from ...lease.trying import IdleTrial, TrialPerson, TrialSheet, WouldStop
from ..books import formats


def sheet(trials: TrialSheet) -> Mapping[str, object]:
    """Put all of them into words for the admin page."""
    zone, currency = trials.timezone, trials.currency
    return {
        "trials": tuple(
            {
                "rule": one.rule,
                "over": one.over,
                "standing": standing_words(one),
                "changes": one.changes,
                "totals": totals(one, currency),
                "people": tuple(
                    {
                        "row": row,
                        "hours": formats.gpu_hours(row.unit_s),
                        "money": given_words(row, currency),
                    }
                    for row in one.people
                ),
                "stops": tuple(
                    {
                        "lease_id": stop.lease_id,
                        "server": f"{stop.user}/{stop.server or '-'}",
                        "team": stop.team,
                        "at": formats.instant(stop.at, zone),
                        "then": again_words(stop, zone),
                        "words": stop.words,
                    }
                    for stop in one.newest
                ),
            }
            for one in trials.trials
        ),
        "trial_estimate": trials.estimate,
        "trial_mode": trials.mode,
    }


def standing_words(one: IdleTrial) -> str:
    """Say for how long it was watched, and what is in force meanwhile."""
    if one.over:
        words = _("its trial of {span} is over; it acts when an administrator switches it on")
    else:
        words = _("on trial for another {left} of {span}")
    meanwhile = (
        _("the former rule is in force meanwhile")
        if one.replaces
        else _("nobody is stopped by it meanwhile")
    )
    known = words.format(left=formats.span(one.left_s), span=formats.span(one.trial_s))
    return f"{known}; {meanwhile}"


def totals(one: IdleTrial, currency: str) -> str:
    """Sum up what it would have done."""
    said = [_stops(one, currency)] if one.stops else []
    if one.worked_again:
        said.append(
            ngettext(
                "{n} of these stops was likely wrong: the server was used again later.",
                "{n} of these stops were likely wrong: the servers were used again later.",
                one.worked_again,
            ).format(n=one.worked_again)
        )
    if one.kept:
        said.append(
            ngettext(
                "The rule in force stopped {n} server that it would not have stopped yet.",
                "The rule in force stopped {n} servers that it would not have stopped yet.",
                one.kept,
            ).format(n=one.kept)
        )
    return " ".join(said) or _("It would have stopped nobody so far.")


def _stops(one: IdleTrial, currency: str) -> str:
    head = ngettext(
        "It would have stopped {n} server", "It would have stopped {n} servers", one.servers
    ).format(n=one.servers)
    if one.stops > one.servers:
        head = _("{head}, some more than once ({stops} stops)").format(head=head, stops=one.stops)
    return _("{head}, and given back {hours} GPU hours, {money}.").format(
        head=head, hours=formats.gpu_hours(one.unit_s), money=given_words(one, currency)
    )


def given_words(of: IdleTrial | TrialPerson, currency: str) -> str:
    """What it is worth, and how much of it has no price."""
    amount = formats.money(of.amount_micro, currency)
    if not of.unpriced_unit_s or of.amount_micro is None:
        return amount
    return _("{amount} and {hours} GPU hours that are not priced").format(
        amount=amount, hours=formats.gpu_hours(of.unpriced_unit_s)
    )


def again_words(stop: WouldStop, zone: str) -> str:
    """What came of the server that was not stopped."""
    if stop.worked_again_at is not None:
        return _("used again at {at}").format(at=formats.instant(stop.worked_again_at, zone))
    if stop.ended_at is not None:
        return _("never used again, ended at {at}").format(at=formats.instant(stop.ended_at, zone))
    return _("not used since")
