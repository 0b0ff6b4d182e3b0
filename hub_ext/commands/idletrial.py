"""`gpu-commons idle trial`: whom an idle rule on trial would have stopped, and the word for it."""

import argparse
import json
from datetime import UTC, datetime

from ..i18n import _
from ..lease import local_text
from ..lease.trying import IdleTrial, SwitchOn, TrialSheet, WouldStop
from ..service.api.idling import SwitchOnByHand
from ..service.books import formats
from ..service.sheets.trials import again_words, given_words, standing_words, totals
from .acts import Act, asked, carry_out, in_its_place
from .columns import print_table
from .onsite import Onsite, actor, add_reason, add_verb, onsite, reason_of

MOST_SHOWN = 20
"""People and stops that are printed; `--json` has more."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs."""
    verbs = parser.add_subparsers(dest="word", metavar="VERB", required=True)
    show = add_verb(verbs, "show", _("whom the rules on trial would have stopped"))
    show.add_argument("--json", action="store_true", help=_("as JSON"))
    on = add_verb(verbs, "switch-on", _("let a rule act whose trial is over"))
    on.add_argument("rule", metavar="RULE", help=_("its name in the policy"))
    on.add_argument(
        "--before-its-time", action="store_true", help=_("although its trial is not over")
    )
    add_reason(on)


def run(args: argparse.Namespace) -> int:
    """Carry out one verb and return 0.

    Raises
    ------
    GpuCommonsError
        When it is refused, with the words of the refusal.
    """
    site = onsite(args.state)
    if args.word == "switch-on":
        reason = reason_of(args.reason)
        carry_out(site, _switched(args.rule, reason, early=args.before_its_time))
        print(_("idle rule {rule} acts from now on").format(rule=args.rule))
        return 0
    sheet = _seen(site)
    if args.json:
        print(json.dumps(sheet.model_dump(mode="json"), indent=2))
    else:
        _show(sheet)
    return 0


def _switched(rule: str, reason: str, *, early: bool) -> Act[TrialSheet]:
    who = actor()
    said = SwitchOnByHand(reason=reason, by=who.name, wanted=SwitchOn(before_its_time=early))
    return Act(
        f"idle/trials/{rule}/switch-on",
        said,
        TrialSheet,
        lambda core, now: core.switch_idle_on(
            rule, before_its_time=early, reason=reason, actor=who, now=now
        ),
    )


def _seen(site: Onsite) -> TrialSheet:
    pid = site.governor()
    if pid is not None:
        return asked(site, pid, "idle/trials", TrialSheet)
    with in_its_place(site) as (core, _now):
        return core.idle_trials(now=datetime.now(UTC))


def _show(sheet: TrialSheet) -> None:
    if not sheet.trials:
        print(_("no idle rule is on trial: each does what the policy says"))
        return
    for one in sheet.trials:
        _show_one(one, sheet)
    print(sheet.estimate)


def _show_one(one: IdleTrial, sheet: TrialSheet) -> None:
    print(f"{one.rule}: {standing_words(one)}")
    for line in one.changes:
        print(f"  {line}")
    print(f"  {totals(one, sheet.currency)}")
    people = [
        (
            row.user,
            row.team,
            str(row.servers),
            str(row.stops),
            str(row.worked_again),
            formats.gpu_hours(row.unit_s),
            given_words(row, sheet.currency),
        )
        for row in one.people[:MOST_SHOWN]
    ]
    if people:
        heads = (
            _("person"),
            _("team"),
            _("servers"),
            _("stops"),
            _("worked again"),
            _("GPU hours"),
            _("money"),
        )
        print_table([heads, *people])
    for stop in one.newest[:MOST_SHOWN]:
        print(f"  {_line(stop, sheet.timezone)}")
    print()


def _line(stop: WouldStop, zone: str) -> str:
    return _("{at} {user}/{server} ({lease}): {then}").format(
        at=local_text(stop.at, zone),
        user=stop.user,
        server=stop.server or "-",
        lease=stop.lease_id,
        then=again_words(stop, zone),
    )
