"""`gpu-commons why LEASE|DECISION|USER|SERVER`: why it waits, runs on, or was stopped.

Asks the living governor; where none lives it reads the ledger, and says so. It changes nothing.
"""

import argparse
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from urllib.parse import urlencode

from ..admission.snapshot import Snapshot
from ..errors import GpuCommonsError
from ..i18n import _
from ..lease import Verdict, local_text
from ..lease.why import Why, WhySheet
from ..ledger.beside import reading
from ..policy.load import loads
from ..service.leasing.why import Look, about, explained
from .acts import asked
from .onsite import Onsite, add_state, onsite


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "of",
        metavar="LEASE|DECISION|USER|USER/SERVER",
        help=_(
            "a lease's id, a decision on idleness, a person, or a server; `-` is the server "
            "without a name"
        ),
    )
    parser.add_argument("--json", action="store_true", help=_("as JSON"))
    add_state(parser)


def run(args: argparse.Namespace) -> int:
    """Print the answer and return 0; 1 where nothing of it is on record.

    Raises
    ------
    GpuCommonsError
        When a governor lives and does not answer, or the ledger cannot be read.
    """
    site = onsite(args.state)
    pid = site.governor()
    if pid is None:
        sheet = _recorded(site, args.of)
    else:
        sheet = asked(site, pid, f"why?{urlencode({'of': args.of})}", WhySheet)
    if args.json:
        print(json.dumps(sheet.model_dump(mode="json"), indent=2))
    else:
        print("\n".join(lines(sheet, args.of)))
    return 0 if sheet.found else 1


def _recorded(site: Onsite, of: str) -> WhySheet:
    """Explain from the ledger what does not need a living governor."""
    wanted = about(of)
    with reading(site.state, url=site.ledger_url) as tx:
        newest = tx.generation()
        if newest is None:
            raise GpuCommonsError(_("no policy was ever in force here"))
        snapshot = Snapshot(
            policy=loads(newest[1]).policy,
            generation=newest[0],
            at=datetime.now(UTC),
            leases=tx.leases(),
        )
        look = Look(snapshot, (), lambda _lease: True, {})
        return explained(look, tx, wanted, site.hub, live=False)


def lines(sheet: WhySheet, of: str) -> Iterator[str]:
    """Write the answer line by line."""
    if not sheet.live:
        yield _("No governor lives: this is what the ledger holds, without places and devices.")
    if not sheet.found:
        yield _(
            "Nothing of {of} is on record; `gpu-commons lease list` names what is open."
        ).format(of=of)
    for number, one in enumerate(sheet.found):
        if number:
            yield ""
        yield from _one(one, sheet.timezone)


def _one(one: Why, zone: str) -> Iterator[str]:
    yield _("{server}  {lease}  {state}").format(
        server=one.server, lease=one.lease_id, state=one.state.value
    )
    facts = (
        (_("answer"), one.answer),
        (_("priority"), f"{one.number} ({one.priority})" if one.priority else ""),
        (_("promise"), one.promise or (one.contract.words if one.contract else "")),
        (_("short"), one.short),
    )
    for name, value in facts:
        if value:
            yield f"  {name:<10}{value}"
    for ahead in one.ahead:
        yield _("  ahead     {place}. {whose}, {wants}, priority {priority}").format(
            place=ahead.place, whose=ahead.whose, wants=ahead.wants, priority=ahead.priority
        )
    for holder in one.holders:
        yield _("  holds     {whose}, {holds}: {words}").format(
            whose=holder.whose, holds=holder.holds, words=holder.words
        )
    if one.evidence is not None:
        yield from _judged(one.evidence)
    for step in one.record:
        yield _("  {at}  {words} ({by}){decision}").format(
            at=local_text(step.at, zone),
            words=step.words,
            by=step.by,
            decision=f" {step.decision}" if step.decision else "",
        )


def _judged(verdict: Verdict) -> Iterator[str]:
    """Write a judgement: its words and decision, then each witness with its figure and trust."""
    yield _("  judged    {words}").format(words=verdict.words)
    if verdict.decision:
        yield _("  decision  {id}").format(id=verdict.decision)
    for signal in verdict.signals:
        told = _("the server itself") if signal.trust == "user" else signal.source
        age = _("no reading") if signal.age_s is None else _("{n} s old").format(n=signal.age_s)
        yield _(
            "  witness   {name}: {state}, {value} over {window} s; {told}, {age}, trust {trust}"
        ).format(
            name=signal.name,
            state=signal.state,
            value=signal.value,
            window=signal.window_s,
            told=told,
            age=age,
            trust=signal.trust,
        )
