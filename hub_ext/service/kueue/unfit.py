"""Whether the queue of a lease keeps what promises rest on; what does not is not used.

Servers that run go on: their quota is theirs, whatever becomes of the queue.
"""

from collections.abc import Iterable

from ...kube.podterms import place_of
from ...kube.queuedemands import Breach, Weight
from ...lease import Event, OpenLease, Reason
from ..books.desk import Turn
from ..books.kueuebook import unfit_reason
from .intents import book_of

UNFIT, FIT = "kueue.unfit", "kueue.fit"
"""Events: Kueue does not keep what promises rest on, and does again."""


def note(turn: Turn, found: Iterable[Breach]) -> None:
    """Take what a look at Kueue found; a change is recorded once."""
    book = book_of(turn.desk)
    wrong = tuple(one for one in found if one.weight is Weight.wrong)
    if wrong == book.unfit:
        return
    book.unfit = wrong
    book.stamp += 1
    body: dict[str, object] = {
        "v": 1,
        "breaches": [
            {"code": one.code, "words": one.words, "queues": sorted(one.queues)} for one in wrong
        ],
    }
    turn.tx.append(Event(kind=UNFIT if wrong else FIT, at=turn.now, actor=turn.actor, body=body))


def unfit(turn: Turn, lease: OpenLease) -> Breach | None:
    """Why nothing starts through the queue of a lease; None where it is as it must be."""
    book = book_of(turn.desk)
    if not book.unfit or lease.pool is None:
        return None
    project = lease.project
    if project is not None and project not in turn.policy.projects:
        return None
    single = turn.desk.settings.kube_namespace or None
    return book.unfit_for(place_of(turn.policy, lease.team, project, single).cluster_queue)


def why(turn: Turn, lease: OpenLease) -> Reason:
    """Say why a lease that could start has no quota yet, or may not use it."""
    found = unfit(turn, lease)
    return book_of(turn.desk).why(lease) if found is None else unfit_reason(found)
